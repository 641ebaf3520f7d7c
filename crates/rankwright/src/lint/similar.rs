//! Mistyped names: the known one that may be meant.

/// From this Jaro-Winkler similarity on, one name may be meant for another.
const SIMILAR: f64 = 0.9;

/// The name that is most similar to the written one; `None` if none is similar.
pub(super) fn to<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |name: &str| strsim::jaro_winkler(name, written);
    let best = names.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) > SIMILAR).then_some(best)
}

//! Hostlists, Slurm's short form for host names: `node[00-15,20],login1`.

use std::collections::HashSet;

/// The most names of a hostlist, and the most nodes that readers accept in a cluster.
pub const MOST_NAMES: usize = 100_000;

/// The longest host name that POSIX promises.
const LONGEST_NAME: usize = 255;
/// The most digits of a number in a host name; they fit 64 bits.
const MOST_DIGITS: usize = 15;

/// Why a text is not a hostlist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct HostlistError {
    /// The wrong part.
    pub found: String,
    /// What may stand there.
    pub expected: String,
}

fn error(actual: impl Into<String>, expected: impl Into<String>) -> HostlistError {
    HostlistError { found: actual.into(), expected: expected.into() }
}

/// The names of a hostlist, in the order written. Numbers keep their leading zeros: `n[08-10]` is
/// n08, n09, n10. The last of several brackets varies fastest. A name may occur several times.
///
/// # Errors
/// If the text is not a hostlist, a name is not a host name, or there are more than [`MOST_NAMES`]
/// names; these are counted before memory is taken for them.
pub fn expand(text: &str) -> Result<Vec<String>, HostlistError> {
    let mut entries = Vec::new();
    let mut names = 0_usize;
    for entry in split_entries(text)? {
        let parts = parse_entry(entry)?;
        let count = parts.iter().try_fold(1_usize, |product, part| product.checked_mul(part.len()));
        names = names.saturating_add(count.unwrap_or(usize::MAX));
        if names > MOST_NAMES {
            let actual = format!("more than {MOST_NAMES} names in `{text}`");
            return Err(error(actual, format!("at most {MOST_NAMES} host names")));
        }
        entries.push(parts);
    }
    let mut all = Vec::with_capacity(names);
    for parts in &entries {
        let mut expanded = vec![String::new()];
        for part in parts {
            let texts = part.texts();
            expanded = expanded
                .iter()
                .flat_map(|start| texts.iter().map(move |text| format!("{start}{text}")))
                .collect();
        }
        all.append(&mut expanded);
    }
    all.iter().try_for_each(|name| check_name(name))?;
    Ok(all)
}

/// The names, if none of them occurs twice.
///
/// # Errors
/// If a name occurs twice.
pub fn distinct(names: Vec<String>) -> Result<Vec<String>, HostlistError> {
    let mut seen = HashSet::with_capacity(names.len());
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(error(format!("the host name `{name}` twice"), "every host once")),
        None => Ok(names),
    }
}

/// A part of an entry: a text that all its names share, or the numbers of one bracket.
enum Part<'a> {
    Fixed(&'a str),
    Numbers(Vec<Range>),
}

/// Numbers from `first` to `last`, each with at least `width` digits.
struct Range {
    first: u64,
    last: u64,
    width: usize,
}

impl Part<'_> {
    fn len(&self) -> usize {
        let count = |range: &Range| {
            usize::try_from(range.last - range.first).unwrap_or(usize::MAX).saturating_add(1)
        };
        match self {
            Self::Fixed(_) => 1,
            Self::Numbers(ranges) => {
                ranges.iter().fold(0, |sum, range| sum.saturating_add(count(range)))
            }
        }
    }

    fn texts(&self) -> Vec<String> {
        match self {
            Self::Fixed(text) => vec![(*text).to_owned()],
            Self::Numbers(ranges) => {
                let numbers = |range: &Range| {
                    let width = range.width;
                    (range.first..=range.last).map(move |number| format!("{number:0width$}"))
                };
                ranges.iter().flat_map(numbers).collect()
            }
        }
    }
}

/// Splits at the commas outside of brackets.
fn split_entries(text: &str) -> Result<Vec<&str>, HostlistError> {
    let mut entries = Vec::new();
    let mut start = 0;
    let mut inside = false;
    for (index, c) in text.char_indices() {
        match c {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            '[' | ']' => {
                let what = format!("`{c}` at character {} of `{text}`", index + 1);
                return Err(error(what, "brackets in pairs, not nested"));
            }
            ',' if !inside => {
                entries.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(error(format!("`{text}` without a closing bracket"), "a hostlist like n[0-7]"));
    }
    entries.push(text[start..].trim());
    if entries.iter().any(|entry| entry.is_empty()) {
        return Err(error(format!("an empty name in `{text}`"), "a hostlist like n[0-7],login1"));
    }
    Ok(entries)
}

fn parse_entry(entry: &str) -> Result<Vec<Part<'_>>, HostlistError> {
    let mut parts = Vec::new();
    let mut rest = entry;
    while let Some((fixed, bracket)) = rest.split_once('[') {
        let (inner, after) = bracket.split_once(']').unwrap_or((bracket, ""));
        if !fixed.is_empty() {
            parts.push(Part::Fixed(fixed));
        }
        let ranges: Result<_, _> =
            inner.split(',').map(|range| parse_range(range.trim())).collect();
        parts.push(Part::Numbers(ranges?));
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Fixed(rest));
    }
    Ok(parts)
}

fn parse_range(text: &str) -> Result<Range, HostlistError> {
    let wrong =
        || error(format!("`{text}` in brackets"), "a number or an ascending range like 00-15");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.len() <= MOST_DIGITS;
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
        number.flatten().filter(|_| plain)
    };
    let range = Range {
        first: number(first).ok_or_else(wrong)?,
        last: number(last).ok_or_else(wrong)?,
        width: first.len(),
    };
    // The number of digits of `1-010` is ambiguous.
    let same_width =
        last.len() == first.len() || (last.len() > first.len() && !last.starts_with('0'));
    if range.first > range.last || !same_width { Err(wrong()) } else { Ok(range) }
}

/// Whether launchers, shells and files can carry a host name without quoting it: up to 255 letters,
/// digits, `-`, `_` and `.`, not beginning with `-` or `.`.
#[must_use]
pub(crate) fn is_host_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.starts_with(['-', '.'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// `n0` of `n0.site`.
pub(super) fn first_label(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A sort key that compares the numbers in names by value: n2 before n10.
pub(super) fn numeric_order(name: &str) -> Vec<(&str, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (before, after) = rest.split_at(text);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        parts.push((before, after[..digits].parse().unwrap_or(u64::MAX)));
        rest = &after[digits..];
    }
    parts
}

fn check_name(name: &str) -> Result<(), HostlistError> {
    if is_host_name(name) {
        return Ok(());
    }
    Err(error(
        format!("the host name `{name}`"),
        "letters, digits, `-`, `_` and `.`, beginning with a letter, digit or `_`",
    ))
}

/// A hostlist that expands to these names in this order. Neighbours that differ in one number
/// become one entry, and so do entries that differ in one number: `x[0-7]b[0-1]`.
#[must_use]
pub fn compress<S: AsRef<str>>(names: &[S]) -> String {
    let mut entries = join_neighbours(names);
    loop {
        let joined = join_neighbours(&entries);
        if joined.len() == entries.len() {
            return joined.join(",");
        }
        entries = joined;
    }
}

/// Joins runs of entries that differ in one number before all brackets: a new bracket must vary
/// slowest.
fn join_neighbours<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    let mut entries = Vec::new();
    let mut rest: &[S] = names;
    while let Some(first) = rest.first() {
        let first = first.as_ref();
        let frame = rest.get(1).and_then(|second| common_frame(first, second.as_ref()));
        let Some((prefix, suffix)) = frame.filter(|(prefix, _)| !prefix.contains('[')) else {
            entries.push(first.to_owned());
            rest = &rest[1..];
            continue;
        };
        let numbers: Vec<&str> =
            rest.iter().map_while(|name| number_in_frame(name.as_ref(), prefix, suffix)).collect();
        entries.push(format!("{prefix}[{}]{suffix}", ranges(&numbers)));
        rest = &rest[numbers.len()..];
    }
    entries
}

/// The texts before and after the only number in which two names differ.
fn common_frame<'a>(a: &'a str, b: &str) -> Option<(&'a str, &'a str)> {
    let equal = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    // Equal digits before the first difference belong to the number.
    let start = equal - a.as_bytes()[..equal].iter().rev().take_while(|b| is_digit(b)).count();
    let digits = a.as_bytes()[start..].iter().take_while(|b| is_digit(b)).count();
    let (prefix, suffix) = (&a[..start], &a[start + digits..]);
    let both = number_in_frame(a, prefix, suffix).is_some()
        && number_in_frame(b, prefix, suffix).is_some();
    both.then_some((prefix, suffix))
}

fn number_in_frame<'a>(name: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    let number = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    let plain = (1..=MOST_DIGITS).contains(&number.len());
    (plain && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// Numbers, with their leading zeros, as ranges: `00-15,20`.
fn ranges(numbers: &[&str]) -> String {
    let mut parts = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let start: u64 = first.parse().unwrap_or_default();
        let width = first.len();
        let run = (start..)
            .zip(rest)
            .take_while(|(next, text)| format!("{next:0width$}") == **text)
            .count()
            .max(1);
        parts.push(if run > 1 { format!("{first}-{}", rest[run - 1]) } else { first.to_owned() });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn brackets_expand_with_leading_zeros_in_the_order_written() {
        let names = expand("node[08-10,2],login1").unwrap();
        assert_eq!(names, ["node08", "node09", "node10", "node2", "login1"]);
        assert_eq!(expand("r[0-1]n[1-2].x").unwrap(), ["r0n1.x", "r0n2.x", "r1n1.x", "r1n2.x"]);
        assert_eq!(expand("a").unwrap(), ["a"]);
    }

    #[test]
    fn texts_that_are_not_hostlists_are_refused() {
        for text in [
            "",
            "a,",
            "n[0-",
            "n[]",
            "n]0[",
            "n[[0]]",
            "n[3-1]",
            "n[a-b]",
            "n[1-010]",
            "n[010-1]",
            "-x",
            "a b",
            "n[0-99999999999999999999]",
            "$(x)",
        ] {
            assert!(expand(text).is_err(), "{text}");
        }
    }

    #[test]
    fn host_names_need_no_quotes() {
        for name in ["n0", "_n", "r1-n2.cluster.example", "0", "a".repeat(255).as_str()] {
            assert!(is_host_name(name), "{name}");
        }
        for name in ["", "-n", ".n", "n 0", "n$0", "nö", "a".repeat(256).as_str()] {
            assert!(!is_host_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_occur_twice_are_named() {
        let names = |text: &str| distinct(expand(text).unwrap());
        assert_eq!(names("n[0-1],m"), Ok(vec!["n0".to_owned(), "n1".to_owned(), "m".to_owned()]));
        let error = names("n[0-1],n1").unwrap_err().to_string();
        assert_eq!(error, "found the host name `n1` twice, expected every host once");
    }

    #[test]
    fn a_million_names_are_not_made() {
        for text in ["n[0-999999]", "n[0-999999999999999]", "a[0-9999]b[0-9999]c[0-9999]"] {
            let message = expand(text).unwrap_err().to_string();
            assert!(message.contains("at most 100000 host names"), "{message}");
        }
        assert_eq!(expand("n[00001-100000]").unwrap().len(), MOST_NAMES);
    }

    #[test]
    fn neighbours_are_written_together() {
        let list = |text: &str| compress(&expand(text).unwrap());
        for text in [
            "n[0-15]",
            "n[08-10,20]",
            "login1,n[0-3]-ib",
            "r[0-1]n1",
            "a,b,c7",
            "x[0-7]b[0-1]n0",
            "r[1-2]c[1-2]n[08-10]",
        ] {
            assert_eq!(list(text), text);
        }
        assert_eq!(list("n1,n2,n3,m"), "n[1-3],m");
        assert_eq!(compress::<&str>(&[]), "");
    }

    proptest! {
        #[test]
        fn compressed_names_expand_to_themselves(
            names in prop::collection::vec("[a-c]{1,2}[0-9]{0,3}(-[0-2]{1,2}){0,2}", 1..40)
        ) {
            prop_assert_eq!(expand(&compress(&names)).unwrap(), names);
        }
    }
}

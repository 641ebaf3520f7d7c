//! How Intel MPI pins the ranks of a host: `I_MPI_PIN_PROCESSOR_LIST`, `I_MPI_PIN_DOMAIN`. The
//! order of a list has an effect only if it has one entry for each rank.

use crate::ids::{PuId, PuSet, parse_index_list};
use crate::lint::read::cpu_bind;
use crate::lint::{Place, Reading, traps};
use crate::units::counted;

/// The pinning of one host's ranks, and the variables that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pinning {
    /// The PUs, by local rank; `None` if Intel MPI chooses them.
    sets: Option<Vec<PuSet>>,
    off: bool,
    list: Option<String>,
    domain: Option<String>,
}

impl Pinning {
    /// The pinning that the variables set.
    pub(super) fn new<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let text = |name: &str| variable(name).map(str::to_owned);
        let list = text("I_MPI_PIN_PROCESSOR_LIST");
        let domain = text("I_MPI_PIN_DOMAIN");
        let off = variable("I_MPI_PIN").is_some_and(|value| {
            ["0", "no", "off", "disable"].contains(&value.to_ascii_lowercase().as_str())
        });
        let sets = match (&list, &domain) {
            (Some(list), _) => processor_list(list),
            (None, Some(domain)) => domain_masks(domain).and_then(Result::ok),
            (None, None) => None,
        };
        Self { sets, off, list, domain }
    }

    /// Whether any of the variables is set.
    pub(super) fn is_set(&self) -> bool {
        self.off || self.list.is_some() || self.domain.is_some()
    }

    /// Whether pinning is off.
    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    /// Whether one of the two uses masks and the other a list.
    pub(super) fn differs_in_kind(&self, other: &Self) -> bool {
        let kinds = |pinning: &Self| (pinning.list.is_some(), pinning.domain.is_some());
        kinds(self) != kinds(other)
    }

    /// The binding of a local rank on a host with `ranks` ranks.
    pub(super) fn place(&self, local: usize, ranks: usize) -> Place {
        let Some(sets) = &self.sets else { return Place::Unknown };
        let only = self.list.is_some() && sets.iter().all(|set| *set == sets[0]);
        match sets.get(local) {
            Some(set) if sets.len() == ranks => Place::Pus(set.clone()),
            _ if only => Place::Pus(sets[0].clone()),
            _ => Place::Unknown,
        }
    }

    /// Warns of contradictory or invalid variables.
    pub(super) fn warn(&self, line: Option<usize>, reading: &mut Reading) {
        let Some(domain) = &self.domain else { return };
        if self.list.is_some() {
            let text =
                "I_MPI_PIN_DOMAIN is ignored, the list in I_MPI_PIN_PROCESSOR_LIST wins".to_owned();
            reading.warn(&traps::LIST_AND_DOMAIN, line, text);
        } else if let Some(Err(mask)) = domain_masks(domain) {
            let text =
                format!("`{mask}` in I_MPI_PIN_DOMAIN={domain}: Intel MPI pins by its default");
            reading.warn(&traps::MASK_WITHOUT_0X, line, text);
        }
    }

    /// Warns if the number of entries is not the number of ranks on the host.
    pub(super) fn warn_of_count(
        &self,
        host: &str,
        ranks: usize,
        line: Option<usize>,
        reading: &mut Reading,
    ) {
        let Some(sets) = self.sets.as_ref().filter(|sets| sets.len() != ranks) else { return };
        let count = sets.len();
        let what = if self.list.is_some() {
            "Intel MPI only spreads the ranks over these PUs, in an order of its choice"
        } else {
            "Intel MPI pins by its default"
        };
        let text = format!(
            "{host} has {}, but its pinning has entries for {count}: {what}",
            counted(ranks, "rank")
        );
        reading.warn(&traps::PIN_COUNT, line, text);
    }
}

/// One PU per rank; `None` for the name of a rule (`allcores`, `all:map=scatter`).
fn processor_list(text: &str) -> Option<Vec<PuSet>> {
    let pus = parse_index_list(text).ok().filter(|pus| !pus.is_empty())?;
    Some(pus.into_iter().map(|pu| std::iter::once(PuId(pu)).collect()).collect())
}

/// The masks of `[0x3,0xc]`; an error holds the first invalid mask. `None` for the name of a rule
/// (`core`).
fn domain_masks(text: &str) -> Option<Result<Vec<PuSet>, String>> {
    let masks = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mask = |mask: &str| {
        let mask = mask.trim();
        let has_prefix = mask.starts_with("0x") || mask.starts_with("0X");
        let set = cpu_bind::mask(mask).filter(|_| has_prefix);
        set.ok_or_else(|| mask.to_owned())
    };
    Some(masks.split(',').map(mask).collect())
}

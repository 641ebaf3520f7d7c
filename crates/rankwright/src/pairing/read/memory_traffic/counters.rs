//! Which events count memory traffic, by the names that perf and PCP give them.

use super::Bound;
use crate::units::BytesPerSecond;

/// The bytes of a cache line, which one event stands for.
pub(super) const LINE: f64 = 64.0;

/// What an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Reads and writes of memory controllers.
    All,
    /// Reads of memory controllers.
    Reads,
    /// Writes of memory controllers.
    Writes,
    /// Loads of cores that miss the last-level cache.
    LoadMisses,
    /// Stores of cores that miss it.
    StoreMisses,
    /// Accesses of cores that miss it.
    Misses,
}

/// Parts of names in lower case, with `_` for all that is neither letter nor digit: memory controllers of
/// Intel (CAS commands, data of client processors) and AMD (CAS commands of the UMC), then cores.
const NAMES: [(&str, Counted); 21] = [
    ("cas_count_all", Counted::All),
    ("cas_count_read", Counted::Reads),
    ("cas_count_rd", Counted::Reads),
    ("cas_count_write", Counted::Writes),
    ("cas_count_wr", Counted::Writes),
    ("umc_cas_cmd_all", Counted::All),
    ("umc_cas_cmd_rd", Counted::Reads),
    ("umc_cas_cmd_wr", Counted::Writes),
    ("imc_data_total", Counted::All),
    ("imc_data_reads", Counted::Reads),
    ("imc_data_writes", Counted::Writes),
    ("imc_free_running_data_total", Counted::All),
    ("imc_free_running_data_read", Counted::Reads),
    ("imc_free_running_data_write", Counted::Writes),
    ("llc_load_misses", Counted::LoadMisses),
    ("mem_load_retired_l3_miss", Counted::LoadMisses),
    ("mem_load_uops_retired_l3_miss", Counted::LoadMisses),
    ("llc_store_misses", Counted::StoreMisses),
    ("longest_lat_cache_miss", Counted::Misses),
    ("llc_misses", Counted::Misses),
    ("cache_misses", Counted::Misses),
];

/// What an event counts; `None` if that is not memory traffic.
pub(super) fn counted(event: &str) -> Option<Counted> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = event.chars().map(plain).collect();
    // uncore_imc_0/data_reads/ has the number of the controller between the two.
    let name = without_numbers(&name);
    NAMES.iter().find(|(part, _)| name.contains(part)).map(|(_, counted)| *counted)
}

/// The words of a name that are not numbers.
fn without_numbers(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    let words = words.filter(|word| !word.chars().all(|c| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join("_")
}

/// Traffic by what was counted, in bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums([Option<f64>; 6]);

impl Sums {
    pub(super) fn add(&mut self, counted: Counted, rate: f64) {
        *self.0[counted as usize].get_or_insert(0.0) += rate;
    }

    fn of(&self, counted: Counted) -> Option<f64> {
        self.0[counted as usize]
    }

    /// The traffic by the counters that see most of it, and in words which those are; `None` without any.
    pub(super) fn best(&self) -> Option<(BytesPerSecond, Bound, &'static str)> {
        const CONTROLLERS: &str = "memory controllers";
        const CORES: &str = "cache misses of cores";
        let cores = Bound::AtLeast("cores do not count prefetches and write-backs");
        let (rate, bound, source) = if let Some(all) = self.of(Counted::All) {
            (all, Bound::Exact, CONTROLLERS)
        } else if let Some(reads) = self.of(Counted::Reads) {
            match self.of(Counted::Writes) {
                Some(writes) => (reads + writes, Bound::Exact, CONTROLLERS),
                None => (reads, Bound::AtLeast("writes were not counted"), CONTROLLERS),
            }
        } else if let Some(writes) = self.of(Counted::Writes) {
            (writes, Bound::AtLeast("reads were not counted"), CONTROLLERS)
        } else if let Some(loads) = self.of(Counted::LoadMisses) {
            (loads + self.of(Counted::StoreMisses).unwrap_or(0.0), cores, CORES)
        } else {
            (self.of(Counted::Misses).or(self.of(Counted::StoreMisses))?, cores, CORES)
        };
        Some((BytesPerSecond(rate), bound, source))
    }
}

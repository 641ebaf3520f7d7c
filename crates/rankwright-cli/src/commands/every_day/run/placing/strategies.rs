//! The strategies that take little time.

use rankwright::map::{MAPPERS, Strategy};
use rankwright::traffic::Workload;

use crate::output::exit_code::UsageError;

/// The strategies that are tried, the fastest first, and how large a job may be for each: the number
/// of its ranks and of its pairs of ranks that send. Of random graphs, which take longest, a core of
/// 2020 does all that are tried, and what is around them, in less than two seconds
/// (`benchmarks/start`).
const TRIED: [(&str, usize); 8] = [
    ("blocked", usize::MAX),
    ("cyclic", usize::MAX),
    ("treematch", 3_000_000),
    ("mapping-2013", 500_000),
    ("kway", 300_000),
    ("multisection", 100_000),
    ("drb", 70_000),
    ("contention", 2_000),
];

/// Those that are fast enough for a job.
pub(super) fn tried(workload: &Workload) -> anyhow::Result<Vec<Strategy>> {
    let pairs: usize = workload.jobs.iter().map(|job| job.flows.len()).sum();
    let size = workload.rank_count() + pairs;
    let is_in_table = |name: &str| MAPPERS.iter().any(|entry| entry.name == name);
    let tried = TRIED.iter().filter(|(name, largest)| size <= *largest && is_in_table(name));
    tried.map(|(name, _)| fast(name)).collect()
}

/// A strategy with little effort, unless the user says otherwise.
pub(super) fn fast(text: &str) -> anyhow::Result<Strategy> {
    let strategy: Result<Strategy, _> = text.parse();
    let strategy = strategy.and_then(|strategy| strategy.with_default("effort", "fast"));
    strategy.map_err(|error| UsageError(error.to_string()).into())
}

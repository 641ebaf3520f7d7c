//! The fast strategies.

use rankwright::map::{Strategy, tried_at_start};
use rankwright::traffic::Workload;

use crate::output::exit_code::UsageError;

/// The strategies that are fast enough for the start of a job, the fastest first.
pub(super) fn tried(workload: &Workload) -> anyhow::Result<Vec<Strategy>> {
    let pairs: usize = workload.jobs.iter().map(|job| job.flows.len()).sum();
    let size = workload.rank_count() + pairs;
    tried_at_start(size).iter().map(|entry| fast(entry.name)).collect()
}

/// A strategy, with the effort `fast` unless the user gives another.
pub(super) fn fast(text: &str) -> anyhow::Result<Strategy> {
    let strategy: Result<Strategy, _> = text.parse();
    let strategy = strategy.and_then(|strategy| strategy.with_default("effort", "fast"));
    strategy.map_err(|error| UsageError(error.to_string()).into())
}

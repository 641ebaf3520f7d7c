//! The strategies that `run` tries.

use rankwright::map::{Effort, MAPPERS, MapperEntry, Strategy, tried_at_start};
use rankwright::traffic::Workload;

use crate::output::exit_code::UsageError;

/// The strategies to try: with the effort `fast` those that are fast enough for the start of a job, the
/// fastest first, else those that `place` tries.
pub(super) fn tried(workload: &Workload, effort: Effort) -> anyhow::Result<Vec<Strategy>> {
    let pairs: usize = workload.jobs.iter().map(|job| job.flows.len()).sum();
    let entries: Vec<&MapperEntry> = match effort {
        Effort::Fast => tried_at_start(workload.rank_count() + pairs),
        Effort::Normal | Effort::Best => {
            MAPPERS.iter().filter(|entry| entry.role.is_candidate()).collect()
        }
    };
    entries.iter().map(|entry| strategy(entry.name, effort)).collect()
}

/// A strategy, with this effort unless its text has another.
pub(super) fn strategy(text: &str, effort: Effort) -> anyhow::Result<Strategy> {
    let strategy: Result<Strategy, _> = text.parse();
    let strategy = strategy.and_then(|strategy| strategy.with_default("effort", effort.name()));
    strategy.map_err(|error| UsageError(error.to_string()).into())
}

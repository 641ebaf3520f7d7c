//! How much of a limited time a search may take.

use crate::traffic::Workload;
use crate::units::Seconds;

/// The seconds that are left for what follows a search, the answer and the files: some for each command, for
/// each rank and for each job, which has files of its own. Measured with 16 384 ranks and with 1024 jobs.
const AFTERWARDS: [f64; 3] = [0.03, 2e-5, 1.5e-3];

/// When a search must end so that the command ends within `limit`, both from the start of the command. Zero
/// or negative if the limit leaves no time to search.
#[must_use]
pub fn end_of_search(limit: Seconds, workload: &Workload) -> Seconds {
    let [always, per_rank, per_job] = AFTERWARDS;
    let (ranks, jobs) = (workload.rank_count() as f64, workload.jobs.len() as f64);
    Seconds(limit.0 - always - per_rank * ranks - per_job * jobs)
}

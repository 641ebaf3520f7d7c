//! Reads what is known of jobs that may share nodes: a table of slowdowns, run times, a file with facts of
//! each job and with jobs that must not share, and a batch queue. `docs/src/formats.md` has the formats.

mod csv;
mod memory_traffic;
mod queue;
mod rules;

pub use csv::{Table, runtimes, table};
pub use memory_traffic::{
    Bound, CacheUse, EXPECTED_MEMORY_TRAFFIC, MeasuredTraffic, memory_traffic,
};
pub use queue::{COLUMNS, EXPECTED_QUEUE, Queue};
pub use rules::Rules;

use super::{JobFacts, JobSet, Slowdowns};
use crate::files::InputError;

/// What is expected of the files, for error messages.
pub const EXPECTED_TABLE: &str = "a table of slowdowns: background,JOB,JOB,.. and a row per job";
/// Run times.
pub const EXPECTED_RUNTIMES: &str = "run times: job,seconds and a line per job";
/// Facts and rules.
pub const EXPECTED_RULES: &str = "facts of jobs (pairing.toml): [[job]] tables, never = [..]";

/// The jobs with their run times and rules; without a table of what they lose beside each other, the one
/// that follows from half and pressure of each job in the rules.
///
/// # Errors
/// If run times or rules name a job that the table does not have, a run time is missing, or there is
/// neither a table nor a pressure for each job.
pub fn job_set(
    known: Option<(Vec<JobFacts>, Slowdowns)>,
    runtimes: Option<(&str, &str)>,
    rules: Option<&Rules>,
) -> Result<JobSet, InputError> {
    let (mut facts, slowdowns) = match (known, rules) {
        (Some(known), _) => known,
        (None, Some(rules)) => rules.slowdowns()?,
        (None, None) => (Vec::new(), Slowdowns::new(0, Vec::new())),
    };
    let names: Vec<String> = facts.iter().map(|job| job.name.clone()).collect();
    if let Some(rules) = rules {
        rules.apply(&mut facts)?;
    }
    if let Some((text, file)) = runtimes {
        for (job, seconds) in facts.iter_mut().zip(csv::runtimes(text, file, &names)?) {
            job.seconds = Some(seconds);
        }
    }
    let set = JobSet::new(facts, slowdowns);
    Ok(match rules {
        Some(rules) => rules.never(set)?,
        None => set,
    })
}

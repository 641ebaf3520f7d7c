//! The variables that ranks which run already should have. What started them is not known, and not all
//! launchers are told devices in the same way.

use rankwright::placement::{JobEntry, Settings};
use rankwright::rails::fabric::LocalRanks;

use crate::host::processes::{Process, Running};
use crate::launching::prepared::Prepared;

/// What the ranks of a job should have, and what the user should know: as a launcher sets it that
/// counts local ranks right; as one that miscounts them (`mpich:4.0`), where the processes show that
/// theirs did, or have more of what such a launcher sets.
///
/// # Errors
/// If the variables cannot be told to the job's ranks.
pub(super) fn planned(
    prepared: &Prepared,
    job: &JobEntry,
    running: &[Running],
) -> anyhow::Result<(Settings, Vec<String>)> {
    let wrong = prepared.settings(job, LocalRanks::Wrong, false)?;
    if running.iter().any(|task| is_miscounted(job, task)) {
        return Ok(wrong);
    }
    let right = prepared.settings(job, LocalRanks::Right, false)?;
    let have = |(settings, _): &(Settings, _)| -> usize {
        running.iter().map(|task| variables_had(settings, job, task)).sum()
    };
    Ok(if have(&wrong) > have(&right) { wrong } else { right })
}

/// The variables of a plan for a process.
pub(super) fn of_process<'a>(
    settings: &'a Settings,
    job: &JobEntry,
    task: &Running,
) -> &'a [(String, String)] {
    match task.rank.map(|rank| rank as usize) {
        Some(rank) if rank < job.ranks.len() => settings.variables(rank),
        _ => &[],
    }
}

/// How many variables of a plan a process has.
fn variables_had(settings: &Settings, job: &JobEntry, task: &Running) -> usize {
    let has =
        |(name, value): &&(String, String)| task.process.variable(name).as_ref() == Some(value);
    of_process(settings, job, task).iter().filter(has).count()
}

/// Whether Hydra gave a rank another place among the ranks of its host, or another number of these,
/// than the placement has.
fn is_miscounted(job: &JobEntry, Running { process, rank, .. }: &Running) -> bool {
    let Some(entry) = rank.and_then(|rank| job.ranks.get(rank as usize)) else { return false };
    let beside = || job.ranks.iter().filter(|other| other.node == entry.node);
    let place = beside().take_while(|other| other.rank != entry.rank).count();
    let number = |process: &Process, name| process.variable(name)?.parse::<usize>().ok();
    number(process, "MPI_LOCALRANKID").is_some_and(|number| number != place)
        || number(process, "MPI_LOCALNRANKS").is_some_and(|number| number != beside().count())
}

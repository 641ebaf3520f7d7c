//! The variables that running ranks should have. They depend on the launcher, which is not known
//! for running ranks.

use rankwright::placement::{JobEntry, Settings};
use rankwright::rails::fabric::LocalRanks;

use crate::host::processes::{Process, Running};
use crate::launching::prepared::Prepared;

/// The variables of the ranks of a job, and notes for the user. They are those of a launcher that
/// counts local ranks correctly; or of one that miscounts them (`mpich:4.0`), if the processes show
/// that theirs did or have more of the variables that such a launcher sets.
///
/// # Errors
/// If the network stack cannot select the devices of the job's ranks.
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

/// The number of variables of a plan that a process has.
fn variables_had(settings: &Settings, job: &JobEntry, task: &Running) -> usize {
    let has =
        |(name, value): &&(String, String)| task.process.variable(name).as_ref() == Some(value);
    of_process(settings, job, task).iter().filter(has).count()
}

/// Whether Hydra gave a rank another local rank, or another number of ranks on its host, than the
/// placement.
fn is_miscounted(job: &JobEntry, Running { process, rank, .. }: &Running) -> bool {
    let Some(entry) = rank.and_then(|rank| job.ranks.get(rank as usize)) else { return false };
    let beside = || job.ranks.iter().filter(|other| other.node == entry.node);
    let place = beside().take_while(|other| other.rank != entry.rank).count();
    let number = |process: &Process, name| process.variable(name)?.parse::<usize>().ok();
    number(process, "MPI_LOCALRANKID").is_some_and(|number| number != place)
        || number(process, "MPI_LOCALNRANKS").is_some_and(|number| number != beside().count())
}

//! The single run or job that a command works on.

use std::path::Path;

use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::Imported;
use rankwright::traffic::{Job, Workload};

use crate::options::inputs;
use crate::output::exit_code::UsageError;

/// A workload as a profile: recorded, or made from other traffic.
pub(super) fn profile_of(workload: &str) -> anyhow::Result<Profile> {
    chosen_run(inputs::named(workload)?, None, origin(workload))
}

/// The origin of traffic that was not recorded.
pub(super) fn origin(workload: &str) -> &'static str {
    if Path::new(workload).exists() || workload == "-" { "imported" } else { "generated" }
}

/// The imported run, or the job of that name, or the only job.
pub(super) fn chosen_run(
    imported: Imported,
    name: Option<&str>,
    origin: &'static str,
) -> anyhow::Result<Profile> {
    match imported {
        Imported::Traffic(workload) => Ok(Profile::of_job(&chosen_job(workload, name)?, origin)),
        Imported::Run(profile) => match name.filter(|name| *name != profile.run.program) {
            None => Ok(*profile),
            Some(name) => {
                let program = &profile.run.program;
                let text = format!("--job: found `{name}`, expected one of {program}");
                Err(UsageError(text).into())
            }
        },
    }
}

/// The job of that name, or the only job.
pub(super) fn chosen_job(workload: Workload, name: Option<&str>) -> anyhow::Result<Job> {
    let names: Vec<String> = workload.jobs.iter().map(|job| job.name.clone()).collect();
    let mut jobs = workload.jobs.into_iter().filter(|job| name.is_none_or(|n| n == job.name));
    match (jobs.next(), jobs.next()) {
        (Some(job), None) => Ok(job),
        (None, _) => {
            let wanted = name.unwrap_or("no job");
            let text = format!("--job: found `{wanted}`, expected one of {}", names.join(", "));
            Err(UsageError(text).into())
        }
        (Some(_), Some(_)) => {
            let text =
                format!("found {} jobs: choose one with --job: {}", names.len(), names.join(", "));
            Err(UsageError(text).into())
        }
    }
}

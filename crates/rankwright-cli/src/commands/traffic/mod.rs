//! `rankwright traffic`.

mod export;
mod generate;
mod import;
mod show;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rankwright::traffic::expansion::{EXPANSIONS, Expansion};
use rankwright::traffic::import::{FORMATS, csv};
use rankwright::traffic::profile::Profile;
use rankwright::traffic::{Job, Workload, profile_file};

use crate::exit_code::UsageError;
use crate::{inputs, output};

/// Options of `rankwright traffic`.
#[derive(Debug, Args)]
pub(crate) struct Traffic {
    #[command(subcommand)]
    command: TrafficCommand,
}

#[derive(Debug, Subcommand)]
enum TrafficCommand {
    /// Show who sends how much to whom
    Show(show::Show),
    /// Turn traffic of another format into a profile
    Import(import::Import),
    /// Write traffic in another format
    Export(export::Export),
    /// Make traffic of a known shape
    Generate(generate::Generate),
}

impl Traffic {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            TrafficCommand::Show(command) => command.run()?,
            TrafficCommand::Import(command) => command.run()?,
            TrafficCommand::Export(command) => command.run()?,
            TrafficCommand::Generate(command) => command.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The expansion with this name on the command line.
fn parse_expansion(name: &str) -> Result<Expansion, String> {
    let known = || EXPANSIONS.map(|(name, _)| name).join(", ");
    let found = EXPANSIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, expansion)| *expansion).ok_or_else(|| format!("expected one of {}", known()))
}

/// What a name stands for as a profile: recorded, or made from traffic of another origin.
fn profile_of(workload: &str) -> anyhow::Result<Profile> {
    if !workload.starts_with("pattern:") && inputs::is_profile(Path::new(workload))? {
        return inputs::profile(Path::new(workload));
    }
    let origin = if workload.starts_with("pattern:") { "generated" } else { "imported" };
    Ok(Profile::of_job(&chosen_job(inputs::workload(workload)?, None)?, origin))
}

/// The job of that name, or the only one.
fn chosen_job(workload: Workload, name: Option<&str>) -> anyhow::Result<Job> {
    let names: Vec<String> = workload.jobs.iter().map(|job| job.name.clone()).collect();
    let mut jobs = workload.jobs.into_iter().filter(|job| name.is_none_or(|n| n == job.name));
    match (jobs.next(), jobs.next()) {
        (Some(job), None) => Ok(job),
        (None, _) => {
            let found = name.unwrap_or("no job");
            let text = format!("--job: found `{found}`, expected one of {}", names.join(", "));
            Err(UsageError(text).into())
        }
        (Some(_), Some(_)) => {
            let text =
                format!("found {} jobs: choose one with --job: {}", names.len(), names.join(", "));
            Err(UsageError(text).into())
        }
    }
}

/// Writes a job: as a profile if the file is named `.rwp`, else as an edge list.
fn write_job(job: Job, origin: &str, file: Option<&Path>) -> anyhow::Result<()> {
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) if path.extension().is_some_and(|extension| extension == "rwp") => {
            Ok(profile_file::write(&Profile::of_job(&job, origin), path)?)
        }
        file => {
            let text = csv::write(&Workload::single(job))?;
            match file {
                Some(path) => Ok(rankwright::files::write_atomically(path, text.as_bytes())?),
                None => output::print(&text),
            }
        }
    }
}

/// The names of the text formats, for `--help` and errors.
fn format_names() -> String {
    FORMATS.map(|format| format.name).join(", ")
}

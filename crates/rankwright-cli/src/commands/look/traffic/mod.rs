//! `rankwright traffic`.

mod export;
mod generate;
mod import;
mod list;
mod merge;
mod messages;
mod redact;
mod show;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rankwright::traffic::expansion::{EXPANSIONS, Expansion};
use rankwright::traffic::profile::Profile;
use rankwright::traffic::read::import::{FORMATS, Imported, csv};
use rankwright::traffic::read::profile_file;
use rankwright::traffic::{Job, Workload};

use crate::options::inputs;
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

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
    /// List the messages of one rank in the order in which it sent them
    Messages(messages::Messages),
    /// Turn traffic of another format into a profile
    Import(import::Import),
    /// Write traffic in another format
    Export(export::Export),
    /// List the workloads that are known by name
    List(list::List),
    /// Make traffic of a known shape
    Generate(generate::Generate),
    /// Add up several runs of one program
    Merge(merge::Merge),
    /// Replace the names of hosts, program and communicators by neutral ones
    Redact(redact::Redact),
}

impl Traffic {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.command {
            TrafficCommand::Show(command) => command.run()?,
            TrafficCommand::Messages(command) => command.run()?,
            TrafficCommand::Import(command) => command.run()?,
            TrafficCommand::Export(command) => command.run(verbosity)?,
            TrafficCommand::List(command) => command.run()?,
            TrafficCommand::Generate(command) => command.run()?,
            TrafficCommand::Merge(command) => command.run()?,
            TrafficCommand::Redact(command) => command.run()?,
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
    chosen_run(inputs::named(workload)?, None, origin(workload))
}

/// How the traffic of a workload came to be known, if it was not recorded.
fn origin(workload: &str) -> &'static str {
    if Path::new(workload).exists() || workload == "-" { "imported" } else { "generated" }
}

/// The run that was imported, or the job of that name, or the only one.
fn chosen_run(
    imported: Imported,
    name: Option<&str>,
    origin: &'static str,
) -> anyhow::Result<Profile> {
    match imported {
        Imported::Traffic(workload) => Ok(Profile::of_job(&chosen_job(workload, name)?, origin)),
        Imported::Run(profile) => match name.filter(|name| *name != profile.run.program) {
            None => Ok(profile),
            Some(name) => {
                let program = &profile.run.program;
                let text = format!("--job: found `{name}`, expected one of {program}");
                Err(UsageError(text).into())
            }
        },
    }
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

/// An output that is one of the inputs is a slip of the hand more often than a wish.
fn refuse_input_as_output(output: &Path, inputs: &[String]) -> Result<(), UsageError> {
    let real = |path: &Path| path.canonicalize().ok();
    let same =
        |input: &&String| real(output).is_some_and(|path| real(Path::new(input)) == Some(path));
    match inputs.iter().find(same) {
        None => Ok(()),
        Some(input) => {
            Err(UsageError(format!("-o: found the input {input}, expected another file")))
        }
    }
}

/// Writes a profile: whole if the file is named `.rwp`, else its point-to-point traffic as an edge
/// list.
fn write_profile(profile: &Profile, file: Option<&Path>) -> anyhow::Result<()> {
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) if path.extension().is_some_and(|extension| extension == "rwp") => {
            Ok(profile_file::write(profile, path)?)
        }
        file => {
            let text = csv::write(&Workload::single(profile.job(Expansion::None)?))?;
            match file {
                Some(path) => Ok(rankwright::files::write_atomically(path, text.as_bytes())?),
                None => output::print(&text),
            }
        }
    }
}

/// The names of the formats, for `--help` and errors.
fn format_names() -> String {
    FORMATS.map(|format| format.name).join(", ")
}

//! `rankwright launch`: the files and the command line for a launcher.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValue;
use rankwright::files::write_atomically;
use rankwright::launch::{self, LAUNCHERS, Launcher, Task, shell};
use rankwright::placement::JobEntry;
use serde::Serialize;

use crate::cli::Verbosity;
use crate::launching::{LaunchOptions, make_executable, write_files};
use crate::output::{self, Format, note};

/// Options of `rankwright launch`.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the command line that starts the job; launch.sh in the folder has it too."
)]
pub(crate) struct Launch {
    #[command(flatten)]
    options: LaunchOptions,
    /// The launcher
    #[arg(long = "for", value_name = "LAUNCHER", value_parser = LauncherName)]
    launcher: &'static Launcher,
    /// Write the files to this folder; with several jobs, to a folder per job in it
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// How to print what is launched: the command lines only, or all about it as json
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// One job in the JSON result.
#[derive(Serialize)]
struct JobResult<'a> {
    job: &'a str,
    binding: &'static str,
    reason: String,
    files: Vec<PathBuf>,
    environment: std::collections::BTreeMap<&'static str, String>,
    command: Vec<String>,
    notes: Vec<String>,
}

impl Launch {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let prepared = self.options.prepare()?;
        let jobs = prepared.jobs()?;
        let output = std::path::absolute(&self.output).context("--output")?;
        let mut launches = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            let folder = if jobs.len() == 1 {
                output.clone()
            } else {
                output.join(folder_name(&jobs, index))
            };
            let task = Task::Program(&self.program);
            let launch = prepared.launch(self.launcher, None, job, &folder, task)?;
            launches.push((*job, folder, launch));
        }
        let mut results = Vec::new();
        for (job, folder, launch) in launches {
            let files = write(&folder, &launch)?;
            note(verbosity, format_args!("wrote {} files to {}", files.len(), folder.display()));
            note(verbosity, &launch.binding);
            launch.notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
            results.push(JobResult {
                job: &job.name,
                binding: if launch.by_exec { "exec" } else { "native" },
                reason: launch.binding,
                files,
                environment: launch.environment.into_iter().collect(),
                command: launch.command,
                notes: launch.notes,
            });
        }
        output::print(&self.render(&results)?)?;
        Ok(ExitCode::SUCCESS)
    }

    fn render(&self, results: &[JobResult<'_>]) -> anyhow::Result<String> {
        let line = |result: &JobResult<'_>| {
            let set = |(name, value): (&&str, &String)| format!("{name}={} ", shell::quote(value));
            let variables: String = result.environment.iter().map(set).collect();
            variables + &shell::join(&result.command)
        };
        Ok(match self.format {
            Format::Table => results.iter().map(|result| line(result) + "\n").collect(),
            Format::Json => {
                let json = serde_json::json!({"launcher": self.launcher.name, "jobs": results});
                serde_json::to_string_pretty(&json)? + "\n"
            }
            Format::Csv => {
                let row = |r: &JobResult<'_>| vec![r.job.to_owned(), r.binding.to_owned(), line(r)];
                let rows: Vec<Vec<String>> = results.iter().map(row).collect();
                output::csv(&["job", "binding", "command"], &rows)
            }
        })
    }
}

/// Writes the files and the script; the paths of all.
fn write(folder: &Path, launch: &launch::Launch) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot be made", folder.display()))?;
    write_files(launch, folder)?;
    let script = folder.join("launch.sh");
    write_atomically(&script, launch.script().as_bytes())?;
    make_executable(&script)?;
    Ok(launch.files.iter().map(|file| folder.join(file.name)).chain([script]).collect())
}

/// A folder for a job: its name where that is a safe and unique file name, else its number.
fn folder_name(jobs: &[&JobEntry], index: usize) -> String {
    let name = &jobs[index].name;
    let safe = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+=,@".contains(&byte))
        && !name.starts_with('.')
        && (1..=200).contains(&name.len());
    let unique = jobs.iter().filter(|job| job.name == *name).count() == 1;
    if safe && unique { name.clone() } else { format!("job-{index}") }
}

/// Reads the name of a launcher; the table of the library has the names.
#[derive(Debug, Clone)]
struct LauncherName;

impl clap::builder::TypedValueParser for LauncherName {
    type Value = &'static Launcher;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let names: Vec<&str> = LAUNCHERS.iter().map(|launcher| launcher.name).collect();
        let parser = clap::builder::PossibleValuesParser::new(names);
        let name = parser.parse_ref(command, argument, value)?;
        launch::find(&name).ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value =
            |launcher: &'static Launcher| PossibleValue::new(launcher.name).help(launcher.summary);
        Some(Box::new(LAUNCHERS.iter().map(value)))
    }
}

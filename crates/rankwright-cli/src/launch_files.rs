//! The files of a launch in a folder of the user's: what `launch` and `place` write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::builder::PossibleValue;
use rankwright::files::write_atomically;
use rankwright::launch::{self, LAUNCHERS, Launcher, Task, shell};
use rankwright::placement::JobEntry;
use serde::Serialize;

use crate::launching::{Prepared, make_executable, write_files};

/// A job whose launch files are written.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenLaunch {
    pub(crate) job: String,
    /// `native` or `exec`.
    pub(crate) binding: &'static str,
    /// Who binds and why.
    pub(crate) reason: String,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    environment: BTreeMap<&'static str, String>,
    command: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl WrittenLaunch {
    /// The command line that starts the job, for a shell.
    pub(crate) fn command_line(&self) -> String {
        let set = |(name, value): (&&str, &String)| format!("{name}={} ", shell::quote(value));
        let variables: String = self.environment.iter().map(set).collect();
        variables + &shell::join(&self.command)
    }
}

/// A job whose launch files can be written.
pub(crate) struct PlannedLaunch<'a> {
    job: &'a JobEntry,
    folder: PathBuf,
    launch: launch::Launch,
}

/// Makes the launch files of the chosen jobs for a folder; with several jobs, for a folder per job
/// in it. `program` says what each job runs, with its arguments. Writes nothing yet.
///
/// # Errors
/// If one of the jobs cannot be launched so.
pub(crate) fn plan<'a>(
    prepared: &'a Prepared,
    launcher: &Launcher,
    folder: &Path,
    program: &dyn Fn(&JobEntry) -> Vec<String>,
) -> anyhow::Result<Vec<PlannedLaunch<'a>>> {
    let jobs = prepared.jobs()?;
    let output = std::path::absolute(folder).context("folder of the launch files")?;
    let mut launches = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let folder =
            if jobs.len() == 1 { output.clone() } else { output.join(folder_name(&jobs, index)) };
        let task = Task::Program(&program(job));
        let launch = prepared.launch(launcher, None, job, &folder, task)?;
        launches.push(PlannedLaunch { job, folder, launch });
    }
    Ok(launches)
}

/// Writes what was planned.
pub(crate) fn write(launches: Vec<PlannedLaunch<'_>>) -> anyhow::Result<Vec<WrittenLaunch>> {
    let written = launches.into_iter().map(|PlannedLaunch { job, folder, launch }| {
        Ok(WrittenLaunch {
            job: job.name.clone(),
            binding: if launch.by_exec { "exec" } else { "native" },
            files: write_folder(&folder, &launch)?,
            folder,
            reason: launch.binding,
            environment: launch.environment.into_iter().collect(),
            command: launch.command,
            notes: launch.notes,
        })
    });
    written.collect()
}

/// Writes the files and the script; the paths of all.
fn write_folder(folder: &Path, launch: &launch::Launch) -> anyhow::Result<Vec<PathBuf>> {
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
pub(crate) struct LauncherName;

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

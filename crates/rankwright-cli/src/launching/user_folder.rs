//! Launch files in a folder of the user's, as `launch` and `place` write them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rankwright::cluster::hostlist;
use rankwright::files::write_together;
use rankwright::launch::{self, Launch, Launcher, ProgramLine, Task, shell};
use rankwright::placement::JobEntry;
use serde::Serialize;

use crate::host::mpi::launcher::name_here;
use crate::launching::files::make_executable;
use crate::launching::prepared::{Prepared, StartedBy};
use crate::options::programs;

/// A job whose launch files are written.
#[derive(Debug, Serialize)]
pub(crate) struct WrittenLaunch {
    pub(crate) job: String,
    /// `native` or `exec`.
    pub(crate) binding: &'static str,
    /// What binds, and why.
    pub(crate) reason: String,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    pub(crate) files: Vec<PathBuf>,
    environment: BTreeMap<String, String>,
    command: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Files of an earlier launch in the same folder, which were removed.
    pub(crate) removed: Vec<PathBuf>,
}

impl WrittenLaunch {
    /// The command line that starts the job, for a shell.
    pub(crate) fn command_line(&self) -> String {
        self.command_line_behind("")
    }

    /// The command line with `entry` before it, the `lab exec` command of the lab; empty outside a lab.
    pub(crate) fn command_line_behind(&self, entry: &str) -> String {
        command_line(entry, self.environment.iter(), &self.command)
    }

    /// The line that submits the script to Slurm, for these hosts.
    pub(crate) fn submission(&self, hosts: &[&str]) -> String {
        let script = self.files.last().map(|script| script.display().to_string());
        format!(
            "sbatch --exclusive --nodelist={} {}",
            shell::quote(&hostlist::compress(hosts)),
            shell::quote(&script.unwrap_or_default())
        )
    }
}

/// A command line for a shell, after `entry`, the `lab exec` command of a lab or nothing.
pub(super) fn command_line<'a>(
    entry: &str,
    environment: impl Iterator<Item = (&'a String, &'a String)>,
    command: &[String],
) -> String {
    let set = |(name, value): (&String, &String)| format!("{name}={} ", shell::quote(value));
    let mut variables: String = environment.map(set).collect();
    if !entry.is_empty() && !variables.is_empty() {
        // Only a shell takes variables before a command.
        variables.insert_str(0, "env ");
    }
    format!("{entry}{variables}{}", shell::join(command))
}

/// What a job runs: the user's line, else a program with the name of the job. A second job of the same
/// program has a number behind its name.
pub(crate) fn program_of(
    job: &JobEntry,
    all: &[JobEntry],
    line: Option<&ProgramLine>,
) -> anyhow::Result<ProgramLine> {
    if let Some(line) = line {
        return Ok(line.clone());
    }
    let of_other = job.name.rsplit_once('-').filter(|(name, number)| {
        number.parse::<u64>().is_ok() && all.iter().any(|other| other.name == *name)
    });
    let name = of_other.map_or(job.name.as_str(), |(name, _)| name);
    Ok(programs(&[format!("./{name}")])?)
}

/// A job whose launch files can be written.
pub(crate) struct PlannedLaunch<'a> {
    pub(super) job: &'a JobEntry,
    pub(super) folder: PathBuf,
    pub(super) launch: launch::Launch,
}

/// Makes the launch files of the chosen jobs for a folder; with several jobs, for a folder per job
/// in it. `programs` says what each job runs. Writes nothing yet.
///
/// # Errors
/// If one of the jobs cannot be launched as requested.
pub(crate) fn plan<'a>(
    prepared: &'a Prepared,
    launcher: &Launcher,
    folder: &Path,
    programs: &dyn Fn(&JobEntry) -> anyhow::Result<ProgramLine>,
) -> anyhow::Result<Vec<PlannedLaunch<'a>>> {
    let output = std::path::absolute(folder).context("folder of the launch files")?;
    plan_in(prepared, launcher, &output, programs)
}

/// As [`plan`], for a folder that is written as given.
pub(super) fn plan_in<'a>(
    prepared: &'a Prepared,
    launcher: &Launcher,
    output: &Path,
    programs: &dyn Fn(&JobEntry) -> anyhow::Result<ProgramLine>,
) -> anyhow::Result<Vec<PlannedLaunch<'a>>> {
    let jobs = prepared.jobs()?;
    let name = name_here(launcher);
    let mut launches = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let folder = match jobs.len() {
            1 => output.to_owned(),
            _ => output.join(folder_name(&jobs, index)),
        };
        let line = programs(job)?;
        let task = Task::Programs(&line);
        let launch = prepared.launch(launcher, StartedBy::User(&name), job, &folder, task)?;
        launches.push(PlannedLaunch { job, folder, launch });
    }
    Ok(launches)
}

/// Writes the files; if that fails, removes those already written. Files of an earlier launch in the
/// same folder that this one does not have are removed.
pub(crate) fn write(launches: Vec<PlannedLaunch<'_>>) -> anyhow::Result<Vec<WrittenLaunch>> {
    let mut new: Vec<&Path> = launches
        .iter()
        .flat_map(|planned| planned.folder.ancestors().take_while(|folder| !folder.exists()))
        .collect();
    new.sort_by_key(|folder| Reverse(folder.components().count()));
    let stale: Vec<Vec<PathBuf>> = launches.iter().map(stale_files).collect();
    if let Err(error) = write_folders(&launches) {
        for folder in new {
            // A folder that is not empty has other files and is kept.
            let _ = std::fs::remove_dir(folder);
        }
        return Err(error);
    }
    let written = launches.into_iter().zip(stale).map(|(planned, stale)| {
        let PlannedLaunch { job, folder, launch } = planned;
        WrittenLaunch {
            job: job.name.clone(),
            binding: if launch.by_exec { "exec" } else { "native" },
            files: files_of(&folder, &launch).collect(),
            folder,
            reason: launch.binding,
            environment: launch.environment.into_iter().collect(),
            command: launch.command,
            notes: launch.notes,
            removed: stale.into_iter().filter(|file| std::fs::remove_file(file).is_ok()).collect(),
        }
    });
    Ok(written.collect())
}

/// The files of an earlier launch in the folder, by its script, that this one does not have.
fn stale_files(planned: &PlannedLaunch<'_>) -> Vec<PathBuf> {
    let PlannedLaunch { folder, launch, .. } = planned;
    let script = std::fs::read_to_string(folder.join(SCRIPT)).unwrap_or_default();
    let is_new = |name: &&str| launch.files.iter().any(|file| file.name == *name);
    let names = Launch::files_of_script(&script).into_iter().filter(|name| !is_new(name));
    names.filter(|name| *name != SCRIPT).map(|name| folder.join(name)).collect()
}

/// The script that starts a job, beside its other files.
const SCRIPT: &str = "launch.sh";

/// The paths of a launch's files, the script last.
fn files_of<'a>(folder: &'a Path, launch: &'a Launch) -> impl Iterator<Item = PathBuf> + use<'a> {
    launch.files.iter().map(|file| file.name).chain([SCRIPT]).map(|name| folder.join(name))
}

/// Writes the files and the scripts of all launches, or none of them.
fn write_folders(launches: &[PlannedLaunch<'_>]) -> anyhow::Result<()> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    let mut executable = Vec::new();
    for PlannedLaunch { folder, launch, .. } in launches {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be created", folder.display()))?;
        let contents = launch.files.iter().map(|file| file.contents.clone());
        files.extend(files_of(folder, launch).zip(contents.chain([launch.script()])));
        let programs = launch.files.iter().filter(|file| file.executable).map(|file| file.name);
        executable.extend(programs.chain([SCRIPT]).map(|name| folder.join(name)));
    }
    write_together(files.iter().map(|(path, text)| (path.as_path(), text.as_bytes())))?;
    executable.iter().try_for_each(|path| make_executable(path))
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

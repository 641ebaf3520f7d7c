//! `rankwright run`: starts a program as placed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use rankwright::launch::{Launch, ProgramLine, Task};
use rankwright::units::Seconds;
use tempfile::TempDir;

use crate::child;
use crate::cli::Verbosity;
use crate::exit_code::NotStarted;
use crate::launching::{LaunchOptions, Prepared, programs, write_files};
use crate::mpi::find_program;
use crate::mpi_launcher::{self, Family, MpiLauncher};
use crate::output::{self, note, warn};

/// Options of `rankwright run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Returns the program's exit code; 124 after --timeout; 125, 126, 127 if the \
                        program was not started."
)]
pub(crate) struct Run {
    #[command(flatten)]
    options: LaunchOptions,
    /// The launcher
    #[arg(long = "for", value_enum, default_value_t, value_name = "LAUNCHER")]
    launcher: Family,
    /// End the job after this time
    #[arg(long, value_name = "TIME")]
    timeout: Option<Seconds>,
    /// Print the files and the command line, start nothing
    #[arg(long)]
    dry_run: bool,
    /// The program and its arguments, or several: -n 2 ./a x : -n 6 ./b y
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Run {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        Ok(self.start(verbosity).map_err(NotStarted::by_us_unless_known)?)
    }

    fn start(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let prepared = self.options.prepare()?;
        let job = prepared.one_job()?;
        let installed = mpi_launcher::find_for(self.launcher, prepared.one_job()?)?;
        let line = programs(&self.program)?;
        let task = Task::Programs(&line);
        if self.dry_run {
            let folder = Path::new("FOLDER");
            let MpiLauncher { program, launcher } = &installed;
            let launch = prepared.launch(launcher, Some(program), job, folder, task)?;
            output::print(&describe(&launch))?;
            return Ok(ExitCode::SUCCESS);
        }
        let started = Started::new(&prepared, &installed, task, verbosity, |_| ())?;
        started.wait(&line, self.timeout, verbosity)
    }
}

/// A launcher that runs, with the folder of its files.
pub(crate) struct Started {
    pub(crate) child: std::process::Child,
    pub(crate) launch: Launch,
    /// Removed when the launcher has ended.
    _folder: TempDir,
}

impl Started {
    /// Writes the launch files and starts the launcher; `adapt` changes how it is started.
    pub(crate) fn new(
        prepared: &Prepared,
        installed: &MpiLauncher,
        task: Task<'_>,
        verbosity: &Verbosity,
        adapt: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let job = prepared.one_job()?;
        refuse_root(prepared, installed)?;
        let folder = launch_folder(verbosity)?;
        let MpiLauncher { program, launcher } = installed;
        let launch = prepared.launch(launcher, Some(program), job, folder.path(), task)?;
        write_files(&launch, folder.path())?;
        if verbosity.verbose {
            note(verbosity, &launch.binding);
            launch.notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
            note(verbosity, &launch);
        }
        let mut command = Command::new(&launch.command[0]);
        command.args(&launch.command[1..]);
        command.envs(launch.environment.iter().map(|(name, value)| (*name, value)));
        adapt(&mut command);
        let child = child::start(&mut command).map_err(|error| {
            let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            NotStarted { code, why: format!("{}: {error}", program.display()) }
        })?;
        Ok(Self { child, launch, _folder: folder })
    }

    fn wait(
        mut self,
        programs: &ProgramLine,
        timeout: Option<Seconds>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let deadline = timeout.map(|limit| Instant::now() + duration(limit));
        if let Some(status) = child::wait(&mut self.child, deadline)? {
            let code = child::code(status);
            // The shim's code for it arrives as it is.
            let by_launcher = !status.success() && !self.launch.by_exec;
            let not_started =
                by_launcher.then(|| programs.names().find_map(why_not_started)).flatten();
            return Ok(ExitCode::from(not_started.unwrap_or(code)));
        }
        child::end(&mut self.child)?;
        if let Some(limit) = timeout {
            warn(verbosity, format_args!("ended after {limit}, as --timeout says"));
        }
        Ok(ExitCode::from(child::TIMED_OUT))
    }
}

/// The code for a program that this host does not have or cannot run: launchers end with codes of
/// their own then.
fn why_not_started(program: &str) -> Option<u8> {
    let file = if program.contains('/') {
        Some(PathBuf::from(program))
    } else {
        find_program(Path::new(program))
    };
    let metadata = file.and_then(|file| std::fs::metadata(file).ok());
    match metadata {
        None => Some(127),
        Some(metadata) if metadata.is_dir() || metadata.permissions().mode() & 0o111 == 0 => {
            Some(126)
        }
        Some(_) => None,
    }
}

/// A time limit; a hundred years where that is longer.
pub(crate) fn duration(limit: Seconds) -> Duration {
    Duration::from_secs_f64(limit.0.min(3.2e9))
}

/// A folder for the launch files that the other hosts can read too: in the working directory, which
/// is shared where jobs of several hosts run.
fn launch_folder(verbosity: &Verbosity) -> anyhow::Result<TempDir> {
    let here: PathBuf = std::env::current_dir().context("working directory")?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rankwright-run-").permissions(readable_by_all());
    builder.tempdir_in(&here).or_else(|error| {
        let folder = builder.tempdir().context("folder for the launch files")?;
        warn(
            verbosity,
            format_args!(
                "{}: {error}; the launch files are in {}, which other hosts may not see",
                here.display(),
                folder.path().display()
            ),
        );
        Ok(folder)
    })
}

fn readable_by_all() -> std::fs::Permissions {
    std::fs::Permissions::from_mode(0o755)
}

/// Open MPI refuses to start as root unless two variables say so twice. Setting them is the user's
/// decision, not ours.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
fn refuse_root(prepared: &Prepared, installed: &MpiLauncher) -> Result<(), NotStarted> {
    const CONSENT: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    // SAFETY: no arguments, no memory, cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let consents = CONSENT.iter().all(|name| std::env::var_os(name).is_some_and(|v| v == "1"))
        || prepared.launcher_arguments.iter().any(|argument| argument == "--allow-run-as-root");
    if !root || consents || installed.launcher.name != "openmpi4" {
        return Ok(());
    }
    let why = format!(
        "Open MPI does not start as root; better use another user, or set {}=1 and {}=1",
        CONSENT[0], CONSENT[1]
    );
    Err(NotStarted { code: 125, why })
}

/// The files and the command line for people.
fn describe(launch: &Launch) -> String {
    let mut text = format!("# {}\n", launch.binding);
    for note in &launch.notes {
        text += &format!("# note: {note}\n");
    }
    for file in &launch.files {
        let lines = file.contents.lines().map(|line| line.trim_end().to_owned() + "\n");
        text += &format!("# FOLDER/{}\n{}\n", file.name, lines.collect::<String>());
    }
    text + &format!("# command line\n{launch}\n")
}

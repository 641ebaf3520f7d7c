//! A launch with its files written, and the running launcher.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::Context;
use rankwright::launch::{Launch, ProgramLine, Software, Task};
use rankwright::units::Seconds;
use tempfile::TempDir;

use crate::host::mpi::launcher::MpiLauncher;
use crate::host::{child, find_program, this_host};
use crate::launching::files::write_files;
use crate::launching::lab;
use crate::launching::prepared::{Prepared, StartedBy};
use crate::output::exit_code::NotStarted;
use crate::output::{Verbosity, note, sources, warn};

/// A launch that can be started, once or several times.
pub(crate) struct Ready {
    pub(crate) launch: Launch,
    /// Variables of our environment that the launcher does not get.
    withheld: BTreeSet<String>,
    /// The folder of its files; removed with this value.
    folder: Option<TempDir>,
}

impl Ready {
    /// Writes the launch files of the only job, or of the one that the user chose.
    pub(crate) fn new(
        prepared: &Prepared,
        installed: &MpiLauncher,
        task: Task<'_>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Self> {
        let job = prepared.one_job()?;
        refuse_root(&prepared.launcher_arguments, installed)?;
        prepared.warn_of_other_gpus(verbosity)?;
        let MpiLauncher { program, launcher } = installed;
        lab::warn_of_spinning(launcher, job.ranks.len(), verbosity);
        let withheld = prepared.replaced_defaults(launcher, job)?;
        let launch_in = |folder: &TempDir| {
            prepared.launch(launcher, StartedBy::Us(program), job, folder.path(), task)
        };
        // All hosts can read the working directory, which jobs on several hosts usually share.
        let here: PathBuf = std::env::current_dir().context("working directory")?;
        let why_not_here = match launch_folder().tempdir_in(&here) {
            Ok(folder) => {
                let launch = launch_in(&folder)?;
                match write_files(&launch, folder.path()) {
                    Ok(()) => return Ok(Self { launch, withheld, folder: Some(folder) }),
                    Err(error) => format!("{error:#}"),
                }
            }
            Err(error) => format!("{}: {error}", here.display()),
        };
        let folder = launch_folder().tempdir().context("folder for the launch files")?;
        warn(
            verbosity,
            format_args!(
                "{why_not_here}; the launch files are in {} instead, which other hosts may not see",
                folder.path().display()
            ),
        );
        let launch = launch_in(&folder)?;
        write_files(&launch, folder.path())?;
        Ok(Self { launch, withheld, folder: Some(folder) })
    }

    /// A launch without files.
    pub(crate) fn bare(launch: Launch) -> Self {
        Self { launch, withheld: BTreeSet::new(), folder: None }
    }

    /// Notes what binds and, if verbose, the command line.
    pub(crate) fn explain(&self, verbosity: &Verbosity) {
        if verbosity.verbose {
            note(verbosity, &self.launch.binding);
            let notes = &self.launch.notes;
            notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
            note(verbosity, &self.launch);
            sources::tell(verbosity);
        }
    }

    /// Starts the launcher; `adapt` changes how.
    pub(crate) fn spawn(&self, adapt: impl FnOnce(&mut Command)) -> Result<Child, NotStarted> {
        let mut command = Command::new(&self.launch.command[0]);
        command.args(&self.launch.command[1..]);
        self.withheld.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(self.launch.environment.iter().map(|(name, value)| (name, value)));
        if self.folder.is_some() {
            // Under LSF, Open MPI takes the order of the ranks from it, whatever its options are.
            command.env_remove("LSB_AFFINITY_HOSTFILE");
        }
        adapt(&mut command);
        child::start(&mut command).map_err(|error| {
            let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            NotStarted { code, why: format!("{}: {error}", self.launch.command[0]) }
        })
    }

    /// Starts the launcher and waits for it; the exit code to pass on.
    pub(crate) fn run(
        &self,
        programs: &ProgramLine,
        timeout: Option<Seconds>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<u8> {
        let mut child = self.spawn(|_| ())?;
        self.wait(&mut child, programs, timeout, verbosity)
    }

    /// Waits for the launcher; the exit code to pass on.
    pub(crate) fn wait(
        &self,
        child: &mut Child,
        programs: &ProgramLine,
        timeout: Option<Seconds>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<u8> {
        let deadline = timeout.map(|limit| Instant::now() + duration(limit));
        if let Some(status) = child::wait(child, deadline)? {
            let code = child::code(status);
            // The launcher passes the shim's exit code on.
            let by_launcher = !status.success() && !self.launch.by_exec;
            let not_started =
                by_launcher.then(|| programs.names().find_map(why_not_started)).flatten();
            return Ok(not_started.unwrap_or(code));
        }
        child::end(child)?;
        if let Some(limit) = timeout {
            warn(verbosity, format_args!("ended after {limit} (--timeout)"));
        }
        Ok(child::TIMED_OUT)
    }
}

/// A running launcher with the folder of its files.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) ready: Ready,
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
        let ready = Ready::new(prepared, installed, task, verbosity)?;
        ready.explain(verbosity);
        Ok(Self { child: ready.spawn(adapt)?, ready })
    }
}

/// The exit code for a program that this host does not have or cannot run; launchers return
/// different codes then.
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

/// A new folder for files that all hosts of a job read or write: in the working directory, which jobs on
/// several hosts usually share. It is removed with the value.
pub(crate) fn shared_folder() -> anyhow::Result<TempDir> {
    let here = std::env::current_dir().context("working directory")?;
    launch_folder().tempdir_in(&here).with_context(|| {
        format!("{}: run this in a folder that all nodes share, and you may write", here.display())
    })
}

/// A new folder for launch files. Its name has no hyphen: Open MPI 5.0.7 takes no rankfile from such a path.
fn launch_folder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".rankwright_run_").permissions(readable_by_all());
    builder
}

fn readable_by_all() -> std::fs::Permissions {
    std::fs::Permissions::from_mode(0o755)
}

/// Open MPI refuses to start as root unless two variables are set, which is left to the user.
pub(crate) fn refuse_root(
    launcher_arguments: &[String],
    installed: &MpiLauncher,
) -> Result<(), NotStarted> {
    const CONSENT: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    let consents = CONSENT.iter().all(|name| std::env::var_os(name).is_some_and(|v| v == "1"))
        || launcher_arguments.iter().any(|argument| argument == "--allow-run-as-root");
    if !this_host::is_root()
        || consents
        || !matches!(installed.launcher.software, Software::OpenMpi(_))
    {
        return Ok(());
    }
    let why = format!(
        "Open MPI refuses to start as root; use another user, or set {}=1 and {}=1",
        CONSENT[0], CONSENT[1]
    );
    Err(NotStarted { code: 125, why })
}

//! What `launch`, `run` and `check` have in common: their options, and how these become a request
//! to the library.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankwright::files::write_atomically;
use rankwright::launch::openmp::{self, ThreadsPerCore};
use rankwright::launch::{
    self, Binding, Launch, LaunchError, Launcher, ProgramLine, Request, Task, shell,
};
use rankwright::placement::{JobEntry, MemoryPolicy, PlacementFile, Settings};
use rankwright::rails::fabric::LocalRanks;
use rankwright_shim_format::SHIM;

use crate::exit_code::{Infeasible, NotStarted, UsageError};
use crate::inputs::read_text_or_stdin;
use crate::mpi::Abi;
use crate::mpi_launcher;
use crate::network::FabricOptions;

/// The variable that names the program which the launcher calls instead of ssh.
const AGENT: &str = "RANKWRIGHT_AGENT";

/// What every launch file that is written needs to know, wherever its placement comes from.
#[derive(Debug, Default, Args)]
pub(crate) struct TargetOptions {
    /// Who binds the ranks on their hosts
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    binding: BindingOption,
    /// The program that the launcher calls instead of ssh
    #[arg(long, value_name = "PROGRAM", env = AGENT, hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// The per-rank shim as the hosts of the job see it [default: beside this program]
    #[arg(long, value_name = "FILE")]
    shim: Option<PathBuf>,
    /// OpenMP threads on each core of a rank, a number or `all` of its PUs (SMT) [default: 1 where
    /// ranks have several cores, else no OpenMP variables]
    #[arg(long, value_name = "THREADS")]
    threads_per_core: Option<ThreadsPerCore>,
    /// How ranks take memory of their NUMA node
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    memory: MemoryOption,
}

/// Options of every command that launches or prepares it.
#[derive(Debug, Args)]
pub(crate) struct LaunchOptions {
    /// The job of the placement, if it has several
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// Further arguments for the launcher, in one text
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) launcher_args: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetOptions,
    #[command(flatten)]
    fabric: FabricOptions,
}

/// How ranks take memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum MemoryOption {
    /// From it first, from others when it is full
    #[default]
    Preferred,
    /// From it only: a rank that needs more is killed
    Bind,
    /// As the system gives it
    None,
}

/// Who binds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum BindingOption {
    /// The launcher where that is safe, else the shim
    #[default]
    Auto,
    /// The launcher by its own means
    Native,
    /// The shim rankwright-exec
    Exec,
}

/// The options, read and checked.
#[derive(Debug)]
pub(crate) struct Prepared {
    placement: PlacementFile,
    file: String,
    job: Option<String>,
    binding: Binding,
    agent: Option<String>,
    shim: String,
    threads_per_core: Option<ThreadsPerCore>,
    memory: MemoryPolicy,
    fabric: FabricOptions,
    pub(crate) launcher_arguments: Vec<String>,
}

impl LaunchOptions {
    /// Reads a placement and checks the options.
    pub(crate) fn prepare(&self, placement: &Path) -> anyhow::Result<Prepared> {
        let expected = "a placement as `rankwright place` writes it";
        let file = placement.display().to_string();
        let text = read_text_or_stdin(placement, expected)?;
        self.prepare_made(PlacementFile::parse(&text, &file)?, file)
    }

    /// Further arguments for the launcher.
    pub(crate) fn launcher_arguments(&self) -> Result<Vec<String>, UsageError> {
        let arguments = self.launcher_args.as_deref().unwrap_or_default();
        shell::split(arguments).map_err(|quote| {
            UsageError(format!("--launcher-args: found {quote} that is not closed in: {arguments}"))
        })
    }

    /// Checks the options for a placement that is called `file` in errors.
    pub(crate) fn prepare_made(
        &self,
        placement: PlacementFile,
        file: String,
    ) -> anyhow::Result<Prepared> {
        Ok(Prepared {
            job: self.job.clone(),
            fabric: self.fabric,
            launcher_arguments: self.launcher_arguments()?,
            ..self.target.prepare(placement, file)?
        })
    }
}

impl TargetOptions {
    /// An error if the user gave any of them, where nothing is written for a launcher. An agent of the
    /// environment is for all commands.
    pub(crate) fn refuse(&self, why: &str) -> Result<(), UsageError> {
        let agent = self.agent.as_ref();
        let given = [
            ("--binding", self.binding != BindingOption::default()),
            ("--agent", agent.is_some() && agent != std::env::var(AGENT).ok().as_ref()),
            ("--shim", self.shim.is_some()),
            ("--threads-per-core", self.threads_per_core.is_some()),
            ("--memory", self.memory != MemoryOption::default()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(UsageError(format!("{option} is {why}"))),
            None => Ok(()),
        }
    }

    /// Checks the options for a placement that is called `file` in errors.
    pub(crate) fn prepare(
        &self,
        placement: PlacementFile,
        file: String,
    ) -> anyhow::Result<Prepared> {
        let shim = match &self.shim {
            Some(shim) => shim.clone(),
            None => shim_beside_us()?,
        };
        Ok(Prepared {
            placement,
            file,
            job: None,
            binding: match self.binding {
                BindingOption::Auto => Binding::Auto,
                BindingOption::Native => Binding::Native,
                BindingOption::Exec => Binding::Exec,
            },
            agent: self.agent.clone(),
            shim: text_of(&shim)?,
            threads_per_core: self.threads_per_core,
            memory: match self.memory {
                MemoryOption::Preferred => MemoryPolicy::Preferred,
                MemoryOption::Bind => MemoryPolicy::Bind,
                MemoryOption::None => MemoryPolicy::Unset,
            },
            fabric: FabricOptions::default(),
            launcher_arguments: Vec::new(),
        })
    }
}

impl Prepared {
    /// The placement.
    pub(crate) fn placement(&self) -> &PlacementFile {
        &self.placement
    }

    /// The job that the user chose, or all.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<&JobEntry>> {
        Ok(launch::select_jobs(&self.placement, self.job.as_deref(), &self.file)?)
    }

    /// What the user calls it: its file, for errors.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The per-rank shim.
    pub(crate) fn shim(&self) -> &str {
        &self.shim
    }

    /// The only job, or the one that the user chose.
    pub(crate) fn one_job(&self) -> anyhow::Result<&JobEntry> {
        match self.jobs()?[..] {
            [job] => Ok(job),
            ref jobs => {
                let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
                let names = names.join(", ");
                let what =
                    format!("{} has several jobs, say which: --job with one of {names}", self.file);
                Err(UsageError(what).into())
            }
        }
    }

    /// Why a launcher started here should rather not bind: launchers that count cores count those
    /// of their cpuset, which would be others than the placement's if that is a part of a node.
    fn obstacle_here(&self) -> Option<String> {
        let here = std::thread::available_parallelism().ok()?.get();
        let node = self.placement.nodes.iter().find(|node| node.pus as usize > here)?;
        Some(format!("{here} PUs are granted here, node {} has {}", node.name, node.pus))
    }

    /// What the ranks of a job get beyond their PUs. What the user has set counts, for all ranks
    /// alike, if they are started from here.
    ///
    /// # Errors
    /// If its variables cannot be told to the job's ranks.
    pub(crate) fn settings(
        &self,
        job: &JobEntry,
        local_ranks: LocalRanks,
        from_here: bool,
    ) -> anyhow::Result<(Settings, Vec<String>)> {
        let mut settings = Settings::default();
        settings.memory = self.memory;
        openmp::set(&mut settings, job, self.threads_per_core)
            .map_err(|error| Infeasible(error.to_string()))?;
        let notes = self.fabric.apply(&self.placement, job, local_ranks, &mut settings)?;
        if from_here {
            for rank in 0..job.ranks.len() {
                for (name, _) in settings.variables(rank).to_vec() {
                    if let Ok(value) = std::env::var(&name) {
                        settings.set(rank, &name, value);
                    }
                }
            }
        }
        Ok((settings, notes))
    }

    /// What `launcher` needs to start `job`, with its files in `folder`; `installed` is its program
    /// if it is to be started here.
    pub(crate) fn launch(
        &self,
        launcher: &Launcher,
        installed: Option<&Path>,
        job: &JobEntry,
        folder: &Path,
        task: Task<'_>,
    ) -> anyhow::Result<Launch> {
        let program = installed.map(text_of).transpose()?;
        let obstacle = installed.and_then(|_| self.obstacle_here());
        let local_ranks = match launcher.counts_local_ranks(job) {
            true => LocalRanks::Right,
            false => LocalRanks::Wrong,
        };
        let (settings, notes) = self.settings(job, local_ranks, installed.is_some())?;
        // srun must be told by which interface the ranks find each other.
        let known = (launcher.name == "slurm").then(|| with_library(job, task)).flatten();
        let job = known.as_ref().unwrap_or(job);
        let request = Request {
            placement: &self.placement,
            job,
            settings: &settings,
            binding: self.binding,
            obstacle: obstacle.as_deref(),
            folder: &text_of(folder)?,
            shim: &self.shim,
            program: program.as_deref(),
            agent: self.agent.as_deref(),
            arguments: &self.launcher_arguments,
            task,
        };
        let written = launcher.write(&request).map_err(|error: LaunchError| {
            let of_job = match self.placement.jobs[..] {
                [_] => String::new(),
                _ => format!("job {}: ", job.name),
            };
            Infeasible(format!("{of_job}{error}"))
        });
        let mut launch = written?;
        launch.notes.extend(notes);
        Ok(launch)
    }
}

/// The job with the MPI library that its programs load, where only they say it.
fn with_library(job: &JobEntry, task: Task<'_>) -> Option<JobEntry> {
    let (Task::Programs(line) | Task::Report(Some(line))) = task else { return None };
    let name = library_name(line, Some(job.ranks.len())).filter(|_| job.mpi_library.is_empty())?;
    Some(JobEntry { mpi_library: name.to_owned(), ..job.clone() })
}

/// The name of the MPI library that programs load, where they say it.
pub(crate) fn library_name(line: &ProgramLine, ranks: Option<usize>) -> Option<&'static str> {
    let (_, library) = mpi_launcher::library_of(line, ranks)?;
    let is = |name: &&str| library.name.starts_with(name);
    match library.abi {
        Abi::OpenMpi => Some("Open MPI"),
        Abi::Mpich if ["libmpi.so", "libmpich.so"].iter().any(is) => Some("MPICH"),
        Abi::Mpich | Abi::Standard => None,
    }
}

/// Reads what stands behind `--`: a program and its arguments, or several with ` : ` between them.
pub(crate) fn programs(words: &[String]) -> Result<ProgramLine, UsageError> {
    ProgramLine::parse(words).map_err(|error| UsageError(error.to_string()))
}

/// Writes the files of a launch to a folder.
pub(crate) fn write_files(launch: &Launch, folder: &Path) -> anyhow::Result<()> {
    for file in &launch.files {
        let path = folder.join(file.name);
        write_atomically(&path, file.contents.as_bytes())?;
        if file.executable {
            make_executable(&path)?;
        }
    }
    Ok(())
}

/// Lets everybody who may read a file run it.
pub(crate) fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    Ok(std::fs::set_permissions(path, permissions)?)
}

/// The shim that was installed together with this program.
pub(crate) fn shim_beside_us() -> Result<PathBuf, NotStarted> {
    let failed = |why: String| NotStarted { code: 125, why };
    let us = std::env::current_exe().map_err(|error| failed(format!("this program: {error}")))?;
    let shim = us.with_file_name(SHIM);
    if shim.is_file() {
        return Ok(shim);
    }
    Err(failed(format!(
        "{}: not found; it is installed together with rankwright (or say where: --shim FILE)",
        shim.display()
    )))
}

/// A path that goes into files and command lines of others.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| UsageError(format!("{}: the path is not UTF-8", path.display())).into())
}

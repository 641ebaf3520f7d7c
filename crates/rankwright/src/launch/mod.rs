//! Files, command line and environment with which a launcher starts a job as placed.
//!
//! [`LAUNCHERS`] has a row per launcher; each is a stateless function from a [`Request`] to a
//! [`Launch`]. The launcher puts the ranks on their hosts. [`Binding`] decides who binds them to
//! their PUs: the launcher ("native") if it can express the placement safely, else the shim
//! `rankwright-exec`, which becomes the program after binding.
//!
//! ```
//! use rankwright::launch::{Binding, ProgramLine, Request, Task, find};
//! use rankwright::placement::Settings;
//! use rankwright::{Planner, cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2013")?, traffic::open("nas:cg.A.16")?);
//! let blocked = ["blocked".parse()?];
//! let plan = Planner::new(&cluster, &workload).strategies(&blocked).plan()?;
//! let placement = plan.best().file(&cluster, &workload);
//! let program = ProgramLine::parse(&["./cg".to_owned()])?;
//! let request = Request {
//!     placement: &placement,
//!     job: &placement.jobs[0],
//!     settings: &Settings::NOTHING,
//!     binding: Binding::Auto,
//!     obstacle: None,
//!     folder: "launch",
//!     shim: "rankwright-exec",
//!     program: None,
//!     agent: None,
//!     arguments: &[],
//!     task: Task::Programs(&program),
//! };
//! let launch = find("openmpi5").expect("a known launcher").write(&request)?;
//! assert_eq!(launch.command[0], "mpirun");
//! for file in &launch.files {
//!     println!("launch/{}:\n{}", file.name, file.contents);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_default;
pub(crate) mod launchers;
mod local_sets;
mod programs;
mod rank_variables;
mod request;
mod task_starters;
#[cfg(test)]
pub(crate) mod testing;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod openmp;
#[doc(hidden)]
pub mod shell;

use std::fmt;

use by_default::{ByDefault, CRAYMPICH, FLUX, HYDRA, NUMACTL, OPENMPI4, OPENMPI5, SLURM};
pub use request::{Binding, Request, Task};
use request::{Part, text_file};
use serde::Serialize;

// For the command line; may change in any version.
#[doc(hidden)]
pub use by_default::DefaultRequest;
#[doc(hidden)]
pub use programs::{
    CoresError, Program, ProgramLine, ProgramLineError, ProgramSlotsError, RankCountError,
};
#[doc(hidden)]
pub use rankwright_shim_format::RANK_VARIABLES;
#[doc(hidden)]
pub use task_starters::{TaskStarter, task_starter};

use crate::files::InputError;
use crate::ids::LARGEST_INDEX;
use crate::placement::{JobEntry, PlacementFile};

/// A launcher that jobs can be started with.
#[derive(Debug)]
pub struct Launcher {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// The software that it is a part of.
    pub software: Software,
    /// Its default program.
    pub program: &'static str,
    /// Whether it counts local ranks wrongly: within each run of consecutive ranks on a host.
    splits_hosts: bool,
    /// The syntax behind [`Launcher::write_default`].
    by_default: &'static ByDefault,
    /// The function behind [`Launcher::write`].
    write: fn(&Request<'_>) -> Result<Launch, LaunchError>,
}

/// The software that launchers are a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// Open MPI of this major version.
    OpenMpi(u32),
    /// MPICH.
    Mpich,
    /// Intel MPI.
    IntelMpi,
    /// Slurm, which starts programs of any MPI library.
    Slurm,
    /// Flux, which starts programs of any MPI library.
    Flux,
}

impl fmt::Display for Software {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenMpi(major) => write!(f, "Open MPI {major}"),
            Self::Mpich => f.write_str("MPICH"),
            Self::IntelMpi => f.write_str("Intel MPI"),
            Self::Slurm => f.write_str("Slurm"),
            Self::Flux => f.write_str("Flux"),
        }
    }
}

/// The programs that start ranks of an MPI library, as they are called on PATH; Debian has both MPIs side by
/// side under the longer names.
pub const MPI_LAUNCHERS: [&str; 7] = [
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpiexec.hydra",
];

/// All launchers.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "openmpi4",
        summary: "Open MPI 4: rankfile, or one host per rank and binding by rankwright-exec",
        software: Software::OpenMpi(4),
        program: "mpirun",
        splits_hosts: false,
        by_default: &OPENMPI4,
        write: launchers::openmpi4::write,
    },
    Launcher {
        name: "openmpi5",
        summary: "Open MPI 5 (PRRTE): rankfile, or one host per rank and binding by rankwright-exec",
        software: Software::OpenMpi(5),
        program: "mpirun",
        splits_hosts: false,
        by_default: &OPENMPI5,
        write: launchers::openmpi5::write,
    },
    Launcher {
        name: "mpich",
        summary: "MPICH 4.1 or newer: hostfile with binding=user and -rankmap",
        software: Software::Mpich,
        program: "mpiexec",
        splits_hosts: false,
        by_default: &HYDRA,
        write: launchers::mpich::write,
    },
    Launcher {
        name: "mpich:4.0",
        summary: "MPICH before 4.1: one host per rank and binding by rankwright-exec",
        software: Software::Mpich,
        program: "mpiexec",
        splits_hosts: true,
        by_default: &HYDRA,
        write: launchers::mpich::write_4_0,
    },
    Launcher {
        name: "intelmpi",
        summary: "Intel MPI: machinefile and I_MPI_PIN_..., or binding by rankwright-exec",
        software: Software::IntelMpi,
        program: "mpiexec",
        splits_hosts: false,
        by_default: &HYDRA,
        write: launchers::intelmpi::write,
    },
    Launcher {
        name: "slurm",
        summary: "Slurm: srun -m arbitrary with --cpu-bind, or binding by rankwright-exec",
        software: Software::Slurm,
        program: "srun",
        splits_hosts: false,
        by_default: &SLURM,
        write: launchers::slurm::write,
    },
    Launcher {
        name: "flux",
        summary: "Flux: flux run with a task map and cpu-affinity, or binding by rankwright-exec",
        software: Software::Flux,
        program: "flux",
        splits_hosts: false,
        by_default: &FLUX,
        write: launchers::flux::write,
    },
    Launcher {
        name: "craympich",
        summary: "Cray MPICH: MPICH_RANK_ORDER under srun, binding by srun or rankwright-exec",
        software: Software::Slurm,
        program: "srun",
        splits_hosts: false,
        by_default: &CRAYMPICH,
        write: launchers::craympich::write,
    },
    Launcher {
        name: "numactl",
        summary: "numactl before every rank, for any launcher that puts ranks on hosts in order",
        software: Software::OpenMpi(4),
        program: "mpirun",
        splits_hosts: false,
        by_default: &NUMACTL,
        write: launchers::numactl::write,
    },
];

/// The launcher of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}

/// A file of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LaunchFile {
    /// Its name within [`Request::folder`].
    pub name: &'static str,
    /// Its text.
    pub contents: String,
    /// Whether it must be executable.
    pub executable: bool,
}

/// Everything that starts a job as placed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Whether the shim binds the ranks.
    pub by_exec: bool,
    /// Who binds and why, in one sentence.
    pub binding: String,
    /// The files to write.
    pub files: Vec<LaunchFile>,
    /// Variables to set for the launcher.
    pub environment: Vec<(String, String)>,
    /// The launcher and all its arguments.
    pub command: Vec<String>,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

/// Why a job cannot be launched as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launcher was to bind, and cannot.
    #[error("{launcher} cannot bind the ranks of this job: {reason}; use --binding exec")]
    NotNative {
        /// The launcher.
        launcher: &'static str,
        /// What it cannot express.
        reason: String,
    },
    /// The launcher cannot start the job at all.
    #[error("{launcher} cannot launch this job: {reason}")]
    Impossible {
        /// The launcher.
        launcher: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// The programs take another number of ranks than the job has.
    #[error(transparent)]
    RankCount(#[from] RankCountError),
}

impl Launcher {
    /// Whether the launcher gives the ranks of a job the right local rank. If not, nothing may
    /// depend on it.
    #[must_use]
    pub fn counts_local_ranks(&self, job: &JobEntry) -> bool {
        !self.splits_hosts || launchers::mpich::hosts_are_contiguous(&job.ranks)
    }

    /// The files, command line and environment for one job.
    ///
    /// # Errors
    /// If the launcher cannot express the placement, or the programs do not have the job's number
    /// of ranks.
    pub fn write(&self, request: &Request<'_>) -> Result<Launch, LaunchError> {
        let mut launch = (self.write)(request)?;
        launch
            .files
            .extend((!launch.by_exec && request.reports_by_map()).then(|| request.ranks_map()));
        Ok(launch)
    }

    /// The strategy that places a number of ranks as the launcher does by default, with options.
    #[must_use]
    pub fn default_strategy(&self, ranks: usize) -> &'static str {
        (self.by_default.mapping)(ranks)
    }

    /// Whether a test compares [`default_strategy`](Self::default_strategy) with a real launch;
    /// otherwise it may depend on the site's scheduler.
    #[must_use]
    pub fn default_was_tried(&self) -> bool {
        self.by_default.mapping_was_tried
    }

    /// The command line that leaves placement and binding to the launcher; it needs no files.
    ///
    /// # Errors
    /// If the launcher cannot start several programs that way, one of several programs has no
    /// number of ranks, or the programs take another number of ranks than requested.
    pub fn write_default(&self, request: &DefaultRequest<'_>) -> Result<Launch, LaunchError> {
        self.by_default.write(self.name, request)
    }

    /// As [`write_default`](Self::write_default), with one process on each of the hosts.
    ///
    /// # Errors
    /// As [`write_default`](Self::write_default).
    pub fn write_one_per_host(&self, request: &DefaultRequest<'_>) -> Result<Launch, LaunchError> {
        self.by_default.write_one_per_host(self.name, request)
    }
}

impl fmt::Display for Launch {
    /// The command line for a shell, with the variables before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", shell::quote(value))?;
        }
        f.write_str(&shell::join(&self.command))
    }
}

/// What stands in a script before the names of the files beside it.
const FILES: &str = "# files: ";

impl Launch {
    /// A shell script that launches the job.
    #[must_use]
    pub fn script(&self) -> String {
        let export =
            |(name, value): &(String, String)| format!("export {name}={}\n", shell::quote(value));
        let exports: String = self.environment.iter().map(export).collect();
        let names: Vec<&str> = self.files.iter().map(|file| file.name).collect();
        let files = match names.is_empty() {
            true => String::new(),
            false => format!("{FILES}{}\n", names.join(" ")),
        };
        let (binding, command) = (&self.binding, shell::join(&self.command));
        format!("#!/bin/sh\n# {binding}\n{files}{exports}exec {command}\n")
    }

    /// The names of the files that a script of [`Launch::script`] was written with.
    #[must_use]
    pub fn files_of_script(script: &str) -> Vec<&str> {
        let lines = script.lines().take_while(|line| line.starts_with('#'));
        let names =
            lines.filter_map(|line| line.strip_prefix(FILES)).flat_map(str::split_whitespace);
        names.filter(|name| !name.contains('/') && !name.starts_with('.')).collect()
    }
}

/// The job of this name, or all jobs.
///
/// # Errors
/// If no job has this name, the placement has no job, a job has no ranks, launchers would misread a
/// host name, or a P# is out of range. `file` names the placement in the error.
pub fn select_jobs<'a>(
    placement: &'a PlacementFile,
    name: Option<&str>,
    file: &str,
) -> Result<Vec<&'a JobEntry>, InputError> {
    let chosen: Vec<&JobEntry> =
        placement.jobs.iter().filter(|job| name.is_none_or(|name| job.name == name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = placement.jobs.iter().map(|job| job.name.as_str()).collect();
        let found_jobs = match name {
            Some(_) => format!("the jobs {}", names.join(", ")),
            None => "no job".to_owned(),
        };
        let expected = name.map_or("at least one job".to_owned(), |name| format!("job {name}"));
        return Err(InputError::new(file, found_jobs, expected).in_field("jobs"));
    }
    for job in &chosen {
        let field = format!("jobs \"{}\"", job.name);
        if job.ranks.is_empty() {
            return Err(InputError::new(file, "0 ranks", "at least 1").in_field(field));
        }
        let pus = job.ranks.iter().flat_map(|entry| &entry.pus);
        if let Some(pu) = pus.into_iter().find(|pu| pu.0 > LARGEST_INDEX) {
            let expected = format!("a PU up to P#{LARGEST_INDEX}");
            return Err(InputError::new(file, format!("PU P#{pu}"), expected).in_field(field));
        }
    }
    Ok(chosen)
}

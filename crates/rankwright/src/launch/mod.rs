//! What a launcher needs to start a job as placed: its files, its command line, its environment.
//!
//! One row of [`LAUNCHERS`] per target; each is a stateless function from a [`Request`] to a
//! [`Launch`]. A launcher puts ranks on hosts in any order; who binds them there is the
//! [`Binding`]: the launcher itself ("native") where it can express the placement safely, else the
//! shim `rankwright-exec`, which every rank passes through before the program.

mod by_default;
pub(crate) mod launchers;
mod local_sets;
pub mod openmp;
mod programs;
mod rank_variables;
mod request;
pub mod shell;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;

pub use by_default::DefaultRequest;
use by_default::{ByDefault, FLUX, HYDRA, OPENMPI4, OPENMPI5, SLURM};
pub use programs::{Program, ProgramLine, ProgramLineError, RankCountError};
pub use rankwright_shim_format::RANK_VARIABLES;
pub use request::{Binding, Request, Task};
use request::{Part, text_file};
use serde::Serialize;

use crate::cluster::hostlist::is_host_name;
use crate::files::InputError;
use crate::ids::LARGEST_INDEX;
use crate::placement::{JobEntry, PlacementFile};

/// A launcher for which files can be written.
#[derive(Debug)]
pub struct Launcher {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it belongs to.
    pub software: Software,
    /// The program that it is started with, where nobody says otherwise.
    pub program: &'static str,
    /// Whether it takes every run of ranks on a host for a host of its own.
    splits_hosts: bool,
    /// How it starts a job that nobody placed, behind [`Launcher::write_default`].
    by_default: &'static ByDefault,
    /// The function behind [`Launcher::write`].
    write: fn(&Request<'_>) -> Result<Launch, LaunchError>,
}

/// The software that a launcher is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    /// Open MPI of this major version.
    OpenMpi(u32),
    /// MPICH.
    Mpich,
    /// Intel MPI.
    IntelMpi,
    /// Slurm, which starts programs of any MPI.
    Slurm,
    /// Flux, which starts programs of any MPI.
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
        by_default: &SLURM,
        write: launchers::craympich::write,
    },
    Launcher {
        name: "numactl",
        summary: "numactl before every rank, for any launcher that puts ranks on hosts in order",
        software: Software::OpenMpi(4),
        program: "mpirun",
        splits_hosts: false,
        by_default: &OPENMPI4,
        write: launchers::numactl::write,
    },
];

/// The launcher of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}

/// A file that a launch needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchFile {
    /// Its name within [`Request::folder`].
    pub name: &'static str,
    /// Its text.
    pub contents: String,
    /// Whether it is a program.
    pub executable: bool,
}

/// How a job is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Whether the ranks pass through the shim, which binds them.
    pub by_exec: bool,
    /// Who binds and why, in one sentence.
    pub binding: String,
    /// The files.
    pub files: Vec<LaunchFile>,
    /// Variables to set for the launcher.
    pub environment: Vec<(String, String)>,
    /// The launcher and all its arguments.
    pub command: Vec<String>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Why a job cannot be launched so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Binding by the launcher was demanded.
    #[error("{launcher} cannot bind this job by itself: {reason}; use --binding exec")]
    NotNative {
        /// The launcher.
        launcher: &'static str,
        /// What it cannot express.
        reason: String,
    },
    /// The target has no way to do it at all.
    #[error("{launcher} cannot launch this job: {reason}")]
    Impossible {
        /// The launcher.
        launcher: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// The programs are for another number of ranks.
    #[error(transparent)]
    RankCount(#[from] RankCountError),
}

impl Launcher {
    /// Whether the ranks of a job learn from it their right local rank, their number among the ranks
    /// on their host; if not, nothing may depend on that.
    #[must_use]
    pub fn counts_local_ranks(&self, job: &JobEntry) -> bool {
        !self.splits_hosts || launchers::mpich::hosts_are_contiguous(&job.ranks)
    }

    /// The files, command line and environment for one job.
    ///
    /// # Errors
    /// If the launcher cannot express the placement, or the programs do not have the job's number of
    /// ranks.
    pub fn write(&self, request: &Request<'_>) -> Result<Launch, LaunchError> {
        let mut launch = (self.write)(request)?;
        launch
            .files
            .extend((!launch.by_exec && request.reports_by_map()).then(|| request.ranks_map()));
        Ok(launch)
    }

    /// The command line that starts programs where the launcher likes; it needs no files.
    ///
    /// # Errors
    /// If the launcher cannot start several programs so, how many ranks they have is not known, or
    /// they are for another number of ranks.
    pub fn write_default(&self, request: &DefaultRequest<'_>) -> Result<Launch, LaunchError> {
        self.by_default.write(self.name, request)
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

impl Launch {
    /// A shell script that launches the job.
    #[must_use]
    pub fn script(&self) -> String {
        let export =
            |(name, value): &(String, String)| format!("export {name}={}\n", shell::quote(value));
        let exports: String = self.environment.iter().map(export).collect();
        format!("#!/bin/sh\n# {}\n{exports}exec {}\n", self.binding, shell::join(&self.command))
    }
}

/// The jobs to launch: the one of this name, or all.
///
/// # Errors
/// If there is no such job, no job at all, a job without ranks, a host name that launchers would
/// misread, or a PU that no node has; `file` stands for the placement in the error.
pub fn select_jobs<'a>(
    placement: &'a PlacementFile,
    name: Option<&str>,
    file: &str,
) -> Result<Vec<&'a JobEntry>, InputError> {
    let chosen: Vec<&JobEntry> =
        placement.jobs.iter().filter(|job| name.is_none_or(|name| job.name == name)).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = placement.jobs.iter().map(|job| job.name.as_str()).collect();
        let found = match name {
            Some(_) => format!("the jobs {}", known.join(", ")),
            None => "no job".to_owned(),
        };
        let expected = name.map_or("at least one job".to_owned(), |name| format!("job {name}"));
        return Err(InputError::new(file, found, expected).in_field("jobs"));
    }
    for job in &chosen {
        let field = format!("jobs \"{}\"", job.name);
        if job.ranks.is_empty() {
            return Err(InputError::new(file, "0 ranks", "at least 1").in_field(field));
        }
        if let Some(entry) = job.ranks.iter().find(|entry| !is_host_name(&entry.node)) {
            let found = format!("node `{}`", entry.node);
            let expected = "a host name: letters, digits, `-`, `_` and `.`, at most 255";
            return Err(InputError::new(file, found, expected).in_field(field));
        }
        let pus = job.ranks.iter().flat_map(|entry| &entry.pus);
        if let Some(pu) = pus.into_iter().find(|pu| pu.0 > LARGEST_INDEX) {
            let expected = format!("one up to P#{LARGEST_INDEX}");
            return Err(InputError::new(file, format!("PU P#{pu}"), expected).in_field(field));
        }
    }
    Ok(chosen)
}

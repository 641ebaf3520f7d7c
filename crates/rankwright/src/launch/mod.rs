//! What a launcher needs to start a job as placed: its files, its command line, its environment.
//!
//! One row of [`LAUNCHERS`] per target; each is a stateless function from a [`Request`] to a
//! [`Launch`]. A launcher puts ranks on hosts in any order; who binds them there is the
//! [`Binding`]: the launcher itself ("native") where it can express the placement safely, else the
//! shim `rankwright-exec`, which every rank passes through before the program.

mod mpich;
mod numactl;
mod openmpi4;
mod programs;
#[cfg(test)]
mod random_placement;
pub mod shell;

use std::fmt;

pub use programs::{Program, ProgramLine, ProgramLineError, RankCountError};
use serde::Serialize;

use crate::files::InputError;
use crate::ids::LARGEST_INDEX;
use crate::placement::{JobEntry, PlacementFile, RankEntry, ranks_map};

/// A launcher for which files can be written.
#[derive(Debug)]
pub struct Launcher {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The program that it is started with, where nobody says otherwise.
    pub program: &'static str,
    /// The function behind [`Launcher::write`].
    write: fn(&Request<'_>) -> Result<Launch, LaunchError>,
}

/// All launchers.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "openmpi4",
        summary: "Open MPI 4: rankfile, or one host per rank and binding by rankwright-exec",
        program: "mpirun",
        write: openmpi4::write,
    },
    Launcher {
        name: "mpich",
        summary: "MPICH 4.1 or newer: hostfile with binding=user and -rankmap",
        program: "mpiexec",
        write: mpich::write,
    },
    Launcher {
        name: "mpich:4.0",
        summary: "MPICH before 4.1: one host per rank and binding by rankwright-exec",
        program: "mpiexec",
        write: mpich::write_4_0,
    },
    Launcher {
        name: "numactl",
        summary: "numactl before every rank, for any launcher that puts ranks on hosts in order",
        program: "mpirun",
        write: numactl::write,
    },
];

/// The launcher of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}

/// Who binds the ranks on their hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Binding {
    /// The launcher where that is safe, else the shim.
    #[default]
    Auto,
    /// The launcher, or an error that says why it cannot.
    Native,
    /// The shim `rankwright-exec`.
    Exec,
}

/// What every rank runs.
#[derive(Debug, Clone, Copy)]
pub enum Task<'a> {
    /// The user's programs.
    Programs(&'a ProgramLine),
    /// The shim alone, which reports where it is; started as these programs would be.
    Report(Option<&'a ProgramLine>),
}

/// What is to be launched, and how.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The placement.
    pub placement: &'a PlacementFile,
    /// The job of it.
    pub job: &'a JobEntry,
    /// Who binds.
    pub binding: Binding,
    /// Why the launcher should rather not bind, where the caller knows a reason.
    pub obstacle: Option<&'a str>,
    /// Where the files will lie, as the launcher and the ranks see it.
    pub folder: &'a str,
    /// The shim, as the ranks see it.
    pub shim: &'a str,
    /// The launcher's program, where it is not [`Launcher::program`].
    pub program: Option<&'a str>,
    /// What the launcher calls instead of `ssh`.
    pub agent: Option<&'a str>,
    /// Further arguments for the launcher.
    pub arguments: &'a [String],
    /// What every rank runs.
    pub task: Task<'a>,
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
    pub environment: Vec<(&'static str, String)>,
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
    /// The files, command line and environment for one job.
    ///
    /// # Errors
    /// If the launcher cannot express the placement, or the programs do not have the job's number of
    /// ranks.
    pub fn write(&self, request: &Request<'_>) -> Result<Launch, LaunchError> {
        (self.write)(request)
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
            |(name, value): &(&str, String)| format!("export {name}={}\n", shell::quote(value));
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

fn is_host_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && !name.starts_with(['-', '.'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl Request<'_> {
    /// The path of a launch file as the launcher and the ranks see it.
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Decides who binds: `obstacle` is why the launcher cannot, `how` says how it would.
    fn bind_by_exec(
        &self,
        launcher: &'static str,
        how: &str,
        obstacle: Option<String>,
    ) -> Result<(bool, String), LaunchError> {
        let obstacle = match self.binding {
            Binding::Auto => obstacle.or_else(|| self.obstacle.map(str::to_owned)),
            _ => obstacle,
        };
        match (self.binding, obstacle) {
            (Binding::Native, Some(reason)) => Err(LaunchError::NotNative { launcher, reason }),
            (Binding::Exec, _) => Ok((true, "rankwright-exec binds, as demanded".to_owned())),
            (Binding::Auto, Some(reason)) => Ok((true, format!("rankwright-exec binds: {reason}"))),
            (_, None) => Ok((false, format!("{launcher} binds by its own {how}"))),
        }
    }

    /// What the ranks run, through the shim if that binds: one part per program.
    fn parts(&self, by_exec: bool) -> Result<Vec<Part>, LaunchError> {
        let ranks = self.job.ranks.len();
        let mut shim = vec![self.shim.to_owned()];
        if by_exec {
            shim.extend(["--map".to_owned(), self.path(RANKS_MAP)]);
        }
        let (line, before) = match self.task {
            Task::Programs(line) => {
                shim.push("--".to_owned());
                (Some(line), if by_exec { shim } else { Vec::new() })
            }
            Task::Report(line) => {
                shim.push("--report".to_owned());
                (line, shim)
            }
        };
        let Some(line) = line else { return Ok(vec![Part { ranks, command: before }]) };
        let part = |program: Program<'_>| {
            let words = if let Task::Report(_) = self.task { &[] } else { program.words };
            Part { ranks: program.ranks, command: [&before, words].concat() }
        };
        Ok(line.for_ranks(ranks)?.into_iter().map(part).collect())
    }

    /// Whether the job has several programs.
    fn is_mpmd(&self) -> bool {
        let (Task::Programs(line) | Task::Report(Some(line))) = self.task else { return false };
        line.names().nth(1).is_some()
    }

    fn ranks_map(&self) -> LaunchFile {
        text_file(RANKS_MAP, ranks_map::ranks_map(self.placement, self.job))
    }

    /// One host per line, in the order of the ranks.
    fn host_per_rank(&self) -> String {
        self.job.ranks.iter().map(|entry| format!("{}\n", entry.node)).collect()
    }

    /// The hosts of the job in the order of the placement's nodes, with their ranks in order.
    fn ranks_by_host(&self) -> Vec<(&str, Vec<&RankEntry>)> {
        let mut hosts: Vec<(&str, Vec<&RankEntry>)> =
            self.placement.nodes.iter().map(|node| (node.name.as_str(), Vec::new())).collect();
        let position: std::collections::HashMap<&str, usize> =
            hosts.iter().enumerate().map(|(index, (name, _))| (*name, index)).collect();
        for entry in &self.job.ranks {
            if let Some(index) = position.get(entry.node.as_str()) {
                hosts[*index].1.push(entry);
            }
        }
        hosts.retain(|(_, ranks)| !ranks.is_empty());
        hosts
    }

    /// Why no launcher binds this job by itself, whatever its syntax.
    fn general_obstacle(&self) -> Option<String> {
        if self.placement.cluster.emulated {
            return Some("the cluster is emulated, its cores do not exist".to_owned());
        }
        let unbound = self.job.ranks.iter().find(|entry| !entry.bound)?;
        Some(format!("rank {} is not bound", unbound.rank))
    }
}

/// Some of the ranks, in order, and what they run.
#[derive(Debug)]
struct Part {
    ranks: usize,
    command: Vec<String>,
}

/// The name of the map that the shim reads.
const RANKS_MAP: &str = "ranks.map";

fn text_file(name: &'static str, contents: String) -> LaunchFile {
    LaunchFile { name, contents, executable: false }
}

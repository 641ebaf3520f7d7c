//! A request to launch a job, and what all launchers derive from it.

use rankwright_shim_format::shim_options;

use super::programs::script;
use super::{LaunchError, LaunchFile, Program, ProgramLine};
use crate::placement::{JobEntry, MemoryPolicy, PlacementFile, RankEntry, Settings, ranks_map};

/// Who binds the ranks on their hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Binding {
    /// The launcher if it can bind safely, else the shim.
    #[default]
    Auto,
    /// The launcher; an error says why if it cannot.
    Native,
    /// The shim `rankwright-exec`.
    Exec,
}

/// What every rank starts.
#[derive(Debug, Clone, Copy)]
pub enum Task<'a> {
    /// The user's programs.
    Programs(&'a ProgramLine),
    /// The shim, which reports where it runs; started as these programs would be.
    Report(Option<&'a ProgramLine>),
}

/// A request to launch a job.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The placement.
    pub placement: &'a PlacementFile,
    /// The job, one of the placement's.
    pub job: &'a JobEntry,
    /// Memory policy and variables of its ranks.
    pub settings: &'a Settings,
    /// Who binds.
    pub binding: Binding,
    /// A reason of the caller's why the launcher should not bind, as a clause.
    pub obstacle: Option<&'a str>,
    /// The folder of the files, as a path on the hosts of the job.
    pub folder: &'a str,
    /// The shim, as a path on the hosts of the job.
    pub shim: &'a str,
    /// The launcher's program; `None` for [`program`](super::Launcher::program).
    pub program: Option<&'a str>,
    /// The program that the launcher calls instead of `ssh`.
    pub agent: Option<&'a str>,
    /// Further arguments for the launcher.
    pub arguments: &'a [String],
    /// What every rank starts.
    pub task: Task<'a>,
}

impl Request<'_> {
    /// The path of a launch file on the hosts of the job.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Decides who binds: `obstacle` says why the launcher cannot, `how` by which of its features
    /// it would. Returns whether the shim binds, and the sentence about it.
    pub(super) fn bind_by_exec(
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
            (Binding::Exec, _) => {
                Ok((true, "rankwright-exec binds the ranks, as requested".to_owned()))
            }
            (Binding::Auto, Some(reason)) => {
                Ok((true, format!("rankwright-exec binds the ranks: {reason}")))
            }
            (_, None) => Ok((false, format!("{launcher} binds the ranks ({how})"))),
        }
    }

    /// The commands of the ranks, one part per program; through the shim if that binds.
    pub(super) fn parts(&self, by_exec: bool) -> Result<Vec<Part>, LaunchError> {
        let ranks = self.job.ranks.len();
        let (line, before) = match self.task {
            Task::Programs(line) if by_exec => (Some(line), self.shim_command()),
            Task::Programs(line) => (Some(line), Vec::new()),
            Task::Report(line) => {
                let map = [shim_options::MAP.to_owned(), self.path(RANKS_MAP)];
                let map = (by_exec || self.reports_by_map()).then_some(map);
                let as_it_is =
                    (!by_exec && map.is_some()).then(|| shim_options::NO_BIND.to_owned());
                let words = [self.shim.to_owned()].into_iter().chain(map.into_iter().flatten());
                (line, words.chain(as_it_is).chain([shim_options::REPORT.to_owned()]).collect())
            }
        };
        let Some(line) = line else { return Ok(vec![Part { ranks, command: before }]) };
        let part = |program: Program<'_>| {
            let words = if let Task::Report(_) = self.task { &[] } else { program.words };
            Part { ranks: program.ranks, command: [&before, words].concat() }
        };
        Ok(line.for_ranks(ranks)?.into_iter().map(part).collect())
    }

    /// Whether the report of ranks that the launcher binds needs the map: to compare their
    /// variables, or to look for their devices.
    pub(super) fn reports_by_map(&self) -> bool {
        let mut ranks = self.job.ranks.iter();
        let report = matches!(self.task, Task::Report(_));
        report
            && (ranks.any(|rank| !rank.nics.is_empty() || !rank.gpus.is_empty())
                || !self.variables(false).is_empty())
    }

    /// Whether the job has several programs.
    pub(super) fn is_mpmd(&self) -> bool {
        let (Task::Programs(line) | Task::Report(Some(line))) = self.task else { return false };
        line.names().nth(1).is_some()
    }

    pub(super) fn ranks_map(&self) -> LaunchFile {
        text_file(RANKS_MAP, ranks_map::ranks_map(self.placement, self.job, self.settings))
    }

    /// One host per line, in the order of the ranks.
    pub(super) fn host_per_rank(&self) -> String {
        self.job.ranks.iter().map(|entry| format!("{}\n", entry.node)).collect()
    }

    /// The hosts of the job in the order of the placement's nodes, with their ranks in order.
    pub(super) fn ranks_by_host(&self) -> Vec<(&str, Vec<&RankEntry>)> {
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

    /// Why no launcher can bind this job.
    pub(super) fn general_obstacle(&self) -> Option<String> {
        if self.placement.cluster.emulated {
            return Some("the cluster is emulated, its cores do not exist".to_owned());
        }
        if let Some(unbound) = self.job.ranks.iter().find(|entry| !entry.bound) {
            return Some(format!("rank {} is not bound", unbound.rank));
        }
        if self.settings.memory == MemoryPolicy::Bind {
            return Some("launchers bind no memory".to_owned());
        }
        let ranks = self.job.ranks.len();
        let differs = |rank| self.settings.variables(rank) != self.settings.variables(0);
        let rank = (1..ranks).find(|rank| differs(*rank))?;
        let of_rank = self.settings.variables(rank).iter();
        let of_first = self.settings.variables(0).iter();
        let differing =
            of_rank.clone().find(|variable| of_first.clone().all(|other| other != *variable));
        let differing = differing
            .or_else(|| of_first.clone().find(|v| of_rank.clone().all(|other| other != *v)));
        let name = differing.map_or("variables", |(name, _)| name);
        Some(format!("ranks 0 and {rank} get different {name}"))
    }

    /// The variables that the launcher must give to all ranks; none if the shim binds and sets
    /// them.
    pub(super) fn variables(&self, by_exec: bool) -> &[(String, String)] {
        let same = self.settings.variables_of_all(self.job.ranks.len());
        same.filter(|_| !by_exec).unwrap_or_default()
    }

    /// The one command that all ranks start, for launchers that take only one; with several
    /// programs, a script that chooses by the rank.
    pub(super) fn one_command(
        &self,
        by_exec: bool,
    ) -> Result<(Vec<String>, Option<LaunchFile>), LaunchError> {
        let mut parts = self.parts(by_exec)?;
        let line = match self.task {
            Task::Programs(line) if parts.len() > 1 => line,
            _ => return Ok((parts.swap_remove(0).command, None)),
        };
        let script = script::script(&line.for_ranks(self.job.ranks.len())?);
        let mut command = if by_exec { self.shim_command() } else { Vec::new() };
        command.push(self.path(script.name));
        Ok((command, Some(script)))
    }

    /// The words before the program: the shim with its map.
    fn shim_command(&self) -> Vec<String> {
        let map = self.path(RANKS_MAP);
        [self.shim, shim_options::MAP, &map, "--"].map(str::to_owned).into()
    }
}

/// Consecutive ranks and their command.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) ranks: usize,
    pub(super) command: Vec<String>,
}

/// The name of the map that the shim reads.
const RANKS_MAP: &str = "ranks.map";

pub(super) fn text_file(name: &'static str, contents: String) -> LaunchFile {
    LaunchFile { name, contents, executable: false }
}

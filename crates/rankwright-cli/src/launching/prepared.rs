//! A placement with the options of its launch.

use std::collections::BTreeSet;
use std::path::Path;

use rankwright::cluster::hostlist;
use rankwright::cluster::read::allocation::JobHosts;
use rankwright::launch::openmp::{self, ThreadsPerCore};
use rankwright::launch::{
    self, Binding, Launch, LaunchError, Launcher, ProgramLine, Request, Task,
};
use rankwright::placement::{
    JobEntry, MemoryPolicy, PlacementFile, RankEntry, Settings, Variables,
};
use rankwright::rails::fabric::LocalRanks;
use rankwright::rails::gpus;
use rankwright::units::counted;
use rankwright_lab::is_default_of_lab;
use rankwright_shim_format::visible_gpus;

use super::network_stack::{device_variables, set_device_variables};
use super::{lab, unknown_hosts};
use crate::host::mpi::launcher::library_name;
use crate::host::shim::shim_beside_us;
use crate::options::inputs::read_text_or_stdin;
use crate::options::{FabricOptions, LaunchOptions, TargetOptions};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{Verbosity, warn};

/// Who starts the launcher of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StartedBy<'a> {
    /// This process, by this program.
    Us(&'a Path),
    /// The user, by this name.
    User(&'a str),
}

/// The options, checked.
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

impl Prepared {
    /// Reads a placement and checks the options of its launch.
    pub(crate) fn read(options: &LaunchOptions, placement: &Path) -> anyhow::Result<Self> {
        let expected = "a placement as `rankwright place` writes it";
        let file = placement.display().to_string();
        let text = read_text_or_stdin(placement, expected)?;
        Self::new(options, PlacementFile::parse(&text, &file)?, file)
    }

    /// Checks the options for a placement; `file` names it in errors.
    pub(crate) fn new(
        options: &LaunchOptions,
        placement: PlacementFile,
        file: String,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            job: options.job.clone(),
            fabric: options.fabric,
            launcher_arguments: options.launcher_arguments()?,
            ..Self::for_target(&options.target, placement, file)?
        })
    }

    /// As [`Prepared::new`], without the options of a job.
    pub(crate) fn for_target(
        target: &TargetOptions,
        placement: PlacementFile,
        file: String,
    ) -> anyhow::Result<Self> {
        let shim = match &target.shim {
            Some(shim) => shim.clone(),
            None => shim_beside_us()?,
        };
        Ok(Self {
            placement,
            file,
            job: None,
            binding: target.binding.into(),
            agent: target.agent.clone(),
            shim: text_of(&shim)?,
            threads_per_core: target.threads_per_core,
            memory: target.memory.into(),
            fabric: FabricOptions::default(),
            launcher_arguments: Vec::new(),
        })
    }

    /// These options with a network stack.
    pub(crate) fn with_fabric(self, fabric: FabricOptions) -> Self {
        Self { fabric, ..self }
    }

    /// The placement.
    pub(crate) fn placement(&self) -> &PlacementFile {
        &self.placement
    }

    /// The job that the user chose, or all.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<&JobEntry>> {
        Ok(launch::select_jobs(&self.placement, self.job.as_deref(), &self.file)?)
    }

    /// The name of the placement in errors.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The hosts of jobs, each once, in the order of the cluster.
    pub(crate) fn hosts(&self, jobs: &[&JobEntry]) -> Vec<&str> {
        let ranks = jobs.iter().flat_map(|job| &job.ranks);
        let used: BTreeSet<&str> = ranks.map(|entry| entry.node.as_str()).collect();
        let all = self.placement.nodes.iter().map(|node| node.name.as_str());
        all.filter(|name| used.contains(name)).collect()
    }

    /// Why jobs cannot be started because their hosts are made up; `None` where they are not, or where
    /// the launcher calls a program of the user's instead of ssh, which may know them.
    pub(crate) fn invented_hosts(&self, jobs: &[&JobEntry]) -> Option<String> {
        let cluster = &self.placement.cluster;
        if !cluster.invented || self.agent.is_some() {
            return None;
        }
        Some(format!(
            "made for invented hosts ({}): `{}` describes hardware and names no hosts; place again \
             with the names of your nodes (--nodes n[00-03]) or with a cluster.toml of your cluster",
            hostlist::compress(&self.hosts(jobs)),
            cluster.name
        ))
    }

    /// Why jobs cannot be started from here: as [`invented_hosts`](Self::invented_hosts), or because their
    /// hosts are those of a lab and this is outside of it.
    pub(crate) fn unreachable_hosts(&self, jobs: &[&JobEntry]) -> Option<String> {
        self.invented_hosts(jobs).or_else(|| {
            // A program of the user's instead of ssh may know the hosts.
            let cluster = lab::Described::from(&self.placement.cluster);
            self.agent.is_none().then(|| cluster.why_unreachable(self.hosts(jobs))).flatten()
        })
    }

    /// That hosts of jobs are not granted to the batch job with this title, if so.
    pub(crate) fn hosts_not_granted(
        &self,
        jobs: &[&JobEntry],
        title: &str,
        granted: &JobHosts,
    ) -> Option<String> {
        let hosts = self.hosts(jobs);
        let foreign: Vec<&str> = hosts.iter().copied().filter(|host| !granted.has(host)).collect();
        // A lab in a job of another system: that grants none of its nodes.
        if self.agent.is_some() && foreign.len() == hosts.len() {
            return None;
        }
        (!foreign.is_empty()).then(|| {
            format!(
                "{} of the {} of the placement {} not granted: {}; {title} has {}",
                foreign.len(),
                counted(hosts.len(), "host"),
                if foreign.len() == 1 { "is" } else { "are" },
                hostlist::compress(&foreign),
                hostlist::compress(&granted.names())
            )
        })
    }

    /// Why a launcher that is started here does not reach the hosts of jobs, as far as it calls ssh.
    pub(crate) fn unknown_hosts(&self, launcher: &Launcher, jobs: &[&JobEntry]) -> Option<String> {
        let by_ssh = self.agent.is_none();
        let hosts = self.hosts(jobs);
        by_ssh.then(|| unknown_hosts::why(launcher, &self.launcher_arguments, &hosts)).flatten()
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
                    format!("{} has several jobs; choose one with --job: {names}", self.file);
                Err(UsageError(what).into())
            }
        }
    }

    /// Why a launcher started here should not bind: launchers that number cores use those of their
    /// cpuset, which differ from the placement's if the cpuset is part of a node.
    fn obstacle_here(&self) -> Option<String> {
        let here = std::thread::available_parallelism().ok()?.get();
        let node = self.placement.nodes.iter().find(|node| node.pus as usize > here)?;
        Some(format!("{here} PUs are granted here, node {} has {}", node.name, node.pus))
    }

    /// Memory policy and variables of the ranks of a job. If the job is started from here,
    /// variables that the user has set are kept for all ranks.
    ///
    /// # Errors
    /// If the network stack cannot select the devices of the job's ranks.
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
        let notes =
            set_device_variables(self.fabric, &self.placement, job, local_ranks, &mut settings)?;
        if from_here {
            self.respect_environment(job, &mut settings);
        }
        Ok((settings, notes))
    }

    /// The notes of [`settings`](Self::settings) for a launcher that the user starts.
    pub(crate) fn device_notes(
        &self,
        launcher: &Launcher,
        job: &JobEntry,
    ) -> anyhow::Result<Vec<String>> {
        Ok(self.settings(job, local_ranks(launcher, job), false)?.1)
    }

    /// The names of the variables that give the ranks of a job their network devices.
    pub(crate) fn device_variables(&self, launcher: &Launcher, job: &JobEntry) -> Vec<String> {
        device_variables(self.fabric, &self.placement, job, local_ranks(launcher, job))
    }

    /// Warns if our environment shows other GPUs than those of the ranks of the only job.
    pub(crate) fn warn_of_other_gpus(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let (job, mut settings) = (self.one_job()?, Settings::default());
        gpus::set_variables(&self.placement, job, &mut settings);
        let mut ranks = job.ranks.iter();
        let other = ranks.find_map(|entry| Some((entry, self.own_gpu(entry, &settings).err()?)));
        if let Some((entry, text)) = other {
            warn(verbosity, format_args!("rank {}: {text}", entry.rank));
        }
        Ok(())
    }

    /// The variables of a rank's GPU that our environment has otherwise.
    fn own_gpu(&self, entry: &RankEntry, settings: &Settings) -> Result<Variables, String> {
        let here = |name: &str| std::env::var(name).ok();
        let granted = gpus::count_like(&self.placement, entry);
        visible_gpus::narrowed(settings.variables(entry.rank.index()), here, granted)
    }

    /// The variables of our environment that a lab has set and a rank of the job has otherwise. The
    /// launcher must not get them: the ranks would keep what it passes on.
    pub(crate) fn replaced_defaults(
        &self,
        launcher: &Launcher,
        job: &JobEntry,
    ) -> anyhow::Result<BTreeSet<String>> {
        let (settings, _) = self.settings(job, local_ranks(launcher, job), true)?;
        let names = (0..job.ranks.len()).flat_map(|rank| settings.variables(rank));
        let names = names
            .map(|(name, _)| name)
            .filter(|name| std::env::var(name).is_ok_and(|value| is_default_of_lab(name, &value)));
        Ok(names.cloned().collect())
    }

    /// Replaces variables of the ranks by those of our environment, except what a lab has set there,
    /// and lists of visible GPUs, which are narrowed where they have the rank's.
    fn respect_environment(&self, job: &JobEntry, settings: &mut Settings) {
        for (rank, entry) in job.ranks.iter().enumerate() {
            let wanted = settings.variables(rank).to_vec();
            let own = self.own_gpu(entry, settings);
            for (name, _) in &wanted {
                match std::env::var(name).ok() {
                    Some(value) if is_default_of_lab(name, &value) => {}
                    Some(value) => settings.set(rank, name, value),
                    None if own.is_err() && visible_gpus::restricts(name) => {
                        settings.unset(rank, name);
                    }
                    None => {}
                }
            }
            own.iter().flatten().for_each(|(name, value)| settings.set(rank, name, value));
        }
    }

    /// A note if the programs of a line are not those that were recorded.
    pub(crate) fn unlike_recorded(&self, job: &JobEntry, line: &ProgramLine) -> Option<String> {
        let is_recorded = !job.mpi_library.is_empty();
        // Of several jobs of one program only the first has its name.
        let is_named_so = self.placement.jobs.len() == 1;
        (is_recorded && is_named_so).then(|| line.unlike_recorded(&job.name)).flatten()
    }

    /// The launch of `job` by `launcher`, with its files in `folder`.
    pub(crate) fn launch(
        &self,
        launcher: &Launcher,
        started: StartedBy<'_>,
        job: &JobEntry,
        folder: &Path,
        task: Task<'_>,
    ) -> anyhow::Result<Launch> {
        if let Task::Programs(line) = task
            && line.has_cores()
        {
            line.check_cores(job).map_err(|error| Infeasible(error.to_string()))?;
        }
        let (program, from_here) = match started {
            StartedBy::Us(program) => (text_of(program)?, true),
            StartedBy::User(name) => (name.to_owned(), false),
        };
        let obstacle = if from_here { self.obstacle_here() } else { None };
        let (settings, notes) = self.settings(job, local_ranks(launcher, job), from_here)?;
        // srun needs the process management interface of the MPI library.
        let named = (launcher.name == "slurm").then(|| with_library(job, task)).flatten();
        let job = named.as_ref().unwrap_or(job);
        let request = Request {
            placement: &self.placement,
            job,
            settings: &settings,
            binding: self.binding,
            obstacle: obstacle.as_deref(),
            folder: &text_of(folder)?,
            shim: &self.shim,
            program: Some(&program),
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
        if let Task::Programs(line) = task {
            launch.notes.extend(self.unlike_recorded(job, line));
        }
        Ok(launch)
    }
}

/// How the launcher counts the ranks of a job on each host.
fn local_ranks(launcher: &Launcher, job: &JobEntry) -> LocalRanks {
    if launcher.counts_local_ranks(job) { LocalRanks::Right } else { LocalRanks::Wrong }
}

/// The job with the MPI library of its programs, if the placement does not have it.
fn with_library(job: &JobEntry, task: Task<'_>) -> Option<JobEntry> {
    let (Task::Programs(line) | Task::Report(Some(line))) = task else { return None };
    let name = library_name(line, Some(job.ranks.len())).filter(|_| job.mpi_library.is_empty())?;
    Some(JobEntry { mpi_library: name.to_owned(), ..job.clone() })
}

/// A path as text for launch files and command lines.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| UsageError(format!("{}: the path is not UTF-8", path.display())).into())
}

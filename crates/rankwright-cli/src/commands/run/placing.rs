//! Placing for the nodes that are really granted, just before the start.

use std::collections::HashSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use rankwright::choose::{Search, candidates, verdict};
use rankwright::cluster::read::allocation::{self, Cpu, Granted, Misfit, Which};
use rankwright::cluster::read::hostfile::{self, Host, HostsError};
use rankwright::cluster::{Cluster, hostlist};
use rankwright::files::InputError;
use rankwright::map::{MAPPERS, Objective, Problem, Strategy};
use rankwright::placement::{Granularity, PlacementFile};
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;
use rankwright::units;

use crate::batch_job::{BatchJob, Hosts, pus_here};
use crate::cli::Verbosity;
use crate::exit_code::{Infeasible, UsageError};
use crate::host_name::same_host;
use crate::inputs;
use crate::network::{Gpus, SelectionOptions};
use crate::output::note;
use crate::termination::ended_by_sigterm;

/// Options for placing at the start.
#[derive(Debug, Args)]
pub(crate) struct PlacingOptions {
    /// Place for the nodes granted, by this profile (app.rwp) or other traffic of the program
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What the nodes look like: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in
    /// name [default: all like this one]
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) on: Option<String>,
    /// The hosts, where no batch system grants them
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub(crate) hostfile: Option<PathBuf>,
    /// How many ranks [default: as many as the profile has]
    #[arg(short = 'n', long, value_name = "NUMBER", requires = "profile")]
    pub(crate) ranks: Option<NonZeroUsize>,
    /// Whole cores for each rank [default: what the batch system grants for each task, else 1]
    #[arg(long, value_name = "NUMBER", requires = "profile")]
    pub(crate) cores_per_rank: Option<NonZeroU32>,
    /// Place by this strategy [default: the best of those that take little time]
    #[arg(long, value_name = "STRATEGY", requires = "profile")]
    pub(crate) strategy: Option<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionOptions,
    /// Start nothing if the job cannot be placed; else the launcher places it as it does by default
    #[arg(long, requires = "profile")]
    pub(crate) strict: bool,
}

/// What there is to place, and on what.
pub(super) struct Ground {
    cluster: Cluster,
    workload: Workload,
    granularity: Granularity,
    /// How network devices are chosen.
    selection: SelectionOptions,
    /// Hosts of which a part is granted, nobody knows which.
    in_part: Vec<String>,
}

impl PlacingOptions {
    /// How many ranks the user wants, where that is said: by `-n`, by the programs, or to the batch
    /// system.
    pub(super) fn wanted_ranks(
        &self,
        programs: Option<usize>,
        batch: Option<&BatchJob>,
    ) -> Option<usize> {
        let option = self.ranks.map(NonZeroUsize::get);
        option.or(programs).or_else(|| batch.and_then(|batch| batch.tasks))
    }

    /// The hosts that the user lists, as far as they can be read.
    pub(super) fn hosts(&self) -> Vec<Host> {
        self.hostfile.as_deref().and_then(|file| listed_in(file).ok()).unwrap_or_default()
    }

    /// Reads the profile.
    ///
    /// # Errors
    /// If it cannot be read, or has several jobs.
    pub(super) fn workload(&self, verbosity: &Verbosity) -> anyhow::Result<Workload> {
        let name = self.profile.as_deref().context("--profile was not given")?;
        let workload = inputs::workload(name, verbosity)?;
        if workload.jobs.len() != 1 {
            let why = format!("{name} has {} jobs, one can be started", workload.jobs.len());
            return Err(Infeasible(why).into());
        }
        Ok(workload)
    }

    /// Finds out what the nodes are for what is to be placed.
    ///
    /// # Errors
    /// If they cannot be known, or the profile is of another number of ranks than `wanted`.
    pub(super) fn ground(
        &self,
        workload: Workload,
        wanted: Option<usize>,
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Ground> {
        let ranks = workload.rank_count();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != ranks) {
            let name = self.profile.as_deref().unwrap_or_default();
            let why = format!("{name} is a profile of {ranks} ranks, {wanted} are to be started");
            return Err(Infeasible(why).into());
        }
        let (cluster, in_part) = self.cluster(batch, verbosity)?;
        self.selection.refuse_without_devices(&cluster)?;
        let granularity = self.granularity(&cluster, ranks, batch);
        let selection = self.selection.clone();
        Ok(Ground { cluster, workload, granularity, selection, in_part })
    }

    /// The cluster of the nodes granted, and the hosts of which nobody knows which part is.
    fn cluster(
        &self,
        batch: Option<&BatchJob>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<(Cluster, Vec<String>)> {
        let hosts = match (&self.hostfile, batch) {
            (Some(file), _) => Some(Hosts::Slots(listed_in(file)?)),
            (None, batch) => batch.map(|batch| batch.hosts.clone()),
        };
        let mut described = match &self.on {
            Some(on) => inputs::cluster(on, None)?,
            None => inputs::this_host()?,
        };
        let Some(hosts) = hosts else { return Ok((described, Vec::new())) };
        if self.on.is_none() {
            // What is not granted here may be granted elsewhere.
            described = described.all_free();
            if hosts.names().len() > 1 || !same_host(hosts.names()[0], &described.nodes[0].name) {
                let here = &described.nodes[0].name;
                note(verbosity, format_args!("all nodes are taken to be like this one, {here}"));
            }
        }
        let what = self.on.as_deref().unwrap_or("this machine");
        if self.on.is_some() {
            let first_label = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
            let known: HashSet<String> =
                described.nodes.iter().map(|node| first_label(&node.name)).collect();
            let names = hosts.names();
            let is_unknown = |host: &&str| !known.contains(&first_label(host));
            let unknown: Vec<&str> = names.into_iter().filter(is_unknown).collect();
            if let (Some(first), [_]) = (unknown.first(), &described.groups[..]) {
                let count = units::counted(unknown.len(), "host");
                let text = format!("{count} not in {what} ({first}): taken to be like its nodes");
                note(verbosity, text);
            }
        }
        match hosts {
            Hosts::Slots(hosts) => {
                let cluster = hostfile::cluster(&described, &hosts);
                Ok((cluster.map_err(|error| unfit(&error, what))?, Vec::new()))
            }
            Hosts::Cpus(hosts) => {
                let made = allocation::cluster(&described, &hosts, counted(&described, &hosts));
                let allocation = made.map_err(|misfit| match misfit {
                    Misfit::Hosts(error) => unfit(&error, what),
                    Misfit::TooManyCpus { granted, has } | Misfit::NoSuchCpu { granted, has } => {
                        Infeasible(format!(
                            "{} CPUs are granted on {}, which has {has} in {what}",
                            granted.cpus, granted.host
                        ))
                    }
                })?;
                Ok((allocation.cluster, allocation.in_part))
            }
        }
    }

    /// What each rank gets.
    fn granularity(
        &self,
        cluster: &Cluster,
        ranks: usize,
        batch: Option<&BatchJob>,
    ) -> Granularity {
        if let Some(cores) = self.cores_per_rank {
            return Granularity::Cores(cores.get());
        }
        let (mut cores, mut pus) = (0, 0);
        for node in &cluster.nodes {
            let group = &cluster.groups[node.group];
            let free = || group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
            pus += free().count();
            cores += free()
                .map(|(pu, _)| pu.core)
                .fold((0, None), |(count, last), core| {
                    (count + usize::from(last != Some(core)), Some(core))
                })
                .0;
        }
        let threads = (pus / cores.max(1)).max(1);
        if let Some(cpus) = batch.and_then(|batch| batch.cpus_per_task).filter(|cpus| *cpus > 1) {
            return Granularity::Cores((cpus as usize).div_ceil(threads) as u32);
        }
        // Batch systems that count threads grant them to as many tasks.
        if ranks > cores && ranks <= pus { Granularity::Pu } else { Granularity::Cores(1) }
    }
}

fn unfit(error: &HostsError, what: &str) -> Infeasible {
    Infeasible(match error {
        HostsError::UnknownType(host) => {
            format!("the host {host} is not in {what}, which has nodes of several types")
        }
        HostsError::Invalid(error) => error.to_string(),
    })
}

/// What the batch system calls a CPU: what makes its numbers those of the kernel on this host.
fn counted(described: &Cluster, hosts: &[Granted]) -> Cpu {
    let (Ok(here), Some(pus)) = (inputs::host_name(), pus_here()) else { return Cpu::Thread };
    let Some(granted) = hosts.iter().find(|granted| same_host(&granted.host, &here)) else {
        return Cpu::Thread;
    };
    let like = described.nodes.iter().find(|node| same_host(&node.name, &here));
    let machine = match (like, described.groups.as_slice()) {
        (Some(node), groups) => &groups[node.group].machine,
        (None, [only]) => &only.machine,
        _ => return Cpu::Thread,
    };
    let are = |cpu| match &granted.which {
        Which::Slurm(ids) => allocation::pus_of_slurm(machine, ids, cpu).as_ref() == Some(&pus),
        Which::Pus(known) => cpu == Cpu::Thread && *known == pus,
        Which::Unknown => {
            let threads = machine.pus.len() / machine.cores.len().max(1);
            cpu == Cpu::Core && granted.cpus as usize * threads == pus.len() && threads > 1
        }
    };
    if !are(Cpu::Thread) && are(Cpu::Core) { Cpu::Core } else { Cpu::Thread }
}

/// The strategies that are tried, the fastest first, and how large a job may be for each: the number
/// of its ranks and of its pairs of ranks that send. Of random graphs, which take longest, a core of
/// 2020 does all that are tried, and what is around them, in less than two seconds
/// (`benchmarks/start`).
const TRIED: [(&str, usize); 8] = [
    ("blocked", usize::MAX),
    ("cyclic", usize::MAX),
    ("treematch", 3_000_000),
    ("mapping-2013", 500_000),
    ("kway", 300_000),
    ("multisection", 100_000),
    ("drb", 70_000),
    ("contention", 2_000),
];

impl Ground {
    /// How many ranks there are.
    pub(super) fn ranks(&self) -> usize {
        self.workload.rank_count()
    }

    /// The placement by a strategy; without a name, the best of those that take little time.
    ///
    /// # Errors
    /// If there is no such strategy, no place for the ranks, or not the devices that are wanted.
    pub(super) fn placement(
        &self,
        strategy: Option<&str>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<PlacementFile> {
        let strategies = match strategy {
            Some(name) => vec![fast(name)?],
            None => self.tried()?,
        };
        let problem = Problem::new(&self.cluster, &self.workload, self.granularity)?;
        let problem = self.selection.ask(problem)?;
        let pacing = Pacing::AfterArrival;
        let search = Search {
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            clock: None,
            objective: Objective::default(),
            simulation: Options { pacing, ..Options::default() },
            messages: 0,
            seeds: 1,
            judge_all: false,
            observer: &|_| ControlFlow::Continue(()),
        };
        let problem = problem.with_closed_loop(true);
        let found = ended_by_sigterm(|| candidates(&problem, &strategies, &search));
        let (whole, failed): (Vec<_>, Vec<_>) =
            found.candidates.into_iter().partition(Result::is_ok);
        let mut whole: Vec<_> = whole.into_iter().filter_map(Result::ok).collect();
        if whole.is_empty() {
            let error = failed.into_iter().find_map(Result::err);
            return Err(error.context("no strategy was named")?.into());
        }
        let best = verdict(&self.cluster, &whole, found.settled.as_ref()).best;
        let best = whole.swap_remove(best);
        // Which GPUs are granted is not known: nothing is said of them unless devices are asked for.
        let gpus = if self.selection.nics.is_none() { Gpus::None } else { Gpus::Near };
        let (cluster, workload) = (&self.cluster, &self.workload);
        let mut file = self.selection.file(cluster, workload, &best, gpus, verbosity)?;
        self.unbind(&mut file);
        Ok(file)
    }

    fn tried(&self) -> anyhow::Result<Vec<Strategy>> {
        let pairs: usize = self.workload.jobs.iter().map(|job| job.flows.len()).sum();
        let size = self.workload.rank_count() + pairs;
        let there = |name: &str| MAPPERS.iter().any(|entry| entry.name == name);
        let tried = TRIED.iter().filter(|(name, largest)| size <= *largest && there(name));
        tried.map(|(name, _)| fast(name)).collect()
    }

    /// Where nobody knows which PUs of a node are granted, a binding to others would be refused: the
    /// ranks there run on whatever their node grants.
    fn unbind(&self, file: &mut PlacementFile) {
        if self.cluster.emulated || self.in_part.is_empty() {
            return;
        }
        for entry in file.jobs.iter_mut().flat_map(|job| &mut job.ranks) {
            if self.in_part.contains(&entry.node)
                && let Some(node) = self.cluster.find_node(&entry.node)
            {
                entry.bound = false;
                entry.numa = None;
                entry.pus = self.cluster.machine(node).pus.iter().map(|pu| pu.id).collect();
                entry.pus.sort_unstable();
            }
        }
    }

    /// What the user should know about the nodes.
    pub(super) fn note(&self, verbosity: &Verbosity) {
        if !self.in_part.is_empty() && !self.cluster.emulated {
            note(
                verbosity,
                format_args!(
                    "{}: granted in part, and which PUs is not told; the ranks there are not bound",
                    hostlist::compress(&self.in_part)
                ),
            );
        }
    }
}

/// A strategy with little effort, unless the user says otherwise.
fn fast(text: &str) -> anyhow::Result<Strategy> {
    let strategy: Result<Strategy, _> = text.parse();
    let strategy = strategy.and_then(|strategy| strategy.with_default("effort", "fast"));
    strategy.map_err(|error| UsageError(error.to_string()).into())
}

/// The hosts of a hostfile.
fn listed_in(file: &Path) -> Result<Vec<Host>, InputError> {
    let text = inputs::read_text_or_stdin(file, hostfile::EXPECTED)?;
    hostfile::parse(&text, &file.display().to_string())
}

//! How a workload is placed: the arguments of `rankwright.place`, checked.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Instant;

use pyo3::prelude::*;
use rankwright::choose::{
    NamedNodesError, SharingMode, end_of_search, granularity_of_tasks, named_nodes, nearest_nodes,
    together_and_apart, useful_nodes,
};
use rankwright::cluster::hostlist;
use rankwright::launch::{self, LAUNCHERS, Launcher, ProgramLine};
use rankwright::map::{
    Clock, DEFAULT_BALANCE, EFFORTS, Effort, GroupOrigin, MAPPERS, Strategy, list_of_strategies,
};
use rankwright::placement::{GpuUse, Granularity, RanksPer, Share, slots};
use rankwright::rails::{Selection, gpus};
use rankwright::ranking::Objective;
use rankwright::sim::{Options, Pacing};
use rankwright::units::Seconds;
use rankwright::{Planner, cluster, traffic};

use crate::failure::Failure;
use crate::job::Job;
use crate::predicting::simulation;
use crate::running::usable_pus;

/// Begins the warning of a setting of GPUs where there are none.
const NO_EFFECT: &str = "gpus has no effect";

/// How a workload is placed; the names are those of `rankwright.place`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    pub(super) strategies: Option<Vec<String>>,
    share: Option<String>,
    objective: Option<String>,
    effort: Option<String>,
    /// Such as `10s`, from when the user called; and the seconds that had passed when this began.
    time: Option<(String, f64)>,
    moves: Option<u64>,
    seed: Option<u32>,
    threads: Option<NonZeroUsize>,
    nodes: Option<NonZeroUsize>,
    /// A hostlist, or several: instead of `nodes`.
    named_nodes: Option<String>,
    cores_per_rank: Option<NonZeroU32>,
    ranks_per_node: Option<NonZeroU32>,
    ranks_per_package: Option<NonZeroU32>,
    ranks_per_numa: Option<NonZeroU32>,
    /// Such as `2` or `1/2`.
    ranks_per_gpu: Option<String>,
    per_pu: bool,
    /// The words of a program line.
    programs: Option<Vec<String>>,
    own_nodes: bool,
    nics: Option<String>,
    gpus: Option<String>,
    launcher: Option<String>,
    balance: Option<f64>,
    /// `recorded` or `block`.
    pub(super) keep_node_groups: Option<String>,
    arrivals: String,
    /// `loop` for users.
    pacing: Option<String>,
    service: String,
    /// The batch job whose nodes are used.
    pub(super) job: Option<Job>,
    /// Whether the launcher's default is among the candidates and all are evaluated, as in `place`.
    pub(super) compared: bool,
    pub(super) keep_best: bool,
}

impl Settings {
    /// How jobs are to share nodes, if the user says.
    pub(super) fn share(&self) -> Result<Option<SharingMode>, Failure> {
        let Some(text) = self.share.as_deref() else { return Ok(None) };
        if self.strategies.is_some() {
            let text = "found strategies and share, expected one of them";
            return Err(Failure::Argument(text.to_owned()));
        }
        let mode: SharingMode = text
            .parse()
            .map_err(|expected| Failure::Argument(format!("share: found `{text}`, {expected}")))?;
        Ok(Some(mode))
    }

    /// The clock of a search that ends in time.
    pub(super) fn clock(
        &self,
        workload: &traffic::Workload,
    ) -> Result<Option<Box<Clock<'static>>>, Failure> {
        let Some((text, passed)) = &self.time else { return Ok(None) };
        if self.effort.is_some() || self.moves.is_some() {
            let text = "found several limits of the search, expected one of time, effort and moves";
            return Err(Failure::Argument(text.to_owned()));
        }
        let limit: Seconds =
            text.parse().map_err(|error| Failure::Argument(format!("time: {error}")))?;
        let (begin, passed) = (Instant::now(), *passed);
        let end = end_of_search(limit, workload).0;
        Ok(Some(Box::new(move || match end > 0.0 {
            true => (passed + begin.elapsed().as_secs_f64()) / end,
            false => 1.0,
        })))
    }

    /// The named strategies, or that of a way to share nodes; without either, all that are candidates, for several
    /// jobs also those that keep them apart or together.
    pub(super) fn strategies(
        &self,
        jobs: usize,
        share: Option<SharingMode>,
    ) -> Result<Vec<Strategy>, Failure> {
        if let Some(mode) = share {
            return Ok(vec![mode.strategy()?]);
        }
        let named: Vec<&str> = match &self.strategies {
            Some(named) => named.iter().map(String::as_str).collect(),
            None => {
                let usual = MAPPERS.iter().filter(|entry| entry.role.is_candidate());
                usual.map(|entry| entry.name).collect()
            }
        };
        let mut strategies: Vec<Strategy> = Vec::new();
        for name in named.into_iter().flat_map(list_of_strategies) {
            let strategy = self.strategy(&name)?;
            if strategies.iter().any(|other| other.id() == strategy.id()) {
                let text = format!("strategies: found {} twice, expected each once", strategy.id());
                return Err(Failure::Argument(text));
            }
            strategies.push(strategy);
        }
        if jobs > 1 && self.strategies.is_none() {
            strategies.extend(together_and_apart()?);
        }
        Ok(strategies)
    }

    /// A strategy by name, with the settings as defaults of its options.
    fn strategy(&self, name: &str) -> Result<Strategy, Failure> {
        let for_all = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("effort", self.effort.clone()),
            ("moves", self.moves.map(|moves| moves.to_string())),
            ("objective", self.objective.clone()),
        ];
        let mut strategy: Strategy = name.parse()?;
        for (option, value) in for_all {
            if let Some(value) = value {
                strategy = strategy.with_default(option, &value)?;
            }
        }
        Ok(strategy)
    }

    fn objective(&self) -> Result<Objective, Failure> {
        let objective = self.objective.as_deref().map_or(Ok(Objective::default()), str::parse);
        objective.map_err(|expected| {
            let text = self.objective.as_deref().unwrap_or_default();
            Failure::Argument(format!("objective: found `{text}`, {expected}"))
        })
    }

    fn effort(&self) -> Result<Option<Effort>, Failure> {
        let Some(name) = self.effort.as_deref() else { return Ok(None) };
        match EFFORTS.iter().find(|(effort, _)| *effort == name) {
            Some((_, effort)) => Ok(Some(*effort)),
            None => Err(Failure::unknown("effort", name, EFFORTS.iter().map(|(name, _)| *name))),
        }
    }

    pub(super) fn launcher(&self) -> Result<&'static Launcher, Failure> {
        let Some(name) = self.launcher.as_deref() else { return Ok(&LAUNCHERS[0]) };
        let names = LAUNCHERS.iter().map(|launcher| launcher.name);
        launch::find(name).ok_or_else(|| Failure::unknown("launcher", name, names))
    }

    /// A planner that searches as the user says.
    pub(super) fn search<'a>(&self, planner: Planner<'a>) -> Result<Planner<'a>, Failure> {
        let mut planner = planner
            .objective(self.objective()?)
            .threads(self.threads.unwrap_or_else(usable_pus))
            .balance(self.balance()?);
        if let Some(effort) = self.effort()? {
            planner = planner.effort(effort);
        }
        Ok(match self.keep_node_groups.as_deref() {
            None => planner,
            Some("recorded") => planner.keep_node_groups(GroupOrigin::Recorded),
            Some("block") => planner.keep_node_groups(GroupOrigin::BlockOrder),
            Some(other) => {
                let known = ["recorded", "block"];
                return Err(Failure::unknown("keep_node_groups", other, known.into_iter()));
            }
        })
    }

    fn balance(&self) -> Result<f64, Failure> {
        let balance = self.balance.unwrap_or(DEFAULT_BALANCE);
        match (0.0..=1000.0).contains(&balance) {
            true => Ok(balance),
            false => Err(Failure::Argument(format!(
                "balance: found {balance}, expected a share from 0 to 1000, like 0.02"
            ))),
        }
    }

    /// How candidates are simulated.
    pub(super) fn simulation(&self, default: Pacing) -> Result<Options, Failure> {
        let names = (self.arrivals.as_str(), self.pacing.as_deref(), self.service.as_str());
        simulation(names, default, self.seed)
    }

    /// Network devices, as the user says; of ranks per GPU by default those beside them.
    pub(super) fn nics(&self, whole: &cluster::Cluster) -> Result<Selection, Failure> {
        let near = || self.ranks_per_gpu.as_ref().and_then(|_| gpus::of_ranks_per_gpu(whole).0);
        match self.nics.as_deref() {
            None => Ok(near().unwrap_or(Selection::NONE)),
            Some(name) => name.parse().map_err(|error| Failure::Argument(format!("nics: {error}"))),
        }
    }

    /// How ranks use the GPUs of these nodes, as the user says; by default `near`, of ranks per GPU and where
    /// GPUs were granted. Also what has no effect.
    pub(super) fn gpus(
        &self,
        whole: &cluster::Cluster,
        nodes: &cluster::Cluster,
    ) -> Result<(GpuUse, Option<String>), Failure> {
        let near = || self.ranks_per_gpu.as_ref().and_then(|_| gpus::of_ranks_per_gpu(whole).1);
        let granted = || self.job.as_ref().is_some_and(Job::has_gpus);
        let (wanted, why) = match self.gpus.as_deref() {
            Some("near") => (GpuUse::Near, NO_EFFECT),
            Some("one-per-rank") => {
                self.refuse_hidden_gpus()?;
                (GpuUse::OnePerRank, NO_EFFECT)
            }
            Some("none") => (GpuUse::None, NO_EFFECT),
            Some(other) => {
                let known = ["near", "one-per-rank", "none"];
                return Err(Failure::unknown("gpus", other, known.into_iter()));
            }
            None => match near() {
                Some(near) => (near, NO_EFFECT),
                None if granted() => {
                    (GpuUse::Near, "the batch system granted GPUs, which are left to the program")
                }
                None => (GpuUse::None, NO_EFFECT),
            },
        };
        let granted = self.job.as_ref().and_then(Job::gpus_here);
        Ok(gpus::possible(nodes, wanted, why, granted))
    }

    /// Refuses that each rank has several GPUs and sees only one.
    fn refuse_hidden_gpus(&self) -> Result<(), Failure> {
        let per_gpu = self.ranks_per_gpu.as_deref().map(RanksPer::per_gpu);
        match per_gpu {
            Some(Ok(RanksPer::Gpus { gpus, .. })) if gpus.get() > 1 => {
                Err(Failure::Argument(format!(
                    "gpus: found \"one-per-rank\" with ranks_per_gpu=\"1/{gpus}\", by which each rank would see \
                     one of its {gpus} GPUs: leave out gpus, then each rank gets all {gpus}, or start a rank for \
                     each GPU with ranks_per_gpu=1"
                )))
            }
            _ => Ok(()),
        }
    }

    /// What each rank gets: by the cores or nodes of programs where these say it, else by the other settings;
    /// where nothing is said, as the batch job has tasks.
    pub(super) fn granularity(
        &self,
        nodes: &cluster::Cluster,
        ranks: usize,
    ) -> Result<Granularity, Failure> {
        let given = self.given_granularity()?;
        let line = self.programs.as_deref().map(ProgramLine::parse).transpose();
        let line = line.map_err(|error| Failure::Argument(error.to_string()))?;
        let of_programs = match line {
            Some(line) => line.granularity(ranks, given.as_ref(), self.own_nodes)?,
            None if self.own_nodes => {
                let text = "own_nodes: found no programs, expected some, such as `-n 2 ./a : ./b`";
                return Err(Failure::Argument(text.to_owned()));
            }
            None => None,
        };
        let as_tasks = || {
            let shares = self.job.as_ref().filter(|_| !self.limits_nodes())?.task_shares()?;
            granularity_of_tasks(nodes, ranks, &shares)
        };
        Ok(of_programs.or(given).or_else(as_tasks).unwrap_or(Granularity::Cores(1)))
    }

    fn limits_nodes(&self) -> bool {
        self.nodes.is_some() || self.named_nodes.is_some()
    }

    fn given_granularity(&self) -> Result<Option<Granularity>, Failure> {
        let per_gpu = self.ranks_per_gpu.as_deref().map(|text| {
            RanksPer::per_gpu(text).map_err(|expected| {
                Failure::Argument(format!("ranks_per_gpu: found `{text}`, {expected}"))
            })
        });
        let per = [
            self.ranks_per_node.map(RanksPer::Node),
            self.ranks_per_package.map(RanksPer::Package),
            self.ranks_per_numa.map(RanksPer::Numa),
            per_gpu.transpose()?,
        ];
        let mut given = per.into_iter().flatten();
        let ranks = given.next();
        if given.next().is_some() || (self.cores_per_rank.is_some() && self.per_pu) {
            let text = "found several sizes of a rank, expected one of ranks_per_node, \
                        ranks_per_package, ranks_per_numa, ranks_per_gpu, and at most one of \
                        cores_per_rank and per=\"pu\"";
            return Err(Failure::Argument(text.to_owned()));
        }
        let share = match self.cores_per_rank {
            Some(cores) => Share::CoresEach(cores),
            None if self.per_pu => Share::Pus,
            None => Share::Cores,
        };
        Ok(match (ranks, self.cores_per_rank) {
            (Some(ranks), _) => Some(Granularity::Part { ranks, share }),
            (None, Some(cores)) => Some(Granularity::Cores(cores.get())),
            (None, None) if self.per_pu => Some(Granularity::Pu),
            (None, None) => None,
        })
    }

    /// The nodes of a cluster: those that the batch job has, with its title, if there is one.
    pub(super) fn granted(
        &self,
        whole: &cluster::Cluster,
    ) -> Result<Option<(String, cluster::Cluster)>, Failure> {
        self.job.as_ref().map(|job| job.nodes_of(whole)).transpose()
    }

    /// The nodes that are used, of a cluster or of what a batch job has of it: those that were named; or as many as
    /// were wanted, or all, of these as few as hold the ranks where their number per object is given.
    pub(super) fn chosen(
        &self,
        nodes: &cluster::Cluster,
        job: Option<&str>,
        granularity: &Granularity,
        ranks: usize,
    ) -> Result<cluster::Cluster, Failure> {
        let part = match &self.named_nodes {
            Some(text) => {
                let part = named_nodes(nodes, &host_names(text)?);
                part.map_err(|error| not_there(error, job))?
            }
            None => {
                let useful = useful_nodes(nodes, granularity, ranks);
                let most = self.nodes.map_or(useful, |nodes| useful.min(nodes.get()));
                nearest_nodes(nodes, granularity, ranks, most)
            }
        };
        match (job, slots(&part, granularity.clone(), ranks)) {
            (Some(job), Err(error)) => {
                let names: Vec<&str> = nodes.nodes.iter().map(|node| node.name.as_str()).collect();
                let has = hostlist::compress(&names);
                Err(Failure::Infeasible(format!("nodes ({job} has {has}): {error}")))
            }
            _ => Ok(part),
        }
    }
}

fn not_there(error: NamedNodesError, job: Option<&str>) -> Failure {
    match (error, job) {
        (NamedNodesError::Missing { missing, has, .. }, Some(job)) => {
            Failure::Infeasible(format!("nodes: {missing} is not granted; {job} has {has}"))
        }
        (error, _) => Failure::Argument(format!("nodes: {error}")),
    }
}

/// The host names of a hostlist such as `n[0-3]`, all different.
#[pyfunction]
pub(crate) fn hosts(text: &str) -> PyResult<Vec<String>> {
    Ok(host_names(text)?)
}

fn host_names(text: &str) -> Result<Vec<String>, Failure> {
    let names = hostlist::expand(text).and_then(hostlist::distinct);
    names.map_err(|error| Failure::Argument(format!("nodes: {error}")))
}

//! Populations: the ranks of a workload packed on few nodes, or spread over many.

use std::collections::{BTreeMap, BTreeSet};

use super::{Basis, Candidate, Evaluation, Plan};
use crate::cluster::Cluster;
use crate::estimate::Fluid;
use crate::ids::{NodeId, NumaId};
use crate::map::{Problem, StrategyId};
use crate::placement::{
    Granularity, Placement, PlacementError, RankPlacement, Slot, in_turn, slots,
};
use crate::ranking::{Rule, Score, rank};
use crate::statistics::median;
use crate::traffic::{Job, Workload};
use crate::units::{BytesPerSecond, Seconds, counted};

/// All ranks on a number of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// Number of nodes; they are the first of the cluster.
    pub nodes: usize,
    /// The best placement on these nodes, or why there is none.
    pub best: Result<Populated, NotPopulated>,
}

/// Why a number of nodes has no placement.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotPopulated {
    /// The ranks do not fit.
    #[error(transparent)]
    TooSmall(#[from] PlacementError),
    /// There are nodes without ranks.
    #[error("{} would use only {used} of them", counted(*.ranks, "rank"))]
    TooLarge {
        /// The number of ranks.
        ranks: usize,
        /// The number of nodes that they would use.
        used: usize,
    },
    /// All strategies failed.
    #[error("{0}")]
    Failed(String),
}

/// The best placement on a number of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Populated {
    /// The smallest and the largest number of ranks on a node.
    pub ranks_per_node: (usize, usize),
    /// The placement.
    pub candidate: Candidate,
    /// Its estimated run time.
    pub estimate: Estimate,
    /// The run time with the launcher's default on as many nodes; `None` if it was not among the
    /// candidates.
    pub default: Option<Seconds>,
}

/// The estimated run time of a placement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Run time of the jobs.
    pub time: Seconds,
    /// Utilisation of the busiest memory, above 1 if overloaded; `None` if the memory traffic of the
    /// ranks besides messages is unknown.
    pub memory_utilisation: Option<f64>,
}

/// What is minimised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preference {
    /// The run time.
    #[default]
    Time,
    /// Number of nodes times run time.
    NodeHours,
}

/// Plans a problem. It is called for the numbers of nodes on which the ranks fit, and gets the position
/// among them, from 0, and how many there are.
pub type PlanOf<'a, E> = dyn FnMut(Problem, (usize, usize)) -> Result<Plan, E> + 'a;

/// Maps the ranks to the first n nodes of a cluster, for each n of `counts`, as evenly as the nodes
/// allow and spread over the memories of each node. `plan` plans for a cluster of these nodes alone (it
/// may add constraints). Run times are those of [`TimeEstimate::of_plans`]; `traffic` slows ranks down.
/// The best candidate is that of the plan where it has run times, else the best by [`Rule::RunTime`].
/// `default` is the strategy of the launcher.
pub fn populations<E: std::fmt::Display>(
    (cluster, workload): (&Cluster, &Workload),
    granularity: Granularity,
    counts: &[usize],
    plan: &mut PlanOf<'_, E>,
    default: &StrategyId,
    traffic: MemoryTraffic,
) -> (TimeEstimate, Vec<Population>) {
    let parts: Vec<Cluster> =
        counts.iter().map(|nodes| cluster.clone().first_nodes(*nodes)).collect();
    let problems: Vec<Result<Problem, NotPopulated>> =
        parts.iter().map(|part| problem(part, workload, &granularity)).collect();
    let possible = problems.iter().filter(|problem| problem.is_ok()).count();
    let mut number = 0;
    let mut planned = |problem: Problem| {
        let plan = plan(problem, (number, possible));
        number += 1;
        plan.map_err(|error| NotPopulated::Failed(error.to_string()))
    };
    let mut plans: Vec<Result<Plan, NotPopulated>> =
        problems.into_iter().map(|problem| planned(problem?)).collect();
    let by = TimeEstimate::of_plans(workload, plans.iter().flatten());
    if by == TimeEstimate::Simulation {
        in_proportion_to_replays(&mut plans);
    }
    let populated = |part: &Cluster, mut plan: Plan| {
        let estimated = |candidate: &Candidate| by.estimate(part, workload, candidate, traffic);
        let (best, estimate) = if by.is_simulated() {
            (plan.ranking.best(), estimated(plan.best())?)
        } else {
            let estimates = plan.candidates.iter().map(&estimated);
            let estimates: Vec<Estimate> = estimates.collect::<Result<_, PlacementError>>()?;
            let best = best(&plan.candidates, &estimates);
            (best, estimates[best])
        };
        let by_default = plan.candidates.iter().find(|candidate| candidate.strategy == *default);
        let default = by_default.map(&estimated).transpose()?.map(|default| default.time);
        let candidate = plan.candidates.swap_remove(best);
        let ranks_per_node = ranks_per_node(&candidate.placement);
        Ok(Populated { ranks_per_node, candidate, estimate, default })
    };
    let of_part = |(part, plan): (&Cluster, Result<Plan, NotPopulated>)| {
        let best = plan.and_then(|plan| populated(part, plan));
        Population { nodes: part.nodes.len(), best }
    };
    (by, parts.iter().zip(plans).map(of_part).collect())
}

/// Where the time limit ended the replay for some numbers of nodes, their simulated times are stretched as
/// those of the others were by their replays: a replay has what a simulation leaves out.
fn in_proportion_to_replays(plans: &mut [Result<Plan, NotPopulated>]) {
    let replayed = |plan: &Plan| plan.evaluation.as_ref().is_some_and(|found| found.replayed);
    let evaluated = plans.iter().flatten().filter_map(|plan| plan.evaluation.as_ref());
    let stretches: Vec<f64> =
        evaluated.filter(|found| found.replayed).map(|found| found.replay_to_simulation).collect();
    if stretches.is_empty() {
        return;
    }
    let stretch = median(&stretches);
    for plan in plans.iter_mut().flatten().filter(|plan| !replayed(plan)) {
        for candidate in &mut plan.candidates {
            candidate.score = candidate.score.stretched(stretch, stretch);
        }
    }
}

/// The ranks on all nodes of a cluster.
fn problem<'a>(
    part: &'a Cluster,
    workload: &'a Workload,
    granularity: &Granularity,
) -> Result<Problem<'a>, NotPopulated> {
    let ranks = workload.rank_count();
    let problem = match granularity {
        // They have one slot for each rank already.
        Granularity::Programs { .. } => Problem::new(part, workload, granularity.clone())?,
        _ => {
            let slots = even_slots(part, granularity.clone(), ranks)?;
            Problem::in_slots(part, workload, slots)
        }
    };
    let used = problem.slots().chunk_by(|a, b| a.node == b.node).count();
    match used < part.nodes.len() {
        true => Err(NotPopulated::TooLarge { ranks, used }),
        false => Ok(problem),
    }
}

/// Index of the best candidate for a number of nodes, by [`Rule::RunTime`].
fn best(candidates: &[Candidate], estimates: &[Estimate]) -> usize {
    let score = |(candidate, estimate): (&Candidate, &Estimate)| Score {
        finish: Some(estimate.time),
        busiest_nic: candidate.score.busiest_nic,
        hop_bytes: candidate.score.hop_bytes,
        ..Score::default()
    };
    let scores: Vec<Score> = candidates.iter().zip(estimates).map(score).collect();
    rank(&scores, &Rule::RunTime).best()
}

impl Population {
    /// Number of nodes times run time, hours.
    #[must_use]
    pub fn node_hours(&self) -> Option<f64> {
        self.score().node_hours()
    }

    fn score(&self) -> Score {
        let best = self.best.as_ref().ok();
        Score {
            finish: best.map(|best| best.estimate.time),
            nodes: Some(self.nodes),
            ..Score::default()
        }
    }

    /// Index of the best population: the shortest run time or the fewest node-hours, by `preference`.
    /// Ties within the tolerance are broken by the other of the two. `None` if no number of nodes has a placement.
    #[must_use]
    pub fn preferred(populations: &[Self], preference: Preference) -> Option<usize> {
        let scores: Vec<Score> = populations.iter().map(Self::score).collect();
        let rule = match preference {
            Preference::Time => Rule::Fastest,
            Preference::NodeHours => Rule::FewestNodeHours,
        };
        let any = scores.iter().any(|score| score.finish.is_some());
        any.then(|| rank(&scores, &rule).best())
    }
}

/// One slot per rank, spread evenly over the nodes as far as they have slots, and over the memories of
/// each node.
fn even_slots(
    cluster: &Cluster,
    granularity: Granularity,
    ranks: usize,
) -> Result<Vec<Slot>, PlacementError> {
    let all = slots(cluster, granularity, ranks)?;
    let nodes: Vec<&[Slot]> = all.chunk_by(|a, b| a.node == b.node).collect();
    let mut counts = vec![0; nodes.len()];
    let mut by_count: BTreeSet<(usize, usize)> = (0..nodes.len()).map(|node| (0, node)).collect();
    for _ in 0..ranks {
        let Some((count, node)) = by_count.pop_first() else { break };
        counts[node] = count + 1;
        if counts[node] < nodes[node].len() {
            by_count.insert((counts[node], node));
        }
    }
    let of_node =
        |(slots, count): (&&[Slot], usize)| in_turn(slots.to_vec(), count, |slot| slot.numa);
    let chosen = nodes.iter().zip(counts).flat_map(of_node);
    Ok(chosen.collect())
}

fn ranks_per_node(placement: &Placement) -> (usize, usize) {
    let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
    placement.ranks().for_each(|place| *counts.entry(place.node).or_default() += 1);
    let fewest = counts.values().min().copied().unwrap_or_default();
    (fewest, counts.values().max().copied().unwrap_or_default())
}

/// The memory traffic of ranks besides messages (the normal accesses of Eq. 10, Soryani 2013).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MemoryTraffic {
    /// Not given.
    Unknown,
    /// Traffic of each core of a rank.
    PerCore(BytesPerSecond),
    /// Traffic of each rank.
    PerRank(BytesPerSecond),
}

impl MemoryTraffic {
    /// The memory traffic by the rates of a cluster.
    #[must_use]
    pub fn of_cluster(cluster: &Cluster) -> Self {
        let length = cluster.rates.memory_access_length.0 as f64;
        let per_core = |rate: crate::units::PerSecond| BytesPerSecond(rate.0 * length);
        cluster.rates.memory_accesses.map_or(Self::Unknown, |rate| Self::PerCore(per_core(rate)))
    }

    /// Whether the traffic is known.
    #[must_use]
    pub(crate) fn is_known(self) -> bool {
        self != Self::Unknown
    }

    fn of(self, place: &RankPlacement) -> f64 {
        match self {
            Self::Unknown => 0.0,
            Self::PerCore(rate) => rate.0 * place.cores.len() as f64,
            Self::PerRank(rate) => rate.0,
        }
    }
}

/// How the run time is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeEstimate {
    /// The end of a replay of the recorded calls.
    Replay,
    /// The end of a simulated run, for recorded runs.
    Simulation,
    /// The recorded time outside MPI, plus the time that the busiest network device and the busiest
    /// memory need for their bytes, one after the other.
    ComputeAndBytes,
    /// The finish by the fluid ([`Fluid`]): all jobs have message timing.
    Fluid,
    /// The time for these bytes alone: the time outside MPI is unknown.
    Bytes,
}

impl TimeEstimate {
    /// The most accurate estimate that all these plans of a workload have.
    pub fn of_plans<'p>(workload: &Workload, plans: impl Iterator<Item = &'p Plan>) -> Self {
        let basis = |plan: &Plan| {
            plan.best().score.finish?;
            plan.evaluation.as_ref().map(Evaluation::basis)
        };
        let bases: Option<Vec<Basis>> = plans.map(basis).collect();
        let bases = bases.filter(|bases| !bases.is_empty() && workload.is_recorded());
        let all = |wanted: &[Basis]| {
            bases.as_ref().is_some_and(|bases| bases.iter().all(|basis| wanted.contains(basis)))
        };
        if all(&[Basis::Replay]) {
            Self::Replay
        } else if all(&[Basis::Replay, Basis::Simulation]) {
            Self::Simulation
        } else {
            Self::of(workload)
        }
    }

    /// Whether the times are those of simulated runs.
    fn is_simulated(self) -> bool {
        matches!(self, Self::Replay | Self::Simulation)
    }

    /// The most accurate estimate that a workload allows without simulation.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        let sends = |job: &Job| job.flows.iter().any(|flow| flow.source != flow.destination);
        let jobs = &workload.jobs;
        let clocks = jobs.iter().all(|job| !job.sources.is_empty() || !sends(job));
        if jobs.iter().all(|job| !job.compute.is_empty()) {
            // Clocks of a recorded run include the waiting for messages of that run.
            Self::ComputeAndBytes
        } else if clocks && jobs.iter().any(|job| !job.sources.is_empty()) {
            Self::Fluid
        } else {
            Self::Bytes
        }
    }

    /// Estimates the run time of a placement.
    ///
    /// If the utilisation ρ of a memory by normal accesses and messages (Eq. 10, Soryani 2013) is above
    /// 1, the jobs that use it are slowed down by that factor.
    ///
    /// # Errors
    /// If the placement is not one of this workload and cluster.
    pub fn estimate(
        self,
        cluster: &Cluster,
        workload: &Workload,
        candidate: &Candidate,
        traffic: MemoryTraffic,
    ) -> Result<Estimate, PlacementError> {
        let placement = &candidate.placement;
        let finish = candidate.score.finish.unwrap_or_default().0;
        let span = match self {
            Self::Fluid => span_of_clocks(workload),
            Self::Replay | Self::Simulation => finish,
            Self::ComputeAndBytes | Self::Bytes => f64::INFINITY,
        };
        let asked = utilisations(cluster, candidate, traffic, span);
        let slowdowns = slowdowns(cluster, workload, placement, &asked, traffic);
        let time = match self {
            Self::Fluid => {
                let slowed = slowed(workload, &slowdowns);
                Fluid::of_placement(cluster, &slowed, placement)?.workload_finish.0
            }
            Self::Replay | Self::Simulation => {
                let undisturbed = vec![1.0; slowdowns.len()];
                let computing = |slowdowns| computing(cluster, workload, placement, slowdowns);
                let longer = computing(&slowdowns) - computing(&undisturbed);
                // A job whose computing is unknown is slowed down with all its time.
                let jobs = workload.jobs.iter().zip(&slowdowns);
                let unknown = jobs.filter(|(job, _)| job.compute.is_empty());
                let slowdown = unknown.map(|(_, slowdown)| *slowdown).fold(1.0, f64::max);
                (finish + longer).max(finish * slowdown)
            }
            Self::ComputeAndBytes | Self::Bytes => {
                computing(cluster, workload, placement, &slowdowns) + bytes_time(cluster, candidate)
            }
        };
        let highest = asked.values().copied().fold(0.0, f64::max);
        let memory_utilisation = traffic.is_known().then_some(highest);
        Ok(Estimate { time: Seconds(time), memory_utilisation })
    }
}

/// The time until the last clock stops, seconds.
fn span_of_clocks(workload: &Workload) -> f64 {
    let sources = workload.jobs.iter().flat_map(|job| &job.sources);
    sources.map(|source| source.rounds as f64 / source.rate.0).fold(0.0, f64::max)
}

/// The utilisation of each memory by normal accesses, and by messages spread evenly over `span`
/// seconds.
fn utilisations(
    cluster: &Cluster,
    candidate: &Candidate,
    traffic: MemoryTraffic,
    span: f64,
) -> BTreeMap<(NodeId, NumaId), f64> {
    let mut asked: BTreeMap<(NodeId, NumaId), f64> = BTreeMap::new();
    for memory in &candidate.load.memories {
        asked.insert(
            (memory.node, memory.numa),
            memory.bytes.0 as f64 / span.max(f64::MIN_POSITIVE),
        );
    }
    for place in candidate.placement.ranks() {
        let memories = memories(cluster, place);
        for numa in &memories {
            let share = traffic.of(place) / memories.len() as f64;
            *asked.entry((place.node, *numa)).or_default() += share;
        }
    }
    for ((node, numa), asked) in &mut asked {
        *asked /= cluster.memory_bandwidth(*node, *numa).value.0;
    }
    asked
}

/// The memories of a rank: its own, or those beside its cores.
fn memories(cluster: &Cluster, place: &RankPlacement) -> BTreeSet<NumaId> {
    let cores = &cluster.machine(place.node).cores;
    let near = place.cores.iter().map(|core| cores[core.index()].numa);
    place.numa.map_or_else(|| near.collect(), |numa| BTreeSet::from([numa]))
}

/// By job: the factor by which it is slowed down for want of memory bandwidth, at least 1.
fn slowdowns(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    asked: &BTreeMap<(NodeId, NumaId), f64>,
    traffic: MemoryTraffic,
) -> Vec<f64> {
    // The fluid accounts for messages.
    if !traffic.is_known() {
        return vec![1.0; workload.jobs.len()];
    }
    let of_rank = |place: &RankPlacement| {
        let memories = memories(cluster, place).into_iter();
        memories.filter_map(|numa| asked.get(&(place.node, numa)).copied()).fold(1.0, f64::max)
    };
    let of_job =
        |job: &crate::placement::JobPlacement| job.ranks.iter().map(of_rank).fold(1.0, f64::max);
    placement.jobs().iter().map(of_job).collect()
}

/// The computing time of the rank that computes longest, with each job slowed down by a factor, seconds.
fn computing(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    slowdowns: &[f64],
) -> f64 {
    let jobs = workload.jobs.iter().zip(placement.jobs()).zip(slowdowns);
    let times = jobs.flat_map(|((job, placed), slowdown)| {
        let speeds = placed.ranks.iter().map(|place| cluster.group(place.node).speed);
        job.compute.iter().zip(speeds).map(move |(time, speed)| time.0 * slowdown / speed)
    });
    times.fold(0.0, f64::max)
}

/// The workload with the clocks of each job slowed down by a factor.
fn slowed(workload: &Workload, slowdowns: &[f64]) -> Workload {
    let mut slowed = workload.clone();
    for (job, slowdown) in slowed.jobs.iter_mut().zip(slowdowns) {
        job.sources.iter_mut().for_each(|source| source.rate.0 /= slowdown);
    }
    slowed
}

/// The time that the busiest network device and then the busiest memory need, seconds.
fn bytes_time(cluster: &Cluster, candidate: &Candidate) -> f64 {
    let load = &candidate.load;
    let memory = load.memories.iter().map(|memory| {
        memory.bytes.0 as f64 / cluster.memory_bandwidth(memory.node, memory.numa).value.0
    });
    load.busiest_nic_time().0 + memory.fold(0.0, f64::max)
}

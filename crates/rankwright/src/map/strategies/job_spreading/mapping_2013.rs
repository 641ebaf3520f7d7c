//! `mapping-2013` minimises, for one job after the other, the waiting time of its messages at network
//! device and memory over the number of nodes (Soryani, Analoui, Zarrinchian, "Improving inter-node
//! communications in multi-core clusters using a contention-free process mapping algorithm", 2013,
//! Fig. 8 and Eqs. (13) to (23); "New_Map"). O(n log n + m + jobs × nodes) for n ranks and m pairs that
//! exchange messages.

use super::free_slots::FreeSlots;
use super::job_mapping::{JobMapping, JobTraffic, Rules};
use super::options::{self, ThresholdRule};
use super::slowdown::Slowdown;
use super::threshold::{Candidates, Spread, Ties};
use crate::map::StrategyError;
use crate::map::options::{OptionEntry, Options};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;
use crate::traffic::classes::LengthClass;
use crate::units::BytesPerSecond;

/// Spreading over the best number of nodes, Soryani et al. 2013.
///
/// As [`Mapping2012`](crate::map::Mapping2012), but the threshold follows from the queueing model,
/// Eqs. (14) to (23); jobs with small messages have none, and no job has one where jobs contend
/// severely: where the mean adjacency of the jobs with large and medium messages exceeds the cores of
/// a node (Fig. 8) and there are at least two such jobs.
#[derive(Debug, Clone, Copy)]
pub struct Mapping2013 {
    rules: Rules,
    threshold: ThresholdRule,
    ties: Ties,
    candidates: Candidates,
    slowdown: SlowdownRule,
    severe: SevereContention,
}

/// When jobs contend so severely that none is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SevereContention {
    /// Only where there are at least two jobs with large or medium messages.
    Jobs,
    /// As printed: one job counts as contending with itself.
    Any,
}

/// Where f of Eq. (13) comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlowdownRule {
    /// As printed.
    Paper,
    /// From Eq. (6) with the rates of the cluster and the messages of the job.
    Model,
}

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[
    CV,
    options::DEMAND,
    options::LENGTH,
    options::MEDIUM_SOCKETS,
    NODES,
    SEVERE,
    options::STAY,
    OptionEntry {
        name: "threshold",
        default: "optimal",
        summary: "`optimal`: Eq. (22), 2013; a number; `none`: jobs are never spread",
    },
    TIES,
];

const CV: OptionEntry = OptionEntry {
    name: "cv",
    default: "paper",
    summary: "what bursts add to the demand: `paper`: the printed functions; `model`: \
              Eq. (6) with the rates of the cluster",
};

const NODES: OptionEntry = OptionEntry {
    name: "nodes",
    default: "fitting",
    summary: "which numbers of nodes are evaluated: `fitting`: those that hold the job; `any`",
};

const SEVERE: OptionEntry = OptionEntry {
    name: "severe",
    default: "jobs",
    summary: "what can contend so severely that no job is spread: several `jobs`, or `any` number \
              of them",
};

const TIES: OptionEntry = OptionEntry {
    name: "ties",
    default: "largest",
    summary: "which of several equally good numbers of nodes is taken: `largest` or `smallest`",
};

impl Default for Mapping2013 {
    fn default() -> Self {
        Self {
            rules: options::DEFAULT_RULES,
            threshold: ThresholdRule::Computed,
            ties: Ties::Largest,
            candidates: Candidates::Fitting,
            slowdown: SlowdownRule::Paper,
            severe: SevereContention::Jobs,
        }
    }
}

impl Mapping2013 {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        let slowdowns = [("paper", SlowdownRule::Paper), ("model", SlowdownRule::Model)];
        let candidates = [("fitting", Candidates::Fitting), ("any", Candidates::Any)];
        let severe = [("jobs", SevereContention::Jobs), ("any", SevereContention::Any)];
        let ties = [("largest", Ties::Largest), ("smallest", Ties::Smallest)];
        Ok(Self {
            rules: options::rules(options)?,
            threshold: options::threshold(options, OPTIONS)?,
            ties: options.one_of(&TIES, &ties)?,
            candidates: options.one_of(&NODES, &candidates)?,
            slowdown: options.one_of(&CV, &slowdowns)?,
            severe: options.one_of(&SEVERE, &severe)?,
        })
    }

    /// How many ranks of each job a node should have at most; `None` for jobs that are not spread.
    #[must_use]
    pub fn thresholds(&self, problem: &Problem) -> Vec<Option<u64>> {
        self.mapping(problem).thresholds
    }

    fn mapping(&self, problem: &Problem) -> JobMapping {
        let interface = slowest_interface(problem);
        let jobs = JobTraffic::of_workload(problem, self.rules.lengths, |class, messages| {
            let slowdown = match (self.slowdown, messages) {
                (SlowdownRule::Paper, _) => Slowdown::printed(class),
                (SlowdownRule::Model, Some(messages)) => {
                    Slowdown::modelled(problem.cluster, messages)
                }
                (SlowdownRule::Model, None) => Slowdown::default(),
            };
            move |cv| slowdown.percent(cv)
        });
        let severe = self.severe.holds(&jobs, &FreeSlots::new(problem));
        let memory = slowest_memory(problem);
        JobMapping::new(problem, self.rules, &jobs, |job, free_slots| {
            let spread = !severe && job.class != LengthClass::Small && job.exceeds_node(free_slots);
            let optimal = || {
                let copies = problem.cluster.rates.memory_copies;
                self.spread(job, free_slots, interface, memory, copies).threshold()
            };
            if spread { self.threshold.or(optimal) } else { None }
        })
    }

    fn spread(
        &self,
        job: &JobTraffic,
        free_slots: &FreeSlots,
        interface: BytesPerSecond,
        memory: BytesPerSecond,
        copies: u32,
    ) -> Spread {
        Spread {
            ranks: job.demand.rank_count() as u64,
            adjacency: job.demand.mean_adjacency(),
            messages: job.messages,
            nodes: free_slots.node_count(),
            cores: free_slots.largest_node(),
            interface,
            memory,
            copies,
            candidates: self.candidates,
            ties: self.ties,
        }
    }
}

impl SevereContention {
    /// Whether `WL_ADJ_avg`, the mean of `ADJ_avg` over the jobs with large and medium messages,
    /// rounded down, exceeds the cores of the largest node.
    fn holds(self, jobs: &[JobTraffic], free_slots: &FreeSlots) -> bool {
        let counted = jobs.iter().filter(|job| job.class != LengthClass::Small);
        let adjacency: Vec<u64> = counted.map(|job| job.demand.mean_adjacency()).collect();
        let mean = adjacency.iter().sum::<u64>() / (adjacency.len() as u64).max(1);
        (adjacency.len() > 1 || self == Self::Any) && mean > free_slots.largest_node()
    }
}

/// The rate of all network devices of a node together, least over the nodes.
fn slowest_interface(problem: &Problem) -> BytesPerSecond {
    let nodes = problem.slots().chunk_by(|a, b| a.node == b.node).map(|slots| slots[0].node);
    let rates = nodes.map(|node| problem.cluster.node_bandwidth(node));
    slowest(rates)
}

/// The rate of a memory, least over those beside the slots.
fn slowest_memory(problem: &Problem) -> BytesPerSecond {
    slowest(problem.slots().iter().map(|slot| {
        let machine = problem.cluster.machine(slot.node);
        let numa = machine.cores[slot.cores[0].index()].numa;
        problem.cluster.memory_bandwidth(slot.node, numa).value
    }))
}

/// The least rate; without slots any, because nothing is mapped.
fn slowest(rates: impl Iterator<Item = BytesPerSecond>) -> BytesPerSecond {
    rates.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(BytesPerSecond(1.0))
}

impl Mapper for Mapping2013 {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        Ok(self.mapping(problem).mapping)
    }
}

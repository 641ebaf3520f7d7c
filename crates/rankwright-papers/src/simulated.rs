//! The simulations that the papers are held against: their workloads under every mapping.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use serde::Serialize;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in as clusters;
use rankwright::map::{Budget, Problem, Strategy};
use rankwright::parallel::side_by_side;
use rankwright::placement::{Granularity, JobShape, Placement};
use rankwright::sim::{Options, Progress, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::built_in as workloads;

/// The mappings that the papers compare: our name, and the strategy with its options. DRB is given
/// bytes per second, as in the papers.
pub const MAPPINGS: [(&str, &str); 5] = [
    ("blocked", "blocked"),
    ("cyclic", "cyclic"),
    ("drb", "drb:weights=rate"),
    ("mapping-2012", "mapping-2012"),
    ("mapping-2013", "mapping-2013"),
];

/// The distances of DRB's target in the papers, Scotch's `tleaf 3 16 100 4 10 4 1`: of one core,
/// between cores of a socket, of a node, of the cluster.
const DISTANCES: [u64; 4] = [0, 1, 11, 111];

/// A workload of a paper under a mapping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Its built-in name, `paper:2013/mixed-1`.
    pub workload: &'static str,
    /// What its rates are multiplied by.
    pub rate: f64,
    /// A name of [`MAPPINGS`].
    pub mapping: &'static str,
    /// How many seeds are simulated.
    pub seeds: u64,
}

/// What the simulations of a case found: means over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    /// The workload's built-in name.
    pub workload: &'static str,
    /// What its rates were multiplied by.
    pub rate: f64,
    /// A name of [`MAPPINGS`].
    pub mapping: &'static str,
    /// Waiting at all servers, summed over messages, in seconds.
    pub total_waiting_s: f64,
    /// At network devices.
    pub nic_waiting_s: f64,
    /// At memories.
    pub memory_waiting_s: f64,
    /// When the last message arrived.
    pub workload_finish_s: f64,
    /// The sum over jobs of when their last message arrived.
    pub total_finish_s: f64,
    /// How many messages there were with each seed.
    pub messages: u64,
    /// How many seeds there were.
    pub seeds: u64,
}

/// The results of all cases that were not stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Results(pub Vec<Simulated>);

impl Results {
    /// The waiting of a workload (its name without the paper) under a mapping; NaN without it.
    pub(super) fn waiting(&self, workload: &str, mapping: &str) -> f64 {
        self.find(workload, mapping, 1.0).map_or(f64::NAN, |result| result.total_waiting_s)
    }

    pub(super) fn find(&self, workload: &str, mapping: &str, rate: f64) -> Option<&Simulated> {
        self.0.iter().find(|result| {
            let name = result.workload.split('/').next_back();
            name == Some(workload) && result.mapping == mapping && result.rate == rate
        })
    }
}

/// How many seeds a workload is simulated with, by the end of its name: more where chance decides
/// much. Under some mappings of Mixed_6 the waiting of two seeds differs by a factor of two.
const SEEDS: [(&str, u64); 4] = [("mixed-5", 4), ("synt-3", 4), ("mixed-6", 10), ("synt-4", 10)];

/// All cases of these workloads at these rates, under all mappings.
pub(super) fn cases(workloads: &[&'static str], rates: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &workload in workloads {
        let several = SEEDS.iter().find(|(name, _)| workload.ends_with(name));
        let seeds = several.map_or(1, |(_, seeds)| *seeds);
        for &rate in rates {
            cases.extend(MAPPINGS.map(|(mapping, _)| Case { workload, rate, mapping, seeds }));
        }
    }
    cases
}

/// Simulates cases on `paper:2013`, at most `threads` at a time. The results do not depend on how
/// many. The observer is told how far the case at a position is, from several threads; a case for
/// which it breaks is left out.
///
/// # Panics
/// Never: a test runs every case.
pub fn run(
    cases: &[Case],
    threads: NonZeroUsize,
    observer: &(dyn Fn(usize, &Progress) -> ControlFlow<()> + Sync),
) -> Results {
    let cluster = clusters::find("paper:2013").expect("a built-in cluster").cluster();
    let mut names: Vec<&str> = cases.iter().map(|case| case.workload).collect();
    names.dedup();
    let made = side_by_side(&names, threads, |_, name| {
        let built_in = workloads::find(name).expect("a built-in workload");
        built_in.workload().expect("a test reads it")
    });
    let results = side_by_side(cases, threads, |position, case| {
        let workload = names.iter().zip(&made).find(|(name, _)| **name == case.workload)?.1;
        one(&cluster, workload, case, &mut |progress| observer(position, progress))
    });
    Results(results.into_iter().flatten().collect())
}

fn one(
    cluster: &Cluster,
    workload: &Workload,
    case: &Case,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Option<Simulated> {
    let workload = workload.clone().at_rates(case.rate);
    let problem = Problem::new(cluster, &workload, Granularity::Cores(1)).expect("it fits");
    let (_, strategy) = MAPPINGS.iter().find(|(name, _)| *name == case.mapping)?;
    let strategy: Strategy = strategy.parse().ok()?;
    let problem = match case.mapping {
        "drb" => problem.with_distances(&DISTANCES),
        _ => problem,
    };
    let slot_of = strategy.map(&problem, &Budget::default()).expect("a mapping");
    let shapes = JobShape::of(&workload);
    let placement =
        Placement::from_slots(cluster, &shapes, case.mapping, problem.slots(), &slot_of);
    let placement = placement.expect("a checked mapping is a placement");
    let mut sum = [0.0; 5];
    let mut messages = 0;
    for seed in 1..=case.seeds {
        let options = Options { seed, ..Options::default() };
        let outcome = simulate(cluster, &workload, &placement, &options, observer);
        let outcome = outcome.expect("all jobs have clocks");
        if outcome.stopped.is_some() {
            return None;
        }
        messages = outcome.messages;
        let found = [
            outcome.total_waiting,
            outcome.nic_waiting,
            outcome.memory_waiting,
            outcome.workload_finish,
            outcome.total_finish,
        ];
        sum.iter_mut().zip(found).for_each(|(sum, one)| *sum += one.0);
    }
    let [total_waiting_s, nic_waiting_s, memory_waiting_s, workload_finish_s, total_finish_s] =
        sum.map(|sum| sum / case.seeds as f64);
    Some(Simulated {
        workload: case.workload,
        rate: case.rate,
        mapping: case.mapping,
        total_waiting_s,
        nic_waiting_s,
        memory_waiting_s,
        workload_finish_s,
        total_finish_s,
        messages,
        seeds: case.seeds,
    })
}

//! The simulations of the papers on contention: each workload under each mapping.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use anyhow::Context as _;
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy, StrategyError};
use rankwright::parallel;
use rankwright::placement::{Granularity, Placement};
use rankwright::sim::{self, Options, Progress};
use rankwright::traffic::Workload;
use serde::Serialize;

use crate::{Reading, built_in, strategies};

/// The cluster of both papers: 16 nodes, 4 sockets of 4 cores each.
pub(crate) const CLUSTER: &str = "paper:2013";

/// The mappings that the papers compare.
pub(crate) const MAPPINGS: [&str; 5] = ["blocked", "cyclic", "drb", "mapping-2012", "mapping-2013"];

/// The two mappings of the authors by their rules exactly as printed: a name, and the strategy.
const AS_PRINTED: [(&str, &str); 2] = [
    (
        "mapping-2012 as printed",
        "mapping-2012:demand=sent,length=largest,stay=off,medium-sockets=first",
    ),
    (
        "mapping-2013 as printed",
        "mapping-2013:demand=sent,length=largest,stay=off,medium-sockets=first,severe=any",
    ),
];

/// The search for a placement with less waiting than those of the papers.
pub(crate) const SEARCH: &str = "contention:objective=waiting";

/// The target of DRB, which the papers do not print, as distances: from a core to itself, to others
/// of its socket, of its node, of the cluster. With them each level costs ten times the one below
/// (Scotch's `tleaf 3 16 100 4 10 4 1`).
const DRB_DISTANCES: [u64; 4] = [0, 1, 11, 111];

impl Reading {
    /// The five mappings, as in [`Case::mapping`].
    pub(crate) fn mappings(self) -> [&'static str; 5] {
        MAPPINGS.map(|mapping| self.mapping(mapping))
    }

    /// One of [`MAPPINGS`] in this reading, as in [`Case::mapping`].
    pub(crate) fn mapping(self, mapping: &str) -> &'static str {
        let [printed_2012, printed_2013] = AS_PRINTED.map(|(name, _)| name);
        match (self, mapping) {
            (_, "blocked") => "blocked",
            (_, "cyclic") => "cyclic",
            (_, "drb") => "drb",
            (Self::Ours, "mapping-2012") => "mapping-2012",
            (Self::Ours, _) => "mapping-2013",
            (Self::Printed, "mapping-2012") => printed_2012,
            (Self::Printed, _) => printed_2013,
        }
    }
}

/// A workload under a mapping, to be simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// The built-in name: `paper:2013/mixed-1`.
    pub workload: &'static str,
    /// The factor on all rates of the workload.
    pub rate: f64,
    /// `blocked`, `cyclic`, `drb`, `mapping-2012`, `mapping-2013`, one of the last two followed by
    /// ` as printed`, or another strategy.
    pub mapping: &'static str,
    /// Simulated once with each of the seeds 1 to this.
    pub seeds: u64,
}

/// The outcome of a case; times are means over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    /// The built-in name of the workload.
    pub workload: &'static str,
    /// The factor on all rates of the workload.
    pub rate: f64,
    /// The mapping, as in [`Case`].
    pub mapping: &'static str,
    /// Waiting at all servers, summed over messages, in seconds.
    pub total_waiting_s: f64,
    /// The part of it at network devices.
    pub nic_waiting_s: f64,
    /// The part of it at memories.
    pub memory_waiting_s: f64,
    /// When the last message arrived, in seconds.
    pub workload_finish_s: f64,
    /// When the last message of a job arrived, in seconds, summed over jobs.
    pub total_finish_s: f64,
    /// Messages per seed.
    pub messages: u64,
    /// Number of seeds.
    pub seeds: u64,
}

/// The results of the cases that were simulated to their end, in the order of the cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Results(pub Vec<CaseResult>);

impl Results {
    /// The result of a workload, named without its paper (`mixed-1`), under a mapping.
    pub(crate) fn find(&self, workload: &str, mapping: &str, rate: f64) -> Option<&CaseResult> {
        self.0.iter().find(|result| {
            short_name(result.workload) == workload
                && result.mapping == mapping
                && result.rate == rate
        })
    }

    /// The total waiting at the rates of the workload, in seconds.
    pub(crate) fn waiting(&self, workload: &str, mapping: &str) -> Option<f64> {
        Some(self.find(workload, mapping, 1.0)?.total_waiting_s)
    }
}

/// `mixed-1` of `paper:2013/mixed-1`.
pub(crate) fn short_name(workload: &str) -> &str {
    workload.rsplit('/').next().unwrap_or(workload)
}

/// Workloads that need several seeds, by the end of their names. Under some mappings of Mixed_6 the
/// waiting of two seeds differs by a factor of two.
const SEEDS: [(&str, u64); 4] = [("mixed-5", 4), ("synt-3", 4), ("mixed-6", 10), ("synt-4", 10)];

/// The cases of these workloads at these rates, under all mappings in all readings.
pub(crate) fn cases(workloads: &[&'static str], rates: &[f64]) -> Vec<Case> {
    let printed = AS_PRINTED.map(|(name, _)| name);
    let mut cases = Vec::new();
    for &workload in workloads {
        let seeds = seeds(workload);
        for &rate in rates {
            let mappings = MAPPINGS.into_iter().chain(printed);
            cases.extend(mappings.map(|mapping| Case { workload, rate, mapping, seeds }));
        }
    }
    cases
}

/// The cases of these workloads under [`SEARCH`].
pub(crate) fn searches(workloads: &[&'static str]) -> Vec<Case> {
    let case = |&workload| Case { workload, rate: 1.0, mapping: SEARCH, seeds: seeds(workload) };
    workloads.iter().map(case).collect()
}

fn seeds(workload: &str) -> u64 {
    let several = SEEDS.iter().find(|(name, _)| *name == short_name(workload));
    several.map_or(1, |(_, seeds)| *seeds)
}

/// Simulates cases on `paper:2013`, at most `threads` at a time; the results do not depend on
/// `threads`. The observer gets the progress of the case at a position, from several threads; if it
/// breaks, that case is left out, as is one whose strategy this build lacks (`drb` without Scotch).
///
/// # Errors
/// If a workload or a mapping does not exist, or a workload does not fit the cluster.
pub fn simulate(
    cases: &[Case],
    threads: NonZeroUsize,
    observer: &(dyn Fn(usize, &Progress) -> ControlFlow<()> + Sync),
) -> anyhow::Result<Results> {
    let cluster = built_in::cluster(CLUSTER)?;
    let mut names: Vec<&str> = cases.iter().map(|case| case.workload).collect();
    names.sort_unstable();
    names.dedup();
    let opened = parallel::map(&names, threads, |_, name| built_in::workload(name));
    let opened: Vec<Workload> = opened.into_iter().collect::<Result<_, _>>()?;
    let workloads: BTreeMap<&str, Workload> = names.into_iter().zip(opened).collect();
    let results = parallel::map(cases, threads, |position, case| {
        let mut observer = |progress: &Progress| observer(position, progress);
        let result = simulate_case(&cluster, &workloads[case.workload], case, &mut observer);
        result.with_context(|| format!("{} under {}", case.workload, case.mapping))
    });
    let results: Vec<Option<CaseResult>> = results.into_iter().collect::<Result<_, _>>()?;
    Ok(Results(results.into_iter().flatten().collect()))
}

fn simulate_case(
    cluster: &Cluster,
    workload: &Workload,
    case: &Case,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> anyhow::Result<Option<CaseResult>> {
    let workload = workload.clone().at_rates(case.rate);
    let Some(placement) = placement(cluster, &workload, case.mapping)? else { return Ok(None) };
    let mut sums = [0.0; 5];
    let mut messages = 0;
    for seed in 1..=case.seeds {
        let options = Options { seed, ..Options::default() };
        let outcome = sim::simulate(cluster, &workload, &placement, &options, observer)?;
        if outcome.stopped.is_some() {
            return Ok(None);
        }
        messages = outcome.messages;
        let times = [
            outcome.total_waiting,
            outcome.nic_waiting,
            outcome.memory_waiting,
            outcome.workload_finish,
            outcome.total_finish,
        ];
        sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time.0);
    }
    let [total_waiting_s, nic_waiting_s, memory_waiting_s, workload_finish_s, total_finish_s] =
        sums.map(|sum| sum / case.seeds as f64);
    Ok(Some(CaseResult {
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
    }))
}

/// The placement by the mapping of a case; `None` if this build lacks its strategy.
pub(crate) fn placement(
    cluster: &Cluster,
    workload: &Workload,
    mapping: &str,
) -> anyhow::Result<Option<Placement>> {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1))?;
    if mapping != "drb" {
        let printed = AS_PRINTED.iter().find(|(name, _)| *name == mapping);
        let strategy = printed.map_or(mapping, |(_, strategy)| strategy);
        return strategies::place(&problem, &strategy.parse()?).map(Some);
    }
    // Its weights are bytes: "the total volume of data exchanged between each pair of processes".
    match mapping.parse::<Strategy>() {
        Ok(drb) => strategies::place(&problem.with_distances(&DRB_DISTANCES), &drb).map(Some),
        Err(StrategyError::Unknown { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: &str = "paper:2013/gather";

    fn case(mapping: &'static str) -> Case {
        Case { workload: WORKLOAD, rate: 1.0, mapping, seeds: 1 }
    }

    #[test]
    fn the_strategy_of_every_mapping_exists() {
        let cluster = built_in::cluster(CLUSTER).unwrap();
        let workload = built_in::workload(WORKLOAD).unwrap();
        for mapping in MAPPINGS {
            let placement = placement(&cluster, &workload, mapping).unwrap();
            assert!(placement.is_some() || mapping == "drb" && cfg!(not(feature = "scotch")));
        }
    }

    #[test]
    fn results_are_found_and_do_not_depend_on_the_threads() {
        let cases = [case("cyclic"), case("blocked")];
        let simulate = |threads| {
            let threads = NonZeroUsize::new(threads).unwrap();
            simulate(&cases, threads, &|_, _| ControlFlow::Continue(())).unwrap()
        };
        let results = simulate(1);
        assert_eq!(simulate(2), results);
        let waiting = |mapping| results.waiting("gather", mapping).unwrap();
        assert!(waiting("cyclic") > 30.0 * waiting("blocked"));
        assert_eq!(results.find("gather", "blocked", 2.0), None);
    }

    #[test]
    fn a_stopped_case_is_left_out() {
        let observer = |_: usize, _: &Progress| ControlFlow::Break(());
        let cases = [case("blocked")];
        assert_eq!(simulate(&cases, NonZeroUsize::MIN, &observer).unwrap(), Results::default());
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        let message = |wrong: Case| {
            let observer = |_: usize, _: &Progress| ControlFlow::Continue(());
            let error = simulate(&[wrong], NonZeroUsize::MIN, &observer).unwrap_err();
            format!("{error:#}")
        };
        assert_eq!(
            message(Case { workload: "paper:2014/mixed-1", ..case("cyclic") }),
            "no built-in workload `paper:2014/mixed-1`"
        );
        let mapping = message(case("mapping-2014"));
        let expected = "paper:2013/gather under mapping-2014: no strategy is called";
        assert!(mapping.starts_with(expected), "{mapping}");
    }
}

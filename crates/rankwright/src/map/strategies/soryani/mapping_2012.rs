//! `mapping-2012`: jobs spread over all nodes where their ranks talk with more than a node holds.

use super::job_mapping::{DemandOf, JobMapping, JobTraffic, Rules};
use super::mapping_options::{self, ThresholdRule};
use crate::map::StrategyError;
use crate::map::options::{OptionEntry, Options};
use crate::map::search::vacancies::{Sockets, Vacancies};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;
use crate::traffic::demand::Lengths;

/// Soryani, Analoui, Zarrinchian 2012, "A novel process mapping strategy in clustered environments"
/// ("Old_Map" in their paper of 2013).
///
/// A job whose ranks have on average more peers than fit on a node beside them gets a threshold,
/// Eq. (2): its ranks, weighted by how many peers they have, divided by the number of nodes.
#[derive(Debug, Clone, Copy)]
pub struct Mapping2012 {
    rules: Rules,
    threshold: ThresholdRule,
}

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[
    mapping_options::DEMAND,
    mapping_options::LENGTH,
    OptionEntry {
        name: "medium-sockets",
        default: "first",
        summary: "`first`: ranks with medium messages take the first free core of their node; \
                  `spread`: one beside the memory with the most free cores",
    },
    mapping_options::STAY,
    OptionEntry {
        name: "threshold",
        default: "even",
        summary: "`even`: Eq. (2), 2012; a number; `none`: jobs are never spread",
    },
];

impl Default for Mapping2012 {
    fn default() -> Self {
        let rules = Rules {
            demand: DemandOf::Both,
            lengths: Lengths::Mean,
            stay: true,
            medium: Sockets::First,
        };
        Self { rules, threshold: ThresholdRule::Computed }
    }
}

impl Mapping2012 {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        let rules = mapping_options::rules(options, OPTIONS)?;
        Ok(Self { rules, threshold: mapping_options::threshold(options, OPTIONS)? })
    }

    /// Of each job how many of its ranks a node should have at most; `None` for jobs that are not
    /// spread.
    #[must_use]
    pub fn thresholds(&self, problem: &Problem) -> Vec<Option<u64>> {
        self.mapping(problem).thresholds
    }

    fn mapping(&self, problem: &Problem) -> JobMapping {
        let jobs = JobTraffic::of_workload(problem, self.rules.lengths, |_, _| |_| 0.0);
        JobMapping::new(problem, self.rules, &jobs, |job, vacancies| {
            let exceeds = job.exceeds_node(vacancies);
            if exceeds { self.threshold.or(|| even(job, vacancies)) } else { None }
        })
    }
}

/// Eq. (2), rounded down, at least 1.
fn even(job: &JobTraffic, vacancies: &Vacancies) -> u64 {
    let weighted = job.demand.adjacency_sum() as f64 / job.demand.largest_adjacency().max(1) as f64;
    ((weighted / vacancies.node_count().max(1) as f64) as u64).max(1)
}

impl Mapper for Mapping2012 {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        Ok(self.mapping(problem).slot_of.into())
    }
}

//! `mapping-2012` reduces contention for network devices by rules, without an objective: jobs whose
//! ranks have more peers than a node holds are spread over all nodes (Soryani, Analoui, Zarrinchian,
//! "A novel process mapping strategy in clustered environments", 2012, Fig. 1 and Eq. (2); "Old_Map"
//! in their paper of 2013). O(n log n + m) for n ranks and m pairs that exchange messages.

use super::free_slots::FreeSlots;
use super::job_mapping::{JobMapping, JobTraffic, Rules};
use super::options::{self, ThresholdRule};
use crate::map::StrategyError;
use crate::map::options::{OptionEntry, Options};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Spreading over all nodes, Soryani et al. 2012.
///
/// A job whose ranks have on average more peers than fit on a node beside them gets a threshold,
/// Eq. (2): its ranks, weighted by how many peers they have, divided by the number of nodes.
#[derive(Debug, Clone, Copy)]
pub struct Mapping2012 {
    rules: Rules,
    threshold: ThresholdRule,
}

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[
    options::DEMAND,
    options::LENGTH,
    options::MEDIUM_SOCKETS,
    options::STAY,
    OptionEntry {
        name: "threshold",
        default: "even",
        summary: "`even`: Eq. (2), 2012; a number; `none`: jobs are never spread",
    },
];

impl Default for Mapping2012 {
    fn default() -> Self {
        let rules = options::DEFAULT_RULES;
        Self { rules, threshold: ThresholdRule::Computed }
    }
}

impl Mapping2012 {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        let rules = options::rules(options)?;
        Ok(Self { rules, threshold: options::threshold(options, OPTIONS)? })
    }

    /// How many ranks of each job a node should have at most; `None` for jobs that are not spread.
    #[must_use]
    pub fn thresholds(&self, problem: &Problem) -> Vec<Option<u64>> {
        self.mapping(problem).thresholds
    }

    fn mapping(&self, problem: &Problem) -> JobMapping {
        let jobs = JobTraffic::of_workload(problem, self.rules.lengths, |_, _| |_| 0.0);
        JobMapping::new(problem, self.rules, &jobs, |job, free_slots| {
            let exceeds = job.exceeds_node(free_slots);
            if exceeds { self.threshold.or(|| even(job, free_slots)) } else { None }
        })
    }
}

/// Eq. (2), rounded down, at least 1.
fn even(job: &JobTraffic, free_slots: &FreeSlots) -> u64 {
    let weighted = job.demand.adjacency_sum() as f64 / job.demand.largest_adjacency().max(1) as f64;
    ((weighted / free_slots.node_count().max(1) as f64) as u64).max(1)
}

impl Mapper for Mapping2012 {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        Ok(self.mapping(problem).mapping)
    }
}

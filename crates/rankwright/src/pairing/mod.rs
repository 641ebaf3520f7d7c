//! Which jobs should share nodes: who with whom, and what each of them gains or loses.
//!
//! After Koop, Luo and Panda 2009, "Reducing network contention with mixed workloads on modern multicore
//! clusters": jobs that need the network at different times run faster side by side, each on a part of
//! the cores of twice as many nodes, than each alone on whole nodes. What a job loses or gains beside
//! another is a table of percentages ([`Slowdowns`]): measured, made of one pressure per job, or
//! predicted from profiles. The best pairs are a minimum-weight perfect matching; more than two jobs per
//! node are found by repeated matching, then local search.
//!
//! ```
//! use rankwright::pairing::{JobFacts, JobSet, Objective, PairOptions, Slowdowns, pair};
//!
//! let jobs = ["CG", "EP", "FT", "LU"].map(JobFacts::named).to_vec();
//! // Row: background job; column: measured job.
//! let percent = [
//!     101.8, 100.5, 96.0, 100.9, //
//!     75.2, 99.6, 93.8, 100.1, //
//!     84.3, 99.9, 89.6, 100.5, //
//!     76.2, 100.0, 88.0, 100.4,
//! ];
//! let jobs = JobSet::new(jobs, Slowdowns::new(4, percent.to_vec()));
//! let pairing = pair(&jobs, &PairOptions { objective: Objective::Sum, ..PairOptions::default() });
//! let names: Vec<Vec<&str>> = pairing.groups.iter().map(|group| group.names(&jobs)).collect();
//! assert_eq!(names, [["CG", "EP"], ["FT", "LU"]]);
//! assert!(pairing.cost < pairing.baseline);
//! ```

mod class;
mod groups;
mod jobs;
mod matching;
mod memory;
mod modes;
mod objective;
mod prediction;
pub mod queue;
mod random;
pub mod read;
mod recorded;
mod slowdowns;

pub use class::Compatibility;
pub use jobs::{JobFacts, JobSet, NodeMemory};
pub use memory::{Losses, MemoryLoad, MemoryUse};
pub use modes::{ModeError, Part, nodes_of, placed, placed_from};
pub use objective::Objective;
pub use prediction::{Alone, PredictError, PredictOptions, Prediction, predict};
pub use recorded::{
    GivenTraffic, KnownUse, MemoryRow, MemoryUseError, Recorded, TrafficSource, deciding_resources,
};
pub use slowdowns::Slowdowns;

use std::num::NonZeroUsize;

/// How jobs are paired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairOptions {
    /// What should be small.
    pub objective: Objective,
    /// The most jobs on a node.
    pub per_node: NonZeroUsize,
    /// Differences up to this share count as none: what is measured or predicted is not more exact.
    pub tolerance: f64,
    /// Of the search for more than two jobs per node, and of random pairings.
    pub seed: u64,
}

impl Default for PairOptions {
    fn default() -> Self {
        Self {
            objective: Objective::Sum,
            per_node: NonZeroUsize::new(2).expect("not zero"),
            tolerance: 0.01,
            seed: 1,
        }
    }
}

/// Who shares nodes with whom. `cost`, `baseline`, `random_mean` and `random_worst` are in the unit of
/// the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairing {
    /// The jobs that share nodes, by their first job.
    pub groups: Vec<Group>,
    /// The jobs that share with none, ascending.
    pub alone: Vec<usize>,
    /// The objective of this pairing.
    pub cost: f64,
    /// The objective if every job runs alone on whole nodes.
    pub baseline: f64,
    /// Its mean over random pairings.
    pub random_mean: f64,
    /// That of the worst pairing; `None` for more than two jobs per node.
    pub random_worst: Option<f64>,
    /// The gain against `baseline` as a share: positive is better, in every objective.
    pub gain: f64,
    /// What to do.
    pub answer: Answer,
}

/// Jobs that share nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The jobs, ascending, by their index in the [`JobSet`].
    pub members: Vec<Member>,
    /// How well they go together.
    pub compatibility: Compatibility,
}

/// A job among others on the same nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Its index in the [`JobSet`].
    pub job: usize,
    /// Its run time in percent of that alone on whole nodes.
    pub percent: f64,
    /// Its share of the cores of each node.
    pub share: f64,
}

impl Group {
    /// The names of its jobs.
    #[must_use]
    pub fn names<'a>(&self, jobs: &'a JobSet) -> Vec<&'a str> {
        self.members.iter().map(|member| jobs.facts()[member.job].name.as_str()).collect()
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Share nodes as the groups say.
    Share,
    /// Sharing makes no difference beyond the tolerance.
    NoDifference,
    /// Every job is better alone.
    DoNotShare,
}

/// Finds who should share nodes with whom.
///
/// Pairs are exact: no other pairing has a smaller objective, among those in which all jobs share but
/// the odd one and those that lose more than the tolerance by every partner that is left. More jobs per
/// node are searched, from the pairs of pairs. The same jobs and options give the same result.
#[must_use]
pub fn pair(jobs: &JobSet, options: &PairOptions) -> Pairing {
    let mut groups = match options.per_node.get() {
        1 => (0..jobs.len()).map(|job| vec![job]).collect(),
        2 => matching::pairs(jobs, options),
        _ => groups::search(jobs, options),
    };
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    let objective = options.objective;
    let value = |groups: &[Vec<usize>]| {
        objective.value(jobs, groups.iter().map(|group| jobs.cost(options, group)))
    };
    let single: Vec<Vec<usize>> = (0..jobs.len()).map(|job| vec![job]).collect();
    let (cost, baseline) = (value(&groups), value(&single));
    let gain = objective.gain(cost, baseline);
    let (alone, shared): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.len() == 1);
    let answer = match () {
        () if shared.is_empty() => Answer::DoNotShare,
        () if gain.abs() <= options.tolerance => Answer::NoDifference,
        () => Answer::Share,
    };
    let (random_mean, random_worst) = random::mean_and_worst(jobs, options);
    Pairing {
        groups: shared.iter().map(|group| described(jobs, group)).collect(),
        alone: alone.into_iter().flatten().collect(),
        cost,
        baseline,
        random_mean,
        random_worst,
        gain,
        answer,
    }
}

/// The objective after repeated matching alone, for measurements; may change in any version.
#[doc(hidden)]
#[must_use]
pub fn cost_of_repeated_matching(jobs: &JobSet, options: &PairOptions) -> f64 {
    let groups = groups::repeated_matching(jobs, options);
    options.objective.value(jobs, groups.iter().map(|group| jobs.cost(options, group)))
}

/// The jobs of a group with what they gain.
fn described(jobs: &JobSet, group: &[usize]) -> Group {
    let member = |job: &usize| Member {
        job: *job,
        percent: jobs.percent_in(*job, group),
        share: jobs.share_in(*job, group),
    };
    Group {
        members: group.iter().map(member).collect(),
        compatibility: Compatibility::of_group(jobs, group),
    }
}

#[cfg(test)]
mod tests;

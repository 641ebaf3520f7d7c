//! From strategies to a winner.
//!
//! ```
//! use rankwright::map::Strategy;
//! use rankwright::{Planner, cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2013")?, traffic::open("nas:cg.A.16")?);
//! let strategies: Vec<Strategy> = vec!["blocked".parse()?, "cyclic".parse()?];
//! let plan = Planner::new(&cluster, &workload).strategies(&strategies).plan()?;
//! let best = plan.best();
//! println!("{}: messages wait {:.6} s", best.strategy, best.score.total_waiting().0);
//! assert_eq!(plan.placement.ranks().count(), 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! candidates   runs the strategies, those that start from others last; drops duplicate mappings
//!     |
//! evaluate     a score for each mapping: static, by the fluid, or by a race of simulations; where the
//!     |        calls were recorded in order, the best are replayed
//! ranked       the ranking of the scores: the best, and which count as equal to it
//! ```
//!
//! [`Planner`] runs these steps for `place`, `compare`, `map` and `run --profile`. The strategy `auto`
//! follows them too, and `populations` repeats them for each number of nodes.

mod candidates;
mod evaluate;
mod granted_tasks;
mod nodes;
mod permutation;
mod planner;
mod population;
mod race;
mod ranked;
mod replayed;
mod run_time;
mod sharing;
mod time_limit;

pub use candidates::{Candidate, Computing, Observer, PlanError, PlanProgress};
pub use evaluate::{Basis, Evaluation, MappingEvaluation, SeedComparison};
pub(crate) use evaluate::{PlacedMapping, saved};
pub use planner::{Plan, Planner};
pub use race::NotSimulated;
pub use ranked::RankedCandidates;

// For the command line; may change in any version.
#[doc(hidden)]
pub use candidates::{Candidates, ChooseOptions, candidates, map};
#[doc(hidden)]
pub use granted_tasks::{cores_of_task, free_cores_and_pus, granularity_of_tasks, nodes_in_part};
#[doc(hidden)]
pub use nodes::{NamedNodesError, named_nodes, nearest_nodes, nearest_of_number, useful_nodes};
#[doc(hidden)]
#[doc(hidden)]
pub use permutation::{CollectiveEffects, PermutationEffects};
#[doc(hidden)]
pub use population::{
    Estimate, MemoryTraffic, NotPopulated, PlanOf, Populated, Population, Preference, TimeEstimate,
    populations,
};
#[doc(hidden)]
pub use ranked::{rank_by_bytes, rank_candidates};
pub use run_time::{Gain, NoSeconds, RunTimes, negligible_communication};
pub(crate) use run_time::{NO_GAIN, model_error};
#[doc(hidden)]
pub use sharing::{SharingError, SharingMode, together_and_apart};
#[doc(hidden)]
pub use time_limit::end_of_search;

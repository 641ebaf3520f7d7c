//! From strategies to a winner.
//!
//! ```text
//! candidates   runs the strategies, those that start from others last; drops duplicate mappings
//!     |
//! evaluate     a score for each mapping: static, by the fluid, or by a race of simulations
//!     |
//! ranked       the ranking of the scores: the best, and which count as equal to it
//! ```
//!
//! [`Planner`] runs these steps for `place`, `compare`, `map` and `run --profile`. The strategy `auto`
//! follows them too, and [`populations`] repeats them for each number of nodes.

mod candidates;
mod evaluate;
mod paired_runs;
mod permutation;
mod planner;
mod population;
mod race;
mod ranked;

pub use candidates::{Candidate, Computing, Observer, PlanError};
pub use evaluate::{Basis, Evaluation, MappingEvaluation, SeedComparison};
pub use planner::{Plan, Planner};
pub use race::NotSimulated;
pub use ranked::RankedCandidates;

// For the command line; may change in any version.
#[doc(hidden)]
pub use candidates::{Candidates, ChooseOptions, candidates, map};
#[doc(hidden)]
pub use evaluate::PlacedMapping;
#[doc(hidden)]
pub use paired_runs::{PairedDifference, PairedResult};
#[doc(hidden)]
pub use permutation::{CollectiveEffects, PermutationEffects};
#[doc(hidden)]
pub use population::{
    Estimate, MemoryTraffic, Populated, Population, Preference, TimeEstimate, populations,
};
#[doc(hidden)]
pub use ranked::{rank_by_bytes, rank_candidates};

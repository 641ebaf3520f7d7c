//! From strategies to a winner.
//!
//! ```text
//! candidates   runs the strategies, those that start from others last; drops equal mappings
//!     |
//! evaluate     a score for each mapping: static, in the fluid, or by a race of simulations
//!     |
//! ranked       what `ranking` makes of the scores: the best, and what counts as equal to it
//! ```
//!
//! [`Planner`] goes this way, and with it `place`, `compare`, `run --profile`; so does the strategy `auto` go this way; [`populations`] goes it
//! once for each number of nodes.

mod candidates;
mod evaluate;
mod paired_runs;
mod permutation;
mod planner;
mod population;
mod race;
mod ranked;

pub use candidates::{
    Candidate, Candidates, ChooseOptions, Computing, Observer, PlanError, candidates, map,
};
pub use evaluate::{Basis, Evaluation, MappingEvaluation, PlacedMapping, SeedComparison};
pub use paired_runs::{PairedDifference, PairedVerdict};
pub use permutation::{CollectiveEffects, PermutationEffects};
pub use planner::{Plan, Planner};
pub use population::{
    Estimate, MemoryTraffic, Populated, Population, Preference, TimeEstimate, populations,
};
pub use race::NotSimulated;
pub use ranked::{RankedCandidates, rank_by_bytes, rank_candidates};

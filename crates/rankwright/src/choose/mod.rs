//! Several strategies for the same jobs, and which of their placements to take; and the cases of the
//! papers ([`reproduce`]).

mod judge;
mod permutation;
mod population;
pub mod reproduce;
mod search;
mod side_by_side;

pub use judge::{TOLERANCE, Verdict, judge};
pub use permutation::{CollectiveEffects, PermutationEffects};
pub use population::{
    Estimate, MemoryTraffic, Populated, Population, Preference, TimeEstimate, populations,
};
pub use search::{Candidate, SearchError, Timer, candidates};
pub use side_by_side::side_by_side;

//! Several strategies for the same jobs, and which of their placements to take.

mod judge;
mod paired_runs;
mod permutation;
mod population;
mod search;
mod settle;
mod verdict;

pub use judge::judge;
pub use paired_runs::{PairedDifference, PairedVerdict};
pub use permutation::{CollectiveEffects, PermutationEffects};
pub use population::{
    Estimate, MemoryTraffic, Populated, Population, Preference, TimeEstimate, populations,
};
pub use search::{Candidate, Computing, Found, Search, SearchError, candidates};
pub use settle::{
    Contender, Measure, Observer, Settled, Settling, Times, Unsettled, Versus, predict, settle,
};
pub use verdict::{By, TOLERANCE, Verdict, verdict};

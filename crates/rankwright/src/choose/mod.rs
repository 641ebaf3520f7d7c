//! Several strategies for the same jobs, and which of their placements to take.

mod judge;
mod search;

pub use judge::{TOLERANCE, Verdict, judge};
pub use search::{Candidate, SearchError, candidates};

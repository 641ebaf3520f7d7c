//! Several strategies for the same jobs, and which of their placements to take; and the cases of the
//! papers ([`reproduce`]).

mod judge;
pub mod reproduce;
mod search;

pub use judge::{TOLERANCE, Verdict, judge};
pub use search::{Candidate, SearchError, candidates};

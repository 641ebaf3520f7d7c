//! Several strategies for the same jobs, and which of their placements to take; and the cases of the
//! papers ([`reproduce`]).

mod judge;
pub mod reproduce;
mod search;
mod side_by_side;
mod simulation;

pub use judge::{TOLERANCE, Verdict, judge};
pub use search::{Candidate, SearchError, candidates};
pub use simulation::{best_predicted, least_waiting, predictions, simulations};

//! Runs strategies side by side.

use std::num::NonZeroUsize;

use super::side_by_side::side_by_side;
use crate::map::{MapError, Problem, Strategy};
use crate::model::Load;
use crate::placement::{JobShape, Placement, PlacementError};

/// A placement that a strategy made, with what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The strategy with its options, as on the command line.
    pub strategy: String,
    /// The placement.
    pub placement: Placement,
    /// Its load.
    pub load: Load,
}

/// Why a strategy gave no candidate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The strategy failed.
    #[error("{strategy}: {error}")]
    Map {
        /// The strategy.
        strategy: String,
        /// What went wrong.
        error: MapError,
    },
    /// What it made is no placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// The candidate of each strategy, or why it gave none, in their order. At most `threads` strategies
/// run at the same time; the result does not depend on how many.
pub fn candidates(
    problem: &Problem,
    strategies: &[Strategy],
    threads: NonZeroUsize,
) -> Vec<Result<Candidate, SearchError>> {
    side_by_side(strategies, threads, |_, strategy| candidate(problem, strategy))
}

fn candidate(problem: &Problem, strategy: &Strategy) -> Result<Candidate, SearchError> {
    let name = strategy.to_string();
    let slot_of = strategy
        .map(problem)
        .map_err(|error| SearchError::Map { strategy: name.clone(), error })?;
    let shapes = JobShape::of(problem.workload);
    let (cluster, slots) = (problem.cluster, problem.slots());
    let placement = Placement::from_slots(cluster, &shapes, name.clone(), slots, &slot_of)?;
    let load = Load::new(cluster, problem.levels(), problem.workload, &placement);
    Ok(Candidate { strategy: name, placement, load })
}

//! Runs strategies side by side.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::thread;

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
    let mut results: Vec<_> = strategies.iter().map(|_| None).collect();
    let work = Mutex::new(strategies.iter().zip(&mut results));
    let next = || work.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads.get().min(strategies.len()) {
            scope.spawn(|| {
                while let Some((strategy, result)) = next() {
                    *result = Some(candidate(problem, strategy));
                }
            });
        }
    });
    results.into_iter().flatten().collect()
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

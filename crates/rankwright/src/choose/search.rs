//! Runs strategies side by side.

use std::num::NonZeroUsize;

use super::side_by_side::side_by_side;
use crate::map::{Budget, Clock, Known, MapError, Problem, Strategy};
use crate::model::Load;
use crate::placement::{JobShape, Placement, PlacementError};

/// A placement that a strategy made, with what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The strategy with its options, as on the command line.
    pub strategy: String,
    /// The slot of each rank, among those of the problem.
    pub slot_of: Vec<usize>,
    /// The placement.
    pub placement: Placement,
    /// Its load.
    pub load: Load,
    /// How many moves a search tried; 0 for strategies that do not search.
    pub moves: u64,
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

/// Starts a clock for a strategy that begins now.
pub type Timer<'a> = dyn Fn() -> Box<Clock> + Sync + 'a;

/// The candidate of each strategy, or why it gave none, in their order. At most `threads` strategies
/// run at the same time; the result does not depend on how many. Those that begin with the answers
/// of others run after all others. With a timer each search takes its time instead of its effort.
pub fn candidates(
    problem: &Problem,
    strategies: &[Strategy],
    threads: NonZeroUsize,
    timer: Option<&Timer>,
) -> Vec<Result<Candidate, SearchError>> {
    let run = |strategy: &Strategy, threads, known: &[Known]| {
        let clock = timer.map(|start| start());
        let budget = Budget::default().with_threads(threads).with_known(known);
        let budget = match &clock {
            Some(clock) => budget.with_clock(clock),
            None => budget,
        };
        candidate(problem, strategy, &budget)
    };
    let mut found: Vec<Option<Result<Candidate, SearchError>>> =
        side_by_side(strategies, threads, |_, strategy| {
            (!strategy.begins_with_others()).then(|| run(strategy, NonZeroUsize::MIN, &[]))
        });
    let known = |candidate: &Candidate| Known {
        strategy: candidate.strategy.clone(),
        slot_of: candidate.slot_of.clone(),
    };
    let known: Vec<Known> = found.iter().flatten().flatten().map(known).collect();
    for (strategy, found) in strategies.iter().zip(&mut found) {
        found.get_or_insert_with(|| run(strategy, threads, &known));
    }
    found.into_iter().flatten().collect()
}

fn candidate(
    problem: &Problem,
    strategy: &Strategy,
    budget: &Budget,
) -> Result<Candidate, SearchError> {
    let name = strategy.to_string();
    let slot_of = strategy
        .map(problem, budget)
        .map_err(|error| SearchError::Map { strategy: name.clone(), error })?;
    let shapes = JobShape::of(problem.workload);
    let (cluster, slots) = (problem.cluster, problem.slots());
    let placement = Placement::from_slots(cluster, &shapes, name.clone(), slots, &slot_of)?;
    let load = Load::new(cluster, problem.levels(), problem.workload, &placement);
    Ok(Candidate { strategy: name, slot_of, placement, load, moves: budget.moves() })
}

//! Which of several mappings is best, by simulation, with as few messages as that takes.
//!
//! All mappings are simulated with the same clocks: the seed decides when ranks send, whatever their
//! slots (common random numbers: Glasserman and Yao 1992, "Some guidelines and guarantees for common
//! random numbers"), so that differences come from the mappings.
//!
//! A run of all messages with every mapping comes first where the budget has room for it: near
//! saturation a short run misleads, because there waiting grows with the square of the run in some
//! placements and in proportion to it in others. Where there is no room, rounds of successive halving
//! (Karnin, Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits"; Jamieson and
//! Talwalkar 2016, "Non-stochastic best arm identification and hyperparameter optimization"): each
//! round simulates a share of the messages, the better half goes on to a longer one; the fluid says
//! by how much a short run falls short. Then the survivors race (Maron and Moore 1994, "Hoeffding
//! races"): run after run of all messages with other seeds, until one is left or the seeds are at an
//! end. After each run those are eliminated that a paired t test says are worse.
//!
//! The budget is counted in messages, so that the result is the same on every machine and for any
//! number of threads.

mod rounds;
mod run;

use super::{ChooseOptions, Evaluation, PlacedMapping};
use crate::map::Problem;
use crate::sim::SimulationError;
use rounds::Race;

/// Why nothing was simulated, or not enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSimulated {
    /// The workload cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Even a few messages of each rank with every mapping are more than may be simulated.
    #[error("simulating it takes more messages than allowed")]
    TooMany,
    /// The time was over before every mapping had been simulated once.
    #[error("the time limit was reached before every mapping had been simulated")]
    Late,
    /// The observer stopped it.
    #[error("interrupted")]
    Stopped,
}

/// Evaluates mappings by simulation. None is better than the winner by the scores that are returned.
///
/// # Errors
/// If the workload cannot be simulated or the budget does not allow it, or the observer stops it.
///
/// # Panics
/// If there is no mapping.
pub(super) fn race(
    problem: &Problem,
    mappings: &[PlacedMapping],
    options: &ChooseOptions,
) -> Result<Evaluation, NotSimulated> {
    assert!(!mappings.is_empty(), "a mapping to simulate");
    Race::new(problem, mappings, options).run()
}

//! Selects the best of several mappings by simulating as few messages as possible.
//!
//! All mappings are simulated with common random numbers (Glasserman and Yao 1992, "Some guidelines
//! and guarantees for common random numbers"): the seed alone determines when ranks send, so all
//! differences come from the mappings.
//!
//! If the budget allows, the first run simulates all messages with every mapping. Near saturation a
//! short run misleads, because waiting grows with the square of the run length in some placements and
//! in proportion to it in others. Otherwise there are rounds of successive halving (Karnin, Koren and
//! Somekh 2013, "Almost optimal exploration in multi-armed bandits"; Jamieson and Talwalkar 2016,
//! "Non-stochastic best arm identification and hyperparameter optimization"): each round simulates a
//! share of the messages, and the better half goes on to a longer run; the fluid extrapolates short
//! runs. Then the survivors race (Maron and Moore 1994, "Hoeffding races"): they are run with all
//! messages and one seed after another until one mapping or no seed is left. After each run a paired t
//! test eliminates worse mappings.
//!
//! The budget is counted in messages, so the result depends neither on the machine nor on the number
//! of threads.

mod rounds;
mod run;

use super::{ChooseOptions, Evaluation, PlacedMapping};
use crate::map::Problem;
use crate::ranking::Score;
use crate::sim::SimulationError;
use rounds::Race;

/// Why nothing was simulated, or not enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSimulated {
    /// The workload cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Even a few messages of each rank with every mapping exceed the budget.
    #[error("simulating it takes more messages than allowed")]
    TooMany,
    /// The time limit was reached before every mapping had been simulated once.
    #[error("the time limit was reached before every mapping had been simulated")]
    Late,
    /// The observer stopped the simulation.
    #[error("interrupted")]
    Stopped,
}

/// Evaluates mappings by simulation. `fluid` has their scores by the fluid, in open loops. By the returned scores no mapping is better than the winner.
///
/// # Errors
/// If the workload cannot be simulated or the budget does not allow it, or the observer stops it.
///
/// # Panics
/// If `mappings` is empty.
pub(super) fn race(
    problem: &Problem,
    mappings: &[PlacedMapping],
    fluid: Option<Vec<Score>>,
    options: &ChooseOptions,
) -> Result<Evaluation, NotSimulated> {
    assert!(!mappings.is_empty(), "a mapping to simulate");
    Race::new(problem, mappings, fluid, options).run()
}

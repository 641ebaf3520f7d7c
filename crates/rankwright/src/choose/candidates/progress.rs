//! What a planner tells its observer.

use std::ops::ControlFlow;

use crate::map::StrategyId;

/// Gets what is being done, from several threads, and may end it.
pub type Observer<'a> = dyn Fn(&PlanProgress) -> ControlFlow<()> + Sync + 'a;

/// What a planner does, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PlanProgress<'a> {
    /// A strategy begins, or searches.
    Strategy {
        /// The strategy.
        strategy: &'a StrategyId,
        /// Its number, from 1.
        number: usize,
        /// How many strategies run.
        count: usize,
        /// The share of its search that is done, from 0 to 1; remains 0 if that is not known.
        done: f64,
        /// Whether mappings are simulated afterwards.
        simulated: bool,
    },
    /// Mappings are simulated.
    Simulation {
        /// The number of the simulation, from 1.
        number: usize,
        /// How many there are at most: they end as soon as it is clear which mapping is best.
        most: usize,
        /// The messages simulated so far, as a share of those that are simulated at most.
        done: f64,
    },
    /// Recorded calls are replayed with the best mappings.
    Replay,
}

//! Runs strategies; those that start from the mappings of others run last.

use std::num::NonZeroUsize;

use super::time_shares::TimeShares;
use crate::map::{Budget, Clock, DeviceMapping, MapError, Problem, Start, Strategy, StrategyId};
use crate::parallel;

/// The resources of all strategies together.
pub(super) struct Limits<'a> {
    pub(super) threads: NonZeroUsize,
    /// The elapsed share of the time limit; `None` without a limit.
    pub(super) clock: Option<&'a Clock<'a>>,
    /// Whether the mappings are simulated afterwards, for which a part of the time is reserved.
    pub(super) simulated: bool,
}

/// The result of a strategy.
pub(super) struct StrategyRun {
    pub(super) strategy: StrategyId,
    /// Number of moves that its search tried.
    pub(super) moves: u64,
    /// The mappings, the most promising first.
    pub(super) mappings: Result<Vec<DeviceMapping>, MapError>,
}

/// Runs the independent strategies, then those that start from all mappings so far, each group in the
/// given order.
pub(super) fn run(
    problem: &Problem,
    strategies: &[&Strategy],
    limits: &Limits,
) -> Vec<StrategyRun> {
    let searches = strategies.iter().filter(|strategy| strategy.searches()).count();
    let shares = limits.clock.map(|clock| TimeShares::new(clock, searches, limits.simulated));
    let run = |strategy: &Strategy, threads, starts: &[Start]| {
        let clock = shares.as_ref().map(|shares| shares.begin(strategy));
        let budget = Budget::default().with_threads(threads).with_starts(starts);
        let budget = match &clock {
            Some(clock) => budget.with_clock(clock),
            None => budget,
        };
        let mappings = strategy.mappings_with_devices(problem, &budget);
        StrategyRun { strategy: strategy.id().clone(), moves: budget.moves(), mappings }
    };
    let (last, first): (Vec<&Strategy>, Vec<&Strategy>) =
        strategies.iter().partition(|strategy| strategy.starts_from_others());
    let mut runs =
        parallel::map(&first, limits.threads, |_, strategy| run(strategy, NonZeroUsize::MIN, &[]));
    for strategy in last {
        let starts: Vec<Start> = runs.iter().flat_map(starts).collect();
        runs.push(run(strategy, limits.threads, &starts));
    }
    runs
}

fn starts(run: &StrategyRun) -> impl Iterator<Item = Start> + '_ {
    let start = |placed: &DeviceMapping| Start {
        strategy: run.strategy.clone(),
        mapping: placed.mapping.clone(),
    };
    run.mappings.iter().flatten().map(start)
}

//! Runs strategies; those that start from the mappings of others run last.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::progress::{Observer, PlanProgress};
use super::time_shares::{Pace, TimeShares};
use crate::map::{Budget, Clock, DeviceMapping, MapError, Problem, Start, Strategy, StrategyId};
use crate::parallel;

/// The resources of all strategies together.
pub(super) struct Limits<'a> {
    pub(super) threads: NonZeroUsize,
    /// The elapsed share of the time limit; `None` without a limit.
    pub(super) clock: Option<&'a Clock<'a>>,
    /// Whether the mappings are simulated afterwards, for which a part of the time is reserved.
    pub(super) simulated: bool,
    /// Whether network devices are chosen for the mappings afterwards, which takes time too.
    pub(super) selects: bool,
    /// The strategy that places as the launcher does by default, which always runs; `None`: `blocked`.
    pub(super) launcher_default: Option<&'a StrategyId>,
    pub(super) observer: &'a Observer<'a>,
}

/// The result of a strategy.
pub(super) struct StrategyRun {
    pub(super) strategy: StrategyId,
    /// Number of moves that its search tried.
    pub(super) moves: u64,
    /// The mappings, the most promising first.
    pub(super) mappings: Result<Vec<DeviceMapping>, MapError>,
}

/// Runs the independent strategies that do not search, side by side, then those that search, then those
/// that start from all mappings so far, each group in the given order; with a time limit the fastest
/// first. When the time is over or the observer ends it, no other strategy begins, except those without
/// which there would be no placement: the launcher's default and the fastest of the others.
pub(super) fn run(
    problem: &Problem,
    strategies: &[&Strategy],
    limits: &Limits,
) -> Vec<StrategyRun> {
    let (last, mut first): (Vec<&Strategy>, Vec<&Strategy>) =
        strategies.iter().partition(|strategy| strategy.starts_from_others());
    let given = first.clone();
    let fastest_first = |strategy: &&Strategy| std::cmp::Reverse(strategy.largest_at_start());
    let is_default = |strategy: &Strategy| match limits.launcher_default {
        Some(default) => default == strategy.id(),
        None => strategy.id().is_blocked(),
    };
    let other = first
        .iter()
        .filter(|strategy| !is_default(strategy))
        .min_by_key(|strategy| fastest_first(strategy));
    let other = other.map(|strategy| strategy.id());
    if limits.clock.is_some() {
        first.sort_by_key(fastest_first);
    }
    let runner = Runner::new(problem, strategies, limits);
    let is_needed = |strategy: &Strategy| is_default(strategy) || other == Some(strategy.id());
    let (searches, quick): (Vec<&Strategy>, Vec<&Strategy>) =
        first.into_iter().partition(|strategy| strategy.searches());
    let mut runs = parallel::map(&quick, limits.threads, |_, strategy| {
        runner.run(strategy, NonZeroUsize::MIN, &[], is_needed(strategy))
    });
    // A search takes longer than all others, so it gets all threads.
    let searched = searches
        .into_iter()
        .map(|strategy| runner.run(strategy, limits.threads, &[], is_needed(strategy)));
    runs.extend(searched);
    runs.sort_by_key(|run| given.iter().position(|strategy| *strategy.id() == run.strategy));
    for strategy in last {
        let starts: Vec<Start> = runs.iter().flat_map(starts).collect();
        // Without time its mappings are its starts.
        runs.push(runner.run(strategy, limits.threads, &starts, true));
    }
    runs
}

/// Runs one strategy after the other.
struct Runner<'a> {
    problem: &'a Problem<'a>,
    limits: &'a Limits<'a>,
    shares: Option<TimeShares<'a>>,
    pace: Pace,
    begun: AtomicUsize,
    /// The number of all strategies.
    count: usize,
}

impl<'a> Runner<'a> {
    fn new(problem: &'a Problem<'a>, strategies: &[&Strategy], limits: &'a Limits<'a>) -> Self {
        let searches = strategies.iter().filter(|strategy| strategy.searches()).count();
        let shares = limits
            .clock
            .map(|clock| TimeShares::new(clock, searches, limits.simulated || limits.selects));
        let (pace, begun) = (Pace::default(), AtomicUsize::new(0));
        Self { problem, limits, shares, pace, begun, count: strategies.len() }
    }

    fn run(
        &self,
        strategy: &Strategy,
        threads: NonZeroUsize,
        starts: &[Start],
        is_needed: bool,
    ) -> StrategyRun {
        let number = 1 + self.begun.fetch_add(1, Ordering::Relaxed);
        let observer = |done: f64| {
            (self.limits.observer)(&PlanProgress::Strategy {
                strategy: strategy.id(),
                number,
                count: self.count,
                done,
                simulated: self.limits.simulated,
            })
        };
        let begin = self.shares.as_ref().map(TimeShares::passed);
        let no_time = begin.is_some_and(|passed| passed + self.pace.expected(strategy) > 1.0);
        if (observer(0.0) == ControlFlow::Break(()) || no_time) && !is_needed {
            let mappings = Err(MapError::NoTime);
            return StrategyRun { strategy: strategy.id().clone(), moves: 0, mappings };
        }
        let clock = self.shares.as_ref().map(|shares| shares.begin(strategy));
        let budget = Budget::default().with_threads(threads).with_starts(starts);
        let budget = budget.with_observer(&observer);
        let budget = match &clock {
            Some(clock) => budget.with_clock(clock),
            None => budget,
        };
        let mappings = strategy.mappings_with_devices(self.problem, &budget);
        if let (Some(begin), Some(shares)) = (begin, &self.shares) {
            self.pace.note(strategy, shares.passed() - begin);
        }
        StrategyRun { strategy: strategy.id().clone(), moves: budget.moves(), mappings }
    }
}

fn starts(run: &StrategyRun) -> impl Iterator<Item = Start> + '_ {
    let start = |placed: &DeviceMapping| Start {
        strategy: run.strategy.clone(),
        mapping: placed.mapping.clone(),
    };
    run.mappings.iter().flatten().map(start)
}

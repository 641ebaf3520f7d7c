//! Shares a time limit among strategies and simulation.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::map::{Clock, Strategy};

/// The share of the time for searches if more is done with their mappings.
const SEARCHING: f64 = 0.7;

/// Shares the time evenly among the strategies that search: each gets its part of the time left when
/// it begins.
pub(super) struct TimeShares<'a> {
    clock: &'a Clock<'a>,
    /// The end of all searches, as a share of the time limit.
    end: f64,
    /// Number of searches that have not begun.
    searches: AtomicUsize,
}

impl<'a> TimeShares<'a> {
    pub(super) fn new(clock: &'a Clock<'a>, searches: usize, more_follows: bool) -> Self {
        let end = if more_follows { SEARCHING } else { 1.0 };
        Self { clock, end, searches: AtomicUsize::new(searches) }
    }

    /// The share of the time for strategies that has passed.
    pub(super) fn passed(&self) -> f64 {
        (self.clock)() / self.end
    }

    /// The clock of a strategy that begins now: the elapsed share of its time.
    pub(super) fn begin(&self, strategy: &Strategy) -> Box<dyn Fn() -> f64 + Sync + 'a> {
        let begin = (self.clock)();
        let searches = match strategy.searches() {
            true => self.searches.fetch_sub(1, Ordering::Relaxed).max(1),
            false => 1,
        };
        let (clock, time) = (self.clock, (self.end - begin) / searches as f64);
        Box::new(move || if time > 0.0 { (clock() - begin) / time } else { 1.0 })
    }
}

/// How long strategies that cannot be cut short take, by those that ran before. A strategy takes about
/// as much longer than another as it is given smaller jobs at their start
/// ([`MapperEntry::largest_at_start`](crate::map::MapperEntry::largest_at_start)).
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The most time for a strategy times its largest job, over those that ran.
    slowest: Mutex<f64>,
}

/// Shorter times, as shares of the limit, say nothing of strategies that take longer.
const MEASURABLE: f64 = 0.01;

impl Pace {
    /// The share of the time that a strategy is expected to take; 0 where it ends in time by itself, or
    /// nothing is known.
    pub(super) fn expected(&self, strategy: &Strategy) -> f64 {
        match largest(strategy) {
            Some(largest) => *self.slowest.lock().unwrap_or_else(PoisonError::into_inner) / largest,
            None => 0.0,
        }
    }

    /// Takes note of the share of the time that a strategy took.
    pub(super) fn note(&self, strategy: &Strategy, share: f64) {
        if let Some(largest) = largest(strategy).filter(|_| share >= MEASURABLE) {
            let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
            *slowest = slowest.max(share * largest);
        }
    }
}

/// The size of the largest job with which a strategy is tried at its start, where it cannot be cut short
/// and its time grows with the size.
fn largest(strategy: &Strategy) -> Option<f64> {
    let largest = strategy.largest_at_start().filter(|largest| *largest < usize::MAX);
    largest.filter(|_| !strategy.searches()).map(|largest| largest as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_search_gets_its_part_of_the_time_left() {
        let now = Mutex::new(0.0);
        let clock = || *now.lock().unwrap();
        let shares = TimeShares::new(&clock, 2, true);
        let auto: Strategy = "auto".parse().unwrap();
        let plain: Strategy = "blocked".parse().unwrap();
        assert!(!auto.searches() && !plain.searches());
        let of_plain = shares.begin(&plain);
        *now.lock().unwrap() = 0.35;
        assert!((of_plain() - 0.5).abs() < 1e-12);
        *now.lock().unwrap() = 0.7;
        assert!((of_plain() - 1.0).abs() < 1e-12);
        assert_eq!(shares.begin(&plain)(), 1.0);
    }
}

//! Shares a time limit among strategies and simulation.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::map::{Clock, Strategy};

/// The share of the time for searches if their mappings are simulated afterwards.
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
    pub(super) fn new(clock: &'a Clock<'a>, searches: usize, simulated: bool) -> Self {
        let end = if simulated { SEARCHING } else { 1.0 };
        Self { clock, end, searches: AtomicUsize::new(searches) }
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

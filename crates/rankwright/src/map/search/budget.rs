//! How much a strategy may try beside its options, and what it need not find out again.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a search goes on: a fixed amount of work, so that the result is the same on every
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// For placing at the start of a job: never slower than a partitioner.
    Fast,
    /// For daily use.
    Normal,
    /// For a placement that is kept.
    Best,
}

/// What a caller allows a strategy and tells it.
#[derive(Default)]
pub struct Budget<'a> {
    threads: Option<NonZeroUsize>,
    clock: Option<&'a Clock<'a>>,
    /// Which of how many equal parts of the time this is.
    part: Option<(f64, f64)>,
    known: &'a [Known],
    moves: AtomicU64,
}

/// The share of the time that has passed: 0 at the beginning, 1 and more when it is over. It may be
/// asked from any thread.
pub type Clock<'a> = dyn Fn() -> f64 + Sync + 'a;

/// An answer that the caller has already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The strategy with its options, as on the command line.
    pub strategy: String,
    /// The slot of each rank.
    pub slot_of: Vec<usize>,
}

impl<'a> Budget<'a> {
    /// A budget of so many threads; one where nothing is said.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// A budget of time instead of effort. Results then depend on the machine.
    #[must_use]
    pub fn with_clock(mut self, clock: &'a Clock<'a>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The budget of one of several problems that one falls into, counted from 0: each gets the same
    /// part of the time. It knows no answers.
    #[must_use]
    pub(in crate::map) fn part(&self, number: usize, parts: usize) -> Self {
        let (number, parts) = (number as f64, parts as f64);
        let (before, all) = self.part.unwrap_or((0.0, 1.0));
        let part = Some((before * parts + number, all * parts));
        Self { threads: self.threads, clock: self.clock, part, ..Self::default() }
    }

    /// With answers of other strategies, for those that begin with them.
    #[must_use]
    pub fn with_known(mut self, known: &'a [Known]) -> Self {
        self.known = known;
        self
    }

    /// The same threads and the same clock for another strategy, that begins with other answers; its
    /// moves are counted for themselves.
    pub(in crate::map) fn beginning_with<'b>(&'b self, known: &'b [Known]) -> Budget<'b> {
        Budget { known, moves: AtomicU64::new(0), ..*self }
    }

    /// How many threads may work at the same time.
    #[must_use]
    pub fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or(NonZeroUsize::MIN)
    }

    /// The share of the time that has passed; `None` where effort is counted in work.
    #[must_use]
    pub fn time_passed(&self) -> Option<f64> {
        let passed = self.clock?();
        Some(self.part.map_or(passed, |(number, parts)| (passed * parts - number).max(0.0)))
    }

    /// The answer of a strategy, if the caller has it; of its name alone, with whatever options.
    #[must_use]
    pub fn known(&self, strategy: &str) -> Option<&'a [usize]> {
        let name = |known: &Known| known.strategy.split(':').next() == Some(strategy);
        let exactly = self.known.iter().find(|known| known.strategy == strategy);
        let known = exactly.or_else(|| self.known.iter().find(|known| name(known)));
        known.map(|known| &known.slot_of[..])
    }

    /// All answers that the caller has.
    pub(in crate::map) fn all_known(&self) -> &'a [Known] {
        self.known
    }

    /// Counts moves that a search has tried.
    pub fn count_moves(&self, moves: u64) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
    }

    /// How many moves searches have tried with this budget.
    #[must_use]
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("threads", &self.threads())
            .field("time_passed", &self.time_passed())
            .field("known", &self.known)
            .field("moves", &self.moves())
            .finish()
    }
}

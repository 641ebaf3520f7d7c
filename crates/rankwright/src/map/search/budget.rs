//! How much a strategy may try beside its options, what it need not find out again, and how far it is.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::map::{MapperEntry, StrategyId};
use crate::placement::Mapping;

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

/// The efforts by the names that users give them.
pub const EFFORTS: [(&str, Effort); 3] =
    [("fast", Effort::Fast), ("normal", Effort::Normal), ("best", Effort::Best)];

impl Effort {
    /// Its name among [`EFFORTS`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Best => "best",
        }
    }
}

/// The threads, time and starts that a caller gives a strategy.
#[derive(Default)]
pub struct Budget<'a> {
    threads: Option<NonZeroUsize>,
    /// `None`: the effort ends the search.
    clock: Option<&'a Clock<'a>>,
    observer: Option<&'a SearchObserver<'a>>,
    /// The number of this part of the time, from 0, and the number of parts.
    part: Option<(f64, f64)>,
    starts: &'a [Start],
    /// Counted so far.
    moves: AtomicU64,
    /// The share of the search that is done.
    done: Mutex<f64>,
}

/// Gets the share of a search that is done, from 0 to 1, on any thread. A search that can be cut short
/// ends where it breaks, with the best so far.
pub type SearchObserver<'a> = dyn Fn(f64) -> ControlFlow<()> + Sync + 'a;

/// The share of the time that has passed: 0 at the beginning, 1 and more when it is over. It may be
/// asked from any thread.
pub type Clock<'a> = dyn Fn() -> f64 + Sync + 'a;

/// A mapping of another strategy, for one that starts from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The strategy that made it.
    pub strategy: StrategyId,
    /// The slot of each rank.
    pub mapping: Mapping,
}

impl<'a> Budget<'a> {
    /// A budget of this many threads; 1 by default.
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

    /// With an observer of the search, who may end it.
    #[must_use]
    pub fn with_observer(mut self, observer: &'a SearchObserver<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The budget of subproblem `number`, from 0, of `parts`: each gets an equal part of the time. It has
    /// no starts.
    #[must_use]
    pub(in crate::map) fn part(&self, number: usize, parts: usize) -> Self {
        let (number, parts) = (number as f64, parts as f64);
        let (before, all) = self.part.unwrap_or((0.0, 1.0));
        let part = Some((before * parts + number, all * parts));
        let Self { threads, clock, observer, .. } = *self;
        Self { threads, clock, observer, part, ..Self::default() }
    }

    /// With mappings of other strategies, for those that start from them.
    #[must_use]
    pub fn with_starts(mut self, starts: &'a [Start]) -> Self {
        self.starts = starts;
        self
    }

    /// How many threads may work at the same time.
    #[must_use]
    pub fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or(NonZeroUsize::MIN)
    }

    /// The share of the time that has passed; `None` where effort is counted in work.
    #[must_use]
    pub(crate) fn time_passed(&self) -> Option<f64> {
        let passed = self.clock?();
        Some(self.part.map_or(passed, |(number, parts)| (passed * parts - number).max(0.0)))
    }

    /// Counts another share of the work as done. Whether the search must end: the time is over or the
    /// observer says so.
    pub(crate) fn advance(&self, share: f64) -> bool {
        let done = {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done = (*done + share).min(1.0);
            *done
        };
        let of_whole = self.part.map_or(done, |(before, all)| (before + done) / all);
        let ended = self.observer.is_some_and(|observer| observer(of_whole).is_break());
        ended || self.time_passed().is_some_and(|passed| passed >= 1.0)
    }

    /// Whether the search must end: the time is over or the observer says so.
    pub(crate) fn is_over(&self) -> bool {
        self.advance(0.0)
    }

    /// The mapping of a strategy, if the caller has it: with all options at their defaults, else with
    /// whatever options.
    #[must_use]
    pub(crate) fn start(&self, strategy: &MapperEntry) -> Option<&'a Mapping> {
        let mut named = self.starts.iter().filter(|start| start.strategy.name() == strategy.name);
        let plain = named.clone().find(|start| start.strategy.is_plain());
        plain.or_else(|| named.next()).map(|start| &start.mapping)
    }

    /// All mappings that the caller has.
    pub(in crate::map) fn starts(&self) -> &'a [Start] {
        self.starts
    }

    /// Counts moves that a search has tried.
    pub(crate) fn count_moves(&self, moves: u64) {
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
            .field("starts", &self.starts)
            .field("moves", &self.moves())
            .finish()
    }
}

//! The progress of simulations, and their orderly end when the user interrupts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rankwright::sim::Progress;

use crate::host::signals::interrupt;
use crate::output::Verbosity;
use crate::output::progress::{ProgressLine, Step};

/// Watches several simulations: shows their common progress, and stops all when the user
/// interrupts.
pub(crate) struct Watch {
    line: ProgressLine,
    begin: Instant,
    /// Per simulation: its progress from 0 to [`WHOLE`], and the number of events so far.
    reached: Vec<(AtomicU64, AtomicU64)>,
}

/// The progress of a finished simulation.
const WHOLE: u64 = 10_000;

impl Watch {
    /// A watch over `count` simulations. From now on an interrupt only stops these.
    pub(crate) fn new(verbosity: &Verbosity, count: usize) -> Self {
        interrupt::watch();
        Self {
            line: ProgressLine::new(verbosity, simulating(count)),
            begin: Instant::now(),
            reached: (0..count).map(|_| Default::default()).collect(),
        }
    }

    /// Records the progress of a simulation.
    pub(crate) fn observe(&self, position: usize, progress: &Progress) -> ControlFlow<()> {
        let (parts, events) = &self.reached[position];
        let share = progress.messages.map_or(0.0, |all| progress.delivered as f64 / all as f64);
        parts.fetch_max((WHOLE as f64 * share) as u64, Ordering::Relaxed);
        events.store(progress.events, Ordering::Relaxed);
        if !self.line.is_hidden() {
            self.show(progress);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// As [`Watch::observe`], of simulations that run one after the other: all before this one have ended.
    pub(crate) fn observe_in_turn(&self, position: usize, progress: &Progress) -> ControlFlow<()> {
        let ended = &self.reached[..position];
        ended.iter().for_each(|(parts, _)| parts.store(WHOLE, Ordering::Relaxed));
        self.observe(position, progress)
    }

    fn show(&self, progress: &Progress) {
        let sum = |part: fn(&(AtomicU64, AtomicU64)) -> &AtomicU64| -> u64 {
            self.reached.iter().map(|simulation| part(simulation).load(Ordering::Relaxed)).sum()
        };
        let events = sum(|simulation| &simulation.1) as f64;
        let rate = events / self.begin.elapsed().as_secs_f64().max(1e-3) / 1e6;
        let begun = self.reached.iter().rposition(|it| it.1.load(Ordering::Relaxed) > 0);
        let begun = begun.map_or(0, |last| last + 1);
        let (count, time) = (self.reached.len(), progress.time);
        let which = if count > 1 { format!("number {begun}, ") } else { String::new() };
        self.line.show(Step {
            what: simulating(count),
            detail: format!("{which}at {time:.1}, {rate:.1} M events/s"),
            done: sum(|simulation| &simulation.0) as f64 / (WHOLE * count.max(1) as u64) as f64,
            ..Step::default()
        });
    }

    /// The time so far, in seconds.
    pub(crate) fn elapsed(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }
}

fn simulating(count: usize) -> String {
    if count == 1 { "simulating".to_owned() } else { format!("{count} simulations") }
}

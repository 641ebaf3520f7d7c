//! The progress of simulations, and their orderly end when the user interrupts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::ProgressBar;
use rankwright::sim::Progress;

use crate::host::signals::interrupt;
use crate::output::{self, Verbosity};

/// Watches several simulations: shows their common progress, and stops all when the user
/// interrupts.
pub(crate) struct Watch {
    bar: ProgressBar,
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
            bar: output::progress_bar(verbosity, WHOLE * count as u64),
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
        if !self.bar.is_hidden() {
            self.show(progress);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&self, progress: &Progress) {
        let sum = |part: fn(&(AtomicU64, AtomicU64)) -> &AtomicU64| -> u64 {
            self.reached.iter().map(|simulation| part(simulation).load(Ordering::Relaxed)).sum()
        };
        let rate =
            sum(|simulation| &simulation.1) as f64 / self.begin.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_position(sum(|simulation| &simulation.0));
        let (time, rate) = (progress.time, rate / 1e6);
        self.bar.set_message(format!("at {time:.1}, {rate:.1} M events/s"));
    }

    /// The time so far, in seconds.
    pub(crate) fn elapsed(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

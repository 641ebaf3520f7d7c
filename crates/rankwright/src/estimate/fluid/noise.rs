//! The additional waiting by random arrivals, which a fluid does not have.

use super::queue::Stepped;

/// The arrivals and the work of a server in a phase, that is between two ends of clocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Phase {
    /// The time with arrivals, seconds.
    pub(super) time: f64,
    /// Number of messages that arrived.
    pub(super) count: f64,
    /// The work that arrived, seconds of service.
    pub(super) work: f64,
    /// The waiting of all messages in the fluid, seconds.
    pub(super) fluid: f64,
}

impl Phase {
    pub(super) fn add(&mut self, time: f64, count: f64, stepped: Stepped) {
        if count > 0.0 {
            self.time += time;
            self.count += count;
            self.work += stepped.work;
            self.fluid += count * stepped.met;
        }
    }

    /// How much longer than in the fluid an arrival waits, on average over the phase, seconds. Only a
    /// `share` of the work arrives at random, with a variance of `2 v` seconds² per second.
    ///
    /// The mean of W = (x + √(x² + 2 v D)) / 2 with x = (ρ - 1) D / 2 is between the stationary
    /// queue, v / (1 - ρ), where ρ < 1 and D is long, and the fluid, x, where ρ > 1.
    pub(super) fn noise(&self, share: f64, v: f64) -> f64 {
        let drift = 0.5 * (self.work * share - self.time).abs();
        let x = drift.max(self.fluid / self.count);
        0.5 * ((x * x + 2.0 * v * self.time).sqrt() - x)
    }
}

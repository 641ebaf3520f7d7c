//! The ticks of a source.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, Gamma};

use super::time::{NEVER, PER_SECOND};
use crate::random::share;
use crate::traffic::Source;

/// The ticks of a source as picoseconds from the start, ascending: tick k is at the sum of k + 1
/// gaps, whose mean is one over the rate and whose coefficient of variation is that of the source.
///
/// Gaps are constant for 0 (the first is then a uniformly random part of one, so that sources are not
/// in step), exponential for 1, gamma distributed otherwise. A tick beyond 64 bits is `u64::MAX`.
#[derive(Debug, Clone)]
pub struct Clock {
    random: ChaCha8Rng,
    gap: Gap,
    /// The factor on random gaps.
    scale: f64,
    /// The last tick, picoseconds.
    now: u64,
    /// The number of ticks to come.
    left: u64,
}

/// The distribution of the next gap: its mean in picoseconds.
#[derive(Debug, Clone, Copy)]
enum Gap {
    /// Before the first tick: a random part of a constant gap.
    First(f64),
    Constant(f64),
    Exponential(f64),
    Gamma(f64, Gamma<f64>),
}

/// The most rounds of a clock that [`Clock::within_its_run`] draws in advance. Beyond, the end of the
/// clock varies by less than a two-thousandth part of `cv`.
const MOST_DRAWN: u64 = 1 << 22;

/// The name of a stream of random numbers. It depends on nothing else, so that a source ticks at the
/// same times under every placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomStream {
    /// The seed of the simulation.
    pub seed: u64,
    /// The position of the job in the workload.
    pub job: usize,
    /// The position of the source in the job.
    pub source: usize,
    /// With a clock for each pair: the position of the send in the source.
    pub send: Option<usize>,
}

impl Clock {
    /// The clock of a source.
    ///
    /// # Panics
    /// If the source has a rate or coefficient of variation that `Job::from_sources` refuses.
    #[must_use]
    pub fn new(source: &Source, stream: RandomStream) -> Self {
        let mean = PER_SECOND / source.rate.0;
        let gap = if source.cv == 0.0 {
            Gap::First(mean)
        } else if source.cv == 1.0 {
            Gap::Exponential(mean)
        } else {
            let variance = source.cv * source.cv;
            // A variation whose square underflows to zero is treated as 0.
            let gamma = Gamma::new(1.0 / variance, mean * variance);
            gamma.map_or(Gap::First(mean), |gamma| Gap::Gamma(mean, gamma))
        };
        Self { random: stream.random(), gap, scale: 1.0, now: 0, left: source.rounds }
    }

    /// The clock with gaps in which the rank computes: this share of those that it has.
    #[must_use]
    pub fn of_computing(mut self, share: f64) -> Self {
        self.gap = match self.gap {
            Gap::First(mean) => Gap::First(share * mean),
            Gap::Constant(mean) => Gap::Constant(share * mean),
            Gap::Exponential(mean) => Gap::Exponential(share * mean),
            Gap::Gamma(mean, gamma) => {
                self.scale *= share;
                Gap::Gamma(share * mean, gamma)
            }
        };
        self
    }

    /// The clock of a recorded run, which sends all its messages in the time that it took: rounds over
    /// rate. Without this, the sum of few gaps that vary much is often longer, and the end of a run is
    /// the maximum over all clocks.
    ///
    /// One gap more than there are rounds is drawn, and all are scaled to the length of the run: the
    /// renewal process given that its next tick is at the end. For exponential gaps the ticks are
    /// then uniform in the run.
    #[must_use]
    pub fn within_its_run(mut self) -> Self {
        let mean = match self.gap {
            Gap::First(_) | Gap::Constant(_) => return self,
            _ if self.left > MOST_DRAWN => return self,
            Gap::Exponential(mean) | Gap::Gamma(mean, _) => mean,
        };
        let mut ahead = self.clone();
        let drawn: f64 = (0..=self.left).map(|_| ahead.gap()).sum();
        if drawn > 0.0 {
            self.scale *= self.left as f64 * mean / drawn;
        }
        self
    }

    /// Picoseconds.
    fn gap(&mut self) -> f64 {
        match self.gap {
            Gap::First(gap) => {
                self.gap = Gap::Constant(gap);
                gap * share(self.random.next_u64())
            }
            Gap::Constant(gap) => gap,
            Gap::Exponential(mean) => {
                let gap: f64 = Exp1.sample(&mut self.random);
                self.scale * mean * gap
            }
            Gap::Gamma(_, gamma) => self.scale * gamma.sample(&mut self.random),
        }
    }
}

impl Iterator for Clock {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        // The conversion saturates.
        let gap = (self.gap() + 0.5) as u64;
        self.now = self.now.checked_add(gap).unwrap_or(NEVER);
        Some(self.now)
    }
}

impl RandomStream {
    /// The generator of the stream. The stream's name is the key of the cipher, so streams differ.
    pub(super) fn random(&self) -> ChaCha8Rng {
        let send = self.send.map_or(0, |send| send as u64 + 1);
        let mut key = [0; 32];
        let parts = [self.seed, self.job as u64, self.source as u64, send];
        for (bytes, part) in key.chunks_exact_mut(8).zip(parts) {
            bytes.copy_from_slice(&part.to_le_bytes());
        }
        ChaCha8Rng::from_seed(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::units::PerSecond;

    fn gaps(cv: f64, rate: f64, rounds: u64) -> Vec<f64> {
        let source = Source {
            rank: Rank(0),
            rate: PerSecond(rate),
            cv,
            in_step: None,
            rounds,
            sends: vec![],
        };
        let clock = Clock::new(&source, RandomStream { seed: 1, job: 0, source: 0, send: None });
        let ticks: Vec<u64> = clock.collect();
        assert_eq!(ticks.len() as u64, rounds);
        let before = [0].into_iter().chain(ticks.iter().copied());
        ticks.iter().zip(before).map(|(tick, before)| (tick - before) as f64 / 1e12).collect()
    }

    #[test]
    fn gaps_have_the_mean_and_variation_of_the_source() {
        for cv in [0.25, 1.0, 2.0] {
            let gaps = gaps(cv, 50.0, 40_000);
            let mean = gaps.iter().sum::<f64>() / 40_000.0;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean * 50.0 - 1.0).abs() < 0.02 * cv.max(1.0), "{cv}: {mean}");
            assert!((variance.sqrt() / mean / cv - 1.0).abs() < 0.05, "{cv}: {variance}");
        }
    }

    #[test]
    fn a_clock_of_a_recorded_run_ends_within_it() {
        let run = |cv: f64, seed: u64| {
            let (rank, in_step, sends) = (Rank(0), None, vec![]);
            let source = Source { rank, rate: PerSecond(5.0), cv, in_step, rounds: 10, sends };
            let stream = RandomStream { seed, job: 0, source: 0, send: None };
            Clock::new(&source, stream).within_its_run().collect::<Vec<u64>>()
        };
        for cv in [0.0, 0.3, 1.0, 3.0, 30.0] {
            let ends: Vec<f64> = (0..200).map(|seed| run(cv, seed)[9] as f64 / 1e12).collect();
            assert!(ends.iter().all(|end| *end <= 2.0 + 1e-9), "{cv}: {ends:?}");
        }
        // The ticks of a Poisson process are uniform in the run.
        let ticks: Vec<f64> =
            (0..2000).flat_map(|seed| run(1.0, seed)).map(|tick| tick as f64 / 1e12).collect();
        for quarter in 0..4 {
            let (from, to) = (0.5 * f64::from(quarter), 0.5 * f64::from(quarter + 1));
            let inside = ticks.iter().filter(|tick| (from..to).contains(*tick)).count();
            assert!((4800..5200).contains(&inside), "{quarter}: {inside}");
        }
    }

    #[test]
    fn a_clock_of_computing_ticks_in_less_time() {
        for cv in [0.0, 0.3, 1.0, 3.0] {
            let source = Source {
                rank: Rank(0),
                rate: PerSecond(5.0),
                cv,
                in_step: None,
                rounds: 50,
                sends: vec![],
            };
            let stream = RandomStream { seed: 1, job: 0, source: 0, send: None };
            let whole: Vec<u64> = Clock::new(&source, stream).within_its_run().collect();
            let clock = Clock::new(&source, stream).of_computing(0.25).within_its_run();
            for (tick, whole) in clock.zip(whole) {
                assert!((4.0 * tick as f64 / whole as f64 - 1.0).abs() < 1e-6, "{cv}");
            }
        }
    }

    #[test]
    fn a_steady_clock_begins_anywhere_in_its_first_gap() {
        let gaps = gaps(0.0, 50.0, 10);
        assert!(gaps[0] > 0.0 && gaps[0] < 0.02);
        assert!(gaps[1..].iter().all(|gap| (gap - 0.02).abs() < 1e-12));
    }

    #[test]
    fn a_variation_whose_square_underflows_is_zero() {
        let gaps = gaps(1e-200, 50.0, 10);
        assert!(gaps[1..].iter().all(|gap| (gap - 0.02).abs() < 1e-12));
    }

    #[test]
    fn ticks_beyond_64_bits_stay_at_the_largest() {
        let source = Source {
            rank: Rank(0),
            rate: PerSecond(1e-7),
            cv: 0.0,
            in_step: None,
            rounds: 30,
            sends: vec![],
        };
        let clock = Clock::new(&source, RandomStream { seed: 1, job: 0, source: 0, send: None });
        assert_eq!(clock.last(), Some(u64::MAX));
    }
}

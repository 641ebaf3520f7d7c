//! Whether traffic is steady: whether one average describes all of the run, as placing by totals assumes.
//!
//! Two questions. Does the amount per time stay the same? By the test of Kwiatkowski, Phillips, Schmidt and
//! Shin ("Testing the null hypothesis of stationarity against the alternative of a unit root", Journal of
//! Econometrics 54, 1992) for stationarity around a level, at 5 %. It allows for bursts: values near each
//! other in time may be alike. As a long run makes any difference significant, some quarter of the run must
//! also differ from the mean by [`MOST_DIFFERENCE`]. Do the partners stay the same? By the total variation
//! distance between the traffic matrices of the two halves of the bytes.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::bins::Bins;
use super::occupation::Transfer;

/// The critical value of the test at 5 % (Kwiatkowski et al. 1992, Table 1, η_μ).
const CRITICAL: f64 = 0.463;
/// A quarter of the run may differ from the mean by this share of it.
const MOST_DIFFERENCE: f64 = 0.25;
/// The total variation distance that the two halves may have.
const MOST_CHANGED: f64 = 0.25;
/// The number of bins of the test.
pub(super) const BINS: usize = 256;

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Steadiness {
    /// The statistic of Kwiatkowski et al.; above .463 the level is not steady at 5 %.
    pub kpss: f64,
    /// The largest relative difference of a quarter of the run from the mean.
    pub quarters_differ: f64,
    /// The share of bytes that would have to go elsewhere to make both halves alike.
    pub partners_change: f64,
}

impl Steadiness {
    /// Whether bytes per time and partners stay the same.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.has_level() && self.keeps_partners()
    }

    /// Whether partners stay the same.
    #[must_use]
    pub fn keeps_partners(&self) -> bool {
        self.partners_change <= MOST_CHANGED
    }

    /// Whether bytes per time stay the same.
    #[must_use]
    pub fn has_level(&self) -> bool {
        self.kpss <= CRITICAL || self.quarters_differ <= MOST_DIFFERENCE
    }

    /// The test of messages by their times from 0 to `span`; `None` without bytes.
    #[must_use]
    pub(super) fn of(sends: &[Transfer], span: f64) -> Option<Self> {
        let total: u64 = sends.iter().map(|send| send.bytes).sum();
        if span <= 0.0 {
            return None;
        }
        let mut bins = Bins::new(0.0, span / BINS as f64, BINS);
        for send in sends {
            let time = send.time.min(span * (1.0 - f64::EPSILON));
            bins.add(time, time, send.bytes as f64);
        }
        let level = Self::of_bins(&bins.values)?;
        Some(Self { partners_change: partners_change(sends, total), ..level })
    }

    /// The test of amounts over time, without partners; `None` without amounts.
    #[must_use]
    pub(super) fn of_bins(values: &[f64]) -> Option<Self> {
        let total: f64 = values.iter().sum();
        if total <= 0.0 || values.len() < 4 {
            return None;
        }
        // Quarters of whole bins: with few bins the last one may be shorter.
        let quarters = values.chunks(values.len().div_ceil(4));
        let mean = total / values.len() as f64;
        let level = |bins: &[f64]| bins.iter().sum::<f64>() / bins.len() as f64;
        let differ = quarters.map(|bins| (level(bins) - mean).abs() / mean).fold(0.0, f64::max);
        Some(Self { kpss: kpss(values), quarters_differ: differ, partners_change: 0.0 })
    }
}

/// The statistic η_μ: the sum of squares of partial sums of deviations from the mean, over the square of
/// the number of values and their long-run variance (Bartlett weights, lag 4 (n/100)^(1/4)).
fn kpss(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| {
        deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b).sum::<f64>() / count
    };
    let lags = (4.0 * (count / 100.0).powf(0.25)) as usize;
    let weight = |lag: usize| 1.0 - lag as f64 / (lags as f64 + 1.0);
    let long_run =
        covariance(0) + 2.0 * (1..=lags).map(|lag| weight(lag) * covariance(lag)).sum::<f64>();
    let mut partial = 0.0;
    let squares: f64 = (deviations.iter())
        .map(|deviation| {
            partial += deviation;
            partial * partial
        })
        .sum();
    if long_run > 0.0 { squares / (count * count * long_run) } else { 0.0 }
}

/// Half of the sum over pairs of the differences of their shares in the first and the second half.
fn partners_change(sends: &[Transfer], total: u64) -> f64 {
    let mut pairs: FxHashMap<(u32, u32), [u64; 2]> = FxHashMap::default();
    let (mut before, mut halves) = (0, [0_u64; 2]);
    for send in sends {
        let half = usize::from(before >= total.div_ceil(2));
        before += send.bytes;
        halves[half] += send.bytes;
        pairs.entry((send.process, send.peer)).or_default()[half] += send.bytes;
    }
    if halves.contains(&0) {
        return 0.0;
    }
    let share = |bytes: u64, half: usize| bytes as f64 / halves[half] as f64;
    let mut differences: Vec<f64> =
        pairs.values().map(|[a, b]| (share(*a, 0) - share(*b, 1)).abs()).collect();
    // The order of a hash map must not show in the last digit.
    differences.sort_by(f64::total_cmp);
    differences.iter().sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends at these times, each to the rank that `peer` gives.
    fn sends(times: impl Iterator<Item = f64>, peer: impl Fn(f64) -> u32) -> Vec<Transfer> {
        times.map(|time| Transfer { time, bytes: 100, process: 0, peer: peer(time) }).collect()
    }

    #[test]
    fn a_periodic_program_is_steady() {
        let bursts = (0..2000).map(|n| f64::from(n / 20) + f64::from(n % 20) * 1e-3);
        let steadiness = Steadiness::of(&sends(bursts, |_| 1), 100.0).unwrap();
        assert!(steadiness.is_steady(), "{steadiness:?}");
    }

    #[test]
    fn more_traffic_at_the_end_is_not_steady() {
        let growing = (0..2000).map(|n| f64::from(n).sqrt());
        let steadiness = Steadiness::of(&sends(growing, |_| 1), 45.0).unwrap();
        assert!(!steadiness.has_level() && steadiness.kpss > CRITICAL, "{steadiness:?}");
    }

    #[test]
    fn other_partners_in_the_second_half_are_not_steady() {
        let even = (0..1000).map(f64::from);
        let steadiness = Steadiness::of(&sends(even, |time| 1 + u32::from(time >= 500.0)), 1000.0);
        let steadiness = steadiness.unwrap();
        assert!(steadiness.has_level() && !steadiness.is_steady(), "{steadiness:?}");
        assert!((steadiness.partners_change - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_bytes_are_neither() {
        assert_eq!(Steadiness::of(&[], 1.0), None);
    }

    #[test]
    fn white_noise_is_seldom_called_unsteady() {
        // A generator of its own: the test needs only numbers without a pattern.
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64
        };
        let unsteady = (0..200).filter(|_| {
            let values: Vec<f64> = (0..BINS).map(|_| next()).collect();
            kpss(&values) > CRITICAL
        });
        let unsteady = unsteady.count();
        assert!((2..=22).contains(&unsteady), "{unsteady} of 200, expected about 10");
    }
}

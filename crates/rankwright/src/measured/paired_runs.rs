//! Whether one configuration of a program is faster than another, from pairs of run times.

use serde::Serialize;

use crate::statistics::Estimate;

/// The time that one configuration saves against another, as a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDifference {
    /// Number of pairs.
    pub pairs: usize,
    /// The share of the time saved: 0.073 for 7.3 % faster, negative for slower.
    pub saved: f64,
    /// Bounds of the 95 % confidence interval of `saved`, lower first; `None` for fewer than two pairs.
    pub interval: Option<(f64, f64)>,
}

/// The result of a comparison, by the confidence interval of the time saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedResult {
    /// The interval is above 0.
    Faster,
    /// The interval is below 0.
    Slower,
    /// The interval contains 0, and its half width is at most 5 %.
    NoDifference,
    /// Inconclusive: the interval contains 0, and its half width is above 5 %.
    Unclear,
    /// No interval: fewer than two pairs.
    TooFewRuns,
}

/// Largest half width of the confidence interval for the result "no difference".
const LARGEST_HALF_WIDTH: f64 = 0.05;

/// With fewer pairs than this, Student's t makes an interval that says little, and the variance is hardly known.
const FEW_PAIRS: usize = 4;

/// The number of pairs to ask for where there are few.
const PAIRS_TO_ASK_FOR: usize = 10;

/// The most pairs that anybody is asked for.
const MOST_PAIRS: u64 = 1000;

impl PairedDifference {
    /// The difference by pairs of times, the reference first. The runs of a pair are made one shortly
    /// after the other, so disturbances of both (other jobs, temperature) cancel in their ratio.
    ///
    /// The logarithms of the ratios are assumed to be independent and normally distributed. The time
    /// saved follows from their mean, that is from the geometric mean of the ratios, and its interval
    /// from Student's t interval (95 %) of that mean.
    ///
    /// # Panics
    /// If a time is not above 0.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let logarithm = |(reference, other): &(f64, f64)| {
            assert!(*reference > 0.0 && *other > 0.0, "times are above 0");
            (other / reference).ln()
        };
        let logarithms: Vec<f64> = pairs.iter().map(logarithm).collect();
        let Estimate { mean, half_width } = Estimate::of(&logarithms);
        let saved = |logarithm: f64| -logarithm.exp_m1();
        Self {
            pairs: pairs.len(),
            saved: saved(mean),
            interval: half_width
                .is_finite()
                .then(|| (saved(mean + half_width), saved(mean - half_width))),
        }
    }

    /// Whether the configuration is faster, by the interval.
    #[must_use]
    pub fn result(&self) -> PairedResult {
        match self.interval {
            None => PairedResult::TooFewRuns,
            Some((low, _)) if low > 0.0 => PairedResult::Faster,
            Some((_, high)) if high < 0.0 => PairedResult::Slower,
            Some((low, high)) if high - low <= 2.0 * LARGEST_HALF_WIDTH => {
                PairedResult::NoDifference
            }
            Some(_) => PairedResult::Unclear,
        }
    }

    /// The number of pairs for a half width of [`LARGEST_HALF_WIDTH`] at the variance so far: the width
    /// is proportional to one over the square root of the number.
    fn enough_pairs(&self) -> u64 {
        let half = self.interval.map_or(0.0, |(low, high)| (high - low) / 2.0);
        (self.pairs as f64 * (half / LARGEST_HALF_WIDTH).powi(2))
            .ceil()
            .max(self.pairs as f64 + 1.0) as u64
    }

    /// The difference in words, as `7.3 % faster (6.2 % to 8.4 %), n = 10`; in parentheses are the bounds of
    /// the interval.
    #[must_use]
    pub fn words(&self) -> String {
        let count = self.pairs;
        let Some((low, high)) = self.interval else {
            return format!("unknown from n = {count}; at least two runs of each are needed");
        };
        // Small differences need their digits.
        let digits = if high - low < 0.002 { 2 } else { 1 };
        let share = |saved: f64| format!("{:.digits$} %", 100.0 * saved.abs());
        let signed = |saved: f64| {
            format!("{} {}", share(saved), if saved < 0.0 { "slower" } else { "faster" })
        };
        let saved = signed(self.saved);
        let both = || format!("{saved}; {} to {}", signed(low), signed(high));
        match self.result() {
            PairedResult::Faster => {
                format!("{saved} ({} to {}), n = {count}{}", share(low), share(high), self.caveat())
            }
            PairedResult::Slower => {
                format!("{saved} ({} to {}), n = {count}{}", share(high), share(low), self.caveat())
            }
            PairedResult::NoDifference => format!("no difference ({}), n = {count}", both()),
            PairedResult::Unclear | PairedResult::TooFewRuns if count < FEW_PAIRS => {
                format!("unclear ({saved}), n = {count}{}", self.caveat())
            }
            PairedResult::Unclear | PairedResult::TooFewRuns => {
                let enough = self.enough_pairs();
                let enough = match enough > MOST_PAIRS {
                    true => format!("more than {MOST_PAIRS}"),
                    false => format!("about {enough}"),
                };
                let least = 100.0 * LARGEST_HALF_WIDTH;
                format!(
                    "unclear ({}), n = {count}: {enough} runs of each would show a difference of {least:.0} %",
                    both()
                )
            }
        }
    }

    /// What is to be said of a wide interval from few pairs; else empty.
    fn caveat(&self) -> String {
        let is_wide = self.interval.is_none_or(|(low, high)| high - low > 2.0 * LARGEST_HALF_WIDTH);
        match self.pairs < FEW_PAIRS && is_wide {
            true => format!(": too few runs, {PAIRS_TO_ASK_FOR} of each say more"),
            false => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    #[test]
    fn differences_have_words() {
        let words = |pairs: &[(f64, f64)]| PairedDifference::of(pairs).words();
        let faster = [(10.0, 9.0), (10.2, 9.2), (9.9, 8.9), (10.1, 9.0)];
        assert_eq!(words(&faster), "10.2 % faster (9.4 % to 11.0 %), n = 4");
        let swapped = faster.map(|(reference, other)| (other, reference));
        assert_eq!(words(&swapped), "11.4 % slower (10.4 % to 12.3 %), n = 4");
        assert_eq!(
            words(&[(10.0, 9.0), (9.0, 10.0), (10.0, 9.9)]),
            "unclear (0.3 % faster), n = 3: too few runs, 10 of each say more"
        );
        assert_eq!(
            words(&[(10.0, 9.0), (9.0, 10.0), (10.0, 9.9), (9.9, 10.0)]),
            "unclear (0.0 % slower; 14.7 % slower to 12.8 % faster), n = 4: about 31 runs of each would show a difference of 5 %"
        );
        // Runs of which one was disturbed: no bound says anything.
        assert_eq!(
            words(&[(1.0, 1.1), (1.0, 5.3)]),
            "unclear (141.5 % slower), n = 2: too few runs, 10 of each say more"
        );
        assert_eq!(
            words(&[(1.0, 1.2), (1.0, 1.3), (1.0, 1.5)]),
            "32.8 % slower (0.3 % to 75.8 %), n = 3: too few runs, 10 of each say more"
        );
        let wild = words(&[(1.0, 1.0), (1.0, 90.0), (1.0, 0.1), (1.0, 7.0)]);
        assert!(wild.contains("n = 4: more than 1000 runs of each would show"), "{wild}");
        assert_eq!(
            words(&[(10.0, 9.9), (9.9, 10.0), (10.0, 9.9)]),
            "no difference (0.3 % faster; 2.6 % slower to 3.2 % faster), n = 3"
        );
        assert_eq!(
            words(&[(10.0, 9.0)]),
            "unknown from n = 1; at least two runs of each are needed"
        );
        assert_eq!(words(&[]), "unknown from n = 0; at least two runs of each are needed");
        // Runs that always take the same time.
        assert_eq!(words(&[(4.0, 3.0); 3]), "25.00 % faster (25.00 % to 25.00 %), n = 3");
        assert_eq!(
            words(&[(4.0, 4.0); 3]),
            "no difference (0.00 % faster; 0.00 % faster to 0.00 % faster), n = 3"
        );
    }

    /// Of 95 % intervals, 95 % must contain the true value, also if both runs of a pair are disturbed
    /// in the same way.
    #[test]
    fn intervals_contain_the_truth_as_often_as_they_say() {
        let mut random = Generator::new(7);
        let mut normal = || -> f64 { (0..12).map(|_| random.share()).sum::<f64>() - 6.0 };
        let (trials, truth) = (2000, 0.05);
        let mut inside = 0;
        for _ in 0..trials {
            let pairs: Vec<(f64, f64)> = (0..10)
                .map(|_| {
                    let disturbed = (0.1 * normal()).exp();
                    let noise = |normal: f64| (0.02 * normal).exp();
                    let reference = disturbed * noise(normal());
                    (reference, disturbed * (1.0 - truth) * noise(normal()))
                })
                .collect();
            let interval = PairedDifference::of(&pairs).interval;
            inside +=
                usize::from(interval.is_some_and(|(low, high)| low <= truth && truth <= high));
        }
        let share = inside as f64 / f64::from(trials);
        assert!((0.93..0.97).contains(&share), "{share}");
    }
}

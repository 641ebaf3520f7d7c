//! Statistics of small samples: means with their confidence intervals, medians, quantiles.

/// A mean with its confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// The mean; 0 without samples.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval (Student's t); infinite for fewer than two
    /// samples.
    pub half_width: f64,
}

impl Estimate {
    /// The estimate from independent samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Self {
        let count = samples.len() as f64;
        if samples.is_empty() {
            return Self { mean: 0.0, half_width: f64::INFINITY };
        }
        let mean = samples.iter().sum::<f64>() / count;
        if samples.len() == 1 {
            return Self { mean, half_width: f64::INFINITY };
        }
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        Self { mean, half_width: error * student_t(samples.len() - 1) }
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn student_t(degrees: usize) -> f64 {
    const EXACT: [f64; 12] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010,
        2.1788,
    ];
    if let Some(exact) = degrees.checked_sub(1).and_then(|at| EXACT.get(at)) {
        return *exact;
    }
    // The expansion around the normal distribution (Abramowitz and Stegun 26.7.5).
    let (z, n) = (1.959_964, degrees as f64);
    let z3 = z * z * z;
    let z5 = z3 * z * z;
    z + (z3 + z) / (4.0 * n)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z5 * z * z + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n)
}

/// The median of samples in any order; the mean of the two middle ones where their number is even.
/// 0 without samples.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut ascending = samples.to_vec();
    ascending.sort_by(f64::total_cmp);
    let middle = ascending.len() / 2;
    match ascending.len() {
        0 => 0.0,
        count if count % 2 == 1 => ascending[middle],
        _ => f64::midpoint(ascending[middle - 1], ascending[middle]),
    }
}

/// The quantile of samples in ascending order, linear between two of them; `share` is from 0 (the
/// smallest) to 1 (the largest). 0 without samples.
#[must_use]
pub fn quantile(ascending: &[f64], share: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return 0.0 };
    let position = share * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    low + (high - low) * position.fract()
}

/// The 95 % confidence interval of a median, whatever the distribution: from the k-th smallest to the k-th
/// largest sample, with the largest k for which it covers the median with at least 95 % (the sign test). Of
/// fewer than six samples it is the smallest and the largest, which cover it with less: 94 % for five.
///
/// # Panics
/// Without samples.
#[must_use]
pub fn median_interval(samples: &[f64]) -> (f64, f64) {
    let mut ascending = samples.to_vec();
    ascending.sort_by(f64::total_cmp);
    let (count, mut low) = (ascending.len(), 0);
    // The logarithm of the chance that exactly `below` samples are below the median, and the chance that at
    // most so many are.
    let (mut exactly, mut at_most) = (-(count as f64) * std::f64::consts::LN_2, 0.0);
    for below in 0..count / 2 {
        at_most += f64::exp(exactly);
        if 2.0 * at_most > 0.05 {
            break;
        }
        low = below;
        exactly += ((count - below) as f64 / (below + 1) as f64).ln();
    }
    (ascending[low], ascending[count - 1 - low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_widths_are_students() {
        assert_eq!(Estimate::of(&[]), Estimate { mean: 0.0, half_width: f64::INFINITY });
        assert_eq!(Estimate::of(&[2.0]), Estimate { mean: 2.0, half_width: f64::INFINITY });
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-12);
        for (degrees, value) in [(13, 2.1604), (20, 2.0860), (30, 2.0423), (1000, 1.9623)] {
            assert!((student_t(degrees) - value).abs() < 1e-4, "{degrees}");
        }
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn intervals_of_medians_are_between_samples() {
        let of = |count: u32| {
            let samples: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            median_interval(&samples)
        };
        // The table of the sign test for 95 %.
        let expected = [
            (1, 1.0, 1.0),
            (5, 1.0, 5.0),
            (6, 1.0, 6.0),
            (10, 2.0, 9.0),
            (20, 6.0, 15.0),
            (100, 40.0, 61.0),
        ];
        for (count, low, high) in expected {
            assert_eq!(of(count), (low, high), "{count}");
        }
        // 5000 - 1.96 · 50, where the first chances are below the smallest number.
        assert_eq!(of(10_000), (4902.0, 5099.0));
    }

    #[test]
    fn quantiles_lie_between_samples() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), 4.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}

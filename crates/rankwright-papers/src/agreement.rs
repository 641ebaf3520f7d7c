//! How well a set of numbers agrees with another.

/// How well numbers agree with those of a paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// How many numbers there are.
    pub count: usize,
    /// Half of them differ by no more than this share of the paper's number.
    pub median: f64,
    /// Nine of ten differ by no more than this.
    pub ninetieth: f64,
    /// Spearman's rank correlation: 1 if both are in the same order.
    pub spearman: f64,
}

impl Agreement {
    /// The agreement of pairs of a number of the paper, not zero, and ours.
    #[must_use]
    pub fn new(pairs: &[(f64, f64)]) -> Self {
        let error = |(paper, ours): &(f64, f64)| ((ours - paper) / paper).abs();
        let mut errors: Vec<f64> = pairs.iter().map(error).collect();
        errors.sort_by(f64::total_cmp);
        let (papers, ours): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Self {
            count: pairs.len(),
            median: quantile(&errors, 0.5),
            ninetieth: quantile(&errors, 0.9),
            spearman: correlation(&ranks(&papers), &ranks(&ours)),
        }
    }
}

/// Between two of the ascending values linear; 0 without any.
fn quantile(ascending: &[f64], share: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return 0.0 };
    let position = share * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    low + (high - low) * position.fract()
}

/// The rank of each value; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let mean = before as f64 + (equal.len() - 1) as f64 / 2.0;
        for position in equal {
            ranks[*position] = mean;
        }
        before += equal.len();
    }
    ranks
}

/// Pearson's; 1 where one side does not vary.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut product, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        product += (a - mean_a) * (b - mean_b);
        square_a += (a - mean_a).powi(2);
        square_b += (b - mean_b).powi(2);
    }
    let both = f64::sqrt(square_a * square_b);
    if both > 0.0 { product / both } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn order_is_what_spearman_sees() {
        let spearman = |ours: [f64; 4]| {
            let pairs: Vec<_> = [1.0, 2.0, 3.0, 3.0].into_iter().zip(ours).collect();
            Agreement::new(&pairs).spearman
        };
        assert!((spearman([1.0, 10.0, 99.0, 99.0]) - 1.0).abs() < 1e-12);
        assert!((spearman([9.0, 7.0, 1.0, 1.0]) + 1.0).abs() < 1e-12);
        assert!((0.9..1.0).contains(&spearman([1.0, 10.0, 99.0, 100.0])));
    }
}

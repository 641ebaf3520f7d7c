//! Statistics on the agreement of a table with our numbers.

use rankwright::statistics::quantile;

/// The agreement of the numbers of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Agreement {
    /// The number of pairs.
    pub(crate) count: usize,
    /// The median of the relative errors, as shares of the paper's numbers.
    pub(crate) median: f64,
    /// The 90th percentile of the relative errors.
    pub(crate) ninetieth: f64,
    /// Spearman's rank correlation, -1 to 1.
    pub(crate) spearman: f64,
}

impl Agreement {
    /// The agreement of pairs: a number of the paper, not 0, and ours.
    #[must_use]
    pub(crate) fn new(pairs: &[(f64, f64)]) -> Self {
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

/// Pearson's correlation; 1 where one side does not vary.
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

//! Amounts over time, in bins of equal width.

/// Amounts by bins of time. What lies before the first bin or after the last is not counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    /// Begin of the first bin, in seconds.
    pub begin: f64,
    /// Width of a bin, in seconds; above zero.
    pub width: f64,
    /// The amounts.
    pub values: Vec<f64>,
}

impl Bins {
    /// Empty bins that cover a time from `begin` on.
    ///
    /// # Panics
    /// If the width is not above zero.
    #[must_use]
    pub fn new(begin: f64, width: f64, count: usize) -> Self {
        assert!(width > 0.0, "bins of {width} s");
        Self { begin, width, values: vec![0.0; count] }
    }

    /// Adds an amount that is spread evenly over a time; without a length of time to one bin.
    pub fn add(&mut self, begin: f64, end: f64, amount: f64) {
        let place = |time: f64| (time - self.begin) / self.width;
        let (from, to) = (place(begin), place(end));
        let count = self.values.len() as f64;
        if amount == 0.0 || to < 0.0 || from >= count {
            return;
        }
        if to <= from {
            self.values[from as usize] += amount;
            return;
        }
        let density = amount / (to - from);
        let (first, last) = (from.max(0.0), to.min(count));
        let mut bin = first as usize;
        while (bin as f64) < last {
            let inside = last.min(bin as f64 + 1.0) - first.max(bin as f64);
            self.values[bin] += density * inside;
            bin += 1;
        }
    }

    /// The bins of the time that runs backwards.
    #[must_use]
    pub(super) fn mirrored(mut self) -> Self {
        self.begin = -(self.begin + self.width * self.values.len() as f64);
        self.values.reverse();
        self
    }

    /// Fewer bins, each the sum of `factor` of these; the last one may be of fewer.
    #[must_use]
    pub fn coarser(&self, factor: usize) -> Self {
        let values = self.values.chunks(factor.max(1)).map(|bins| bins.iter().sum()).collect();
        Self { begin: self.begin, width: self.width * factor.max(1) as f64, values }
    }

    /// The sum of all bins.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_amount_is_spread_over_its_bins() {
        let mut bins = Bins::new(1.0, 2.0, 3);
        bins.add(2.0, 6.0, 8.0);
        assert_eq!(bins.values, [2.0, 4.0, 2.0]);
        bins.add(3.0, 3.0, 5.0);
        bins.add(-9.0, 1.5, 21.0);
        assert_eq!(bins.values, [3.0, 9.0, 2.0]);
        assert_eq!(bins.coarser(2).values, [12.0, 2.0]);
        let mirrored = bins.clone().mirrored();
        assert_eq!((mirrored.begin, mirrored.values.as_slice()), (-7.0, &[2.0, 9.0, 3.0][..]));
    }

    proptest! {
        #[test]
        fn no_amount_is_lost(
            pieces in prop::collection::vec((0.0..10.0_f64, 0.0..3.0_f64, 0.0..100.0_f64), 0..50),
            count in 1_usize..40,
        ) {
            let mut bins = Bins::new(-1.0, 20.0 / count as f64, count);
            for (begin, length, amount) in &pieces {
                bins.add(*begin, begin + length, *amount);
            }
            let expected: f64 = pieces.iter().map(|(.., amount)| amount).sum();
            prop_assert!((bins.total() - expected).abs() < 1e-9 * expected.max(1.0));
        }
    }
}

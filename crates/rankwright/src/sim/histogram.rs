//! Percentiles of many times in constant memory.

/// Counts of times in buckets whose width is at most a 64th of the times in them, so that the
/// midpoint of a bucket is within 0.8 % of every time in it.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    count: u64,
}

/// The binary logarithm of the number of buckets for each power of two.
const BITS: u32 = 6;

impl Histogram {
    /// An empty histogram.
    pub(super) fn new() -> Self {
        Self { counts: vec![0; bucket(u64::MAX) + 1], count: 0 }
    }

    /// Counts a time.
    #[inline]
    pub(super) fn add(&mut self, time: u64) {
        self.counts[bucket(time)] += 1;
        self.count += 1;
    }

    /// The quantile (nearest rank) for a part of all times from 0 to 1, within 0.8 %; 0 without times.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let rank = ((part * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return middle(bucket);
            }
        }
        0.0
    }
}

/// Times below 2^7 have a bucket each; above, the highest seven bits decide.
#[inline]
fn bucket(time: u64) -> usize {
    let shift = (63 - (time | 1 << BITS).leading_zeros()) - BITS;
    ((shift as usize) << BITS) + (time >> shift) as usize
}

fn middle(bucket: usize) -> f64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let first = (bucket - (shift << BITS)) as f64;
    let width = (1_u64 << shift) as f64;
    first * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_within_a_percent_of_its_times(time in any::<u64>(), shift in 0_u32..64) {
            let time = time >> shift;
            let middle = middle(bucket(time));
            prop_assert!((middle - time as f64).abs() <= 0.008 * time as f64, "{time} {middle}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.5), 0.0);
        (1..=1000).for_each(|time| histogram.add(time));
        for (part, time) in [(0.0, 1.0), (0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let quantile = histogram.quantile(part);
            assert!((quantile - time).abs() <= 0.008 * time + 0.5, "{part}: {quantile}");
        }
    }
}

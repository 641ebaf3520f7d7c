//! The keys of IS: how many each rank generates per bucket, and their destinations.
//!
//! A key is a quarter of the sum of four numbers of the benchmarks' random sequence x(k + 1) = 5^13
//! x(k) mod 2^46, in units of the largest key (RNR-91-002). Only its leading bits, which select the
//! bucket, are computed.

/// 5^13.
const MULTIPLIER: u64 = 1_220_703_125;
const SEED: u64 = 314_159_265;
/// Iterations of the benchmark, for all classes.
pub(super) const ITERATIONS: usize = 10;
const LOG_MODULUS: u32 = 46;
const MASK: u64 = (1 << LOG_MODULUS) - 1;
/// Keys of class D by bucket, precomputed with [`drawn`], which takes seconds.
const CLASS_D: &str = include_str!("keys_class_d.txt");
const LOG_KEYS_OF_CLASS_D: u32 = 31;

/// Problem size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    /// log2 of the number of keys.
    pub(super) log_keys: u32,
    /// log2 of the largest key.
    pub(super) log_largest: u32,
    /// log2 of the number of buckets.
    pub(super) log_buckets: u32,
}

/// Number of keys by rank, then bucket.
pub(super) struct BucketCounts {
    keys: Keys,
    keys_per_rank: u64,
    counts: Vec<Vec<u64>>,
    /// Buckets of the first keys of rank 0; empty if unknown.
    first: Vec<usize>,
}

impl BucketCounts {
    pub(super) fn new(keys: Keys, ranks: u32) -> Self {
        let keys_per_rank = (1 << keys.log_keys) / u64::from(ranks);
        let (counts, first) = match keys.log_keys {
            LOG_KEYS_OF_CLASS_D => (shared_alike(CLASS_D, ranks), Vec::new()),
            _ => drawn(keys_per_rank, keys, ranks),
        };
        Self { keys, keys_per_rank, counts, first }
    }

    /// Start of an iteration: replaces two keys of rank 0, one by the iteration number, one by the
    /// largest key minus that number.
    pub(super) fn replace(&mut self, iteration: usize) {
        let bucket = |key: usize| key >> (self.keys.log_largest - self.keys.log_buckets);
        let large = (1 << self.keys.log_largest) - iteration;
        for (place, new) in [(iteration, iteration), (iteration + ITERATIONS, large)] {
            if let Some(old) = self.first.get_mut(place) {
                self.counts[0][*old] -= 1;
                *old = bucket(new);
                self.counts[0][*old] += 1;
            }
        }
    }

    /// Number of keys by sender and receiver. Buckets are assigned to ranks in order; a rank takes
    /// buckets until it and the ranks before it have as many keys as they generated.
    pub(super) fn sent(&self) -> Vec<Vec<u64>> {
        let mut sent = vec![Vec::new(); self.counts.len()];
        let mut first = 0;
        let mut all = 0;
        for bucket in 0..self.counts[0].len() {
            all += self.counts.iter().map(|counts| counts[bucket]).sum::<u64>();
            let taken = sent[0].len() as u64;
            if all >= (taken + 1) * self.keys_per_rank && sent[0].len() < sent.len() {
                for (sent, counts) in sent.iter_mut().zip(&self.counts) {
                    sent.push(counts[first..=bucket].iter().sum());
                }
                first = bucket + 1;
            }
        }
        sent
    }
}

/// Keys by rank and bucket from the random sequence, and the buckets of the first keys.
fn drawn(keys_per_rank: u64, keys: Keys, ranks: u32) -> (Vec<Vec<u64>>, Vec<usize>) {
    let mut x = SEED;
    let mut bucket = || {
        let mut sum = 0;
        for _ in 0..4 {
            x = x.wrapping_mul(MULTIPLIER) & MASK;
            sum += x;
        }
        (sum >> (LOG_MODULUS + 2 - keys.log_buckets)) as usize
    };
    let mut first = Vec::new();
    let mut all = vec![vec![0; 1 << keys.log_buckets]; ranks as usize];
    for counts in &mut all {
        for _ in 0..keys_per_rank {
            let bucket = bucket();
            counts[bucket] += 1;
            if first.len() <= 2 * ITERATIONS {
                first.push(bucket);
            }
        }
    }
    (all, first)
}

/// Keys by rank and bucket, with each bucket of a list divided equally among the ranks.
fn shared_alike(buckets: &str, ranks: u32) -> Vec<Vec<u64>> {
    let totals: Vec<u64> = buckets.split_whitespace().flat_map(str::parse).collect();
    let ranks = u64::from(ranks);
    // Rounded so that every rank has equally many keys, and every bucket the listed number.
    let share = |rank: u64| {
        let mut all = 0;
        let mut count = |total: &u64| {
            let before = (all + rank) / ranks;
            all += total;
            (all + rank) / ranks - before
        };
        totals.iter().map(&mut count).collect()
    };
    (0..ranks).map(share).collect()
}

//! EP: pairs of random numbers, counted (NAS-95-020, RNR-91-002). The ranks communicate only at the
//! end.

use super::program::Program;
use super::{Class, Model};
use crate::traffic::collectives::Operation;

/// log2 of the number of pairs, by class.
const LOG_PAIRS: [u32; 6] = [24, 25, 28, 30, 32, 36];
/// log2 of the pairs that a rank generates in one batch.
const LOG_BATCH: u32 = 16;

pub(super) const MODEL: Model = Model {
    iterations: [1; 6],
    rule: "at most one process per batch of numbers",
    takes: |class, ranks| u64::from(ranks) <= 1 << (LOG_PAIRS[class as usize] - LOG_BATCH),
    operations: |class, _| 2_f64.powi(LOG_PAIRS[class as usize] as i32 + 1),
    seconds: 28.53,
    clocks,
};

fn clocks(program: &mut Program, _: Class) {
    // Timers; two sums, ten counts, the time.
    let sums = [8, 8, 80, 8].map(|bytes| (Operation::Allreduce, bytes));
    program.once(&[&[(Operation::Bcast, 4)], &sums[..]].concat());
}

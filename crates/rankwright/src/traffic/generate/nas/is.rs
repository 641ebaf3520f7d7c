//! IS: bucket sort of integer keys (NAS-95-020, RNR-91-002). In each iteration the ranks count
//! their keys by bucket, assign adjacent buckets to each rank so that all get about equally many
//! keys, and send the keys there.

use super::keys::{BucketCounts, ITERATIONS, Keys};
use super::program::{Program, collective, doubles};
use super::{Class, Model};
use crate::ids::Rank;
use crate::traffic::Send;
use crate::traffic::collectives::Operation;
use crate::units::Bytes;

/// log2 of the number of keys, by class.
const LOG_KEYS: [u32; 6] = [16, 20, 23, 25, 27, 31];
/// log2 of the largest key, by class.
const LOG_LARGEST: [u32; 6] = [11, 16, 19, 21, 23, 27];
/// log2 of the number of buckets, by class.
const LOG_BUCKETS: [u32; 6] = [9, 10, 10, 10, 10, 10];
/// Keys whose rank is verified; their values travel with the counts of the buckets.
const VERIFIED: u64 = 5;
/// Bytes of a key and of a count.
const INTEGER: u64 = 4;

pub(super) const MODEL: Model = Model {
    iterations: [ITERATIONS as u64; 6],
    rule: "a power of two of processes",
    takes,
    operations: |class, iterations| iterations * 2_f64.powi(LOG_KEYS[class as usize] as i32),
    seconds: 3.10,
    clocks,
};

/// The limits of the benchmark.
fn takes(class: Class, ranks: u32) -> bool {
    let range = match class {
        Class::S => 1..=128,
        Class::D => 4..=1024,
        _ => 1..=1024,
    };
    ranks.is_power_of_two() && range.contains(&ranks)
}

fn clocks(program: &mut Program, class: Class) {
    if program.ranks == 1 {
        return;
    }
    let iterations = program.iterations + 1;
    let keys = Keys {
        log_keys: LOG_KEYS[class as usize],
        log_largest: LOG_LARGEST[class as usize],
        log_buckets: LOG_BUCKETS[class as usize],
    };
    let members = program.all();
    let vector = ((1 << keys.log_buckets) + VERIFIED) * INTEGER;
    let mut sends: Vec<Vec<Send>> = vec![Vec::new(); members.len()];
    let calls =
        [(Operation::Allreduce, vector), (Operation::Alltoall, INTEGER * u64::from(program.ranks))];
    for (operation, bytes) in calls {
        program.called(&members, operation, bytes, iterations);
        for (rank, send) in collective(&members, operation, bytes) {
            sends[rank.index()].push(send);
        }
    }
    let lengths = key_lengths(keys, program.ranks, program.iterations);
    for ((rank, mut sends), lengths) in members.iter().zip(sends).zip(lengths) {
        let others = members.iter().zip(lengths).filter(|(to, _)| *to != rank);
        sends.extend(others.map(|(to, length)| Send { destination: *to, length }));
        program.clock(*rank, 1, iterations, sends);
    }
    // The largest key goes to the next rank, for the verification.
    for rank in 1..program.ranks {
        let send = Send { length: Bytes(INTEGER), ..doubles(Rank(rank), 1) };
        program.clock(Rank(rank - 1), 1, 1, vec![send]);
    }
    // Timers; the time, the number of verified keys.
    program.once(&[(Operation::Bcast, 4), (Operation::Reduce, 8), (Operation::Reduce, 4)]);
}

/// Bytes of keys by sender and receiver: the mean over all iterations, between which two keys of
/// rank 0 change, including the first, untimed one.
fn key_lengths(keys: Keys, ranks: u32, iterations: u64) -> Vec<Vec<Bytes>> {
    let mut counts = BucketCounts::new(keys, ranks);
    let mut total = vec![vec![0; ranks as usize]; ranks as usize];
    let last = ITERATIONS.min(iterations as usize);
    for (iteration, times) in (1..=last).zip([2].into_iter().chain(std::iter::repeat(1))) {
        counts.replace(iteration);
        for (total, sent) in total.iter_mut().zip(counts.sent()) {
            for (total, sent) in total.iter_mut().zip(sent) {
                *total += times * sent;
            }
        }
    }
    let rounds = last as u64 + 1;
    let mean = |total: u64| Bytes((INTEGER * total + rounds / 2) / rounds);
    total.into_iter().map(|row| row.into_iter().map(mean).collect()).collect()
}

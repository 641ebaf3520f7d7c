//! Small workloads for tests.

use rankwright::ids::Rank;
use rankwright::traffic::{Flow, Job, Workload};

pub(crate) fn flow(source: u32, destination: u32, bytes: u64) -> Flow {
    Flow {
        source: Rank(source),
        destination: Rank(destination),
        messages: 1,
        bytes,
        largest: bytes,
    }
}

pub(crate) fn job(name: &str, ranks: u32, flows: Vec<Flow>) -> Job {
    Job::new(name, ranks, flows).expect("ranks are in range")
}

pub(crate) fn workload(jobs: Vec<Job>) -> Workload {
    Workload { name: "test".to_owned(), jobs }
}

/// A `side` x `side` grid of ranks that exchange `bytes` with their up to four neighbours; ranks
/// are numbered in a scattered order: position p is rank 7 p + 3 modulo the number of ranks.
pub(crate) fn scattered_halo(side: u32, bytes: u64) -> Job {
    let rank = |row: u32, column: u32| (7 * (row * side + column) + 3) % (side * side);
    let mut flows = Vec::new();
    for row in 0..side {
        for column in 0..side {
            let here = rank(row, column);
            if column + 1 < side {
                flows.push(flow(here, rank(row, column + 1), bytes));
                flows.push(flow(rank(row, column + 1), here, bytes));
            }
            if row + 1 < side {
                flows.push(flow(here, rank(row + 1, column), bytes));
                flows.push(flow(rank(row + 1, column), here, bytes));
            }
        }
    }
    job("halo", side * side, flows)
}

/// Groups of ranks that talk only among themselves: rank r is in group r modulo `groups`.
pub(crate) fn cliques(groups: u32, size: u32) -> Job {
    let ranks = groups * size;
    let flows = (0..ranks).flat_map(|a| {
        let others = (0..ranks).filter(move |b| a != *b && a % groups == b % groups);
        others.map(move |b| flow(a, b, 1000))
    });
    job("cliques", ranks, flows.collect())
}

pub(crate) fn ring(name: &str, ranks: u32, bytes: u64) -> Job {
    job(name, ranks, (0..ranks).map(|rank| flow(rank, (rank + 1) % ranks, bytes)).collect())
}

//! Random clusters and jobs for properties that hold of all of them.

use std::num::NonZeroU32;

use proptest::prelude::*;
use rankwright::cluster::Cluster;
use rankwright::ids::Rank;
use rankwright::map::Problem;
use rankwright::placement::{Granularity, RanksPer, Share};
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, PerSecond};

use crate::clusters::{Kind, cluster, without_cores};
use crate::workloads::workload;

/// Up to three kinds of nodes, each core with two PUs; some cores of the first kind are taken.
pub(crate) fn random_cluster() -> impl Strategy<Value = Cluster> {
    let kind = (1_usize..4, 1_u32..3, 1_u32..3, 1_u32..5);
    let kind =
        kind.prop_map(|(nodes, packages, numa, cores)| (nodes, Kind(packages, numa, cores, 2)));
    let taken = prop::collection::vec(0_u32..6, 0..3);
    (prop::collection::vec(kind, 1..4), taken)
        .prop_map(|(kinds, taken)| without_cores(cluster(&kinds), &taken))
}

/// One rank per core or per PU, or a number per node or NUMA node.
pub(crate) fn random_granularity() -> impl Strategy<Value = Granularity> {
    let number = || (1_u32..4).prop_map(|number| NonZeroU32::new(number).expect("from 1"));
    let per = prop_oneof![number().prop_map(RanksPer::Node), number().prop_map(RanksPer::Numa)];
    let part = |ranks| Granularity::Part { ranks, share: Share::Cores };
    prop_oneof![Just(Granularity::Cores(1)), Just(Granularity::Pu), per.prop_map(part)]
}

/// Up to four jobs of up to eight ranks.
pub(crate) fn random_jobs() -> impl Strategy<Value = Workload> {
    prop::collection::vec((1_u32..9).prop_flat_map(random_job), 1..5).prop_map(workload)
}

/// The problems of placing jobs on a cluster with one rank to a slot and with several, where there is
/// room.
pub(crate) fn problems<'a>(
    cluster: &'a Cluster,
    jobs: &'a Workload,
    granularity: Granularity,
) -> impl Iterator<Item = Problem<'a>> {
    let loads: Vec<u64> = (0..jobs.rank_count() as u64).map(|rank| rank % 4).collect();
    let alone = Problem::new(cluster, jobs, granularity.clone());
    let shared = Problem::sharing(cluster, jobs, granularity, loads, 0.1);
    [alone, shared].into_iter().flatten()
}

/// A job of a few clocks with unlike messages, or of flows without rates.
fn random_job(ranks: u32) -> impl Strategy<Value = Job> {
    let send = (0..ranks, prop_oneof![Just(0), 1_u64..3000, 60_000_u64..3_000_000]);
    let sends = prop::collection::vec(send, 0..6);
    let clock = (0..ranks, 0.01..1e5_f64, 0.0..4.0_f64, sends);
    let clocks = prop::collection::vec(clock, 0..12);
    (clocks, any::<bool>()).prop_map(move |(clocks, rates)| {
        let source = |(rank, rate, cv, sends): (u32, f64, f64, Vec<(u32, u64)>)| Source {
            rank: Rank(rank),
            rate: PerSecond(rate),
            cv,
            in_step: None,
            rounds: 7,
            sends: sends
                .into_iter()
                .map(|(to, length)| Send { destination: Rank(to), length: Bytes(length) })
                .collect(),
        };
        let clocks = clocks.into_iter().map(source).collect();
        let mut job = Job::from_sources("random", ranks, clocks).unwrap();
        if !rates {
            job.sources.clear();
        }
        job
    })
}

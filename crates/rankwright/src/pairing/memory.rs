//! Memory bandwidth and last-level caches that ranks share.
//!
//! First order: ranks beside a memory that together want Σw of the bandwidth B that it has get Σw / B times
//! slower while they compute, each of them, because the memory serves requests as they come. A rank that
//! has no traffic is not slowed. Two jobs that want 60 % each take 1.2 times as long. Recorded runs contain
//! what their own ranks lose to each other, so only the ratio of two such factors counts.
//!
//! A last-level cache of size C in which jobs alone occupy Σo > C leaves each the share C / Σo of that. The
//! traffic of each then grows by √(Σo / C): misses fall with the square root of the size of a cache
//! (Hartstein et al. 2006, "Cache miss behavior: is it √2?"). A job that only streams through memory has
//! no use for its part of the cache, so for it this is too much.

use std::collections::BTreeMap;

use super::read::CacheUse;
use crate::cluster::Cluster;
use crate::ids::{NodeId, NumaId};
use crate::placement::{Placement, RankPlacement};
use crate::units::{BytesPerSecond, Seconds};

/// What a rank of a job uses of memories and caches while it computes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MemoryUse {
    /// To and from memory. `None` if unknown, which counts as none.
    pub traffic: Option<BytesPerSecond>,
    /// The part of the last-level cache; `None` if unknown.
    pub cache: Option<CacheUse>,
}

/// The memory beside a job of which ranks want the largest share of what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryLoad {
    /// Its node.
    pub node: NodeId,
    /// The NUMA node (L#).
    pub numa: NumaId,
    /// What all ranks beside it would use if it had enough.
    pub wanted: BytesPerSecond,
    /// Its bandwidth.
    pub has: BytesPerSecond,
    /// By how much the traffic of the job grows because others occupy the last-level cache, at least 1.
    pub cache_growth: f64,
    /// Whether what all ranks beside the caches of the job occupy is known.
    pub cache_known: bool,
}

impl MemoryLoad {
    /// How much longer ranks beside it compute, at least 1.
    #[must_use]
    pub fn stretch(&self) -> f64 {
        (self.wanted.0 / self.has.0).max(1.0)
    }
}

/// What a job loses beside another, by resource. Both are against half of the cores without a neighbour, and
/// negative where it gains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// How much longer it waits for messages.
    pub network: Seconds,
    /// How much longer it computes, for want of memory bandwidth.
    pub memory: Seconds,
    /// The memory; `None` if the job has no traffic.
    pub load: Option<MemoryLoad>,
}

/// The most loaded memory beside ranks of the first job; `None` if it has no traffic. `uses` are those of a
/// rank of each job.
pub(super) fn memory_load(
    cluster: &Cluster,
    placement: &Placement,
    uses: &[MemoryUse],
) -> Option<MemoryLoad> {
    uses[0].traffic.filter(|traffic| traffic.0 > 0.0)?;
    let caches = Caches::of(cluster, placement, uses);
    let mut wanted = BTreeMap::new();
    for (job, uses) in placement.jobs().iter().zip(uses) {
        for rank in &job.ranks {
            let growth = caches.growth(cluster, rank).unwrap_or(1.0);
            let traffic = uses.traffic.map_or(0.0, |traffic| traffic.0) * growth;
            *wanted.entry((rank.node, rank.numa)).or_insert(0.0) += traffic;
        }
    }
    let loads = placement.jobs()[0].ranks.iter().filter_map(|rank| {
        let numa = rank.numa?;
        let growth = caches.growth(cluster, rank);
        Some(MemoryLoad {
            node: rank.node,
            numa,
            wanted: BytesPerSecond(wanted[&(rank.node, rank.numa)]),
            has: cluster.memory_bandwidth(rank.node, numa).value,
            cache_growth: growth.unwrap_or(1.0),
            cache_known: growth.is_some(),
        })
    });
    let share = |load: &MemoryLoad| load.wanted.0 / load.has.0;
    // The first of equal ones.
    loads.reduce(|most, load| if share(&load) > share(&most) { load } else { most })
}

/// What ranks occupy of a cache, and its size.
struct Cache {
    occupied: f64,
    /// `None` if unknown, or if a rank's part is.
    size: Option<f64>,
}

/// The last-level caches, by node and number.
struct Caches(BTreeMap<(NodeId, u32), Cache>);

impl Caches {
    fn of(cluster: &Cluster, placement: &Placement, uses: &[MemoryUse]) -> Self {
        let mut caches = BTreeMap::new();
        for (job, uses) in placement.jobs().iter().zip(uses) {
            let known = uses.cache.and_then(|cache| Some((cache.occupied, cache.size?)));
            for at in job.ranks.iter().filter_map(|rank| cache_of(cluster, rank)) {
                let cache =
                    caches.entry(at).or_insert(Cache { occupied: 0.0, size: Some(f64::INFINITY) });
                let Some((occupied, size)) = known else {
                    cache.size = None;
                    continue;
                };
                cache.occupied += occupied.0 as f64;
                cache.size = cache.size.map(|smallest: f64| smallest.min(size.0 as f64));
            }
        }
        Self(caches)
    }

    /// By how much the traffic of a rank grows; `None` if too little is known.
    fn growth(&self, cluster: &Cluster, rank: &RankPlacement) -> Option<f64> {
        let cache = self.0.get(&cache_of(cluster, rank)?)?;
        Some((cache.occupied / cache.size?).max(1.0).sqrt())
    }
}

fn cache_of(cluster: &Cluster, rank: &RankPlacement) -> Option<(NodeId, u32)> {
    let core = rank.cores.first()?;
    Some((rank.node, cluster.machine(rank.node).cores[core.index()].cache?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cluster::read::toml;
    use crate::pairing::{Part, placed};
    use crate::placement::JobShape;
    use crate::units::Bytes;

    /// The load of the first of two jobs with two ranks each, on a node with memories of 100 GB/s.
    fn load(topology: &str, uses: [MemoryUse; 2]) -> Option<MemoryLoad> {
        let text = format!(
            "name = \"one\"\n[rates]\nname = \"r\"\nbase = \"typical\"\n\
             memory_bandwidth = \"100 GB/s\"\n[[node]]\nnames = \"n0\"\ntopology = \"{topology}\"\n"
        );
        let cluster = toml::parse(&text, "cluster.toml", Path::new("")).unwrap();
        let shape = |name: &str| JobShape { name: name.to_owned(), ranks: 2 };
        let jobs = [(shape("a"), Part::FIRST_HALF), (shape("b"), Part::SECOND_HALF)];
        let placement = placed(&cluster, &jobs, "pair").unwrap();
        memory_load(&cluster, &placement, &uses)
    }

    const ONE_MEMORY: &str = "pack:1 numa:1 l3:1 core:4 pu:1";

    fn traffic(gigabytes: f64) -> MemoryUse {
        MemoryUse { traffic: Some(BytesPerSecond(gigabytes * 1e9)), cache: None }
    }

    /// What a rank occupies of a cache of 32 MiB.
    fn with_cache(traffic: MemoryUse, mebibytes: u64) -> MemoryUse {
        let bytes = |mebibytes: u64| Bytes(mebibytes << 20);
        let cache = CacheUse { occupied: bytes(mebibytes), size: Some(bytes(32)) };
        MemoryUse { cache: Some(cache), ..traffic }
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "found {found}, expected {expected}");
    }

    #[test]
    fn two_jobs_that_want_sixty_percent_each_compute_a_fifth_longer() {
        let found = load(ONE_MEMORY, [traffic(30.0), traffic(30.0)]).unwrap();
        assert_eq!((found.node, found.numa), (NodeId(0), NumaId(0)));
        assert_near(found.wanted.0, 120e9);
        assert_near(found.stretch(), 1.2);
    }

    #[test]
    fn jobs_that_find_enough_are_not_slowed() {
        assert_near(load(ONE_MEMORY, [traffic(20.0), traffic(30.0)]).unwrap().stretch(), 1.0);
        assert_near(
            load(ONE_MEMORY, [traffic(49.0), MemoryUse::default()]).unwrap().stretch(),
            1.0,
        );
    }

    #[test]
    fn a_job_without_traffic_is_not_slowed_by_any() {
        assert_eq!(load(ONE_MEMORY, [MemoryUse::default(), traffic(200.0)]), None);
        assert_eq!(load(ONE_MEMORY, [traffic(0.0), traffic(200.0)]), None);
    }

    #[test]
    fn jobs_on_memories_of_their_own_do_not_share_bandwidth() {
        let found = load("pack:2 numa:1 l3:1 core:2 pu:1", [traffic(30.0), traffic(90.0)]).unwrap();
        assert_near(found.wanted.0, 60e9);
        assert_near(found.stretch(), 1.0);
    }

    #[test]
    fn traffic_grows_with_the_root_of_what_does_not_fit_into_the_cache() {
        let uses = [with_cache(traffic(30.0), 16), with_cache(traffic(10.0), 16)];
        let found = load(ONE_MEMORY, uses).unwrap();
        assert!(found.cache_known);
        // 64 MiB in 32.
        assert_near(found.cache_growth, 2.0_f64.sqrt());
        assert_near(found.wanted.0, 80e9 * 2.0_f64.sqrt());
        let uses = [with_cache(traffic(30.0), 4), with_cache(traffic(10.0), 4)];
        assert_near(load(ONE_MEMORY, uses).unwrap().cache_growth, 1.0);
        // Of one job unknown: nothing can be said.
        let found = load(ONE_MEMORY, [with_cache(traffic(30.0), 16), traffic(10.0)]).unwrap();
        assert!(!found.cache_known);
        assert_near(found.cache_growth, 1.0);
        // Each in a cache of its own, which both of its ranks fill.
        let uses = [with_cache(traffic(30.0), 16), with_cache(traffic(10.0), 32)];
        let found = load("pack:1 numa:1 l3:2 core:2 pu:1", uses).unwrap();
        assert_near(found.cache_growth, 1.0);
        // The traffic of the other grows in its own cache, 64 MiB in 32, and counts in the memory of both.
        assert_near(found.wanted.0, 60e9 + 20e9 * 2.0_f64.sqrt());
    }

    #[test]
    fn shares_of_a_node_have_whole_cores() {
        let text = "name = \"smt\"\nrates = \"typical\"\n[[node]]\nnames = \"n0\"\n\
                    topology = \"pack:1 numa:1 core:4 pu:2\"\n";
        let cluster = toml::parse(text, "cluster.toml", Path::new("")).unwrap();
        let shape = |name: &str| JobShape { name: name.to_owned(), ranks: 2 };
        let jobs = [(shape("a"), Part::FIRST_HALF), (shape("b"), Part::SECOND_HALF)];
        let placement = placed(&cluster, &jobs, "pair").unwrap();
        let cores = |job: usize| -> Vec<_> {
            placement.jobs()[job].ranks.iter().flat_map(|rank| rank.cores.clone()).collect()
        };
        assert!(cores(0).iter().all(|core| !cores(1).contains(core)));
    }
}

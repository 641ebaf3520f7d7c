//! The load of a placement: the bytes that pass each network device and each memory, and how far they
//! travel. Counted once over all flows, without message timing.

mod devices;
mod moving;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cluster::{Cluster, LevelKind, Levels};
use crate::ids::{NodeId, NumaId};
use crate::placement::{Placement, RankPlacement};
use crate::traffic::OUTSIDE;
use crate::traffic::Workload;
use crate::units::{Bytes, Seconds};
pub use devices::{BusiestNic, Direction, NicLoad};
pub(crate) use moving::MovingLoad;

/// The load that a workload puts on a cluster under a placement. Sums saturate at 2^64 - 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Load {
    /// The bytes of all messages between different ranks.
    pub total: Bytes,
    /// The bytes of messages between different nodes, and of those that leave the cluster.
    pub inter_node: Bytes,
    /// The number of messages between different nodes, and of those that leave the cluster.
    pub inter_node_messages: u64,
    /// By network device, or by node if none of its ranks names a device. In the order of the
    /// cluster; only nodes with ranks.
    pub nics: Vec<NicLoad>,
    /// The bytes between different groups of each level, from the core up. The level of the whole
    /// cluster, which is one group, is left out.
    pub cuts: Vec<LevelCut>,
    /// The sum over all messages of bytes × hops; [`Levels`] defines a hop.
    pub hop_bytes: u128,
    /// By NUMA node, in the order of the cluster; only nodes with ranks.
    pub memories: Vec<NumaLoad>,
}

/// The bytes between the groups of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelCut {
    /// The level.
    pub level: LevelKind,
    /// The bytes between its groups.
    pub bytes: Bytes,
}

/// The load of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NumaLoad {
    /// Its node.
    pub node: NodeId,
    /// Its L# within the node.
    pub numa: NumaId,
    /// The bytes that its ranks send and receive. A rank with several NUMA nodes loads them
    /// equally.
    pub bytes: Bytes,
}

impl Load {
    /// The load of `workload` on `cluster`; takes time linear in the number of flows.
    ///
    /// A message passes the sender's network device outward and the receiver's inward if their
    /// nodes differ. A rank with several devices loads them equally. Ranks that name none load all
    /// devices of their node in proportion to their rates; if no rank of a node names one, the node
    /// counts as one device with the sum of the rates. A device that a rank names needs longer for
    /// its bytes if it is far ([`FarDevice`](crate::network::FarDevice)).
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        levels: &Levels,
        workload: &Workload,
        placement: &Placement,
    ) -> Self {
        let places: Vec<&RankPlacement> = placement.ranks().collect();
        let homes = placement.homes(cluster);
        let cores: Vec<usize> =
            places.iter().zip(&homes).map(|(place, core)| levels.core(place.node, *core)).collect();
        let mut count = Count::new(places.len(), levels.as_slice().len());
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            for flow in job.flows.iter().filter(|flow| flow.source != flow.destination) {
                let [from, to] =
                    [flow.source, flow.destination].map(|rank| rank.global(first).index());
                let common = levels.lowest_common(cores[from], cores[to]);
                let between_nodes = places[from].node != places[to].node;
                count.add(from, to, flow.bytes, common, between_nodes);
                if between_nodes {
                    count.messages = count.messages.saturating_add(flow.messages);
                }
            }
        }
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            for source in &job.sources {
                let leaving = source.sends.iter().filter(|send| send.destination == OUTSIDE);
                for send in leaving {
                    let bytes = source.rounds.saturating_mul(send.length.0);
                    count.add_outside(source.rank.global(first).index(), bytes);
                    count.messages = count.messages.saturating_add(source.rounds);
                }
            }
        }
        let hop_bytes = levels.as_slice().iter().zip(&count.by_common_level);
        Self {
            total: Bytes(count.total),
            inter_node: Bytes(count.inter_node),
            inter_node_messages: count.messages,
            nics: devices::loads(cluster, &places, &homes, &count),
            cuts: cuts(levels, &count.by_common_level),
            hop_bytes: hop_bytes.map(|(l, bytes)| u128::from(l.distance()) * bytes).sum(),
            memories: memory_loads(cluster, &places, &count),
        }
    }

    /// The share of all bytes that goes between nodes, from 0 to 1.
    #[must_use]
    pub fn inter_node_share(&self) -> f64 {
        if self.total.0 == 0 { 0.0 } else { self.inter_node.0 as f64 / self.total.0 as f64 }
    }

    /// The mean number of hops of a byte.
    #[must_use]
    pub fn mean_hops(&self) -> f64 {
        if self.total.0 == 0 { 0.0 } else { self.hop_bytes as f64 / self.total.0 as f64 }
    }

    /// The network device and direction that need longest; the first of equals, `out` before `in`;
    /// `None` without messages between nodes.
    #[must_use]
    pub fn busiest_nic(&self) -> Option<BusiestNic> {
        let mut busiest: Option<BusiestNic> = None;
        for nic in &self.nics {
            let directions = [
                (Direction::Out, nic.out, nic.out_time),
                (Direction::In, nic.incoming, nic.in_time),
            ];
            for (direction, bytes, time) in directions {
                if time.0 > busiest.as_ref().map_or(0.0, |busiest| busiest.time.0) {
                    let (node, nic_name) = (nic.node, nic.nic.clone());
                    let bandwidth = nic.bandwidth;
                    busiest =
                        Some(BusiestNic { node, nic: nic_name, direction, bytes, bandwidth, time });
                }
            }
        }
        busiest
    }

    /// The time that the busiest network device needs; 0 without messages between nodes.
    #[must_use]
    pub fn busiest_nic_time(&self) -> Seconds {
        self.busiest_nic().map_or(Seconds(0.0), |busiest| busiest.time)
    }

    /// The memory with the most bytes, the first of equals.
    #[must_use]
    pub fn busiest_memory(&self) -> Option<NumaLoad> {
        self.memories.iter().copied().reduce(|a, b| if b.bytes > a.bytes { b } else { a })
    }

    /// The main quantities by name, for a placement file: seconds and bytes.
    #[must_use]
    pub fn predicted(&self) -> BTreeMap<String, f64> {
        let mut values = BTreeMap::from([
            ("total_bytes".to_owned(), self.total.0 as f64),
            ("inter_node_bytes".to_owned(), self.inter_node.0 as f64),
            ("inter_node_share".to_owned(), self.inter_node_share()),
            ("inter_node_messages".to_owned(), self.inter_node_messages as f64),
            ("busiest_nic_time_s".to_owned(), self.busiest_nic_time().0),
            ("hop_bytes".to_owned(), self.hop_bytes as f64),
        ]);
        let bytes = self.busiest_nic().map_or(0, |nic| nic.bytes.0);
        values.insert("busiest_nic_bytes".to_owned(), bytes as f64);
        let bytes = self.busiest_memory().map_or(0, |memory| memory.bytes.0);
        values.insert("busiest_memory_bytes".to_owned(), bytes as f64);
        for cut in &self.cuts {
            values.insert(format!("cut_{}_bytes", cut.level), cut.bytes.0 as f64);
        }
        values
    }
}

/// Sums over the flows, in bytes.
struct Count {
    total: u64,
    inter_node: u64,
    /// The number of messages between nodes.
    messages: u64,
    /// Index: the position in [`Levels`] of the lowest level in which both ranks are in one group.
    by_common_level: Vec<u128>,
    /// To other nodes. Index: [`GlobalRank`](crate::ids::GlobalRank).
    out: Vec<u64>,
    /// From other nodes. Index: [`GlobalRank`](crate::ids::GlobalRank).
    incoming: Vec<u64>,
    /// Sent and received. Index: [`GlobalRank`](crate::ids::GlobalRank).
    memory: Vec<u64>,
}

impl Count {
    fn new(ranks: usize, levels: usize) -> Self {
        Self {
            total: 0,
            inter_node: 0,
            messages: 0,
            by_common_level: vec![0; levels],
            out: vec![0; ranks],
            incoming: vec![0; ranks],
            memory: vec![0; ranks],
        }
    }

    fn add(&mut self, from: usize, to: usize, bytes: u64, common: usize, between_nodes: bool) {
        let add = |sum: &mut u64| *sum = sum.saturating_add(bytes);
        add(&mut self.total);
        add(&mut self.memory[from]);
        add(&mut self.memory[to]);
        self.by_common_level[common] += u128::from(bytes);
        if between_nodes {
            add(&mut self.inter_node);
            add(&mut self.out[from]);
            add(&mut self.incoming[to]);
        }
    }

    /// Adds what a rank sends out of the cluster.
    fn add_outside(&mut self, from: usize, bytes: u64) {
        let sums =
            [&mut self.total, &mut self.inter_node, &mut self.memory[from], &mut self.out[from]];
        for sum in sums {
            *sum = sum.saturating_add(bytes);
        }
    }
}

fn cuts(levels: &Levels, by_common_level: &[u128]) -> Vec<LevelCut> {
    let level = |(position, level): (usize, &crate::cluster::Level)| {
        // Ranks whose lowest common level is above this one are in different groups of it.
        let bytes: u128 = by_common_level[position + 1..].iter().sum();
        LevelCut { level: level.kind(), bytes: Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)) }
    };
    let below_top = levels.as_slice().len() - 1;
    levels.as_slice()[..below_top].iter().enumerate().map(level).collect()
}

/// The ranks of each node with ranks, as positions in `places`.
fn by_node(places: &[&RankPlacement]) -> BTreeMap<NodeId, Vec<usize>> {
    let mut ranks: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (rank, place) in places.iter().enumerate() {
        ranks.entry(place.node).or_default().push(rank);
    }
    ranks
}

fn memory_loads(cluster: &Cluster, places: &[&RankPlacement], count: &Count) -> Vec<NumaLoad> {
    let mut loads = Vec::new();
    for (node, ranks) in by_node(places) {
        let machine = cluster.machine(node);
        let mut bytes = vec![0; machine.numa_nodes.len()];
        for rank in ranks {
            let place = places[rank];
            let mut shares = vec![0.0; bytes.len()];
            let near = place.cores.iter().map(|core| machine.cores[core.index()].numa);
            // A rank that is bound to no memory is taken to use those beside its cores.
            for numa in place.numa.map_or_else(|| near.collect(), |numa| vec![numa]) {
                if let Some(share) = shares.get_mut(numa.index()) {
                    *share = 1.0;
                }
            }
            split(count.memory[rank], &shares, &mut bytes);
        }
        loads.extend(bytes.into_iter().enumerate().map(|(index, bytes)| NumaLoad {
            node,
            numa: NumaId::from_index(index),
            bytes: Bytes(bytes),
        }));
    }
    loads
}

/// Adds `bytes` to `sums` in proportion to `shares`. The parts sum up to `bytes` exactly: each
/// boundary between two parts is rounded once.
fn split(bytes: u64, shares: &[f64], sums: &mut [u64]) {
    let all: f64 = shares.iter().sum();
    let last = shares.iter().rposition(|share| *share > 0.0);
    let (mut before, mut share_before) = (0, 0.0);
    for (position, (share, sum)) in shares.iter().zip(sums).enumerate() {
        share_before += share;
        let until = if Some(position) == last {
            bytes
        } else {
            ((bytes as f64 * (share_before / all)).round() as u64).clamp(before, bytes)
        };
        *sum = sum.saturating_add(until - before);
        before = until;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_split_loses_nothing(
            bytes in any::<u64>(),
            shares in prop::collection::vec(prop_oneof![Just(0.0), 0.1..1e9_f64], 1..6),
        ) {
            let mut sums = vec![0; shares.len()];
            split(bytes, &shares, &mut sums);
            let expected = if shares.iter().all(|share| *share == 0.0) { 0 } else { bytes };
            prop_assert_eq!(sums.iter().map(|s| u128::from(*s)).sum::<u128>(), u128::from(expected));
            prop_assert!(sums.iter().zip(&shares).all(|(sum, share)| *share > 0.0 || *sum == 0));
        }
    }

    #[test]
    fn equal_shares_are_equal() {
        let mut sums = [0; 3];
        split(9, &[1.0, 0.0, 1.0], &mut sums);
        assert_eq!(sums, [5, 0, 4]);
    }
}

//! The load of a placement: how many bytes pass each network device and each memory, and how far
//! they travel. Counted once over all flows; nothing is assumed about when messages are sent.

mod devices;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cluster::{Cluster, LevelKind, Levels};
use crate::ids::{NodeId, NumaId};
use crate::placement::{Placement, RankPlacement};
use crate::traffic::Workload;
use crate::traffic::source::OUTSIDE;
use crate::units::{Bytes, Seconds};
pub use devices::{BusiestNic, Direction, NicLoad};

/// The load that a workload puts on a cluster under a placement. Sums saturate at 2^64 - 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// The bytes of all messages between different ranks.
    pub total: Bytes,
    /// Those between different nodes, and those that leave the cluster.
    pub inter_node: Bytes,
    /// How many messages these are.
    pub inter_node_messages: u64,
    /// Per network device; per node where nothing says which device its ranks use. In the order of
    /// the cluster; only nodes that hold ranks.
    pub nics: Vec<NicLoad>,
    /// The bytes between cores in different groups of each level, from the core up; without the
    /// cluster, which has one group.
    pub cuts: Vec<LevelCut>,
    /// The sum over all messages of bytes times hops; see [`Levels`] for what a hop is.
    pub hop_bytes: u128,
    /// Per NUMA node, in the order of the cluster; only nodes that hold ranks.
    pub memories: Vec<NumaLoad>,
}

/// What crosses the borders of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LevelCut {
    /// The level.
    pub level: LevelKind,
    /// The bytes between its groups.
    pub bytes: Bytes,
}

/// What is read from and written to a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    /// devices of their node in proportion to their rates; where no rank of a node names one, the
    /// node counts as one device with the sum of the rates. A device that a rank names needs
    /// longer for it if that is beside another memory ([`Cluster::far_device`]).
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
                let (from, to) = (first + flow.source.index(), first + flow.destination.index());
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
                    count.add_outside(first + source.rank.index(), bytes);
                    count.messages = count.messages.saturating_add(source.rounds);
                }
            }
        }
        let hop_bytes = levels.as_slice().iter().zip(&count.met);
        Self {
            total: Bytes(count.total),
            inter_node: Bytes(count.inter_node),
            inter_node_messages: count.messages,
            nics: devices::loads(cluster, &places, &homes, &count),
            cuts: cuts(levels, &count.met),
            hop_bytes: hop_bytes.map(|(l, bytes)| u128::from(l.distance()) * bytes).sum(),
            memories: memory_loads(cluster, &places, &count),
        }
    }

    /// The share of all bytes that goes between nodes, from 0 to 1.
    #[must_use]
    pub fn inter_node_share(&self) -> f64 {
        if self.total.0 == 0 { 0.0 } else { self.inter_node.0 as f64 / self.total.0 as f64 }
    }

    /// How many hops a byte travels on average.
    #[must_use]
    pub fn mean_hops(&self) -> f64 {
        if self.total.0 == 0 { 0.0 } else { self.hop_bytes as f64 / self.total.0 as f64 }
    }

    /// The network device and direction that need longest; the first of equals, `out` before `in`;
    /// `None` if nothing passes between nodes.
    #[must_use]
    pub fn busiest_nic(&self) -> Option<BusiestNic> {
        let mut busiest: Option<BusiestNic> = None;
        for nic in &self.nics {
            let ways = [
                (Direction::Out, nic.out, nic.out_time),
                (Direction::In, nic.incoming, nic.in_time),
            ];
            for (direction, bytes, time) in ways {
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

    /// How long the busiest network device needs; 0 if nothing passes between nodes.
    #[must_use]
    pub fn busiest_nic_time(&self) -> Seconds {
        self.busiest_nic().map_or(Seconds(0.0), |busiest| busiest.time)
    }

    /// The memory that the most bytes pass, the first of equals.
    #[must_use]
    pub fn busiest_memory(&self) -> Option<NumaLoad> {
        self.memories.iter().copied().reduce(|a, b| if b.bytes > a.bytes { b } else { a })
    }

    /// The main quantities by name, for a placement file; times in seconds, amounts in bytes.
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

/// Sums over the flows.
struct Count {
    total: u64,
    inter_node: u64,
    messages: u64,
    /// Bytes between ranks whose lowest common level is this one.
    met: Vec<u128>,
    /// Of each rank, to other nodes.
    out: Vec<u64>,
    incoming: Vec<u64>,
    /// Of each rank, sent and received.
    memory: Vec<u64>,
}

impl Count {
    fn new(ranks: usize, levels: usize) -> Self {
        Self {
            total: 0,
            inter_node: 0,
            messages: 0,
            met: vec![0; levels],
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
        self.met[common] += u128::from(bytes);
        if between_nodes {
            add(&mut self.inter_node);
            add(&mut self.out[from]);
            add(&mut self.incoming[to]);
        }
    }

    /// What a rank sends out of the cluster.
    fn add_outside(&mut self, from: usize, bytes: u64) {
        let sums =
            [&mut self.total, &mut self.inter_node, &mut self.memory[from], &mut self.out[from]];
        for sum in sums {
            *sum = sum.saturating_add(bytes);
        }
    }
}

fn cuts(levels: &Levels, met: &[u128]) -> Vec<LevelCut> {
    let level = |(position, level): (usize, &crate::cluster::Level)| {
        // Who first meets above a level has a border of that level between them.
        let bytes: u128 = met[position + 1..].iter().sum();
        LevelCut { level: level.kind(), bytes: Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)) }
    };
    let below_top = levels.as_slice().len() - 1;
    levels.as_slice()[..below_top].iter().enumerate().map(level).collect()
}

/// The ranks of each node that has some.
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
            // A rank that may use several memories is taken to use those of its cores.
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

/// Adds `bytes` to `sums` in proportion to `shares`. Not one byte is lost or made: each border
/// between two parts is rounded once.
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

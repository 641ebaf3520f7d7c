//! What passes each network device, and how long it needs for that.

use std::fmt;

use serde::Serialize;

use super::{Count, by_node, split};
use crate::cluster::{Cluster, Nic};
use crate::ids::{CoreId, NodeId, NumaId};
use crate::placement::RankPlacement;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// What passes a network device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NicLoad {
    /// Its node.
    pub node: NodeId,
    /// Its name; `None` for all devices of the node together.
    pub nic: Option<String>,
    /// Its rate, each way.
    pub bandwidth: BytesPerSecond,
    /// Bytes that leave the node through it.
    pub out: Bytes,
    /// Bytes that enter the node through it.
    #[serde(rename = "in")]
    pub incoming: Bytes,
    /// How long it needs for those that leave: at its rate, and longer for ranks beside another memory
    /// ([`Cluster::far_device`]).
    pub out_time: Seconds,
    /// The same for those that enter.
    pub in_time: Seconds,
}

/// Which way through a network device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Out of the node.
    Out,
    /// Into the node.
    In,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Out => "out",
            Self::In => "in",
        })
    }
}

/// The network device that needs longest for what passes it one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BusiestNic {
    /// Its node.
    pub node: NodeId,
    /// Its name; `None` for all devices of the node together.
    pub nic: Option<String>,
    /// The way.
    pub direction: Direction,
    /// What passes it this way.
    pub bytes: Bytes,
    /// Its rate.
    pub bandwidth: BytesPerSecond,
    /// How long that takes: at its rate, and longer for ranks beside another memory.
    pub time: Seconds,
}

impl BusiestNic {
    /// Whether it needs longer than its rate says, for ranks beside another memory.
    #[must_use]
    pub fn is_far_from_some(&self) -> bool {
        self.time.0 > self.bytes.0 as f64 / self.bandwidth.0 * (1.0 + 1e-9)
    }
}

/// The loads of all devices of the nodes that have ranks; `homes` are the cores of these.
pub(super) fn loads(
    cluster: &Cluster,
    places: &[&RankPlacement],
    homes: &[CoreId],
    count: &Count,
) -> Vec<NicLoad> {
    let mut loads = Vec::new();
    for (node, ranks) in by_node(places) {
        if ranks.iter().all(|rank| places[*rank].nics.is_empty()) {
            let mut all = NicLoad::idle(node, None, cluster.node_bandwidth(node));
            for rank in ranks {
                all.add([count.out[rank], count.incoming[rank]], 1.0);
            }
            loads.push(all.in_seconds());
            continue;
        }
        let machine = cluster.machine(node);
        let idle =
            |nic: &Nic| NicLoad::idle(node, Some(nic.name.clone()), cluster.nic_bandwidth(nic));
        let mut of_node: Vec<NicLoad> = machine.nics.iter().map(idle).collect();
        let factors = factors(cluster, node);
        for rank in ranks {
            let used = &places[rank].nics;
            let share = |load: &NicLoad| match used.len() {
                0 => load.bandwidth.0,
                _ => used.iter().filter(|name| load.nic.as_ref() == Some(name)).count() as f64,
            };
            let shares: Vec<f64> = of_node.iter().map(share).collect();
            let mut ways = [vec![0; shares.len()], vec![0; shares.len()]];
            split(count.out[rank], &shares, &mut ways[0]);
            split(count.incoming[rank], &shares, &mut ways[1]);
            let core = machine.cores.get(homes[rank].index()).filter(|_| !used.is_empty());
            for (position, load) in of_node.iter_mut().enumerate() {
                let factor = core.map_or(1.0, |core| factors[core.numa.index()][position]);
                load.add([ways[0][position], ways[1][position]], factor);
            }
        }
        loads.extend(of_node.into_iter().map(NicLoad::in_seconds));
    }
    loads
}

/// How many times as long each device of a node needs for cores beside each NUMA node.
fn factors(cluster: &Cluster, node: NodeId) -> Vec<Vec<f64>> {
    let machine = cluster.machine(node);
    let of_numa = |numa: usize| {
        let factor =
            |nic: &Nic| cluster.far_device(node, NumaId::from_index(numa), nic).device_factor();
        machine.nics.iter().map(factor).collect()
    };
    (0..machine.numa_nodes.len()).map(of_numa).collect()
}

impl NicLoad {
    fn idle(node: NodeId, nic: Option<String>, bandwidth: BytesPerSecond) -> Self {
        let ((out, incoming), none) = ((Bytes(0), Bytes(0)), Seconds(0.0));
        Self { node, nic, bandwidth, out, incoming, out_time: none, in_time: none }
    }

    /// Adds bytes out and in, for which it needs so many times as long as at its rate. Times are those
    /// at one byte per second, so that they are exact where the factors are whole.
    fn add(&mut self, [out, incoming]: [u64; 2], factor: f64) {
        self.out = Bytes(self.out.0.saturating_add(out));
        self.incoming = Bytes(self.incoming.0.saturating_add(incoming));
        self.out_time.0 += factor * out as f64;
        self.in_time.0 += factor * incoming as f64;
    }

    /// With times at its rate in place of those at one byte per second.
    fn in_seconds(mut self) -> Self {
        self.out_time.0 /= self.bandwidth.0;
        self.in_time.0 /= self.bandwidth.0;
        self
    }
}

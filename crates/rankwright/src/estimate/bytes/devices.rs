//! The bytes that pass each network device, and the time that it needs for them.

use std::fmt;

use serde::Serialize;

use super::{Count, by_node, split};
use crate::cluster::{Cluster, Nic};
use crate::ids::{CoreId, NodeId, NumaId};
use crate::network::FarDevice;
use crate::placement::RankPlacement;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// The load of a network device.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NicLoad {
    /// Its node.
    pub node: NodeId,
    /// Its name; `None` for all devices of the node together.
    pub nic: Option<String>,
    /// Its rate in each direction.
    pub bandwidth: BytesPerSecond,
    /// Bytes that leave the node through it.
    pub out: Bytes,
    /// Bytes that enter the node through it.
    #[serde(rename = "in")]
    pub incoming: Bytes,
    /// The time that it needs for the bytes out: at its rate, and longer for ranks from which it is
    /// far ([`FarDevice::device_factor`]).
    pub out_time: Seconds,
    /// The time that it needs for the bytes in, as `out_time`.
    pub in_time: Seconds,
}

/// A direction through a network device.
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

/// The network device and direction that need longest for their bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BusiestNic {
    /// Its node.
    pub node: NodeId,
    /// Its name; `None` for all devices of the node together.
    pub nic: Option<String>,
    /// The direction.
    pub direction: Direction,
    /// The bytes that pass it in this direction.
    pub bytes: Bytes,
    /// Its rate.
    pub bandwidth: BytesPerSecond,
    /// The time that it needs for them: at its rate, and longer for ranks from which it is far.
    pub time: Seconds,
}

impl BusiestNic {
    /// Whether it needs longer than at its rate, because it is far from some ranks.
    #[must_use]
    pub fn is_far_from_some(&self) -> bool {
        self.time.0 > self.bytes.0 as f64 / self.bandwidth.0 * (1.0 + 1e-9)
    }
}

/// The loads of all devices of the nodes that have ranks. Index of `places` and `homes`, the cores of
/// the ranks: [`GlobalRank`](crate::ids::GlobalRank).
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
        let idle = |(position, nic): (usize, &Nic)| {
            let bandwidth = cluster.nic_bandwidth(node, position).value;
            NicLoad::idle(node, Some(nic.name.clone()), bandwidth)
        };
        let mut nics: Vec<NicLoad> = machine.nics.iter().enumerate().map(idle).collect();
        let factors = factors(cluster, node);
        let carries: Vec<usize> = machine.mpi_nics().map(|(position, _)| position).collect();
        let carries = |position| carries.is_empty() || carries.contains(&position);
        for rank in ranks {
            let used = &places[rank].nics;
            let share = |(position, load): (usize, &NicLoad)| match used.len() {
                0 if !carries(position) => 0.0,
                0 => load.bandwidth.0,
                _ => used.iter().filter(|name| load.nic.as_ref() == Some(name)).count() as f64,
            };
            let shares: Vec<f64> = nics.iter().enumerate().map(share).collect();
            let (mut out, mut incoming) = (vec![0; shares.len()], vec![0; shares.len()]);
            split(count.out[rank], &shares, &mut out);
            split(count.incoming[rank], &shares, &mut incoming);
            let core = machine.cores.get(homes[rank].index()).filter(|_| !used.is_empty());
            for (position, load) in nics.iter_mut().enumerate() {
                let factor = core.map_or(1.0, |core| factors[core.numa.index()][position]);
                load.add([out[position], incoming[position]], factor);
            }
        }
        loads.extend(nics.into_iter().map(NicLoad::in_seconds));
    }
    loads
}

/// The factor on the time of each device of a node for cores beside each NUMA node. Indices:
/// [`NumaId`], position in [`Machine::nics`](crate::cluster::Machine::nics).
fn factors(cluster: &Cluster, node: NodeId) -> Vec<Vec<f64>> {
    let machine = cluster.machine(node);
    let by_nic = |numa: NumaId| {
        let factor = |nic: &Nic| FarDevice::new(cluster, node, numa, nic).device_factor();
        machine.nics.iter().map(factor).collect()
    };
    (0..machine.numa_nodes.len()).map(NumaId::from_index).map(by_nic).collect()
}

impl NicLoad {
    fn idle(node: NodeId, nic: Option<String>, bandwidth: BytesPerSecond) -> Self {
        let ((out, incoming), none) = ((Bytes(0), Bytes(0)), Seconds(0.0));
        Self { node, nic, bandwidth, out, incoming, out_time: none, in_time: none }
    }

    /// Adds bytes out and in, with a factor on their time. Until [`NicLoad::in_seconds`] the times are
    /// those at one byte per second, which are exact for integer factors.
    fn add(&mut self, [out, incoming]: [u64; 2], factor: f64) {
        self.out = Bytes(self.out.0.saturating_add(out));
        self.incoming = Bytes(self.incoming.0.saturating_add(incoming));
        self.out_time.0 += factor * out as f64;
        self.in_time.0 += factor * incoming as f64;
    }

    /// Converts times at one byte per second to times at the rate of the device.
    fn in_seconds(mut self) -> Self {
        self.out_time.0 /= self.bandwidth.0;
        self.in_time.0 /= self.bandwidth.0;
        self
    }
}

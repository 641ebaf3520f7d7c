//! What ranks send to and receive from other nodes under a placement.

use crate::cluster::{Cluster, NodeGroup};
use crate::ids::{GlobalRank, NodeId};
use crate::network::FarDevice;
use crate::placement::Placement;
use crate::traffic::OUTSIDE;
use crate::traffic::Workload;
use crate::units::{Bytes, Seconds};

/// The traffic of each rank with other nodes. Index: [`GlobalRank`].
#[derive(Debug, Clone, Default)]
pub(super) struct InternodeTraffic {
    /// Bytes.
    pub(super) out: Vec<f64>,
    /// Bytes.
    pub(super) incoming: Vec<f64>,
    /// How much longer the core is busy with what it sends and with what it receives if all of that
    /// passes devices beside another package.
    pub(super) far: Vec<[Seconds; 2]>,
    /// Sender and receiver on different nodes; none where no device has a rail.
    pub(super) pairs: Vec<(GlobalRank, GlobalRank)>,
}

pub(super) fn internode_traffic(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
) -> InternodeTraffic {
    let far = |messages: u64, bytes: u64| {
        let length = Bytes(bytes / messages.max(1));
        messages as f64 * FarDevice::Core.core_time(&cluster.rates, length).0
    };
    let has_rail = |group: &NodeGroup| group.machine.nics.iter().any(|nic| nic.rail.is_some());
    let any_rail = cluster.groups.iter().any(has_rail);
    let nodes: Vec<NodeId> = placement.ranks().map(|place| place.node).collect();
    let mut sums = InternodeTraffic {
        out: vec![0.0; nodes.len()],
        incoming: vec![0.0; nodes.len()],
        far: vec![[Seconds(0.0); 2]; nodes.len()],
        pairs: Vec::new(),
    };
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        for flow in &job.flows {
            let (sender, receiver) = (flow.source.global(first), flow.destination.global(first));
            let (from, to) = (sender.index(), receiver.index());
            if nodes[from] != nodes[to] {
                sums.out[from] += flow.bytes as f64;
                sums.incoming[to] += flow.bytes as f64;
                let far = far(flow.messages, flow.bytes);
                sums.far[from][0].0 += far;
                sums.far[to][1].0 += far;
                sums.pairs.extend(any_rail.then_some((sender, receiver)));
            }
        }
        for source in &job.sources {
            let leaving = source.sends.iter().filter(|send| send.destination == OUTSIDE);
            for send in leaving {
                let (rank, rounds) = (source.rank.global(first).index(), source.rounds as f64);
                sums.out[rank] += rounds * send.length.0 as f64;
                sums.far[rank][0].0 += rounds * far(1, send.length.0);
            }
        }
    }
    sums
}

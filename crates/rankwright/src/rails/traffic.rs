//! What ranks send to other nodes under a placement.

use crate::cluster::{Cluster, NodeGroup};
use crate::ids::NodeId;
use crate::network::FarDevice;
use crate::placement::Placement;
use crate::traffic::Workload;
use crate::traffic::source::OUTSIDE;
use crate::units::Bytes;

/// Bytes between nodes, by rank counted over all jobs.
#[derive(Debug, Clone, Default)]
pub(super) struct BetweenNodes {
    pub(super) out: Vec<f64>,
    pub(super) incoming: Vec<f64>,
    /// How much longer a rank's core has to do with what it sends and with what it receives if all of
    /// that goes through devices beside another package, seconds.
    pub(super) far: Vec<[f64; 2]>,
    /// Pairs of ranks on different nodes that exchange something; none where no device has a rail.
    pub(super) pairs: Vec<(usize, usize)>,
}

pub(super) fn between_nodes(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
) -> BetweenNodes {
    let far = |messages: u64, bytes: u64| {
        let length = Bytes(bytes / messages.max(1));
        messages as f64 * FarDevice::Core.core_time(&cluster.rates, length).0
    };
    let has_rail = |group: &NodeGroup| group.machine.nics.iter().any(|nic| nic.rail.is_some());
    let any_rail = cluster.groups.iter().any(has_rail);
    let nodes: Vec<NodeId> = placement.ranks().map(|place| place.node).collect();
    let mut sums = BetweenNodes {
        out: vec![0.0; nodes.len()],
        incoming: vec![0.0; nodes.len()],
        far: vec![[0.0; 2]; nodes.len()],
        pairs: Vec::new(),
    };
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        for flow in &job.flows {
            let [from, to] = [flow.source, flow.destination].map(|rank| rank.global(first).index());
            if nodes[from] != nodes[to] {
                sums.out[from] += flow.bytes as f64;
                sums.incoming[to] += flow.bytes as f64;
                let far = far(flow.messages, flow.bytes);
                sums.far[from][0] += far;
                sums.far[to][1] += far;
                sums.pairs.extend(any_rail.then_some((from, to)));
            }
        }
        for source in &job.sources {
            let leaving = source.sends.iter().filter(|send| send.destination == OUTSIDE);
            for send in leaving {
                let (rank, rounds) = (source.rank.global(first).index(), source.rounds as f64);
                sums.out[rank] += rounds * send.length.0 as f64;
                sums.far[rank][0] += rounds * far(1, send.length.0);
            }
        }
    }
    sums
}

//! Small clusters for tests, described in a few numbers.

use rankwright::cluster::{
    Cluster, ClusterDescription, Core, Machine, Nic, Node, NodeGroup, NumaNode, Pu, Rates, Switch,
};
use rankwright::ids::{CoreId, NumaId, PuId};
use rankwright::units::BytesPerSecond;

/// A kind of node: packages, NUMA nodes in each, cores in each of those, PUs in each of those.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind(pub(crate) u32, pub(crate) u32, pub(crate) u32, pub(crate) u32);

/// A cluster with these numbers of nodes of each kind, 1 GB/s for each node, no switches.
pub(crate) fn cluster(kinds: &[(usize, Kind)]) -> Cluster {
    let mut nodes = Vec::new();
    for (group, (count, _)) in kinds.iter().enumerate() {
        for _ in 0..*count {
            nodes.push(Node { name: format!("node{}", nodes.len()), group, switch: None });
        }
    }
    let description = ClusterDescription {
        name: "test".to_owned(),
        emulated: false,
        rates: Rates::named("paper-2013").unwrap(),
        invented: false,
        groups: kinds.iter().map(|(_, kind)| group(*kind)).collect(),
        nodes,
        switches: Vec::new(),
    };
    description.build().unwrap()
}

/// 4 nodes of 4 cores.
pub(crate) fn four_by_four() -> Cluster {
    cluster(&[(4, Kind(1, 1, 4, 1))])
}

/// The cluster with its nodes under switches of `each` nodes, and one switch above those.
pub(crate) fn with_switches(cluster: Cluster, each: usize) -> Cluster {
    let leaves = cluster.nodes.len().div_ceil(each);
    let switch = |index: usize| Switch {
        name: format!("switch{index}"),
        parent: (index < leaves).then_some(leaves),
        uplink: None,
    };
    let change = |parts: &mut ClusterDescription| {
        for (index, node) in parts.nodes.iter_mut().enumerate() {
            node.switch = Some(index / each);
        }
        parts.switches = (0..=leaves).map(switch).collect();
    };
    cluster.edit(change).unwrap()
}

/// The cluster with uplinks of this bandwidth at all switches.
pub(crate) fn with_uplinks(cluster: Cluster, uplink: BytesPerSecond) -> Cluster {
    let change = |parts: &mut ClusterDescription| {
        parts.switches.iter_mut().for_each(|switch| switch.uplink = Some(uplink));
    };
    cluster.edit(change).unwrap()
}

/// The cluster with the PUs of some cores (L#) of the first kind of node taken.
pub(crate) fn without_cores(cluster: Cluster, taken: &[u32]) -> Cluster {
    let change = |parts: &mut ClusterDescription| {
        let NodeGroup { machine, free, .. } = &mut parts.groups[0];
        for (pu, free) in machine.pus.iter().zip(free) {
            *free &= !taken.contains(&pu.core.0);
        }
    };
    cluster.edit(change).unwrap()
}

/// The cluster with two network devices in each node: `fast` at 3 GB/s and `slow` at 1 GB/s.
pub(crate) fn with_two_nics(cluster: Cluster) -> Cluster {
    let nic = |name: &str, bandwidth| Nic {
        bandwidth: Some(BytesPerSecond(bandwidth)),
        ..Nic::new(name)
    };
    let change = |parts: &mut ClusterDescription| {
        for group in &mut parts.groups {
            group.machine.nics = vec![nic("fast", 3e9), nic("slow", 1e9)];
        }
    };
    cluster.edit(change).unwrap()
}

fn group(Kind(packages, numa_nodes, cores, pus): Kind) -> NodeGroup {
    let count = packages * numa_nodes * cores;
    // As on most machines: first threads of all cores first.
    let pu = |core: u32, thread: u32| PuId(core + thread * count);
    let core = |index: u32| Core {
        package: (index / cores / numa_nodes) as usize,
        numa: NumaId(index / cores),
        cache: None,
        pus: (0..pus).map(|thread| pu(index, thread)).collect(),
    };
    let machine = Machine {
        packages: packages as usize,
        numa_nodes: (0..packages * numa_nodes).map(NumaNode::new).collect(),
        cores: (0..count).map(core).collect(),
        pus: (0..count)
            .flat_map(|core| {
                (0..pus).map(move |thread| Pu { id: pu(core, thread), core: CoreId(core) })
            })
            .collect(),
        ..Machine::default()
    };
    NodeGroup::all_free(machine)
}

//! The nodes of a cluster.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cluster::{Cluster, Machine as Hardware, NodeGroup};
use crate::ids::{NodeId, NumaId};

/// The nodes that placements use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// The name of the cluster.
    pub name: String,
    /// Where its rates come from.
    pub rates: String,
    /// The nodes, in the order of the cluster.
    pub nodes: Vec<MachineNode>,
    /// Number of nodes that are left out because no placement uses them.
    pub other_nodes: usize,
    /// The node types.
    pub types: Vec<NodeType>,
    /// The switches above these nodes.
    pub switches: Vec<MachineSwitch>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineNode {
    /// The host name.
    pub name: String,
    /// Position in [`Machine::types`].
    #[serde(rename = "type")]
    pub node_type: usize,
    /// Position in [`Machine::switches`].
    pub switch: Option<usize>,
}

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineSwitch {
    /// Its name.
    pub name: String,
    /// The switch above: position in [`Machine::switches`].
    pub parent: Option<usize>,
}

/// The hardware of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeType {
    /// Number of cores.
    pub cores: usize,
    /// Number of PUs.
    pub pus: usize,
    /// The packages.
    pub packages: Vec<Package>,
    /// The network devices.
    pub nics: Vec<Device>,
    /// The GPUs.
    pub gpus: Vec<Device>,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its NUMA nodes.
    pub numa: Vec<NumaCores>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NumaCores {
    /// L# within the node.
    pub index: usize,
    /// Its size, where known.
    pub memory_bytes: Option<u64>,
    /// Its cores, L#.
    pub cores: Vec<usize>,
}

/// A network device or GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The nearest NUMA nodes, L#.
    pub near: Vec<usize>,
    /// Bytes per second each way; `None` for a GPU.
    pub bandwidth: Option<f64>,
}

impl Machine {
    /// These nodes of a cluster, ascending.
    #[must_use]
    pub fn new(cluster: &Cluster, nodes: &[NodeId]) -> Self {
        let switch_of = switches(cluster, nodes);
        let mut types: BTreeMap<usize, usize> = BTreeMap::new();
        for id in nodes {
            types.entry(cluster.node(*id).group).or_default();
        }
        types.values_mut().enumerate().for_each(|(number, position)| *position = number);
        let node = |id: &NodeId| {
            let node = cluster.node(*id);
            MachineNode {
                name: node.name.clone(),
                node_type: types[&node.group],
                switch: node.switch.map(|switch| switch_of[&switch]),
            }
        };
        let switch = |at: &usize| {
            let switch = &cluster.switches[*at];
            let parent = switch.parent.map(|parent| switch_of[&parent]);
            MachineSwitch { name: switch.name.clone(), parent }
        };
        Self {
            name: cluster.name.clone(),
            rates: rates(cluster),
            nodes: nodes.iter().map(node).collect(),
            other_nodes: cluster.nodes.len() - nodes.len(),
            types: types.keys().map(|group| node_type(cluster, *group)).collect(),
            switches: switch_of.keys().map(switch).collect(),
        }
    }
}

/// Where the rates of a cluster come from: `assumed: typical`, or `measured on 2026-11-23, spread at most
/// 3 %`.
pub(super) fn rates(cluster: &Cluster) -> String {
    let rates = &cluster.rates;
    let Some(calibration) = rates.calibration.as_ref().filter(|_| rates.calibrated) else {
        let how = if rates.calibrated { "calibrated" } else { "assumed" };
        return format!("{how}: {}", rates.name);
    };
    let spread = calibration.measured.iter().map(|rate| rate.spread).fold(0.0, f64::max);
    match calibration.measured.is_empty() {
        true => format!("measured on {}", calibration.date),
        false => {
            format!("measured on {}, spread at most {:.1} %", calibration.date, 100.0 * spread)
        }
    }
}

/// The switches above some nodes, by position in the cluster: their positions in the report.
fn switches(cluster: &Cluster, nodes: &[NodeId]) -> BTreeMap<usize, usize> {
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    for id in nodes {
        let mut above = cluster.node(*id).switch;
        while let Some(switch) = above.filter(|switch| !found.contains_key(switch)) {
            found.insert(switch, 0);
            above = cluster.switches[switch].parent;
        }
    }
    found.values_mut().enumerate().for_each(|(number, position)| *position = number);
    found
}

fn node_type(cluster: &Cluster, group: usize) -> NodeType {
    let NodeGroup { machine, .. } = &cluster.groups[group];
    let rates = &cluster.hardware_rates(group).nics;
    let near = |near: &[NumaId]| near.iter().map(|numa| numa.index()).collect();
    NodeType {
        cores: machine.cores.len(),
        pus: machine.pus.len(),
        packages: (0..machine.packages).map(|at| package(machine, at)).collect(),
        nics: (machine.nics.iter().zip(rates))
            .map(|(nic, rates)| Device {
                name: nic.name.clone(),
                near: near(&nic.near),
                bandwidth: Some(rates.bandwidth.value.0),
            })
            .collect(),
        gpus: (machine.gpus.iter())
            .map(|gpu| Device { name: gpu.name.clone(), near: near(&gpu.near), bandwidth: None })
            .collect(),
    }
}

/// The NUMA nodes that cores of a package have, or that are attached to it.
fn package(machine: &Hardware, package: usize) -> Package {
    let mut cores: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, core) in machine.cores.iter().enumerate().filter(|(_, core)| core.package == package) {
        cores.entry(core.numa.index()).or_default().push(at);
    }
    for (at, _) in machine.numa_nodes.iter().enumerate().filter(|(_, n)| n.package == Some(package))
    {
        cores.entry(at).or_default();
    }
    let numa = |(index, cores): (usize, Vec<usize>)| NumaCores {
        index,
        memory_bytes: machine.numa_nodes[index].memory.map(|bytes| bytes.0),
        cores,
    };
    Package { numa: cores.into_iter().map(numa).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster;

    #[test]
    fn only_the_nodes_in_use_and_the_switches_above_them_are_listed() {
        let cluster = cluster::open("paper:2013").unwrap();
        let nodes: Vec<NodeId> = cluster.node_ids().skip(1).take(2).collect();
        let machine = Machine::new(&cluster, &nodes);
        assert_eq!((machine.nodes.len(), machine.other_nodes), (2, cluster.nodes.len() - 2));
        let NodeType { cores, packages, .. } = &machine.types[0];
        let listed: usize =
            packages.iter().flat_map(|p| &p.numa).map(|numa| numa.cores.len()).sum();
        assert_eq!((*cores, packages.len()), (listed, cluster.groups[0].machine.packages));
        assert_eq!(machine.rates, "assumed: paper-2013");
    }
}

//! `rankwright cluster check`: what was read, and what is doubtful about it.

use clap::Args;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::ids::NodeId;
use rankwright::units::counted;

use super::Named;
use crate::cli::Verbosity;
use crate::output;

/// Options of `rankwright cluster check`.
#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    named: Named,
}

impl Check {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let cluster = self.named.read()?;
        for warning in warnings(&cluster) {
            output::warn(verbosity, warning);
        }
        let lines = group_lines(&cluster);
        output::print(&(lines.join("\n") + "\n"))
    }
}

/// One line for each group: names, hardware, how much of it is free.
pub(super) fn group_lines(cluster: &Cluster) -> Vec<String> {
    let line = |(index, group): (usize, &rankwright::cluster::NodeGroup)| {
        let names = names_of_group(cluster, index);
        let free = group.free.iter().filter(|free| **free).count();
        let nodes = counted(names.len(), "node");
        let free = if free == group.free.len() { "all".to_owned() } else { free.to_string() };
        let names = hostlist::compress(&names);
        format!("{names}: {nodes} of {}; {free} PUs free", group.machine)
    };
    cluster.groups.iter().enumerate().map(line).collect()
}

/// The names of all nodes of a group.
pub(super) fn names_of_group(cluster: &Cluster, group: usize) -> Vec<&str> {
    let nodes = cluster.nodes.iter().filter(|node| node.group == group);
    nodes.map(|node| node.name.as_str()).collect()
}

fn warnings(cluster: &Cluster) -> Vec<String> {
    let mut warnings = Vec::new();
    let rates = &cluster.rates;
    if !rates.calibrated {
        let name = &rates.name;
        warnings.push(format!("the rates ({name}) are assumed, nobody measured them here"));
    }
    for (index, group) in cluster.groups.iter().enumerate() {
        let names = hostlist::compress(&names_of_group(cluster, index));
        let machine = &group.machine;
        if !group.free.contains(&true) {
            warnings.push(format!("{names}: no PU is free, no rank can run there"));
        }
        if machine.nics.is_empty() {
            let rate = rates.nic_bandwidth;
            warnings.push(format!("{names}: no NIC; one of {rate} for the node is assumed"));
        }
        for nic in machine.nics.iter().filter(|nic| nic.known_bandwidth().is_none()) {
            let (name, rate) = (&nic.name, rates.nic_bandwidth);
            warnings.push(format!("{names}: NIC {name} has no bandwidth; {rate} is assumed"));
        }
        if machine.numa_nodes.len() > 2 && machine.numa_distance.is_none() {
            let which = "which of the NUMA nodes are near each other is not known";
            warnings.push(format!("{names}: no numa_distance; {which}"));
        }
    }
    let outside: Vec<&str> = cluster
        .node_ids()
        .map(|id: NodeId| cluster.node(id))
        .filter(|node| node.switch.is_none())
        .map(|node| node.name.as_str())
        .collect();
    if !cluster.switches.is_empty() && !outside.is_empty() {
        warnings.push(format!("{}: at no switch", hostlist::compress(&outside)));
    }
    let tops = cluster.switches.iter().filter(|switch| switch.parent.is_none()).count();
    if tops > 1 {
        warnings.push(format!("{tops} switches have none above them: the tree is in pieces"));
    }
    warnings
}

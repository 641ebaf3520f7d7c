//! `rankwright cluster check`: a summary of the description, with warnings.

use clap::Args;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::ids::NodeId;

use super::description::{group_lines, names_of_group};
use super::named::Named;
use crate::output::{self, Verbosity};

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

fn warnings(cluster: &Cluster) -> Vec<String> {
    let mut warnings = Vec::new();
    let rates = &cluster.rates;
    if !rates.calibrated {
        let name = &rates.name;
        warnings.push(format!("the rates ({name}) are assumed, not measured on this cluster"));
    }
    for (index, group) in cluster.groups.iter().enumerate() {
        let names = hostlist::compress(&names_of_group(cluster, index));
        let machine = &group.machine;
        if !group.free.contains(&true) {
            warnings.push(format!("{names}: no PU is free, so no rank can run there"));
        }
        if machine.nics.is_empty() {
            let rate = rates.nic_bandwidth;
            warnings.push(format!("{names}: no NIC; one NIC of {rate} per node is assumed"));
        }
        for nic in machine.nics.iter().filter(|nic| nic.known_bandwidth().is_none()) {
            let (name, rate) = (&nic.name, rates.nic_bandwidth);
            warnings.push(format!("{names}: NIC {name} has no bandwidth; {rate} is assumed"));
        }
        if machine.numa_nodes.len() > 2 && machine.numa_distance.is_none() {
            let which = "the distances between NUMA nodes are not known";
            warnings.push(format!("{names}: no numa_distance; {which}"));
        }
    }
    warnings.extend(foreign_rails(cluster));
    let outside: Vec<&str> = cluster
        .node_ids()
        .map(|id: NodeId| cluster.node(id))
        .filter(|node| node.switch.is_none())
        .map(|node| node.name.as_str())
        .collect();
    if !cluster.switches.is_empty() && !outside.is_empty() {
        warnings.push(format!("{}: not connected to a switch", hostlist::compress(&outside)));
    }
    let tops = cluster.switches.iter().filter(|switch| switch.parent.is_none()).count();
    if tops > 1 {
        warnings.push(format!("{tops} switches have no switch above: the tree is not connected"));
    }
    warnings
}

/// Groups of nodes without a rail in common with the first group that has rails.
fn foreign_rails(cluster: &Cluster) -> Vec<String> {
    let rails = |group: usize| -> Vec<u32> {
        let mut rails: Vec<u32> =
            cluster.groups[group].machine.nics.iter().filter_map(|nic| nic.rail).collect();
        rails.sort_unstable();
        rails.dedup();
        rails
    };
    let railed: Vec<usize> =
        (0..cluster.groups.len()).filter(|group| !rails(*group).is_empty()).collect();
    let Some((first, others)) = railed.split_first() else { return Vec::new() };
    let names = |group: usize| hostlist::compress(&names_of_group(cluster, group));
    let of_first = rails(*first);
    let foreign =
        others.iter().filter(|group| !rails(**group).iter().any(|r| of_first.contains(r)));
    let warning = |group: &usize| {
        format!(
            "{}: no rail in common with {}; ranks that communicate between them use all devices",
            names(*group),
            names(*first)
        )
    };
    foreign.map(warning).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rankwright::cluster::read::toml;

    use super::*;

    #[test]
    fn nodes_without_a_common_rail_are_told() {
        let cluster = |rails: [[u32; 2]; 3]| {
            let node = |(number, rails): (usize, &[u32; 2])| {
                let nic = |rail: &u32| format!("{{ name = \"mlx5_{rail}\", rail = {rail} }}");
                let nics: Vec<String> = rails.iter().map(nic).collect();
                let nics = nics.join(", ");
                format!(
                    "[[node]]\nnames = \"n{number}\"\ntopology = \"core:2 pu:1\"\nnic = [{nics}]\n"
                )
            };
            let nodes: String = rails.iter().enumerate().map(node).collect();
            toml::parse(&format!("name = \"rails\"\n{nodes}"), "cluster.toml", Path::new("."))
                .expect("it is one")
        };
        assert_eq!(foreign_rails(&cluster([[0, 1], [1, 2], [0, 2]])), [""; 0]);
        let expected =
            "n2: no rail in common with n0; ranks that communicate between them use all devices";
        assert_eq!(foreign_rails(&cluster([[0, 1], [1, 2], [2, 3]])), [expected]);
    }
}

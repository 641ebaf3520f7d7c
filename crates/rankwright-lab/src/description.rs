//! The description of a lab, as commands take it with `--on`.

use std::fmt::Write;

use crate::network::{self, Network, Tiers, data_device};
use crate::rate::rate_text;
use crate::state::LabName;

/// Packages of a node with this number of network devices, each with one NUMA node. Devices are near one
/// of two NUMA nodes; with one device that makes no difference.
pub(crate) fn packages(nics: u32) -> u32 {
    if nics > 1 { 2 } else { 1 }
}

/// The `cluster.toml` of a lab.
pub(crate) fn text(name: &LabName, nodes: u32, cores: u32, network: &Network) -> String {
    let nodes = network::hostlist("node", 0, nodes, nodes);
    let topology = match packages(network.nics) {
        1 => format!("pack:1 core:{cores} pu:1"),
        packages => format!("pack:{packages} numa:1 core:{} pu:1", cores / packages),
    };
    let mut text = format!(
        "# An emulated cluster on one machine: its cores do not exist.\n\
         format = 2\n\
         name = \"{name}\"\n\
         emulated = true\n\
         \n\
         [[node]]\n\
         names = \"{nodes}\"\n\
         topology = \"{topology}\"\n",
    );
    text += &devices(network);
    text += &network.tiers.as_ref().map(switches).unwrap_or_default();
    text
}

fn devices(network: &Network) -> String {
    let mut text = String::new();
    for device in network.devices() {
        let _ = write!(text, "\n[[node.nic]]\nname = \"{}\"\n", data_device(device));
        if network.nics > 1 {
            let _ = writeln!(text, "near = \"numa:{}\"", device * 2 / network.nics);
        }
        let _ = writeln!(text, "bandwidth = \"{}\"", rate_text(network.nic));
        if let Some(delay) = network.delay {
            let _ = writeln!(text, "latency = \"{delay}\"");
        }
    }
    text
}

fn switches(tiers: &Tiers) -> String {
    let switches = tiers.switches();
    let (leaves, nodes) = (tiers.nodes() / tiers.nodes_per_leaf(), tiers.nodes());
    let first_leaf = switches.len() - leaves as usize;
    let mut text = String::new();
    for (index, switch) in switches.iter().enumerate() {
        let _ = write!(text, "\n[[switch]]\nname = \"{}\"\n", switch.name);
        if index >= first_leaf {
            let first = (index - first_leaf) as u32 * tiers.nodes_per_leaf();
            let list = network::hostlist("node", first, tiers.nodes_per_leaf(), nodes);
            let _ = writeln!(text, "nodes = \"{list}\"");
        } else {
            let below = switches.iter().filter(|below| below.parent == Some(index));
            let below: Vec<&str> = below.map(|below| below.name.as_str()).collect();
            let _ = writeln!(text, "switches = \"{}\"", below.join(","));
        }
        if let Some(rate) = switch.uplink {
            let _ = writeln!(text, "uplink = \"{}\"", rate_text(rate));
        }
    }
    text
}

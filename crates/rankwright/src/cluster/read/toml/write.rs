//! Writes `cluster.toml`.

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use super::{FORMAT, rates};
use crate::cluster::read::synthetic;
use crate::cluster::{Cluster, Gpu, GpuVendor, Link, Machine, Nic, NodeGroup, hostlist};
use crate::ids::{NumaId, format_index_list};
use crate::units::{BytesPerSecond, Seconds};

/// The `cluster.toml` of a cluster; [`parse`](super::parse) reads it back as an equal cluster.
/// Neighbouring nodes of one group are one table; a group whose nodes are not all neighbours is
/// written once for each run of them.
#[must_use]
pub fn write(cluster: &Cluster) -> String {
    let mut text = format!("format = {FORMAT}\nname = {}\n", quoted(&cluster.name));
    if cluster.emulated {
        text += "emulated = true\n";
    }
    text += &rates::write(&cluster.rates);
    let mut rest = cluster.nodes.as_slice();
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|node| node.group == first.group).count();
        let names: Vec<&str> = rest[..run].iter().map(|node| node.name.as_str()).collect();
        group(&mut text, &names, &cluster.groups[first.group]);
        rest = &rest[run..];
    }
    switches(&mut text, cluster);
    text
}

fn group(text: &mut String, names: &[&str], group: &NodeGroup) {
    let machine = &group.machine;
    *text += "\n[[node]]\n";
    line(text, "names", quoted(&hostlist::compress(names)));
    if let Some(processor) = &machine.processor {
        line(text, "processor", quoted(processor));
    }
    let described = match topology(machine) {
        Some(topology) => {
            line(text, "topology", quoted(&topology));
            synthetic::parse(&topology).unwrap_or_default()
        }
        None => {
            cores(text, machine);
            Machine::default()
        }
    };
    if group.free.iter().any(|free| !free) {
        let free: Vec<u32> =
            (0..).zip(&group.free).filter(|(_, free)| **free).map(|(i, _)| i).collect();
        line(text, "free", quoted(&format_index_list(&free)));
    }
    if group.speed != 1.0 {
        line(text, "speed", format!("{:?}", group.speed));
    }
    if let Some(distance) = &machine.numa_distance {
        let rows: Vec<String> = distance.iter().map(|row| format!("{row:?}")).collect();
        line(text, "numa_distance", format!("[\n  {},\n]", rows.join(",\n  ")));
    }
    if described.numa_nodes != machine.numa_nodes {
        memories(text, machine);
    }
    machine.nics.iter().for_each(|device| nic(text, device));
    machine.gpus.iter().for_each(|device| gpu(text, device));
}

/// A synthetic string with the cores of the machine, if there is one. Its NUMA nodes may differ from
/// the machine's in P#, size and kind.
fn topology(machine: &Machine) -> Option<String> {
    let packages = machine.packages;
    let numa = machine.numa_nodes.len();
    let caches =
        machine.cores.iter().filter_map(|core| core.cache).max().map(|last| last as usize + 1);
    let cores = machine.cores.len();
    let (memory, indexes) = (memory_attribute(machine), indexes_attribute(machine));
    // The order of levels does not follow from the counts: try all, and keep the one that fits.
    let pack = ("pack", packages, "");
    let numa = ("numa", numa, memory.as_str());
    let level = machine.cache_level.map_or("l3".to_owned(), |level| format!("l{level}"));
    let cache = (level.as_str(), caches.unwrap_or(1), "");
    let core = ("core", cores, "");
    let pu = ("pu", machine.pus.len(), indexes.as_str());
    let orders: [&[_]; 4] = match caches {
        Some(_) => [
            &[pack, numa, cache, core, pu],
            &[pack, cache, numa, core, pu],
            &[numa, pack, cache, core, pu],
            &[cache, pack, numa, core, pu],
        ],
        None => [&[pack, numa, core, pu], &[numa, pack, core, pu], &[], &[]],
    };
    let text = orders.iter().filter_map(|order| level_counts(order)).find(|text| {
        synthetic::parse(text).is_ok_and(|parsed| {
            parsed.cores == machine.cores
                && parsed.pus == machine.pus
                && parsed.packages == machine.packages
                && parsed.cache_level == machine.cache_level
                && parsed.numa_nodes.len() == machine.numa_nodes.len()
        })
    })?;
    Some(text)
}

/// `(memory=64GB)`, if all NUMA nodes have that size.
fn memory_attribute(machine: &Machine) -> String {
    let memory = machine.numa_nodes[0].memory;
    match memory {
        Some(size) if machine.numa_nodes.iter().all(|node| node.memory == memory) => {
            let text = match size.0 {
                bytes if bytes.is_multiple_of(1_000_000_000) => {
                    format!("{}GB", bytes / 1_000_000_000)
                }
                _ => size.to_string().replace(' ', ""),
            };
            format!("(memory={text})")
        }
        _ => String::new(),
    }
}

/// `(indexes=..)`, if P# of the PUs are not in order. There is a short form for the usual numbering by
/// Linux: the first PUs of all cores before all second ones.
fn indexes_attribute(machine: &Machine) -> String {
    let numbers: Vec<usize> = machine.pus.iter().map(|pu| pu.id.index()).collect();
    let cores = machine.cores.len();
    let threads = numbers.len() / cores;
    let numbered = |number: fn(usize, usize, usize) -> usize| {
        numbers.iter().enumerate().all(|(pu, id)| *id == number(pu, cores, threads))
    };
    if numbered(|pu, _, _| pu) {
        String::new()
    } else if numbered(|pu, cores, threads| pu / threads % cores + pu % threads * cores) {
        format!("(indexes={threads}*{cores}:1*{threads})")
    } else {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!("(indexes={})", numbers.join(","))
    }
}

/// `pack:2 numa:1 ..` from the total number of objects of each level.
fn level_counts(levels: &[(&str, usize, &str)]) -> Option<String> {
    let mut above = 1;
    let mut words = Vec::new();
    for (name, total, attributes) in levels {
        if *total < above || !total.is_multiple_of(above) {
            return None;
        }
        words.push(format!("{name}:{}{attributes}", total / above));
        above = *total;
    }
    (!words.is_empty()).then(|| words.join(" "))
}

fn cores(text: &mut String, machine: &Machine) {
    *text += "cores = [\n";
    for core in &machine.cores {
        let cache = core.cache.map(|cache| format!(" cache:{cache}")).unwrap_or_default();
        let pus: Vec<String> = core.pus.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "  \"package:{} numa:{}{cache} pus:{}\",",
            core.package,
            core.numa,
            pus.join(",")
        );
    }
    *text += "]\n";
    if let Some(level) = machine.cache_level {
        line(text, "cache_level", level);
    }
}

fn memories(text: &mut String, machine: &Machine) {
    for node in &machine.numa_nodes {
        *text += "\n[[node.numa]]\n";
        line(text, "os_index", node.os_index);
        if let Some(memory) = node.memory {
            line(text, "memory", quoted(&memory.to_string()));
        }
        if let Some(package) = node.package {
            line(text, "package", package);
        }
        if let Some(all) = node.package_numa_nodes {
            line(text, "package_numa_nodes", all);
        }
        if let Some(kind) = &node.kind {
            line(text, "kind", quoted(kind));
        }
        for access in &node.access {
            *text += "\n[[node.numa.access]]\n";
            if access.cores.len() < machine.cores.len() {
                let cores: Vec<u32> = access.cores.iter().map(|core| core.0).collect();
                line(text, "cores", quoted(&format_index_list(&cores)));
            }
            if let Some(rate) = access.bandwidth {
                line(text, "bandwidth", bandwidth(rate));
            }
            if let Some(time) = access.latency {
                line(text, "latency", latency(time));
            }
        }
    }
}

fn nic(text: &mut String, nic: &Nic) {
    *text += "\n[[node.nic]]\n";
    line(text, "name", quoted(&nic.name));
    if !nic.aliases.is_empty() {
        let aliases: Vec<String> = nic.aliases.iter().map(|alias| quoted(alias)).collect();
        line(text, "aliases", format!("[{}]", aliases.join(", ")));
    }
    near(text, &nic.near);
    if let Some(rate) = nic.bandwidth {
        line(text, "bandwidth", bandwidth(rate));
    }
    if let Some(time) = nic.latency {
        line(text, "latency", latency(time));
    }
    if let Some(contexts) = nic.contexts {
        line(text, "contexts", contexts);
    }
    if let Some(pci) = &nic.pci {
        line(text, "pci", quoted(pci));
    }
    if let Some(id) = nic.pci_id {
        line(text, "pci_id", quoted(&id.to_string()));
    }
    if let Some(rate) = nic.pci_bandwidth {
        line(text, "pci_bandwidth", bandwidth(rate));
    }
    if let Some(rail) = nic.rail {
        line(text, "rail", rail);
    }
    if let Some(mpi) = nic.mpi {
        line(text, "mpi", mpi);
    }
    for port in &nic.ports {
        *text += "\n[[node.nic.port]]\n";
        line(text, "number", port.number);
        if let Some(link) = port.link {
            line(text, "link", quoted(if link == Link::Up { "up" } else { "down" }));
        }
        if let Some(rate) = port.bandwidth {
            line(text, "bandwidth", bandwidth(rate));
        }
    }
}

fn gpu(text: &mut String, gpu: &Gpu) {
    *text += "\n[[node.gpu]]\n";
    line(text, "name", quoted(&gpu.name));
    near(text, &gpu.near);
    if let Some(pci) = &gpu.pci {
        line(text, "pci", quoted(pci));
    }
    if let Some(vendor) = gpu.vendor.filter(|_| GpuVendor::of_name(&gpu.name) != gpu.vendor) {
        line(text, "vendor", quoted(vendor.name()));
    }
}

fn near(text: &mut String, near: &[NumaId]) {
    if !near.is_empty() {
        let numbers: Vec<u32> = near.iter().map(|numa| numa.0).collect();
        line(text, "near", quoted(&format!("numa:{}", format_index_list(&numbers))));
    }
}

fn switches(text: &mut String, cluster: &Cluster) {
    for (index, switch) in cluster.switches.iter().enumerate() {
        *text += "\n[[switch]]\n";
        line(text, "name", quoted(&switch.name));
        let nodes = cluster.nodes.iter().filter(|node| node.switch == Some(index));
        let nodes: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
        let below = cluster.switches.iter().filter(|switch| switch.parent == Some(index));
        let below: Vec<&str> = below.map(|switch| switch.name.as_str()).collect();
        for (field, names) in [("nodes", nodes), ("switches", below)] {
            if !names.is_empty() {
                line(text, field, quoted(&hostlist::compress(&names)));
            }
        }
        if let Some(rate) = switch.uplink {
            line(text, "uplink", bandwidth(rate));
        }
    }
}

pub(super) fn line(text: &mut String, field: &str, value: impl Display) {
    let _ = writeln!(text, "{field} = {value}");
}

pub(super) fn quoted(text: &str) -> String {
    ::toml::Value::from(text).to_string()
}

pub(super) fn bandwidth(rate: BytesPerSecond) -> String {
    exact(rate, format!("{} B/s", rate.0))
}

pub(super) fn latency(time: Seconds) -> String {
    exact(time, format!("{} s", time.0))
}

/// The text with a unit prefix if it reads back as an equal number, else `plain`.
pub(super) fn exact<T: Display + FromStr + PartialEq>(value: T, plain: String) -> String {
    let text = value.to_string();
    quoted(if text.parse().is_ok_and(|parsed: T| parsed == value) { &text } else { &plain })
}

//! What is doubtful in the description of a cluster: what `cluster check` and reports warn of.

mod unlikely;

use rankwright::cluster::{Cluster, HardwareRates, Machine, Nic, WithoutMpi, hostlist};
use rankwright::ids::{NodeId, NumaId};
use rankwright::units::BytesPerSecond;

use unlikely::unlikely;

/// A doubtful value of a description.
pub(crate) struct Doubt {
    /// A sentence.
    pub(crate) text: String,
    /// The lines of cluster.toml that mend it, with values to correct; `None` if they are not known.
    pub(crate) lines: Option<String>,
}

impl Doubt {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), lines: None }
    }

    /// Mended by these lines at some place of cluster.toml.
    fn lines(self, place: &str, lines: &str) -> Self {
        Self { lines: Some(format!("# cluster.toml, {place}\n{lines}")), ..self }
    }

    /// As a doubt of these nodes.
    fn of(self, names: &str) -> Self {
        Self { text: format!("{names}: {}", self.text), ..self }
    }
}

/// A sentence for each doubtful value of a description.
pub(crate) fn warnings(cluster: &Cluster) -> Vec<String> {
    let rates = &cluster.rates;
    let assumed = (!rates.calibrated)
        .then(|| format!("the rates ({}) are assumed, not measured on this cluster", rates.name));
    assumed.into_iter().chain(doubts(cluster).into_iter().map(|doubt| doubt.text)).collect()
}

/// As [`warnings`], without that rates are assumed.
pub(crate) fn doubts(cluster: &Cluster) -> Vec<Doubt> {
    let groups = 0..cluster.groups.len();
    let mut doubts: Vec<Doubt> = groups.flat_map(|group| of_group(cluster, group)).collect();
    doubts.extend(foreign_rails(cluster).into_iter().map(Doubt::new));
    let outside: Vec<&str> = cluster
        .node_ids()
        .map(|id: NodeId| cluster.node(id))
        .filter(|node| node.switch.is_none())
        .map(|node| node.name.as_str())
        .collect();
    if !cluster.switches.is_empty() && !outside.is_empty() {
        let names = hostlist::compress(&outside);
        let lines = format!("[[switch]]\nname = \"switch\"\nnodes = \"{names}\"");
        let doubt = Doubt::new(format!("{names}: not connected to a switch"));
        doubts.push(doubt.lines("the switch of these nodes", &lines));
    }
    let tops = cluster.switches.iter().filter(|switch| switch.parent.is_none()).count();
    if tops > 1 {
        let text = format!("{tops} switches have no switch above: the tree is not connected");
        doubts.push(Doubt::new(text));
    }
    doubts
}

/// The doubtful values of a group of nodes.
fn of_group(cluster: &Cluster, index: usize) -> Vec<Doubt> {
    let (rates, group) = (&cluster.rates, &cluster.groups[index]);
    let (machine, hardware) = (&group.machine, cluster.hardware_rates(index));
    let mut doubts = Vec::new();
    if !group.free.contains(&true) {
        doubts.push(Doubt::new("no PU is free, so no rank can run there"));
    }
    if machine.nics.is_empty() {
        let rate = rates.unknown_nic_bandwidth();
        let lines = format!("[[node.nic]]\nname = \"eth0\"\nbandwidth = \"{rate}\"");
        let doubt = Doubt::new(format!("no NIC; one NIC of {rate} per node is assumed"));
        doubts.push(doubt.lines("behind its [[node]]", &lines));
    }
    doubts.extend(without_bandwidth(machine, hardware));
    doubts.extend(faster_than_memory(machine, hardware));
    if !rates.calibrated {
        doubts.extend(unlikely(machine, hardware).into_iter().map(Doubt::new));
    }
    doubts.extend(management(machine));
    if machine.numa_nodes.len() > 2 && machine.numa_distance.is_none() {
        doubts.push(Doubt::new("no numa_distance; the distances between NUMA nodes are not known"));
    }
    let names = hostlist::compress(&names_of_group(cluster, index));
    doubts.into_iter().map(|doubt| doubt.of(&names)).collect()
}

/// The devices of management networks, and the setting that overrides the rule.
fn management(machine: &Machine) -> Option<Doubt> {
    let is_one = |nic: &&Nic| machine.without_mpi(nic) == Some(WithoutMpi::Management);
    let names: Vec<&str> =
        machine.nics.iter().filter(is_one).map(|nic| nic.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let (names, why) = (names.join(", "), WithoutMpi::Management);
        let text = format!(
            "NIC {names}, {why}; if one does, set `mpi = true` in its [[node.nic]] of cluster.toml"
        );
        Doubt::new(text).lines(&format!("in [[node.nic]] of {names}"), "mpi = true")
    })
}

/// The devices whose bandwidth is assumed.
fn without_bandwidth(machine: &Machine, rates: &HardwareRates) -> Vec<Doubt> {
    let devices = machine.nics.iter().zip(&rates.nics);
    let carry = devices.filter(|(nic, _)| machine.without_mpi(nic).is_none());
    let assumed = carry.filter(|(_, rates)| rates.bandwidth.origin.is_assumed());
    let by_rate = alike(assumed.map(|(nic, rates)| {
        (&*nic.name, (rates.bandwidth.to_string(), rates.bandwidth.value.to_string()))
    }));
    let warning = |(names, (rate, value)): (Vec<&str>, (String, String))| {
        let (which, its) = match names[..] {
            [name] => (format!("NIC {name} has"), "its"),
            _ => (format!("NICs {} have", names.join(", ")), "their"),
        };
        let text = format!(
            "{which} no bandwidth; {rate}: set `bandwidth` in {its} [[node.nic]], or measure it with \
             `rankwright calibrate`"
        );
        let place = format!("in [[node.nic]] of {}", names.join(", "));
        Doubt::new(text).lines(&place, &format!("bandwidth = \"{value}\""))
    };
    by_rate.into_iter().map(warning).collect()
}

/// What is wrong with devices that are faster than the memory which they read and write: that of the
/// NUMA nodes beside them, or of the whole node.
fn faster_than_memory(machine: &Machine, rates: &HardwareRates) -> Vec<Doubt> {
    let rates_of = |(nic, number): (&Nic, usize)| {
        let rate = rates.nics[number].bandwidth.value;
        let all = rates.memories.iter().enumerate();
        let is_beside = |numa| nic.near.is_empty() || nic.near.contains(&NumaId::from_index(numa));
        let beside: Vec<_> = all.filter(|(numa, _)| is_beside(*numa)).map(|(_, it)| it).collect();
        let memory = BytesPerSecond(beside.iter().map(|memory| memory.value.0).sum());
        let is_assumed = beside.iter().any(|memory| memory.origin.is_assumed());
        (rate, memory, if is_assumed { " assumed" } else { "" })
    };
    let faster = machine.mpi_nics().filter_map(|(number, nic)| {
        let (rate, memory, assumed) = rates_of((nic, number));
        (rate.0 > memory.0)
            .then(|| (&*nic.name, (rate.to_string(), format!("{memory:.1}{assumed}"))))
    });
    let warning = |(names, (rate, memory)): (Vec<&str>, (String, String))| {
        let which = match names[..] {
            [name] => format!("NIC {name} ({rate}) is faster than the memory behind it"),
            _ => format!(
                "NICs {} ({rate} each) are faster than the memory behind each",
                names.join(", ")
            ),
        };
        let text = format!(
            "{which} ({memory}): one of the two is wrong; set `memory_bandwidth` in [rates]"
        );
        // At least that of the device.
        let lines = format!("[rates]\nmemory_bandwidth = \"{rate}\"");
        Doubt::new(text).lines("with what a NUMA node has", &lines)
    };
    alike(faster).into_iter().map(warning).collect()
}

/// The names of which the same is told, in the order of the first of each.
fn alike<'a, T: PartialEq>(named: impl Iterator<Item = (&'a str, T)>) -> Vec<(Vec<&'a str>, T)> {
    let mut groups: Vec<(Vec<&str>, T)> = Vec::new();
    for (name, told) in named {
        match groups.iter_mut().find(|(_, other)| *other == told) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], told)),
        }
    }
    groups
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

/// The names of all nodes of a group.
pub(crate) fn names_of_group(cluster: &Cluster, group: usize) -> Vec<&str> {
    let nodes = cluster.nodes.iter().filter(|node| node.group == group);
    nodes.map(|node| node.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rankwright::cluster::read::toml;

    use super::*;

    #[test]
    fn a_device_faster_than_the_memory_behind_it_is_told() {
        let told = |near: &str, memory: &str| {
            let text = format!(
                "[rates]\nmemory_bandwidth = \"{memory}\"\n[[node]]\nnames = \"n[0-1]\"\n\
                 topology = \"pack:2 numa:1 core:2 pu:1\"\n[[node.nic]]\nname = \"mlx5_0\"\n{near}\
                 bandwidth = \"200 Gbit/s\"\n"
            );
            let cluster = toml::parse(&text, "cluster.toml", Path::new(".")).expect("it is one");
            warnings(&cluster).into_iter().filter(|text| text.contains("is faster")).count()
        };
        let near = "near = \"numa:0\"\n";
        let cases = [("", "4 GB/s"), (near, "20 GB/s"), ("", "20 GB/s"), (near, "200 GB/s")];
        assert_eq!(cases.map(|(near, memory)| told(near, memory)), [1, 1, 0, 0]);
    }

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

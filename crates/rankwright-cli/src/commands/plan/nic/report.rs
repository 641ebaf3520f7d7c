//! The result of `nic`.

use std::collections::BTreeMap;

use rankwright::cluster::{Cluster, Link, Nic, NicKind, Port, hostlist};
use rankwright::ids::{NodeId, NumaId};
use rankwright::placement::{DeviceEntry, NodeEntry, PlacementFile, RankEntry, Settings};
use rankwright::rails::fabric::{LocalRanks, Stack};
use rankwright::rails::{distance_from_numa_nodes, gpus};
use serde::Serialize;

use crate::launching::network_stack::set_device_variables;
use crate::options::FabricOptions;

/// Network devices, and the ranks that use them.
#[derive(Debug, Default, Serialize)]
pub(super) struct NicReport {
    /// The selection that chose the devices, if one was given.
    pub(super) selection: Option<String>,
    /// The time that the busiest device needs for the traffic between nodes, and a lower bound of
    /// it for all choices.
    pub(super) busiest_device_s: Option<f64>,
    pub(super) lower_bound_s: Option<f64>,
    /// Another selection for the same placement of ranks.
    pub(super) other: Option<OtherSelection>,
    /// The stack whose variables are shown.
    pub(super) fabric: Option<&'static str>,
    /// The default of the stack, as a sentence.
    pub(super) fabric_default: Option<&'static str>,
    pub(super) devices: Vec<DeviceRow>,
    pub(super) ranks: Vec<RankRow>,
    pub(super) notes: Vec<String>,
}

/// What the busiest device needs by another selection.
#[derive(Debug, Serialize)]
pub(super) struct OtherSelection {
    pub(super) selection: String,
    pub(super) busiest_device_s: f64,
}

/// A device of equal nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct DeviceRow {
    /// A hostlist.
    pub(super) nodes: String,
    pub(super) device: String,
    pub(super) aliases: Vec<String>,
    pub(super) kind: NicKind,
    /// The NUMA nodes beside it, L#.
    pub(super) numa: Vec<NumaId>,
    /// Distance from each NUMA node, by L#; 0: beside the device. Empty without a cluster.
    pub(super) distances: Vec<u32>,
    /// `up`, `down` or `unknown`.
    pub(super) link: &'static str,
    /// Each way; `None` if neither the cluster nor the ports tell.
    pub(super) bandwidth: Option<String>,
    /// `bandwidth` in bytes per second, rounded.
    pub(super) bytes_per_s: Option<u64>,
    pub(super) contexts: Option<u32>,
    pub(super) rail: Option<u32>,
    pub(super) pci: Option<String>,
    /// Number of ranks on each of the nodes that use it; `None` without ranks.
    pub(super) ranks_per_node: Option<usize>,
    /// Why it carries no MPI; `None` if it does, a rank names it all the same, or without a
    /// cluster.
    pub(super) without_mpi: Option<String>,
}

/// A rank with its devices.
#[derive(Debug, Serialize)]
pub(super) struct RankRow {
    pub(super) job: String,
    pub(super) rank: u32,
    pub(super) node: String,
    /// L#; `null` for several.
    pub(super) numa: Option<NumaId>,
    pub(super) nics: Vec<String>,
    pub(super) why: String,
    /// Whether none of its devices is beside its NUMA node, though they are beside others.
    pub(super) far: bool,
    /// How many of its devices are beside other NUMA nodes only.
    pub(super) far_devices: usize,
    pub(super) gpus: Vec<String>,
    /// The devices that the stack uses by default; with --explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by_itself: Option<Vec<String>>,
    /// Whether that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) differs: Option<bool>,
    pub(super) variables: Vec<(String, String)>,
}

impl NicReport {
    /// The devices of all nodes.
    pub(super) fn of_cluster(cluster: &Cluster) -> Self {
        let nodes = cluster
            .node_ids()
            .map(|id| (cluster.node(id).name.as_str(), machine_rows(cluster, id)));
        Self { devices: together(nodes), ..Self::default() }
    }

    /// The devices of the nodes of a placement, and its ranks.
    pub(super) fn new(
        cluster: Option<&Cluster>,
        file: &PlacementFile,
        fabric: FabricOptions,
        explain: bool,
    ) -> anyhow::Result<Self> {
        let mut report =
            Self { fabric: fabric.wanted().map(|stack| stack.name), ..Self::default() };
        let mut used: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for entry in file.jobs.iter().flat_map(|job| &job.ranks) {
            for nic in &entry.nics {
                *used.entry((&entry.node, nic)).or_default() += 1;
            }
        }
        let nodes = file.nodes.iter().map(|node| {
            let described = cluster.and_then(|c| Some((c, c.find_node(&node.name)?)));
            let mut rows = match described {
                Some((cluster, node)) => machine_rows(cluster, node),
                None => node.nics.iter().map(entry_row).collect(),
            };
            for row in &mut rows {
                let count = used.get(&(node.name.as_str(), row.device.as_str()));
                row.ranks_per_node = Some(count.copied().unwrap_or(0));
                row.without_mpi = row.without_mpi.take().filter(|_| count.is_none());
            }
            (node.name.as_str(), rows)
        });
        report.devices = together(nodes);
        for job in &file.jobs {
            let mut settings = Settings::default();
            // The default of a network stack can be explained for ranks without devices too.
            let left = explain && job.ranks.iter().all(|rank| rank.nics.is_empty());
            match fabric.wanted().filter(|_| !left) {
                Some(_) => report.notes.extend(set_device_variables(
                    fabric,
                    file,
                    job,
                    LocalRanks::Right,
                    &mut settings,
                )?),
                None => report.notes.extend(gpus::set_variables(file, job, &mut settings)),
            }
            let row = |entry: &RankEntry| RankRow {
                job: job.name.clone(),
                rank: entry.rank.0,
                node: entry.node.clone(),
                numa: entry.numa,
                nics: entry.nics.clone(),
                why: file.node(&entry.node).map_or_else(String::new, |node| why(node, entry)),
                far: file.node(&entry.node).is_some_and(|node| is_far(node, entry)),
                far_devices: file.node(&entry.node).map_or(0, |node| far_devices(node, entry)),
                gpus: entry.gpus.clone(),
                by_itself: None,
                differs: None,
                variables: settings.variables(entry.rank.index()).to_vec(),
            };
            report.ranks.extend(job.ranks.iter().map(row));
        }
        report.notes.sort();
        report.notes.dedup();
        Ok(report)
    }

    /// Adds the default of a network stack.
    pub(super) fn explain(&mut self, file: &PlacementFile, stack: &Stack) {
        self.fabric_default = Some(stack.default_summary);
        let defaults = file.jobs.iter().flat_map(|job| stack.defaults(file, job));
        for (row, default) in self.ranks.iter_mut().zip(defaults) {
            let sorted = |names: &[String]| {
                let mut names = names.to_vec();
                names.sort();
                names
            };
            row.differs = Some(!row.nics.is_empty() && sorted(&row.nics) != sorted(&default));
            row.by_itself = Some(default);
        }
    }
}

/// Merges equal devices of several nodes into one row, in the order of the nodes.
fn together<'a>(nodes: impl Iterator<Item = (&'a str, Vec<DeviceRow>)>) -> Vec<DeviceRow> {
    let mut alike: Vec<(Vec<&str>, Vec<DeviceRow>)> = Vec::new();
    for (name, rows) in nodes {
        match alike.iter_mut().find(|(_, listed)| *listed == rows) {
            Some((names, _)) => names.push(name),
            None => alike.push((vec![name], rows)),
        }
    }
    let named = |(names, rows): (Vec<&str>, Vec<DeviceRow>)| {
        let nodes = hostlist::compress(&names);
        rows.into_iter().map(move |row| DeviceRow { nodes: nodes.clone(), ..row })
    };
    alike.into_iter().flat_map(named).collect()
}

/// The devices as the cluster describes them.
fn machine_rows(cluster: &Cluster, node: NodeId) -> Vec<DeviceRow> {
    let machine = cluster.machine(node);
    let row = |(position, nic): (usize, &Nic)| DeviceRow {
        distances: distance_from_numa_nodes(machine, nic),
        bandwidth: Some(cluster.nic_bandwidth(node, position).to_string()),
        bytes_per_s: Some(cluster.nic_bandwidth(node, position).value.0.round() as u64),
        contexts: nic.contexts,
        rail: nic.rail,
        without_mpi: machine.without_mpi(nic).map(|why| why.to_string()),
        ..entry_row(&DeviceEntry::of_nic(nic))
    };
    machine.nics.iter().enumerate().map(row).collect()
}

/// A device, from a placement only.
fn entry_row(nic: &DeviceEntry) -> DeviceRow {
    let names = std::iter::once(&nic.name).chain(&nic.aliases);
    let of_port = nic.ports.iter().find_map(|port| port.bandwidth);
    DeviceRow {
        nodes: String::new(),
        device: nic.name.clone(),
        aliases: nic.aliases.clone(),
        kind: NicKind::of(names.map(String::as_str)),
        numa: nic.near.clone(),
        distances: Vec::new(),
        link: link(&nic.ports),
        bandwidth: of_port.map(|rate| rate.to_string()),
        bytes_per_s: of_port.map(|rate| rate.0.round() as u64),
        contexts: None,
        rail: None,
        pci: nic.pci.clone(),
        ranks_per_node: None,
        without_mpi: None,
    }
}

fn link(ports: &[Port]) -> &'static str {
    let any = |link| ports.iter().any(|port| port.link == Some(link));
    match (any(Link::Up), any(Link::Down)) {
        (true, _) => "up",
        (false, true) if ports.iter().all(|port| port.link.is_some()) => "down",
        _ => "unknown",
    }
}

/// The devices of a rank of which it is known which NUMA nodes they are beside, each with whether that of
/// the rank is among these.
fn beside(node: &NodeEntry, entry: &RankEntry) -> Vec<bool> {
    let Some(numa) = entry.numa.filter(|_| entry.bound) else { return Vec::new() };
    let devices = node.nics.iter().filter(|nic| entry.nics.contains(&nic.name));
    let known = devices.filter(|nic| !nic.near.is_empty());
    known.map(|nic| nic.near.contains(&numa)).collect()
}

fn is_far(node: &NodeEntry, entry: &RankEntry) -> bool {
    let beside = beside(node, entry);
    !beside.is_empty() && !beside.contains(&true)
}

fn far_devices(node: &NodeEntry, entry: &RankEntry) -> usize {
    beside(node, entry).into_iter().filter(|beside| !beside).count()
}

/// The position of a rank's first device relative to the rank.
fn why(node: &NodeEntry, entry: &RankEntry) -> String {
    let find = |name: &String| node.nics.iter().find(|nic| nic.name == *name);
    let Some(first) = entry.nics.first() else { return "left to the library".to_owned() };
    let Some(device) = find(first) else { return "not among the devices of the node".to_owned() };
    let Some(numa) = entry.numa.filter(|_| entry.bound) else {
        let what = if entry.bound { "on several NUMA nodes" } else { "not bound" };
        return format!("{what}, none is nearer");
    };
    if device.near.is_empty() {
        return "equally far from all".to_owned();
    }
    let several = entry.nics.iter().filter_map(find);
    if several.clone().count() > 1 {
        let beside = several.filter(|nic| nic.near.contains(&numa)).count();
        return format!("{beside} of {} beside NUMA L#{numa}", entry.nics.len());
    }
    if device.near.contains(&numa) {
        return format!("beside NUMA L#{numa}");
    }
    let kind = |nic: &DeviceEntry| entry_row(nic).kind;
    let up = node.nics.iter().filter(|nic| link(&nic.ports) != "down");
    let mut nearer = up.filter(|nic| kind(nic) == kind(device));
    match nearer.find(|nic| nic.near.contains(&numa)) {
        Some(nearer) => format!("far, though {} is beside NUMA L#{numa}", nearer.name),
        None => format!("far: none that is up is beside NUMA L#{numa}"),
    }
}

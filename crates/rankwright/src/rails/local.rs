//! A node as its ranks see it: the devices that may be used, and how far each is from each rank.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::SelectionError;
use super::selection::Selection;
use crate::cluster::{Cluster, Machine, Nic};
use crate::ids::{NodeId, NumaId};
use crate::network::FarDevice;
use crate::placement::RankPlacement;

/// A node with ranks.
#[derive(Debug, Clone)]
pub(super) struct LocalView {
    pub(super) node: NodeId,
    /// The devices that may be used, by the number at the end of their names: libraries count
    /// "units" so. Those that are down are among them.
    pub(super) devices: Vec<Device>,
    /// The ranks of all jobs in their order.
    pub(super) ranks: Vec<LocalRank>,
}

/// A device that may be used.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// Position in [`Machine::nics`].
    pub(super) position: usize,
    pub(super) name: String,
    /// The number at the end of its name.
    pub(super) unit: Option<u32>,
    pub(super) active: bool,
    /// Its rate each way, bytes per second.
    pub(super) rate: f64,
    pub(super) contexts: Option<u32>,
    /// The NUMA nodes beside it; empty where that is not known or all are equally far.
    pub(super) near: Vec<NumaId>,
    /// The rail, on rail-optimised fabrics.
    pub(super) rail: Option<u32>,
}

/// A rank of a node.
#[derive(Debug, Clone)]
pub(super) struct LocalRank {
    /// Counted over all jobs.
    pub(super) rank: usize,
    pub(super) job: usize,
    /// The NUMA nodes of its cores, that of its first core first; empty where it is not bound.
    pub(super) numa: Vec<NumaId>,
    /// How far each device is: 0 beside the rank or equally far from all, then the firmware's
    /// distances.
    pub(super) distances: Vec<u32>,
    /// What is slower through each device; nothing where the rank is not bound.
    pub(super) far: Vec<FarDevice>,
}

impl LocalView {
    /// The devices that something can pass.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.devices.len()).filter(|device| self.devices[*device].active)
    }

    /// Whether a device is beside a rank, or equally far from all.
    pub(super) fn is_local(&self, rank: usize, device: usize) -> bool {
        self.ranks[rank].distances[device] == 0
    }
}

/// The nodes that have ranks, from the job and the place of each rank.
pub(super) fn views<'a>(
    cluster: &Cluster,
    places: impl Iterator<Item = (usize, &'a RankPlacement)>,
    selection: &Selection,
) -> Result<Vec<LocalView>, SelectionError> {
    let mut by_node: BTreeMap<NodeId, Vec<(usize, usize, &RankPlacement)>> = BTreeMap::new();
    for (rank, (job, place)) in places.enumerate() {
        by_node.entry(place.node).or_default().push((rank, job, place));
    }
    let mut known: BTreeMap<usize, NodeKind> = BTreeMap::new();
    let mut view = |(node, ranks): (NodeId, Vec<(usize, usize, &RankPlacement)>)| {
        let kind = match known.entry(cluster.node(node).group) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(NodeKind::new(cluster, node, selection)?),
        };
        let machine = cluster.machine(node);
        let rank = |(rank, job, place): (usize, usize, &RankPlacement)| {
            let numa = numa_nodes(machine, place);
            LocalRank { rank, job, distances: kind.distances(&numa), far: kind.far(&numa), numa }
        };
        let ranks = ranks.into_iter().map(rank).collect();
        Ok(LocalView { node, devices: kind.devices.clone(), ranks })
    };
    by_node.into_iter().map(&mut view).collect()
}

/// What nodes that are alike have in common.
struct NodeKind {
    devices: Vec<Device>,
    /// By NUMA node, how far each device is.
    distances: Vec<Vec<u32>>,
    /// By NUMA node, what is slower through each device.
    far: Vec<Vec<FarDevice>>,
}

impl NodeKind {
    fn new(cluster: &Cluster, node: NodeId, selection: &Selection) -> Result<Self, SelectionError> {
        let machine = cluster.machine(node);
        let devices = devices(cluster, &cluster.node(node).name, machine, selection)?;
        let numa_nodes = || (0..machine.numa_nodes.len()).map(NumaId::from_index);
        let distances = numa_nodes().map(|numa| {
            devices.iter().map(|device| distance(machine, &[numa], &device.near)).collect()
        });
        let far = numa_nodes().map(|numa| {
            let far = |device: &Device| {
                FarDevice::new(cluster, node, numa, &machine.nics[device.position])
            };
            devices.iter().map(far).collect()
        });
        Ok(Self { distances: distances.collect(), far: far.collect(), devices })
    }

    /// How far each device is from the nearest of some NUMA nodes.
    fn distances(&self, numa: &[NumaId]) -> Vec<u32> {
        let least = |device: usize| {
            numa.iter().map(|numa| self.distances[numa.index()][device]).min().unwrap_or(0)
        };
        (0..self.devices.len()).map(least).collect()
    }

    /// What is slower for a rank through each device: seen from its first core.
    fn far(&self, numa: &[NumaId]) -> Vec<FarDevice> {
        match numa.first() {
            Some(numa) => self.far[numa.index()].clone(),
            None => vec![FarDevice::Near; self.devices.len()],
        }
    }
}

/// An error of the first node if none of them has devices that may be used.
pub(super) fn usable_devices(
    cluster: &Cluster,
    selection: &Selection,
) -> Result<(), SelectionError> {
    let mut first = Ok(());
    let mut seen = vec![false; cluster.groups.len()];
    for node in &cluster.nodes {
        // Nodes of a group are alike.
        if std::mem::replace(&mut seen[node.group], true) {
            continue;
        }
        match devices(cluster, &node.name, &cluster.groups[node.group].machine, selection) {
            Ok(_) => return Ok(()),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// The devices that may be used: those that the user names; else those of the kind that is made for
/// message passing most, if any of them is up.
fn devices(
    cluster: &Cluster,
    node: &str,
    machine: &Machine,
    selection: &Selection,
) -> Result<Vec<Device>, SelectionError> {
    let node_name = || node.to_owned();
    if machine.nics.is_empty() {
        return Err(SelectionError::NoDevice { node: node_name() });
    }
    let list = |nics: &mut dyn Iterator<Item = &Nic>| -> String {
        nics.map(|nic| nic.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut devices = Vec::new();
    if selection.devices.is_empty() {
        let usable = machine.nics.iter().filter(|nic| nic.is_usable());
        let Some(best) = usable.map(Nic::kind).min() else {
            let devices = list(&mut machine.nics.iter());
            return Err(SelectionError::AllDown { node: node_name(), devices });
        };
        let of_kind = machine.nics.iter().enumerate().filter(|(_, nic)| nic.kind() == best);
        devices.extend(of_kind.map(|(position, nic)| Device::new(cluster, position, nic)));
    }
    for wanted in &selection.devices {
        let found = machine.nics.iter().position(|nic| nic.names().any(|name| name == wanted));
        let position = found.ok_or_else(|| SelectionError::NoSuchDevice {
            node: node_name(),
            wanted: wanted.clone(),
            devices: list(&mut machine.nics.iter()),
        })?;
        let nic = &machine.nics[position];
        if !nic.is_usable() {
            return Err(SelectionError::Down { node: node_name(), device: nic.name.clone() });
        }
        if devices.iter().all(|known: &Device| known.position != position) {
            devices.push(Device::new(cluster, position, nic));
        }
    }
    devices.sort_by_key(|device| (device.unit.is_none(), device.unit, device.position));
    Ok(devices)
}

impl Device {
    fn new(cluster: &Cluster, position: usize, nic: &Nic) -> Self {
        Self {
            position,
            rate: cluster.nic_bandwidth(nic).0,
            name: nic.name.clone(),
            unit: unit(&nic.name),
            active: nic.is_usable(),
            contexts: nic.contexts,
            near: nic.near.clone(),
            rail: nic.rail,
        }
    }
}

/// The number at the end of a device's name.
pub(super) fn unit(name: &str) -> Option<u32> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    name[name.len() - digits..].parse().ok()
}

/// The NUMA nodes of a bound rank's cores, that of its first core first.
pub(super) fn numa_nodes(machine: &Machine, place: &RankPlacement) -> Vec<NumaId> {
    let mut numa_nodes = Vec::new();
    for core in place.cores.iter().filter(|_| place.bound) {
        let numa = machine.cores[core.index()].numa;
        if !numa_nodes.contains(&numa) {
            numa_nodes.push(numa);
        }
    }
    numa_nodes
}

/// How far a device beside some NUMA nodes is from a rank on others.
pub(super) fn distance(machine: &Machine, rank: &[NumaId], near: &[NumaId]) -> u32 {
    if rank.is_empty() || near.is_empty() || rank.iter().any(|numa| near.contains(numa)) {
        return 0;
    }
    let packages = machine.packages_beside();
    let between = |from: &NumaId, to: &NumaId| match &machine.numa_distance {
        Some(distance) => distance[from.index()][to.index()].max(1),
        None if packages[from.index()] == packages[to.index()] => 1,
        None => 2,
    };
    rank.iter().flat_map(|from| near.iter().map(move |to| between(from, to))).min().unwrap_or(0)
}

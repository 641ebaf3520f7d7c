//! A node as its ranks see it: the devices that may be used, and the distance of each to each rank.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::SelectionError;
use super::policies::Selection;
use crate::cluster::{Cluster, Machine, Nic};
use crate::ids::{CoreId, GlobalRank, JobId, NodeId, NumaId};
use crate::network::FarDevice;
use crate::placement::RankPlacement;

/// A node with ranks. Other files name its devices and ranks by their positions here.
#[derive(Debug, Clone)]
pub(super) struct NodeView {
    pub(super) node: NodeId,
    /// The devices that may be used, down or not, in the order of the number at the end of their
    /// names, in which libraries count "units".
    pub(super) devices: Vec<Device>,
    /// Ascending, of all jobs.
    pub(super) ranks: Vec<RankView>,
}

/// Devices that a rank uses together: positions in [`NodeView::devices`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeviceSet(Vec<usize>);

/// A device that may be used.
#[derive(Debug, Clone)]
pub(super) struct Device {
    /// Index in [`Machine::nics`].
    pub(super) position: usize,
    pub(super) name: String,
    /// The number at the end of its name.
    pub(super) unit: Option<u32>,
    /// Whether its link is up.
    pub(super) active: bool,
    /// In each direction, in bytes per second.
    pub(super) rate: f64,
    /// How many processes it serves; `None` if that is not known or has no limit.
    pub(super) contexts: Option<u32>,
    /// The NUMA nodes beside it; empty where that is not known or all are equally far.
    pub(super) near: Vec<NumaId>,
    /// The rail, on rail-optimised fabrics.
    pub(super) rail: Option<u32>,
}

/// A rank of a node.
#[derive(Debug, Clone)]
pub(super) struct RankView {
    pub(super) rank: GlobalRank,
    pub(super) job: JobId,
    /// The NUMA nodes of its cores, that of its first core first; empty if it is not bound.
    pub(super) numa: Vec<NumaId>,
    /// The distance of each device: 0 beside the rank or equally far from all, else the firmware's.
    /// Index: position in [`NodeView::devices`].
    pub(super) distances: Vec<u32>,
    /// What each device costs beyond a near one; near if the rank is not bound. Index: position in
    /// [`NodeView::devices`].
    pub(super) far: Vec<FarDevice>,
}

impl DeviceSet {
    pub(super) fn single(device: usize) -> Self {
        Self(vec![device])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, device: usize) -> bool {
        self.0.contains(&device)
    }
}

impl FromIterator<usize> for DeviceSet {
    fn from_iter<I: IntoIterator<Item = usize>>(devices: I) -> Self {
        Self(devices.into_iter().collect())
    }
}

impl NodeView {
    /// The devices whose links are up.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.devices.len()).filter(|device| self.devices[*device].active)
    }

    /// The names of some devices.
    pub(super) fn names(&self, devices: &DeviceSet) -> Vec<String> {
        devices.iter().map(|device| self.devices[device].name.clone()).collect()
    }

    /// Of the devices whose links are up, those that are nearest to a rank.
    pub(super) fn nearest(&self, rank: usize) -> DeviceSet {
        let distances = &self.ranks[rank].distances;
        let least = self.active().map(|device| distances[device]).min();
        self.active().filter(|device| Some(distances[*device]) == least).collect()
    }

    /// Whether a device is beside a rank, or equally far from all.
    pub(super) fn is_local(&self, rank: usize, device: usize) -> bool {
        self.ranks[rank].distances[device] == 0
    }
}

/// The nodes that have ranks, from the job and the place of each rank.
pub(super) fn views<'a>(
    cluster: &Cluster,
    places: impl Iterator<Item = (JobId, &'a RankPlacement)>,
    selection: &Selection,
) -> Result<Vec<NodeView>, SelectionError> {
    type Placed<'a> = (GlobalRank, JobId, &'a RankPlacement);
    let mut by_node: BTreeMap<NodeId, Vec<Placed<'_>>> = BTreeMap::new();
    for (rank, (job, place)) in places.enumerate() {
        let rank = GlobalRank::from_index(rank);
        by_node.entry(place.node).or_default().push((rank, job, place));
    }
    // Index: group of nodes.
    let mut kinds: BTreeMap<usize, NodeKind> = BTreeMap::new();
    let mut view = |(node, ranks): (NodeId, Vec<Placed<'_>>)| {
        let kind = match kinds.entry(cluster.node(node).group) {
            Entry::Occupied(kind) => kind.into_mut(),
            Entry::Vacant(new) => new.insert(NodeKind::new(cluster, node, selection)?),
        };
        let machine = cluster.machine(node);
        let rank = |(rank, job, place): Placed<'_>| {
            let numa = numa_nodes(machine, place);
            RankView { rank, job, distances: kind.distances(&numa), far: kind.far(&numa), numa }
        };
        let ranks = ranks.into_iter().map(rank).collect();
        Ok(NodeView { node, devices: kind.devices.clone(), ranks })
    };
    by_node.into_iter().map(&mut view).collect()
}

/// What equal nodes have in common.
struct NodeKind {
    /// As [`NodeView::devices`].
    devices: Vec<Device>,
    /// The distance of each device. Index: NUMA node, device.
    distances: Vec<Vec<u32>>,
    /// What each device costs beyond a near one. Index: NUMA node, device.
    far: Vec<Vec<FarDevice>>,
}

impl NodeKind {
    fn new(cluster: &Cluster, node: NodeId, selection: &Selection) -> Result<Self, SelectionError> {
        let machine = cluster.machine(node);
        let devices = devices(cluster, node, selection)?;
        let numa_nodes = || (0..machine.numa_nodes.len()).map(NumaId::from_index);
        let distances = numa_nodes().map(|numa| {
            devices.iter().map(|device| distance_of(machine, &[numa], &device.near)).collect()
        });
        let far = numa_nodes().map(|numa| {
            let far = |device: &Device| {
                FarDevice::new(cluster, node, numa, &machine.nics[device.position])
            };
            devices.iter().map(far).collect()
        });
        Ok(Self { distances: distances.collect(), far: far.collect(), devices })
    }

    /// The distance of each device to the nearest of some NUMA nodes.
    fn distances(&self, numa: &[NumaId]) -> Vec<u32> {
        let least = |device: usize| {
            numa.iter().map(|numa| self.distances[numa.index()][device]).min().unwrap_or(0)
        };
        (0..self.devices.len()).map(least).collect()
    }

    /// What each device costs a rank beyond a near one, seen from its first core.
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
    for node in cluster.node_ids() {
        // Nodes of a group are equal.
        if std::mem::replace(&mut seen[cluster.node(node).group], true) {
            continue;
        }
        match devices(cluster, node, selection) {
            Ok(_) => return Ok(()),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// The devices that may be used: those that the user names; else those that carry MPI, of the
/// first kind in the order of [`NicKind`](crate::cluster::NicKind) of which one is up.
fn devices(
    cluster: &Cluster,
    node: NodeId,
    selection: &Selection,
) -> Result<Vec<Device>, SelectionError> {
    let machine = cluster.machine(node);
    let node_name = || cluster.node(node).name.clone();
    if machine.nics.is_empty() {
        return Err(SelectionError::NoDevice { node: node_name() });
    }
    let list = |nics: &mut dyn Iterator<Item = &Nic>| -> String {
        nics.map(|nic| nic.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut devices = Vec::new();
    if selection.devices.is_empty() {
        let Some(best) = machine.mpi_nics().map(|(_, nic)| nic.kind()).min() else {
            let devices = list(&mut machine.nics.iter());
            return Err(match machine.nics.iter().any(Nic::is_usable) {
                true => SelectionError::NoneCarriesMpi { node: node_name(), devices },
                false => SelectionError::AllDown { node: node_name(), devices },
            });
        };
        let carries = |nic: &Nic| machine.without_mpi(nic).is_none();
        let of_kind = machine.nics.iter().enumerate();
        let of_kind = of_kind.filter(|(_, nic)| nic.kind() == best && carries(nic));
        devices.extend(of_kind.map(|(position, nic)| Device::new(cluster, node, position, nic)));
    }
    for wanted in &selection.devices {
        let position = machine.nics.iter().position(|nic| nic.names().any(|name| name == wanted));
        let position = position.ok_or_else(|| SelectionError::NoSuchDevice {
            node: node_name(),
            wanted: wanted.clone(),
            devices: list(&mut machine.nics.iter()),
        })?;
        let nic = &machine.nics[position];
        if !nic.is_usable() {
            return Err(SelectionError::Down { node: node_name(), device: nic.name.clone() });
        }
        if devices.iter().all(|device: &Device| device.position != position) {
            devices.push(Device::new(cluster, node, position, nic));
        }
    }
    devices.sort_by_key(|device| (device.unit.is_none(), device.unit, device.position));
    Ok(devices)
}

impl Device {
    fn new(cluster: &Cluster, node: NodeId, position: usize, nic: &Nic) -> Self {
        Self {
            position,
            rate: cluster.nic_bandwidth(node, position).value.0,
            name: nic.name.clone(),
            unit: unit(&nic.name),
            active: nic.is_usable(),
            contexts: nic.contexts,
            near: nic.near.clone(),
            rail: nic.rail,
        }
    }
}

/// The distance of a device to each NUMA node of its node, by L#: 0 beside it or where all are equally
/// far; else the firmware's distance, or without one 1 in the same package and 2 in another.
#[must_use]
pub fn distance_from_numa_nodes(machine: &Machine, nic: &Nic) -> Vec<u32> {
    let ids = (0..machine.numa_nodes.len()).map(NumaId::from_index);
    ids.map(|numa| distance_of(machine, &[numa], &nic.near)).collect()
}

/// The number at the end of a device's name.
pub(super) fn unit(name: &str) -> Option<u32> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    name[name.len() - digits..].parse().ok()
}

/// The NUMA nodes of a bound rank's cores, that of its first core first.
pub(super) fn numa_nodes(machine: &Machine, place: &RankPlacement) -> Vec<NumaId> {
    if place.bound { numa_of_cores(machine, &place.cores) } else { Vec::new() }
}

/// The NUMA nodes of cores, that of the first core first.
pub(super) fn numa_of_cores(machine: &Machine, cores: &[CoreId]) -> Vec<NumaId> {
    let mut numa_nodes = Vec::new();
    for core in cores {
        let numa = machine.cores[core.index()].numa;
        if !numa_nodes.contains(&numa) {
            numa_nodes.push(numa);
        }
    }
    numa_nodes
}

/// The distance of a device that is beside some NUMA nodes to a rank on others.
pub(super) fn distance_of(machine: &Machine, rank: &[NumaId], near: &[NumaId]) -> u32 {
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

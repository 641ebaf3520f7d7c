//! What there is: nodes with packages, NUMA nodes, cores, PUs, network devices and GPUs, and the
//! switches between the nodes.
//!
//! [`read`] has one file or folder per source; all of them make the same [`Cluster`]. Indices: cores
//! and NUMA nodes are L# (their position in the lists of the [`Machine`]), PUs are P#.

pub mod distance;
pub mod hostlist;
mod levels;
mod memory;
pub mod merge;
mod network_device;
mod rates;
pub mod read;

use std::fmt;
use std::ops::Range;

use serde::Serialize;

pub use levels::{Level, LevelKind, Levels};
pub use memory::{MemoryAccess, NumaNode};
pub use network_device::{Link, Nic, NicKind, Port};
pub use rates::{NAMED as NAMED_RATES, Rates, ServiceCurve, ServiceCurveError};
pub use read::switch_tree::SwitchTree;

use crate::ids::{CoreId, NodeId, NumaId, PuId};
use crate::units::BytesPerSecond;

/// A cluster: nodes of one or several types, and the switches that connect them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cluster {
    /// Its name, for people.
    pub name: String,
    /// Whether the cores do not really exist (several hosts on one machine): binding is then to
    /// PU modulo the real count and cannot be verified.
    pub emulated: bool,
    /// What data costs where a device does not say it.
    pub rates: Rates,
    /// Node groups: all nodes of one group are alike.
    pub groups: Vec<NodeGroup>,
    /// The nodes, in the order that `blocked` fills them.
    pub nodes: Vec<Node>,
    /// The switches, every parent behind its children; empty for one ideal switch.
    pub switches: Vec<Switch>,
}

/// Nodes that are alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeGroup {
    /// The hardware of each of them.
    pub machine: Machine,
    /// Which PUs jobs may use, by position in [`Machine::pus`] (L#).
    pub free: Vec<bool>,
    /// How fast each core computes, compared with the other groups: at 2 in half the time of 1. 1
    /// where nobody says.
    pub speed: f64,
}

/// The speeds that nodes may have.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its host name; no other node of the cluster has it.
    pub name: String,
    /// Its type: position in [`Cluster::groups`].
    pub group: usize,
    /// The switch it hangs on: position in [`Cluster::switches`].
    pub switch: Option<usize>,
}

/// A switch of the tree above the nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Switch {
    /// Its name; no other switch of the cluster has it.
    pub name: String,
    /// The switch above: position in [`Cluster::switches`], behind this one.
    pub parent: Option<usize>,
    /// The link to the switch above, each way.
    pub uplink: Option<BytesPerSecond>,
}

/// The hardware of one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Machine {
    /// How many packages (sockets) there are.
    pub packages: usize,
    /// The memories, by L#.
    pub numa_nodes: Vec<NumaNode>,
    /// The cores, by L#.
    pub cores: Vec<Core>,
    /// The PUs, by L#: all PUs of a core stand together, cores in ascending order.
    pub pus: Vec<Pu>,
    /// The network devices, in PCI order where that is known.
    pub nics: Vec<Nic>,
    /// The GPUs, in PCI order where that is known.
    pub gpus: Vec<Gpu>,
    /// Relative cost from NUMA node (row, L#) to NUMA node (column), as the firmware tells (10 is
    /// local); `None` where nobody says.
    pub numa_distance: Option<Vec<Vec<u32>>>,
}

/// A core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Core {
    /// Its package, L#.
    pub package: usize,
    /// The nearest plain memory; a core beside several has the lowest.
    pub numa: NumaId,
    /// The last-level cache it shares, counted within the node; `None` where nobody says.
    pub cache: Option<u32>,
    /// Its PUs, P#, in L# order.
    pub pus: Vec<PuId>,
}

/// A hardware thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pu {
    /// The operating system's number.
    pub id: PuId,
    /// Its core, L#.
    pub core: CoreId,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// Its name: `cuda0`, `rsmi0`, `card0`.
    pub name: String,
    /// The NUMA nodes next to it; empty where that is unknown.
    pub near: Vec<NumaId>,
    /// Its PCI address, where known.
    pub pci: Option<String>,
}

impl NodeGroup {
    /// Nodes with this hardware, all of it free.
    #[must_use]
    pub fn all_free(machine: Machine) -> Self {
        let free = vec![true; machine.pus.len()];
        Self { machine, free, speed: 1.0 }
    }
}

impl Cluster {
    /// A cluster of like nodes at one ideal switch, with assumed rates.
    #[must_use]
    pub fn uniform(name: impl Into<String>, names: Vec<String>, group: NodeGroup) -> Self {
        let node = |name| Node { name, group: 0, switch: None };
        Self {
            name: name.into(),
            emulated: false,
            rates: Rates::default(),
            groups: vec![group],
            nodes: names.into_iter().map(node).collect(),
            switches: Vec::new(),
        }
    }

    /// The node with this id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The hardware of a node.
    #[must_use]
    pub fn machine(&self, id: NodeId) -> &Machine {
        &self.group(id).machine
    }

    /// The group that a node belongs to.
    #[must_use]
    pub fn group(&self, id: NodeId) -> &NodeGroup {
        &self.groups[self.nodes[id.index()].group]
    }

    /// The ids of all nodes, in order.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from_index)
    }

    /// The node with this host name. A full name matches its first label and the reverse, because
    /// launchers and `gethostname` disagree on which of the two they give.
    #[must_use]
    pub fn find_node(&self, host: &str) -> Option<NodeId> {
        let exact = self.nodes.iter().position(|node| node.name == host);
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let found = exact.or_else(|| {
            let host = short(host);
            let mut same = (0..self.nodes.len()).filter(|i| short(&self.nodes[*i].name) == host);
            // Two nodes of one short name: neither is meant for sure.
            same.next().filter(|_| same.next().is_none())
        });
        found.map(NodeId::from_index)
    }

    /// How many bytes per second all usable network devices of a node carry each way.
    #[must_use]
    pub fn node_bandwidth(&self, id: NodeId) -> BytesPerSecond {
        let usable = self.machine(id).nics.iter().filter(|nic| nic.is_usable());
        let sum: f64 = usable.map(|nic| self.nic_bandwidth(nic).0).sum();
        if sum > 0.0 { BytesPerSecond(sum) } else { self.rates.nic_bandwidth }
    }

    /// How many bytes per second a network device carries each way.
    #[must_use]
    pub fn nic_bandwidth(&self, nic: &Nic) -> BytesPerSecond {
        nic.known_bandwidth().unwrap_or(self.rates.nic_bandwidth)
    }

    /// How many bytes per second a memory of a node gives.
    #[must_use]
    pub fn memory_bandwidth(&self, id: NodeId, numa: NumaId) -> BytesPerSecond {
        let memory = self.machine(id).numa_nodes.get(numa.index());
        let known = memory.and_then(|memory| memory.best_access()?.bandwidth);
        known.unwrap_or(self.rates.memory_bandwidth)
    }

    /// How many cores the cluster has, free or not.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.node_ids().map(|id| self.machine(id).cores.len()).sum()
    }
}

impl Machine {
    /// The ids of all cores, in order.
    pub fn core_ids(&self) -> impl ExactSizeIterator<Item = CoreId> + use<> {
        (0..self.cores.len()).map(CoreId::from_index)
    }

    /// The positions of a core's PUs among all PUs (L#).
    #[must_use]
    pub fn pus_of(&self, core: CoreId) -> Range<usize> {
        let first = self.pus.partition_point(|pu| pu.core < core);
        first..first + self.cores[core.index()].pus.len()
    }

    /// The cores next to each NUMA node.
    #[must_use]
    pub fn cores_by_numa(&self) -> Vec<Vec<CoreId>> {
        let mut cores = vec![Vec::new(); self.numa_nodes.len()];
        for (id, core) in self.core_ids().zip(&self.cores) {
            cores[core.numa.index()].push(id);
        }
        cores
    }

    /// The package that each NUMA node is beside: that of its cores; none if those are in several.
    /// One without cores of its own is beside the package from which it is fastest, where that is
    /// known; none if that is so from several. Else it is where the one counted before it is.
    #[must_use]
    pub fn packages_beside(&self) -> Vec<Option<usize>> {
        let package = |core: &CoreId| self.cores[core.index()].package;
        let mut before = 0;
        let beside = |(node, cores): (&NumaNode, Vec<CoreId>)| {
            let near = match node.best_access() {
                Some(best) if cores.is_empty() => &best.cores,
                _ => &cores,
            };
            let mut packages = near.iter().map(package);
            let Some(first) = packages.next() else { return Some(before) };
            before = first;
            packages.all(|other| other == first).then_some(first)
        };
        self.numa_nodes.iter().zip(self.cores_by_numa()).map(beside).collect()
    }
}

impl fmt::Display for Machine {
    /// `2 packages, 4 NUMA nodes, 64 cores, 128 PUs, 2 NICs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.packages, "package"),
            (self.numa_nodes.len(), "NUMA node"),
            (self.cores.len(), "core"),
            (self.pus.len(), "PU"),
            (self.nics.len(), "NIC"),
            (self.gpus.len(), "GPU"),
        ];
        let mut shown = counts.iter().filter(|(count, name)| *count > 0 || *name == "NIC");
        let Some((count, name)) = shown.next() else {
            return Ok(());
        };
        write!(f, "{count} {name}{}", plural(*count))?;
        shown.try_for_each(|(count, name)| write!(f, ", {count} {name}{}", plural(*count)))
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

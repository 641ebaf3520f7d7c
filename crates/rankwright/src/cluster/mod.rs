//! What there is to run on: nodes with packages, NUMA nodes, cores, PUs, network devices and GPUs,
//! and the switches between the nodes.
//!
//! A [`Cluster`] is built from a [`ClusterDescription`] by [`ClusterDescription::build`], which checks
//! it, and is only read afterwards: code behind it need not check an index again. [`read`] has the
//! readers, one file or folder per source; all of them make the same [`Cluster`].
//!
//! ```
//! use rankwright::cluster::{self, NodeCount};
//!
//! let node = "synthetic:package:2 l3:1 core:8 pu:2";
//! let cluster = cluster::open_with(node, NodeCount::Exactly(4))?;
//! assert_eq!((cluster.nodes.len(), cluster.core_count()), (4, 64));
//! for id in cluster.node_ids() {
//!     assert_eq!(cluster.machine(id).packages, 2);
//! }
//! # Ok::<(), cluster::OpenError>(())
//! ```
//!
//! # Indices
//!
//! ```text
//!            group             machine
//!    nodes ────────► groups ───────────► Machine ─┬─ pus ── core ──► cores ── numa ──► numa_nodes
//!      │                └─ free (one per PU)      ├─ cores ── pus (P#)                     ▲
//!      │ switch                                   ├─ nics, gpus ── near ──────────────────┤
//!      └────────► switches ◄─┐                    └─ numa_distance (row and column) ──────┘
//!                     └──────┘ parent
//! ```
//!
//! | number | kind | where | points to |
//! |---|---|---|---|
//! | [`NodeId`] | position | ids of nodes | [`ClusterDescription::nodes`] |
//! | `usize` | position | [`Node::group`] | [`ClusterDescription::groups`] |
//! | `usize` | position | [`Node::switch`], [`Switch::parent`] | [`ClusterDescription::switches`] |
//! | `usize` | L# | position in [`NodeGroup::free`] | [`Machine::pus`] |
//! | [`CoreId`] | L# | [`Pu::core`], [`MemoryAccess::cores`] | [`Machine::cores`] |
//! | [`NumaId`] | L# | [`Core::numa`], [`Nic::near`], [`Gpu::near`], rows and columns of [`Machine::numa_distance`] | [`Machine::numa_nodes`] |
//! | `usize` | L# | [`Core::package`] | packages 0 to [`Machine::packages`] - 1 |
//! | [`PuId`](crate::ids::PuId) | P# | [`Pu::id`], [`Core::pus`] | the operating system's CPUs |
//! | `u32` | P# | [`NumaNode::os_index`] | the operating system's NUMA nodes |
//! | `u32` | - | [`Core::cache`] | no list: equal numbers mean a shared cache |
//!
//! L# (hwloc's logical index) is the position in the list of the [`Machine`]. P# is a name that the
//! operating system gives: it is printed and bound to, and never used as an index.

mod check;
mod description;
mod hardware;
mod levels;
mod machine;
mod memory;
mod network_device;
mod open;
mod rates;
pub mod read;
mod without_mpi;

use std::ops::Deref;

use serde::Serialize;

pub use check::ClusterError;
use check::MOST_SWITCH_LEVELS;
pub use description::{ClusterDescription, Node, NodeGroup, SPEEDS, Switch};
use hardware::{ARM, model_bandwidth};
pub use levels::{LevelKind, Levels};
pub(crate) use machine::bus_order;
pub use machine::{Core, Gpu, GpuVendor, Machine, Pu};
pub use memory::{MemoryAccess, NumaNode};
pub use network_device::{Link, Nic, NicKind, Port};
pub use open::{NodeCount, OpenError, open, open_with, parse};
pub use rates::{MEMORY_COPIES, REMOTE_MEMORY_FACTORS, Rates, ServiceCurve, ServiceCurveError};
use rates::{SPREADS, WIRE};
pub use without_mpi::WithoutMpi;

// For the command line; may change in any version.
#[doc(hidden)]
pub use hardware::{CacheRates, HardwareRates, NicRates, Origin, PciId, Rated};
#[doc(hidden)]
pub use levels::Level;
#[doc(hidden)]
pub use open::{is_built_in, is_path};
#[doc(hidden)]
pub use rates::{Calibration, DeviceRates, MeasuredRate, MessageRates};
#[doc(hidden)]
pub use read::switch_tree::SwitchTree;

use crate::ids::{CoreId, NodeId, NumaId};
use crate::units::{BytesPerSecond, Seconds};

/// A cluster: nodes of one or several types, and the switches that connect them. Its fields are
/// those of [`ClusterDescription`], checked against each other, and can only be read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Cluster {
    description: ClusterDescription,
    /// By group.
    #[serde(skip)]
    hardware: Vec<HardwareRates>,
}

impl Deref for Cluster {
    type Target = ClusterDescription;

    fn deref(&self) -> &ClusterDescription {
        &self.description
    }
}

impl Cluster {
    /// The parts of the cluster, to make another one from.
    #[must_use]
    pub fn into_description(self) -> ClusterDescription {
        self.description
    }

    /// This cluster with a change, checked again.
    ///
    /// # Errors
    /// As [`ClusterDescription::build`].
    pub fn edit(
        mut self,
        change: impl FnOnce(&mut ClusterDescription),
    ) -> Result<Self, ClusterError> {
        change(&mut self.description);
        self.description.build()
    }

    /// This cluster with another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.description.name = name.into();
        self
    }

    /// This cluster with all PUs of all nodes free.
    #[must_use]
    pub fn all_free(mut self) -> Self {
        self.description.groups.iter_mut().for_each(|group| group.free.fill(true));
        self
    }

    /// The first `count` nodes of this cluster, or all if there are fewer; groups and switches stay.
    ///
    /// # Panics
    /// If `count` is 0: a cluster has at least one node.
    #[must_use]
    pub fn first_nodes(mut self, count: usize) -> Self {
        assert!(count > 0, "a cluster has at least one node");
        self.description.nodes.truncate(count);
        self
    }

    /// The node with this id.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The hardware of a node.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn machine(&self, id: NodeId) -> &Machine {
        &self.group(id).machine
    }

    /// The group of a node.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn group(&self, id: NodeId) -> &NodeGroup {
        &self.groups[self.node(id).group]
    }

    /// The ids of all nodes, ascending.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::from_index)
    }

    /// The node with this host name. `n0` and `n0.site` match, because launchers and `gethostname`
    /// disagree on which of the two they give; not if that leaves several nodes.
    #[must_use]
    pub fn find_node(&self, host: &str) -> Option<NodeId> {
        let exact = self.nodes.iter().position(|node| node.name == host);
        let by_first_label = || {
            let label = hostlist::first_label(host);
            let mut matches = (0..self.nodes.len())
                .filter(|index| hostlist::first_label(&self.nodes[*index].name) == label);
            matches.next().filter(|_| matches.next().is_none())
        };
        exact.or_else(by_first_label).map(NodeId::from_index)
    }

    /// The height above two nodes of the lowest switch that both are below, from 1; `None` if there is
    /// none.
    ///
    /// # Panics
    /// If the cluster does not have one of the nodes.
    #[must_use]
    pub fn common_switch_height(&self, first: NodeId, second: NodeId) -> Option<u32> {
        let above = |node: NodeId| {
            std::iter::successors(self.node(node).switch, |switch| self.switches[*switch].parent)
        };
        let others: Vec<usize> = above(second).collect();
        let height = above(first).position(|switch| others.contains(&switch))?;
        u32::try_from(height + 1).ok()
    }

    /// Bandwidth of all network devices of a node that carry MPI ([`Machine::mpi_nics`]) together,
    /// each way; that of one device if the node has none.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn node_bandwidth(&self, id: NodeId) -> BytesPerSecond {
        let nics = self.machine(id).mpi_nics();
        let sum: f64 = nics.map(|(nic, _)| self.nic_bandwidth(id, nic).value.0).sum();
        if sum > 0.0 { BytesPerSecond(sum) } else { self.rates.unknown_nic_bandwidth() }
    }

    /// Bandwidth of a network device (position in [`Machine::nics`]), each way.
    ///
    /// # Panics
    /// If the cluster does not have this node, or the node this device.
    #[must_use]
    pub fn nic_bandwidth(&self, id: NodeId, nic: usize) -> &Rated<BytesPerSecond> {
        &self.rates_of(id).nics[nic].bandwidth
    }

    /// Time from a network device (position in [`Machine::nics`]) to another one.
    ///
    /// # Panics
    /// If the cluster does not have this node, or the node this device.
    #[must_use]
    pub fn nic_latency(&self, id: NodeId, nic: usize) -> Seconds {
        self.rates_of(id).nics[nic].latency
    }

    /// Bandwidth of a NUMA node for the cores that reach it fastest.
    ///
    /// # Panics
    /// If the cluster does not have this node, or the node this NUMA node.
    #[must_use]
    pub fn memory_bandwidth(&self, id: NodeId, numa: NumaId) -> &Rated<BytesPerSecond> {
        &self.rates_of(id).memories[numa.index()]
    }

    /// The bandwidth of messages between two cores (L#) of a node that share a cache; `None` if they do
    /// not.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn cache_bandwidth(
        &self,
        id: NodeId,
        (from, to): (CoreId, CoreId),
    ) -> Option<&Rated<BytesPerSecond>> {
        let caches = &self.rates_of(id).caches;
        let rate = if from == to { &caches.core } else { &caches.shared };
        self.machine(id).share_cache(from, to).then_some(rate)
    }

    fn rates_of(&self, id: NodeId) -> &HardwareRates {
        self.hardware_rates(self.node(id).group)
    }

    /// The rates of the devices and memories of a group (position in
    /// [`ClusterDescription::groups`]): stated ones, else those of the hardware.
    ///
    /// # Panics
    /// If the cluster does not have this group.
    #[must_use]
    pub fn hardware_rates(&self, group: usize) -> &HardwareRates {
        &self.hardware[group]
    }

    /// The number of cores of all nodes, free or not.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.node_ids().map(|id| self.machine(id).cores.len()).sum()
    }
}

#[cfg(test)]
mod tests;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod distance;
#[doc(hidden)]
pub mod hostlist;
#[doc(hidden)]
pub mod merge;

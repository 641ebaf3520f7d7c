//! The parts of a cluster as plain data, from which a [`Cluster`] is built.

use serde::Serialize;

use super::check::{ClusterError, check};
use super::hardware::HardwareRates;
use super::{Cluster, Machine, Rates};
use crate::units::BytesPerSecond;

/// The parts of a cluster, still to be checked: fill the fields, then [`build`](Self::build).
///
/// Readers of files and tests write these fields; everything else reads them through [`Cluster`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClusterDescription {
    /// The name in output; any text.
    pub name: String,
    /// Whether several hosts share one machine, so that its cores do not exist: ranks are bound to
    /// P# modulo the real number of PUs, and bindings cannot be verified.
    pub emulated: bool,
    /// Whether the names of the nodes are made up, because the source describes hardware and no hosts: an
    /// hwloc XML file, a synthetic string, the cluster of a paper. No job can be started there.
    #[serde(skip)]
    pub invented: bool,
    /// Bandwidths and latencies where a device has none of its own.
    pub rates: Rates,
    /// The node types. All nodes of a group have the same hardware and the same free PUs.
    pub groups: Vec<NodeGroup>,
    /// The nodes, at least one, in the order in which `blocked` fills them.
    pub nodes: Vec<Node>,
    /// The switches, each before its parent; empty for one ideal switch above all nodes.
    pub switches: Vec<Switch>,
}

/// A node type: nodes with the same hardware and the same free PUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeGroup {
    /// The hardware of each of the nodes.
    pub machine: Machine,
    /// Whether jobs may use a PU; as long as [`Machine::pus`], the position is the PU's L#.
    pub free: Vec<bool>,
    /// Computing speed of a core relative to the other groups, within [`SPEEDS`]: at 2, ranks
    /// compute half as long as at 1, the default.
    pub speed: f64,
}

/// The range of [`NodeGroup::speed`].
pub const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// The host name, unique in the cluster.
    pub name: String,
    /// The node type: position in [`ClusterDescription::groups`].
    pub group: usize,
    /// The switch that the node is attached to: position in [`ClusterDescription::switches`].
    pub switch: Option<usize>,
}

/// A switch of the tree above the nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Switch {
    /// The name, unique among the switches of the cluster.
    pub name: String,
    /// The switch above: position in [`ClusterDescription::switches`], above this switch's own
    /// position. `None` at the top.
    pub parent: Option<usize>,
    /// Bandwidth of the link to the switch above, each way; `None` for an ideal link.
    pub uplink: Option<BytesPerSecond>,
}

impl NodeGroup {
    /// Nodes with this hardware, with all PUs free and speed 1.
    #[must_use]
    pub fn all_free(machine: Machine) -> Self {
        let free = vec![true; machine.pus.len()];
        Self { machine, free, speed: 1.0 }
    }
}

impl ClusterDescription {
    /// Nodes of one type on one ideal switch, with the default rates.
    #[must_use]
    pub fn uniform(name: impl Into<String>, names: Vec<String>, group: NodeGroup) -> Self {
        let node = |name| Node { name, group: 0, switch: None };
        Self {
            name: name.into(),
            emulated: false,
            invented: false,
            rates: Rates::default(),
            groups: vec![group],
            nodes: names.into_iter().map(node).collect(),
            switches: Vec::new(),
        }
    }

    /// The position of this group in [`ClusterDescription::groups`], where it is added if no group
    /// equals it.
    pub(super) fn group_index(&mut self, group: NodeGroup) -> usize {
        self.groups.iter().position(|other| *other == group).unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        })
    }

    /// The cluster, if its parts agree with each other. Takes time in proportion to their number.
    ///
    /// # Errors
    /// If an index points outside of its list, a list has the wrong length or order, a name is not
    /// valid or not unique, a number is out of range, or there is no node. [`ClusterError`] says
    /// which field.
    pub fn build(self) -> Result<Cluster, ClusterError> {
        check(&self)?;
        let hardware = self.groups.iter().map(|group| HardwareRates::new(&self.rates, group));
        Ok(Cluster { hardware: hardware.collect(), description: self })
    }
}

//! What the data network of a lab has.

use rankwright::units::{BytesPerSecond, Seconds};

use super::tiers::{Tiers, TreeSwitch};

/// The only switch of a network without tiers.
const ONLY_SWITCH: &str = "data0";

/// The data network of a lab.
#[derive(Debug, Clone)]
pub struct Network {
    /// Number of data devices of each node, from 1 to [`MOST_NICS`](crate::MOST_NICS): `eth0`, `eth1`, ..
    pub nics: u32,
    /// Bandwidth of each of them, each way.
    pub nic: BytesPerSecond,
    /// The switches; `None`: one that never blocks.
    pub tiers: Option<Tiers>,
    /// The latency from one device to another, beside that of the host.
    pub delay: Option<Seconds>,
}

impl Network {
    /// The numbers of the data devices of a node.
    pub(crate) fn devices(&self) -> std::ops::Range<u32> {
        0..self.nics
    }

    /// Nodes and data devices.
    pub(super) fn ports(&self, nodes: usize) -> impl Iterator<Item = (usize, u32)> {
        (0..nodes).flat_map(|node| self.devices().map(move |device| (node, device)))
    }

    /// The switches; without tiers the only one.
    pub(crate) fn switches(&self) -> Vec<TreeSwitch> {
        let only = || TreeSwitch { name: ONLY_SWITCH.to_owned(), parent: None, uplink: None };
        self.tiers.as_ref().map_or_else(|| vec![only()], Tiers::switches)
    }

    /// The index of a node's switch among [`switches`](Self::switches).
    pub(super) fn switch_of(&self, node: usize) -> usize {
        self.tiers.as_ref().map_or(0, |tiers| tiers.switch_of(node))
    }
}

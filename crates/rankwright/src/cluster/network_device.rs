//! Network devices (NICs) of a node, and their ports.

use serde::{Deserialize, Serialize};

use super::PciId;
use crate::ids::NumaId;
use crate::units::{BytesPerSecond, Seconds};

/// A network device: one PCI function, under all names that the system has for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nic {
    /// The name by which libraries select it: `mlx5_0`, `hfi1_0`, `cxi0`, `eth0`.
    pub name: String,
    /// Further names of the same function: `ib0` of `mlx5_0`.
    pub aliases: Vec<String>,
    /// The nearest NUMA nodes (L#), ascending; empty where they are unknown or all are equally far.
    pub near: Vec<NumaId>,
    /// Bandwidth each way, where the description says so. `None`: as
    /// [`Cluster::nic_bandwidth`](super::Cluster::nic_bandwidth) finds it.
    pub bandwidth: Option<BytesPerSecond>,
    /// Time to another network device. `None`: as
    /// [`Cluster::nic_latency`](super::Cluster::nic_latency) finds it.
    pub latency: Option<Seconds>,
    /// The number of processes that can use it at a time, from 1; `None` without such a limit.
    pub contexts: Option<u32>,
    /// The PCI address, where known: `0000:41:00.0`.
    pub pci: Option<String>,
    /// Its PCI vendor and device, where known: the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_id: Option<PciId>,
    /// Rate of the PCIe link behind it, each way, before the overhead of packets; where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_bandwidth: Option<BytesPerSecond>,
    /// Its ports, by ascending number; empty where they are unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// The rail on a rail-optimised fabric. In all nodes, the devices of one rail are attached to the
    /// same switches; messages from rail to rail take a longer path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rail: Option<u32>,
    /// Whether it carries MPI, where the description says so; `None`: by the rule of
    /// [`Machine::without_mpi`](super::Machine::without_mpi).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<bool>,
}

/// A port of a network device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Port {
    /// The port number; InfiniBand and Omni-Path count from 1.
    pub number: u32,
    /// The state of its link, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Bandwidth of its link each way, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BytesPerSecond>,
}

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// The link carries data.
    Up,
    /// The link carries no data.
    Down,
}

/// The kinds of network devices that communication libraries distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicKind {
    /// Intel or Cornelis Omni-Path: `hfi1_0`.
    OmniPath,
    /// InfiniBand and RoCE (verbs): `mlx5_0`, `ib0`.
    #[serde(rename = "infiniband")]
    InfiniBand,
    /// HPE Slingshot: `cxi0`, `hsn0`.
    Slingshot,
    /// Amazon's Elastic Fabric Adapter: `rdmap0s6`, `efa_0`.
    Efa,
    /// A network interface of the kernel, or an unknown device: `eth0`.
    Ethernet,
}

/// Beginnings of device names. Those of kernel interfaces come last: they do not decide if the
/// device has a verbs name, too.
const NAME_PREFIXES: [(&str, NicKind); 20] = [
    ("hfi1", NicKind::OmniPath),
    ("cxi", NicKind::Slingshot),
    ("efa", NicKind::Efa),
    ("rdmap", NicKind::Efa),
    ("mlx", NicKind::InfiniBand),
    ("mthca", NicKind::InfiniBand),
    ("qib", NicKind::InfiniBand),
    ("bnxt_re", NicKind::InfiniBand),
    ("irdma", NicKind::InfiniBand),
    ("rocep", NicKind::InfiniBand),
    ("roceo", NicKind::InfiniBand),
    ("roce", NicKind::InfiniBand),
    ("ibp", NicKind::InfiniBand),
    ("ibs", NicKind::InfiniBand),
    ("cxgb", NicKind::InfiniBand),
    ("hns", NicKind::InfiniBand),
    ("erdma", NicKind::InfiniBand),
    ("ib", NicKind::InfiniBand),
    ("hsn", NicKind::Slingshot),
    ("hsi", NicKind::Slingshot),
];

impl NicKind {
    /// The name in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OmniPath => "Omni-Path",
            Self::InfiniBand => "InfiniBand",
            Self::Slingshot => "Slingshot",
            Self::Efa => "EFA",
            Self::Ethernet => "Ethernet",
        }
    }

    /// The kind of a device with these names; the first name with a known prefix decides.
    #[must_use]
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let kind = |name: &str| {
            let row = NAME_PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
            row.map(|(_, kind)| *kind)
        };
        names.into_iter().find_map(kind).unwrap_or(Self::Ethernet)
    }
}

impl Nic {
    /// A network device with this name, everything else unknown.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            near: Vec::new(),
            bandwidth: None,
            latency: None,
            contexts: None,
            pci: None,
            pci_id: None,
            pci_bandwidth: None,
            ports: Vec::new(),
            rail: None,
            mpi: None,
        }
    }

    /// Its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// Its kind, from its names.
    #[must_use]
    pub fn kind(&self) -> NicKind {
        NicKind::of(self.names())
    }

    /// Whether messages can pass it: not if all its ports are down.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|port| port.link != Some(Link::Down))
    }

    /// Bandwidth each way: its own, else that of its link, where known.
    #[must_use]
    pub fn known_bandwidth(&self) -> Option<BytesPerSecond> {
        self.bandwidth.or_else(|| self.link_bandwidth())
    }

    /// Bandwidth each way of all its ports that are not down, where known.
    #[must_use]
    pub fn link_bandwidth(&self) -> Option<BytesPerSecond> {
        let up = self.ports.iter().filter(|port| port.link != Some(Link::Down));
        let sum: f64 = up.filter_map(|port| Some(port.bandwidth?.0)).sum();
        (sum > 0.0).then_some(BytesPerSecond(sum))
    }

    /// Adds a port, or to the port with its number what is newly known of it.
    pub(super) fn add_port(&mut self, port: Port) {
        match self.ports.binary_search_by_key(&port.number, |other| other.number) {
            Ok(index) => {
                let same = &mut self.ports[index];
                same.link = port.link.or(same.link);
                same.bandwidth = port.bandwidth.or(same.bandwidth);
            }
            Err(index) => self.ports.insert(index, port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_device_follows_from_its_names() {
        for (names, kind) in [
            (&["hfi1_0", "ib0"][..], NicKind::OmniPath),
            (&["mlx5_0", "ib0"], NicKind::InfiniBand),
            (&["eth0", "mlx5_2"], NicKind::InfiniBand),
            (&["hsn0"], NicKind::Slingshot),
            (&["cxi3", "hsn3"], NicKind::Slingshot),
            (&["rdmap0s6"], NicKind::Efa),
            (&["enp1s0f0"], NicKind::Ethernet),
            (&["nic0"], NicKind::Ethernet),
        ] {
            assert_eq!(NicKind::of(names.iter().copied()), kind, "{names:?}");
        }
    }

    #[test]
    fn a_device_whose_ports_are_all_down_is_unusable() {
        let port = |number, link| Port { number, link, bandwidth: Some(BytesPerSecond(2e9)) };
        let mut nic = Nic::new("mlx4_0");
        assert!(nic.is_usable());
        nic.add_port(port(2, Some(Link::Down)));
        assert!(!nic.is_usable());
        assert_eq!(nic.known_bandwidth(), None);
        nic.add_port(port(1, None));
        assert!(nic.is_usable());
        assert_eq!(nic.known_bandwidth(), Some(BytesPerSecond(2e9)));
        nic.add_port(Port { number: 2, link: Some(Link::Up), bandwidth: None });
        assert_eq!(nic.ports.iter().map(|port| port.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(nic.known_bandwidth(), Some(BytesPerSecond(4e9)));
    }
}

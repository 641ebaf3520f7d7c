//! Rates of network devices by model (PCI id) and by kind.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Origin, Rated};
use crate::cluster::{Machine, Nic, NicKind};
use crate::units::{BytesPerSecond, Seconds};

/// The share of a PCIe link's rate that data reach; assumed: 256 bytes of data in packets of 282 bytes,
/// less 6 % for acknowledgements and credits.
const PCIE_EFFICIENCY: f64 = 0.85;

/// Vendor and device of a PCI function: `15b3:101b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PciId {
    /// The vendor.
    pub vendor: u16,
    /// The device.
    pub device: u16,
}

impl fmt::Display for PciId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

impl FromStr for PciId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| {
            let digits = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if digits { u16::from_str_radix(text, 16).map_err(drop) } else { Err(()) }
        };
        let (vendor, device) = text.split_once(':').ok_or(())?;
        Ok(Self { vendor: number(vendor)?, device: number(device)? })
    }
}

impl Serialize for PciId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A model: its PCI vendor, its PCI devices, its name, and the fastest link of a function, in Gbit/s.
type Model = (u16, &'static [u16], &'static str, f64);

/// Models by id as in the PCI ID database (pci-ids.ucw.cz), except BXI, which it does not have. Where the
/// names there have no rate (ConnectX-3 and later, BlueField, EFA, ENA, Omni-Path, Skyhawk, BXI), the rate
/// is assumed: that of the fastest cards of the model. The link, where known, says more.
const MODELS: [Model; 42] = [
    // NVIDIA (Mellanox); data rates after line coding.
    (0x15b3, &[0x6732, 0x6778], "ConnectX, DDR", 16.0),
    (0x15b3, &[0x673c, 0x6746], "ConnectX-2, QDR", 32.0),
    (0x15b3, &[0x6750, 0x6764], "ConnectX-2 EN", 10.0),
    (0x15b3, &[0x1003, 0x1007], "ConnectX-3, FDR", 54.545),
    (0x15b3, &[0x1011], "Connect-IB, FDR", 54.545),
    (0x15b3, &[0x1013], "ConnectX-4, EDR", 100.0),
    (0x15b3, &[0x1015], "ConnectX-4 Lx", 25.0),
    (0x15b3, &[0x1017, 0x1019], "ConnectX-5, EDR", 100.0),
    (0x15b3, &[0x101b], "ConnectX-6, HDR", 200.0),
    (0x15b3, &[0x101d], "ConnectX-6 Dx", 100.0),
    (0x15b3, &[0x101f], "ConnectX-6 Lx", 25.0),
    (0x15b3, &[0x1021], "ConnectX-7, NDR", 400.0),
    (0x15b3, &[0x1023], "ConnectX-8, XDR", 800.0),
    (0x15b3, &[0xa2d2], "BlueField, EDR", 100.0),
    (0x15b3, &[0xa2d6], "BlueField-2, HDR", 200.0),
    (0x15b3, &[0xa2dc], "BlueField-3, NDR", 400.0),
    // QLogic (later Intel) True Scale.
    (0x1077, &[0x7322], "True Scale, QDR", 32.0),
    // Intel: Omni-Path 100 and Ethernet controllers.
    (0x8086, &[0x24f0, 0x24f1], "Omni-Path 100", 100.0),
    (0x8086, &[0x10c9, 0x10e6, 0x1521, 0x1522, 0x1533, 0x1537], "1 GbE", 1.0),
    (0x8086, &[0x15f2, 0x125b, 0x15f3], "2.5 GbE", 2.5),
    (0x8086, &[0x37d1], "X722, 1 GbE", 1.0),
    (0x8086, &[0x10fb, 0x1528, 0x1563, 0x154d, 0x15ab, 0x15ad], "10 GbE", 10.0),
    (0x8086, &[0x1572, 0x1581, 0x1589, 0x37d0, 0x37d2, 0x37d3], "X710, 10 GbE", 10.0),
    (0x8086, &[0x1583, 0x1584], "XL710, 40 GbE", 40.0),
    (0x8086, &[0x158a, 0x158b], "XXV710, 25 GbE", 25.0),
    (0x8086, &[0x1591, 0x1592, 0x1593], "E810, 100 GbE", 100.0),
    (0x8086, &[0x1599, 0x159a, 0x159b], "E810, 25 GbE", 25.0),
    // Broadcom NetXtreme.
    (0x14e4, &[0x1656, 0x1657, 0x165f, 0x1639], "1 GbE", 1.0),
    (0x14e4, &[0x168e, 0x16d6, 0x16d8], "10 GbE", 10.0),
    (0x14e4, &[0x16c9, 0x16d7], "BCM57414, 25 GbE", 25.0),
    (0x14e4, &[0x1750], "BCM57508, 200 GbE", 200.0),
    (0x14e4, &[0x1751], "BCM57504, 100 GbE", 100.0),
    (0x14e4, &[0x1752], "BCM57502, 50 GbE", 50.0),
    (0x14e4, &[0x1760], "BCM57608, 400 GbE", 400.0),
    // HPE: Slingshot 11 NIC (Cassini). Slingshot 10 is a ConnectX-5.
    (0x17db, &[0x0501], "Slingshot 11", 200.0),
    // Atos (Bull): BXI v1.
    (0x119f, &[0x0001], "BXI", 100.0),
    // Amazon: 100 Gbit/s for each EFA device of p4d, hpc6a and p5; 25 for an ENA.
    (0x1d0f, &[0xefa0, 0xefa1, 0xefa2, 0xefa3], "EFA", 100.0),
    (0x1d0f, &[0xec20], "ENA, 25 GbE", 25.0),
    // Myricom, Emulex, Chelsio.
    (0x14c1, &[0x0008], "Myri-10G", 10.0),
    (0x10df, &[0x0720], "Skyhawk, 10 GbE", 10.0),
    (0x1425, &[0x5401, 0x5403], "T5, 10 GbE", 10.0),
    (0x1425, &[0x5410], "T5, 40 GbE", 40.0),
];

/// What is assumed of a kind of device.
pub(super) struct Kind {
    name: &'static str,
    gigabits: f64,
    microseconds: f64,
}

/// Kinds by the beginning of a device's name, the first that fits. Rates as above, of the
/// generation that is most frequent in clusters.
const NAMES: [(&str, Kind); 7] = [
    ("mthca", Kind { name: "InfiniBand DDR", gigabits: 16.0, ..INFINIBAND }),
    ("mlx4", Kind { name: "InfiniBand FDR", gigabits: 54.545, ..INFINIBAND }),
    ("qib", Kind { name: "InfiniBand QDR", gigabits: 32.0, ..INFINIBAND }),
    ("bxi", Kind { name: "BXI", gigabits: 100.0, microseconds: 1.3 }),
    ("myri", Kind { name: "Myri-10G", gigabits: 10.0, microseconds: 2.4 }),
    ("usb", Kind { name: "BMC", gigabits: 0.1, ..ETHERNET }),
    ("idrac", Kind { name: "BMC", gigabits: 0.1, ..ETHERNET }),
];

/// Beginnings of the names that Linux gives to network interfaces. A device with none of these names
/// and of no other kind may be anything.
const INTERFACES: [&str; 8] = ["eth", "en", "em", "p1p", "p2p", "p3p", "p4p", "bond"];

// Latencies: half of a ping-pong of short messages between two nodes with MPI. Assumed, as the rates.
const INFINIBAND: Kind = Kind { name: "InfiniBand EDR", gigabits: 100.0, microseconds: 1.0 };
const OMNI_PATH: Kind = Kind { name: "Omni-Path 100", gigabits: 100.0, microseconds: 1.1 };
const SLINGSHOT: Kind = Kind { name: "Slingshot 11", gigabits: 200.0, microseconds: 2.0 };
const EFA: Kind = Kind { name: "EFA", gigabits: 100.0, microseconds: 15.5 };
const ETHERNET: Kind = Kind { name: "10 GbE", gigabits: 10.0, microseconds: 25.0 };

/// A device of which nothing is known, and that of a node without any: InfiniBand EDR, half as fast
/// as HDR and twice as fast as FDR.
pub(super) const UNKNOWN: Kind =
    Kind { name: "a 100 Gbit/s network", gigabits: 100.0, microseconds: 1.0 };

impl Kind {
    pub(super) fn bandwidth(&self) -> BytesPerSecond {
        BytesPerSecond(self.gigabits * 1e9 / 8.0)
    }

    pub(super) fn latency(&self) -> Seconds {
        Seconds(self.microseconds / 1e6)
    }

    fn of(nic: &Nic) -> &'static Self {
        let named = |start: &str| nic.names().any(|name| name.starts_with(start));
        if let Some((_, kind)) = NAMES.iter().find(|(start, _)| named(start)) {
            return kind;
        }
        match nic.kind() {
            NicKind::OmniPath => &OMNI_PATH,
            NicKind::InfiniBand => &INFINIBAND,
            NicKind::Slingshot => &SLINGSHOT,
            NicKind::Efa => &EFA,
            NicKind::Ethernet if INTERFACES.iter().any(|start| named(start)) => &ETHERNET,
            NicKind::Ethernet => &UNKNOWN,
        }
    }
}

/// The bandwidth of a device, each way, by its PCI id; `None` if no row has it.
pub(in crate::cluster) fn model_bandwidth(nic: &Nic) -> Option<BytesPerSecond> {
    model(nic).map(|(.., gigabits)| BytesPerSecond(gigabits * 1e9 / 8.0))
}

fn model(nic: &Nic) -> Option<&'static Model> {
    nic.pci_id.and_then(|id| {
        MODELS
            .iter()
            .find(|(vendor, devices, ..)| *vendor == id.vendor && devices.contains(&id.device))
    })
}

/// The bandwidth of a device, each way, by its PCI id, else by its kind.
pub(super) fn bandwidth(nic: &Nic) -> Rated<BytesPerSecond> {
    let (name, value) = match model(nic) {
        Some((.., name, gigabits)) => (*name, BytesPerSecond(gigabits * 1e9 / 8.0)),
        None => {
            let kind = Kind::of(nic);
            (kind.name, kind.bandwidth())
        }
    };
    Rated { value, origin: Origin::Hardware(Cow::Borrowed(name)) }
}

/// The latency from this device to another one like it.
pub(super) fn latency(nic: &Nic) -> Seconds {
    Kind::of(nic).latency()
}

/// What the PCIe link leaves to a device if all devices of its card with a link that is up are busy;
/// `None` where the link is unknown. Slingshot behind AMD's accelerators uses PCIe's extended speed mode,
/// which systems report as PCIe 3 (`hsn` devices of El Capitan's early nodes) though it is twice as
/// fast and more.
pub(super) fn pcie_share(machine: &Machine, nic: &Nic) -> Option<BytesPerSecond> {
    let link = nic.pci_bandwidth.filter(|_| nic.kind() != NicKind::Slingshot)?;
    let card =
        |nic: &Nic| nic.pci.as_deref().and_then(|pci| Some(pci.rsplit_once('.')?.0.to_owned()));
    let own = card(nic);
    let same = |other: &&Nic| own.is_some() && card(other) == own && other.is_usable();
    let sharing = machine.nics.iter().filter(same).count().max(1);
    Some(BytesPerSecond(link.0 * PCIE_EFFICIENCY / sharing as f64))
}

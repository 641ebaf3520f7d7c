//! Which network devices of a node carry MPI, and which are for its management.

use std::fmt;

use super::machine::Machine;
use super::model_bandwidth;
use super::network_device::{Nic, NicKind};
use crate::units::BytesPerSecond;

/// Beginnings of the names of interfaces to the board's management controller (BMC).
const CONTROLLER_PREFIXES: [&str; 3] = ["usb", "idrac", "bmc"];

/// An Ethernet device is for management beside a device that is this many times as fast.
const SLOWER: f64 = 4.0;

/// Why a network device carries no MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutMpi {
    /// It is Ethernet beside a faster network: [`Machine::without_mpi`] has the rule.
    Management,
    /// The description says so ([`Nic::mpi`]).
    AsDescribed,
}

impl fmt::Display for WithoutMpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Management => "management: carries no MPI",
            Self::AsDescribed => "carries no MPI",
        })
    }
}

impl Machine {
    /// Why this device of the machine carries no MPI; `None` if it does while its link is up.
    ///
    /// [`Nic::mpi`] decides if it is there. Without it, a device is for management if it is Ethernet
    /// (no verbs, Omni-Path, Slingshot, EFA or BXI name) and one of the other devices, up and not
    /// excluded by [`Nic::mpi`],
    ///
    /// * is not Ethernet, unless both rates are known and the other is less than 4 times as fast;
    /// * or is Ethernet too, both rates are known, and the other is at least 4 times as fast;
    /// * or is anything else than an interface to the management controller, which this device is
    ///   (`usb0`, `idrac`, `bmc0`).
    #[must_use]
    pub fn without_mpi(&self, nic: &Nic) -> Option<WithoutMpi> {
        match nic.mpi {
            Some(true) => None,
            Some(false) => Some(WithoutMpi::AsDescribed),
            None => self.is_management(nic).then_some(WithoutMpi::Management),
        }
    }

    /// The network devices that carry MPI and are not down, with their positions in
    /// [`Machine::nics`].
    pub fn mpi_nics(&self) -> impl Iterator<Item = (usize, &Nic)> {
        let nics = self.nics.iter().enumerate();
        nics.filter(|(_, nic)| nic.is_usable() && self.without_mpi(nic).is_none())
    }

    fn is_management(&self, nic: &Nic) -> bool {
        // Most nodes have no Ethernet device, or nothing else.
        if self.nics.len() == 1 || !is_ethernet(nic) {
            return false;
        }
        let others = self.nics.iter().filter(|other| other.mpi != Some(false) && other.is_usable());
        let mut faster = others.filter(|other| {
            let by_name = is_controller(nic) && !is_controller(other);
            by_name
                || match (rate(nic), rate(other)) {
                    (Some(rate), Some(other)) => rate.0 * SLOWER <= other.0,
                    _ => !is_ethernet(other),
                }
        });
        faster.next().is_some()
    }
}

/// Its rate, where it is stated or its model is known.
fn rate(nic: &Nic) -> Option<BytesPerSecond> {
    nic.known_bandwidth().or_else(|| model_bandwidth(nic))
}

/// Whether none of its names is that of a device for a faster network. BXI (`bxi0`) has no kind of
/// its own.
fn is_ethernet(nic: &Nic) -> bool {
    nic.kind() == NicKind::Ethernet && !nic.names().any(|name| name.starts_with("bxi"))
}

fn is_controller(nic: &Nic) -> bool {
    CONTROLLER_PREFIXES.iter().any(|prefix| nic.name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::super::{Link, Port};
    use super::*;

    /// A device with a rate in Gbit/s; 0 for an unknown one.
    fn nic(name: &str, gigabits: f64) -> Nic {
        let known = (gigabits > 0.0).then_some(BytesPerSecond(gigabits * 1e9 / 8.0));
        Nic { bandwidth: known, ..Nic::new(name) }
    }

    fn machine(nics: &[Nic]) -> Machine {
        Machine { nics: nics.to_vec(), ..Machine::default() }
    }

    /// The names of the devices that carry MPI.
    fn carry(nics: &[Nic]) -> Vec<String> {
        machine(nics).mpi_nics().map(|(_, nic)| nic.name.clone()).collect()
    }

    #[test]
    fn ethernet_beside_a_faster_kind_is_management_whatever_its_name() {
        for slow in [
            "eno1",
            "ens2",
            "ens786f0",
            "enp3s0f0",
            "enP5p1s0f1",
            "enx0a94ef0b",
            "eth0",
            "em1",
            "usb0",
            "idrac",
            "bmc0",
            "aci0",
        ] {
            for fast in ["mlx5_0", "ib0", "hfi1_0", "cxi0", "hsi0", "rdmap0s6", "rocep1s0", "bxi0"]
            {
                for rate in [0.0, 1.0] {
                    let both = [nic(slow, rate), nic(fast, 0.0)];
                    assert_eq!(carry(&both), [fast], "{slow}, {rate} Gbit/s");
                }
            }
        }
    }

    #[test]
    fn a_verbs_name_makes_ethernet_fast() {
        let roce = Nic { aliases: vec!["enp22s0f0".to_owned()], ..nic("mlx5_1", 25.0) };
        assert_eq!(carry(&[nic("mlx5_0", 100.0), roce]), ["mlx5_0", "mlx5_1"]);
    }

    #[test]
    fn known_rates_decide_where_both_are_known() {
        let both = |slow, fast| carry(&[nic("eth0", slow), nic("mlx5_0", fast)]).len();
        assert_eq!([both(25.0, 100.0), both(25.0, 99.0), both(100.0, 25.0)], [1, 2, 2]);
        let both = |slow, fast| carry(&[nic("eth0", slow), nic("eth1", fast)]).len();
        assert_eq!([both(25.0, 100.0), both(25.0, 99.0), both(100.0, 25.0)], [1, 2, 1]);
        assert_eq!([both(0.0, 100.0), both(25.0, 0.0), both(0.0, 0.0)], [2, 2, 2]);
    }

    #[test]
    fn models_have_known_rates() {
        let of = |name: &str, id: &str| Nic { pci_id: id.parse().ok(), ..nic(name, 0.0) };
        let (slow, fast) = (of("eth0", "8086:1521"), of("eth2", "8086:10fb"));
        assert_eq!(carry(&[slow, fast]), ["eth2"]);
    }

    #[test]
    fn a_node_with_ethernet_alone_uses_it() {
        assert_eq!(carry(&[nic("eno1", 0.0)]), ["eno1"]);
        assert_eq!(carry(&[nic("usb0", 0.0)]), ["usb0"]);
        assert_eq!(carry(&[nic("eno1", 10.0), nic("eno2", 10.0)]), ["eno1", "eno2"]);
        assert_eq!(carry(&[nic("idrac", 0.0), nic("eno1", 0.0), nic("usb0", 0.4)]), ["eno1"]);
        let down = Port { number: 1, link: Some(Link::Down), bandwidth: None };
        let down = Nic { ports: vec![down], ..nic("mlx5_0", 0.0) };
        assert_eq!(carry(&[down, nic("eno1", 1.0)]), ["eno1"]);
    }

    #[test]
    fn the_description_decides_if_it_says_so() {
        let told = |mpi, nic| Nic { mpi: Some(mpi), ..nic };
        let (slow, fast) = (nic("eno1", 1.0), nic("mlx5_0", 100.0));
        assert_eq!(carry(&[told(true, slow.clone()), fast.clone()]), ["eno1", "mlx5_0"]);
        assert_eq!(carry(&[slow.clone(), told(false, fast.clone())]), ["eno1"]);
        let storage = told(false, nic("mlx5_1", 25.0));
        let all = [slow, fast, storage];
        let why = |nic: &Nic| machine(&all).without_mpi(nic);
        let expected = [Some(WithoutMpi::Management), None, Some(WithoutMpi::AsDescribed)];
        assert_eq!([why(&all[0]), why(&all[1]), why(&all[2])], expected);
        assert!(carry(&[told(false, nic("eno1", 1.0))]).is_empty());
    }
}

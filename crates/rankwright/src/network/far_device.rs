//! The price of a far network device: what a message costs more because its device is not beside
//! the core of its rank. The servers' service times, the estimates by bytes and the assignment of
//! devices all take it from here.

use crate::cluster::{Cluster, Nic, Rates};
use crate::ids::{NodeId, NumaId};
use crate::units::{Bytes, Seconds};

/// Which resource pays for the distance between a core and a network device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FarDevice {
    /// None: the device is beside the core, or its position is not known.
    Near,
    /// The core: each message takes it [`Rates::inter_socket`] longer. The device is as fast as for
    /// a near core.
    Core,
    /// The device: its service times grow by this factor, [`Rates::remote_memory_factor`], because it
    /// reads and writes the memory of another NUMA node.
    Device(f64),
}

impl FarDevice {
    /// The price class of a device of a node for a core beside `numa`. If the rates have
    /// [`Rates::inter_socket`], a device beside another package costs core time, and one beside
    /// another NUMA node of the same package costs nothing; otherwise a device beside another NUMA
    /// node is slower itself.
    ///
    /// # Panics
    /// If the NUMA node does not exist.
    #[must_use]
    pub fn new(cluster: &Cluster, node: NodeId, numa: NumaId, nic: &Nic) -> Self {
        if nic.near.is_empty() || nic.near.contains(&numa) {
            return Self::Near;
        }
        if cluster.rates.inter_socket.is_empty() {
            return Self::Device(cluster.rates.remote_memory_factor);
        }
        let packages = cluster.machine(node).packages_beside();
        let package = packages[numa.index()];
        let same_package = |near: &NumaId| package.is_some() && packages[near.index()] == package;
        if nic.near.iter().any(same_package) { Self::Near } else { Self::Core }
    }

    /// The factor on the service time of the device, at least 1 for sensible rates.
    #[must_use]
    pub fn device_factor(self) -> f64 {
        match self {
            Self::Near | Self::Core => 1.0,
            Self::Device(factor) => factor,
        }
    }

    /// The time that the core spends in addition on a message of this length.
    #[must_use]
    pub(crate) fn core_time(self, rates: &Rates, length: Bytes) -> Seconds {
        match self {
            Self::Core => rates.inter_socket.time(length),
            Self::Near | Self::Device(_) => Seconds(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cluster::read::toml;

    fn cluster(rates: &str) -> Cluster {
        let text = format!(
            "{rates}[[node]]\nnames = \"n0\"\ntopology = \"pack:2 numa:2 core:1 pu:1\"\n\
             [[node.nic]]\nname = \"hfi1_0\"\nnear = \"numa:1\"\n[[node.nic]]\nname = \"hfi1_1\"\n"
        );
        toml::parse(&text, "c.toml", Path::new("")).unwrap()
    }

    fn by_numa_node(cluster: &Cluster, nic: usize) -> Vec<FarDevice> {
        let nic = &cluster.machine(NodeId(0)).nics[nic];
        (0..4).map(|numa| FarDevice::new(cluster, NodeId(0), NumaId(numa), nic)).collect()
    }

    #[test]
    fn the_rate_of_the_other_socket_goes_before_that_of_remote_memory() {
        use FarDevice::{Core, Device, Near};
        let plain = cluster("[rates]\nremote_memory_factor = 1.5\n");
        let far = Device(1.5);
        assert_eq!(by_numa_node(&plain, 0), [far, Near, far, far]);
        let charged = cluster("[rates]\ninter_socket = [[\"8 KiB\", \"1 us\"]]\n");
        assert_eq!(by_numa_node(&charged, 0), [Near, Near, Core, Core]);
        assert_eq!(by_numa_node(&charged, 1), [Near; 4]);
        assert_eq!([Near, Core, far].map(FarDevice::device_factor), [1.0, 1.0, 1.5]);
        let core_time = |device: FarDevice| device.core_time(&charged.rates, Bytes(8 << 10));
        assert_eq!([Near, Core, far].map(core_time), [0.0, 1e-6, 0.0].map(Seconds));
    }
}

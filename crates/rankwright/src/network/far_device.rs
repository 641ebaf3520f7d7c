//! What it costs that a network device is not beside the core of a rank.

use crate::cluster::{Cluster, Nic};
use crate::ids::{NodeId, NumaId};

/// What is slower for messages between a core and a network device. The one answer for all that
/// price devices: the models, the simulator, and who chooses devices by load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FarDevice {
    /// Nothing: the device is beside the core, or nobody says where it is.
    Near,
    /// The core has more to do with each message, [`Rates::inter_socket`](crate::cluster::Rates::inter_socket);
    /// the device has not.
    Core,
    /// The device needs so many times as long, because it reads and writes the memory of another
    /// NUMA node, [`Rates::remote_memory_factor`](crate::cluster::Rates::remote_memory_factor).
    Device(f64),
}

impl FarDevice {
    /// How many times as long the device needs for a message.
    #[must_use]
    pub fn device_factor(self) -> f64 {
        match self {
            Self::Near | Self::Core => 1.0,
            Self::Device(factor) => factor,
        }
    }
}

impl Cluster {
    /// What is slower for a rank whose core is beside a NUMA node of a node, through one of its
    /// devices: where the rates say what the other socket costs, that; else remote accesses to
    /// memory.
    ///
    /// # Panics
    /// If the NUMA node does not exist.
    #[must_use]
    pub fn far_device(&self, node: NodeId, numa: NumaId, nic: &Nic) -> FarDevice {
        if nic.near.is_empty() || nic.near.contains(&numa) {
            return FarDevice::Near;
        }
        if self.rates.inter_socket.is_empty() {
            return FarDevice::Device(self.rates.remote_memory_factor);
        }
        let packages = self.machine(node).packages_beside();
        let own = packages[numa.index()];
        let beside = |near: &NumaId| own.is_some() && packages[near.index()] == own;
        if nic.near.iter().any(beside) { FarDevice::Near } else { FarDevice::Core }
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

    fn of_each_numa_node(cluster: &Cluster, nic: usize) -> Vec<FarDevice> {
        let nic = &cluster.machine(NodeId(0)).nics[nic];
        (0..4).map(|numa| cluster.far_device(NodeId(0), NumaId(numa), nic)).collect()
    }

    #[test]
    fn the_rate_of_the_other_socket_goes_before_that_of_remote_memory() {
        use FarDevice::{Core, Device, Near};
        let plain = cluster("[rates]\nremote_memory_factor = 1.5\n");
        let far = Device(1.5);
        assert_eq!(of_each_numa_node(&plain, 0), [far, Near, far, far]);
        let known = "[rates]\ninter_socket = [[\"8 KiB\", \"1 us\"]]\n";
        assert_eq!(of_each_numa_node(&cluster(known), 0), [Near, Near, Core, Core]);
        assert_eq!(of_each_numa_node(&cluster(known), 1), [Near; 4]);
        assert_eq!([Near, Core, far].map(FarDevice::device_factor), [1.0, 1.0, 1.5]);
    }
}

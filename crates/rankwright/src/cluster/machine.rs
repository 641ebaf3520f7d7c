//! The hardware of one node.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::memory::NumaNode;
use super::network_device::Nic;
use crate::ids::{CoreId, NumaId, PuId};
use crate::units::counted;

/// The hardware of one node. The page of the module [`cluster`](super) has a table of its indices.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Machine {
    /// The number of packages (sockets), from 1.
    pub packages: usize,
    /// The model of its processors as the system names it, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// The memories; the position is L#.
    pub numa_nodes: Vec<NumaNode>,
    /// The cores; the position is L#.
    pub cores: Vec<Core>,
    /// The PUs; the position is L#. PUs of one core are adjacent, and cores ascend.
    pub pus: Vec<Pu>,
    /// The level of the caches in [`Core::cache`], such as 3, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_level: Option<u8>,
    /// The network devices, in PCI order where that is known.
    pub nics: Vec<Nic>,
    /// The GPUs, in PCI order where that is known.
    pub gpus: Vec<Gpu>,
    /// Relative latency from NUMA node (row, L#) to NUMA node (column, L#) as in the firmware's SLIT,
    /// where 10 is local; `None` where the source has no such table.
    pub numa_distance: Option<Vec<Vec<u32>>>,
}

/// A core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Core {
    /// The package (L#) it belongs to.
    pub package: usize,
    /// The NUMA node (L#) of its local DRAM, the lowest one if there are several.
    pub numa: NumaId,
    /// The last-level cache: cores of a node with the same number share it. `None` where the
    /// source has no caches.
    pub cache: Option<u32>,
    /// Its PUs, P#, in L# order; at least one.
    pub pus: Vec<PuId>,
}

/// A processing unit (hardware thread).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pu {
    /// The operating system's number (P#).
    pub id: PuId,
    /// The core (L#) it belongs to.
    pub core: CoreId,
}

/// A GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// The device name: `cuda0`, `rsmi0`, `card0`.
    pub name: String,
    /// The nearest NUMA nodes (L#); empty where they are unknown.
    pub near: Vec<NumaId>,
    /// The PCI address, where known.
    pub pci: Option<String>,
    /// Its vendor, where known.
    pub vendor: Option<GpuVendor>,
}

/// The vendor of a GPU. Programs count its GPUs apart from those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuVendor {
    /// NVIDIA: programs use CUDA.
    Nvidia,
    /// AMD: programs use ROCm.
    Amd,
    /// Intel: programs use Level Zero.
    Intel,
}

impl Gpu {
    /// A key that sorts GPUs in the order of the bus, in which programs count them; those without an
    /// address come last.
    #[must_use]
    pub(crate) fn bus_order(&self) -> (bool, Vec<u32>) {
        bus_order(self.pci.as_deref())
    }
}

/// A key that sorts PCI addresses; missing ones come last.
pub(crate) fn bus_order(pci: Option<&str>) -> (bool, Vec<u32>) {
    let number = |part: &str| u32::from_str_radix(part, 16).unwrap_or(u32::MAX);
    let numbers = pci.iter().flat_map(|pci| pci.split([':', '.'])).map(number).collect();
    (pci.is_none(), numbers)
}

impl GpuVendor {
    /// All vendors.
    pub const ALL: [Self; 3] = [Self::Nvidia, Self::Amd, Self::Intel];

    /// As in a `cluster.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
        }
    }

    /// The vendor whose library calls a device by this name: `cuda0`, `nvml0`, `rsmi0`, `ze0`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        const PREFIXES: [(&str, GpuVendor); 4] = [
            ("cuda", GpuVendor::Nvidia),
            ("nvml", GpuVendor::Nvidia),
            ("rsmi", GpuVendor::Amd),
            ("ze", GpuVendor::Intel),
        ];
        let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        PREFIXES
            .iter()
            .find(|(prefix, _)| name.strip_prefix(prefix).is_some_and(numbered))
            .map(|(_, vendor)| *vendor)
    }

    /// The vendor with this PCI number, in four hexadecimal digits.
    #[must_use]
    pub(crate) fn of_pci(vendor: &str) -> Option<Self> {
        match vendor {
            "10de" => Some(Self::Nvidia),
            "1002" => Some(Self::Amd),
            "8086" => Some(Self::Intel),
            _ => None,
        }
    }
}

impl Machine {
    /// The ids of all cores, ascending.
    pub(crate) fn core_ids(&self) -> impl ExactSizeIterator<Item = CoreId> + use<> {
        (0..self.cores.len()).map(CoreId::from_index)
    }

    /// The positions in [`Machine::pus`] (L#) of a core's PUs.
    ///
    /// # Panics
    /// If the machine does not have this core.
    #[must_use]
    pub fn pus_of(&self, core: CoreId) -> Range<usize> {
        let first = self.pus.partition_point(|pu| pu.core < core);
        first..first + self.cores[core.index()].pus.len()
    }

    /// The cores of each NUMA node ([`Core::numa`]), by the NUMA node's L#.
    #[must_use]
    pub fn cores_by_numa(&self) -> Vec<Vec<CoreId>> {
        let mut cores = vec![Vec::new(); self.numa_nodes.len()];
        for (id, core) in self.core_ids().zip(&self.cores) {
            cores[core.numa.index()].push(id);
        }
        cores
    }

    /// The package (L#) of each NUMA node, by the NUMA node's L#: [`NumaNode::package`], else that of its
    /// cores, or `None` if
    /// these are in several packages. A NUMA node without cores (HBM, CXL) takes the package of the
    /// cores with the fastest access to it, where memory attributes are known, and otherwise the
    /// package of the NUMA node before it.
    #[must_use]
    pub fn packages_beside(&self) -> Vec<Option<usize>> {
        let package = |core: &CoreId| self.cores[core.index()].package;
        let mut previous = 0;
        let beside = |(node, cores): (&NumaNode, Vec<CoreId>)| {
            if let Some(package) = node.package {
                previous = package;
                return node.package;
            }
            let near = match node.best_access() {
                Some(best) if cores.is_empty() => &best.cores,
                _ => &cores,
            };
            let mut packages = near.iter().map(package);
            let Some(first) = packages.next() else { return Some(previous) };
            previous = first;
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
        let shown = counts.iter().filter(|(count, name)| *count > 0 || *name == "NIC");
        let texts: Vec<String> = shown.map(|(count, name)| counted(*count, name)).collect();
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_vendor_where_a_library_gave_it() {
        for (name, vendor) in [
            ("cuda0", Some(GpuVendor::Nvidia)),
            ("nvml12", Some(GpuVendor::Nvidia)),
            ("rsmi3", Some(GpuVendor::Amd)),
            ("ze1", Some(GpuVendor::Intel)),
            ("zebra", None),
            ("card0", None),
            ("opencl0d1", None),
        ] {
            assert_eq!(GpuVendor::of_name(name), vendor, "{name}");
        }
    }
}

//! NUMA nodes.

use serde::Serialize;

use crate::ids::CoreId;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A NUMA node: a memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumaNode {
    /// The operating system's number (P#), as `numactl --membind` takes it; unique in the node.
    pub os_index: u32,
    /// The size, where known.
    pub memory: Option<Bytes>,
    /// The package (L#) that it is attached to, where that does not follow from its cores: cores whose
    /// own memory the description lacks, because a cpuset or cgroup hides it, count as its cores
    /// ([`Core::numa`](super::Core::numa)) in other packages, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<usize>,
    /// The number of NUMA nodes of the package that it is part of (SNC, NPS), where the description has
    /// only some of them, because a cpuset or cgroup hides the others. From 1; `None`: it has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_numa_nodes: Option<u32>,
    /// `HBM`, `NVM`, `CXL-DRAM`, `GPUMemory`, ...; `None` for DRAM.
    pub kind: Option<String>,
    /// Bandwidth and latency for sets of cores (hwloc's memory attributes).
    pub access: Vec<MemoryAccess>,
}

/// Bandwidth and latency of a memory for a set of cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryAccess {
    /// The cores, L#, ascending; at least one.
    pub cores: Vec<CoreId>,
    /// Bandwidth of reading and writing for all these cores together, where known.
    pub bandwidth: Option<BytesPerSecond>,
    /// Latency of one access, where known.
    pub latency: Option<Seconds>,
}

impl NumaNode {
    /// DRAM of unknown size and speed with this P#.
    #[must_use]
    pub fn new(os_index: u32) -> Self {
        Self {
            os_index,
            memory: None,
            package: None,
            package_numa_nodes: None,
            kind: None,
            access: Vec::new(),
        }
    }

    /// The access of the cores that reach it fastest: by bandwidth, then by latency, then the first.
    /// `None` without memory attributes.
    #[must_use]
    pub fn best_access(&self) -> Option<&MemoryAccess> {
        let latency = |access: &MemoryAccess| access.latency.map_or(f64::MAX, |time| time.0);
        let bandwidth = |access: &MemoryAccess| access.bandwidth.map_or(0.0, |rate| rate.0);
        // `max_by` returns the last of equal ones.
        self.access.iter().rev().max_by(|a, b| {
            let order = bandwidth(a).total_cmp(&bandwidth(b));
            order.then(latency(b).total_cmp(&latency(a)))
        })
    }
}

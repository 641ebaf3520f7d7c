//! Memories.

use serde::Serialize;

use crate::ids::CoreId;
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// A memory with the cores next to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumaNode {
    /// The operating system's number (P#), what `numactl --membind` takes.
    pub os_index: u32,
    /// Its size, where known.
    pub memory: Option<Bytes>,
    /// Its kind where it is not plain memory: `HBM`, `NVM`, `CXL-DRAM`, `GPUMemory`, ...
    pub kind: Option<String>,
    /// How fast it is, for the sets of cores from which that is known.
    pub access: Vec<MemoryAccess>,
}

/// How fast a memory is for some cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryAccess {
    /// The cores, L#, ascending.
    pub cores: Vec<CoreId>,
    /// What they can read and write together, where known.
    pub bandwidth: Option<BytesPerSecond>,
    /// Of one access, where known.
    pub latency: Option<Seconds>,
}

impl NumaNode {
    /// Plain memory of which only the operating system's number is known.
    #[must_use]
    pub fn new(os_index: u32) -> Self {
        Self { os_index, memory: None, kind: None, access: Vec::new() }
    }

    /// How fast it is for the cores that it is fastest for: by bandwidth, then by latency; none where
    /// nothing is known.
    #[must_use]
    pub fn best_access(&self) -> Option<&MemoryAccess> {
        let latency = |access: &MemoryAccess| access.latency.map_or(f64::MAX, |time| time.0);
        let bandwidth = |access: &MemoryAccess| access.bandwidth.map_or(0.0, |rate| rate.0);
        // Of equal ones the first.
        self.access.iter().rev().max_by(|a, b| {
            let order = bandwidth(a).total_cmp(&bandwidth(b));
            order.then(latency(b).total_cmp(&latency(a)))
        })
    }
}

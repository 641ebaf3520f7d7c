//! The hardware of a machine from the kernel's `/sys` and `/proc`, by the rules of libhwloc's Linux part,
//! so that both find the same objects in the same order (L#).
//!
//! | file | what it reads |
//! |---|---|
//! | `tree` | files below a root folder |
//! | `set` | sets of PUs |
//! | `processors` | PUs, cores, dies, packages, caches; the model |
//! | `memories` | NUMA nodes with their sizes, kinds, distances, bandwidths and latencies |
//! | `objects` | nests the sets into a tree |
//! | `devices` | network devices and GPUs |
//! | `allowed` | the PUs that the control group of this process allows |
//!
//! What libhwloc knows beyond: names of GPUs in CUDA, ROCm and Level Zero (here `card0`, or the PCI address),
//! caches of machines whose kernel does not list them, and the memory modes of Xeon Phi.

mod allowed;
mod devices;
mod memories;
mod objects;
mod processors;
mod set;
mod tree;

use std::path::Path;

use self::memories::Memories;
use self::processors::Processors;
use self::tree::Tree;
use crate::cluster::NodeGroup;
use crate::cluster::read::tree::{machine, numa_by_number};
use crate::files::InputError;

/// Reads the machine whose `/sys` and `/proc` are below a folder. PUs that the control group of this
/// process does not allow are not free.
///
/// # Errors
/// If the list of PUs is missing, or the files contradict each other.
pub(super) fn group(root: &Path) -> Result<NodeGroup, InputError> {
    let tree = Tree::new(root);
    let processors = Processors::read(&tree)?;
    let memories = Memories::read(&tree, &processors);
    let object = objects::nested(&processors, &memories);
    let mut machine = machine(&object).map_err(|(found, expected)| {
        InputError::new(tree.name("sys/devices/system"), found, expected)
    })?;
    let logical = numa_by_number(&machine);
    memories.add_access(&logical, &mut machine);
    machine.numa_distance = memories.distances(&logical);
    machine.processor = processors.model.clone();
    (machine.nics, machine.gpus) = devices::read(&tree, &memories, &logical);
    let allowed = allowed::pus(&tree);
    let is_free = |number| allowed.as_ref().is_none_or(|allowed| allowed.contains(number));
    let free = machine.pus.iter().map(|pu| is_free(pu.id.0)).collect();
    Ok(NodeGroup { machine, free, speed: 1.0 })
}

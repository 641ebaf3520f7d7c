//! Which stack drives the devices of a job.

use super::job::kind;
use super::stacks::{STACKS, Stack, find};
use crate::cluster::NicKind;
use crate::ids::Rank;
use crate::placement::{JobEntry, PlacementFile};

/// Several stacks could drive the devices of a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the placement gives rank {rank} the device{} {devices}, but which stack drives {} is not known: \
     say --fabric with one of {stacks}",
    if devices.contains(", ") { "s" } else { "" },
    if devices.contains(", ") { "them" } else { "it" }
)]
pub struct AmbiguousStack {
    /// The first rank with devices.
    pub rank: Rank,
    /// Its devices.
    pub devices: String,
    /// The stacks that drive devices of this kind.
    pub stacks: String,
}

/// The stack that follows from the devices and the MPI library of a job; `None` if the placement names
/// no device.
///
/// # Errors
/// If several stacks could drive the devices.
pub fn recognise(
    placement: &PlacementFile,
    job: &JobEntry,
) -> Result<Option<&'static Stack>, AmbiguousStack> {
    let Some(entry) = job.ranks.iter().find(|entry| !entry.nics.is_empty()) else {
        return Ok(None);
    };
    let node = placement.node(&entry.node);
    let device = node.and_then(|node| node.nics.iter().find(|nic| entry.nics.contains(&nic.name)));
    let kind = device.map_or_else(|| NicKind::of(entry.nics.iter().map(String::as_str)), kind);
    let library = job.mpi_library.to_ascii_lowercase();
    let is = |name: &str| library.contains(name);
    let name = match kind {
        _ if is("cray mpich") && kind == NicKind::Slingshot => Some("craympich"),
        NicKind::InfiniBand if is("mvapich2") => Some("mvapich2"),
        NicKind::InfiniBand if is("open mpi") => Some("ucx"),
        NicKind::Ethernet if is("open mpi") => Some("openmpi"),
        NicKind::Efa => Some("efa"),
        _ => None,
    };
    if let Some(stack) = name.and_then(find) {
        return Ok(Some(stack));
    }
    let possible = STACKS.iter().filter(|stack| stack.kinds.contains(&kind));
    let possible: Vec<&str> = possible.map(|stack| stack.name).collect();
    let (devices, stacks) = (entry.nics.join(", "), possible.join(", "));
    Err(AmbiguousStack { rank: entry.rank, devices, stacks })
}

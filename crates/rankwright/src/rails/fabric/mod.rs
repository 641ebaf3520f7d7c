//! The environment variables that give each network stack the devices of a rank: a value for each rank,
//! or one value for all where the stack has such a form and all nodes have the same local map.
//!
//! The values follow the sources of PSM2 (5ecb576), libfabric (af8ddbe), UCX (9466d10), MPICH
//! (6a79bf6), Open MPI (8efebee), and the documentation of MVAPICH2, Cray MPICH and NCCL; none was
//! tried on hardware.
//!
//! | file | what it has |
//! |---|---|
//! | `stacks` | the table of stacks |
//! | `recognise` | the stack that follows from devices and MPI library |
//! | `job` | a job as stacks see it: the ranks of each node with their devices |
//! | `psm`, `libfabric`, `ucx`, `mpi` | the variables of each stack: `HFI_UNIT`, `UCX_NET_DEVICES`, .. |
//! | `defaults` | the devices that each stack uses by default |

mod defaults;
mod job;
mod libfabric;
mod mpi;
mod psm;
mod recognise;
mod stacks;
#[cfg(test)]
mod tests;
mod ucx;

pub use recognise::{AmbiguousStack, recognise};
pub use stacks::{FabricError, LocalRanks, STACKS, Stack, find};

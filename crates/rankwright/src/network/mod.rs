//! The queueing network: which servers a message passes, how long each serves it, and what the
//! ranks of a workload send. Shared by the estimators, the simulator and the choice of network
//! devices.

pub(crate) mod demand;
mod far_device;
mod servers;
pub(crate) mod sites;

pub use far_device::FarDevice;
pub use servers::{Hop, Path, ServerKind, Servers};

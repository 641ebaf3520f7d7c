//! The networks of a lab: bridges in the head's namespace, and pairs of virtual devices, one or
//! several for data and one for management per node. All labs use the same addresses, because no lab
//! sees another lab or the host.

mod addresses;
mod delay;
mod links;
mod shape;
mod shaping;
mod tiers;

pub(crate) use addresses::{
    HEAD, HEAD_ADDRESS, MANAGEMENT_DEVICE, MANAGEMENT_NETWORK, data_device, data_network, find,
    hostlist, hosts, management_address, names,
};
pub use addresses::{MOST_NICS, MOST_NODES};
pub use delay::parse_delay;
pub(crate) use delay::{NETEM_PROBE, diversion, known_ports, tap_links, taps};
pub(crate) use links::{node_links, switch_links, upper_port};
pub use shape::Network;
pub(crate) use shaping::{node_shaping, switch_shaping};
pub use tiers::Tiers;

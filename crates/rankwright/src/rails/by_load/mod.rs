//! `by-load` minimises the time that the busiest device needs for the traffic between nodes.
//!
//! Under a placement every node sends and receives a known number of bytes, so each node is a
//! problem of its own: makespan scheduling with ranks as tasks and devices as machines
//! ([`makespan`] has the algorithms and sources). A device that is not beside the rank has the cost
//! of [`FarDevice`], as in the estimators and the simulator: the device needs longer for every
//! byte, or the rank's core has more work for every message. The core of each rank is a machine
//! too, busy with what the choice costs it beyond the least of any choice. On rail-optimised
//! fabrics, where all devices have a rail, both ends of a message use the same rail: there the
//! tasks are the sets of ranks that exchange messages, directly or through others, over all nodes.
//!
//! A rank uses one device where that comes within 10 % of the lower bound; else ranks may be striped
//! over the nearest devices, or over all, as far as these have contexts left.
//!
//! | file | what it has |
//! |---|---|
//! | `choose` | one problem for each node, or one for all nodes with rails |
//! | `tasks` | the devices of ranks as a scheduling problem, single devices first, then striped |
//! | `device_sets` | the sets of devices that a rank may use |
//! | `busy_times` | how long devices and cores are busy with a rank; the lower bound |
//! | `makespan/` | makespan scheduling: LPT, local search, branch and bound |
//!
//! [`FarDevice`]: crate::network::FarDevice

mod busy_times;
mod choose;
mod device_sets;
mod makespan;
mod tasks;

pub(super) use busy_times::lower_bound;
pub(super) use choose::choose;
pub(crate) use device_sets::DeviceSets;

//! An emulated cluster of network namespaces on one machine, with shaped network devices and real
//! MPI across them.
//!
//! A lab has no daemon and leaves no names in system tables. Each node is one sleeping process, its
//! *holder*, with a network, a UTS, an IPC and a mount namespace; the kernel removes these and
//! their devices with the last process inside. All processes of a lab have a mark in their mount
//! namespace, so `down` finds them without a record.

mod counters;
mod description;
mod down;
mod enter;
mod holder;
mod network;
mod process;
mod rate;
mod remote_shell;
mod services;
mod state;
mod status;
mod tools;
mod up;

pub use counters::{Counted, Counters, InterfaceCounters, counters, interface_counters};
pub use down::{down, labs};
pub use enter::{command_on, is_default_of_lab};
pub use network::{MOST_NICS, MOST_NODES, Network, Tiers, parse_delay};
pub use rate::{parse_rate, rate_text};
pub use remote_shell::remote_command;
pub use services::relay::relay;
pub use state::{LabName, NAME_VARIABLE};
pub use status::{LabState, LabStatus, status};
pub use up::{Plan, Site, ready};

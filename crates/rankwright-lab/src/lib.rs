//! An emulated cluster of network namespaces on one machine, with shaped network devices and real MPI
//! across them.
//!
//! A lab has no daemon and no names in the system's tables. Each node is one sleeping process, its
//! *holder*, that owns a network, a UTS, an IPC and a mount namespace; the kernel removes them and
//! the devices in them with the last process inside. Every process of a lab is known by a mark in
//! its mount namespace, so that `down` needs no record to find them all.

mod counters;
mod down;
mod enter;
mod holder;
mod network;
mod process;
mod rate;
mod remote_shell;
mod state;
mod status;
mod tools;
mod up;

pub use counters::{NodeCounters, counters};
pub use down::{down, labs};
pub use enter::command_on;
pub use network::MOST_NODES;
pub use rate::{parse_rate, rate_text};
pub use remote_shell::remote_command;
pub use state::{LabName, LabNameError, NAME_VARIABLE};
pub use status::{LabState, LabStatus, status};
pub use up::{Plan, Site};

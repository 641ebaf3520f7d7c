//! `rankwright lab`: an emulated cluster of network namespaces on one machine, with shaped network
//! devices and real MPI across them.
//!
//! A lab has no daemon and no names in the system's tables. Each node is one sleeping process, its
//! *holder*, that owns a network, a UTS, an IPC and a mount namespace; the kernel removes them and
//! the devices in them with the last process inside. Every process of a lab is known by a mark in
//! its mount namespace, so that `down` needs no record to find them all.

mod agent;
mod counters;
mod down;
mod enter;
mod exec;
mod holder;
mod network;
mod process;
mod state;
mod status;
mod tools;
mod up;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Verbosity;

use state::LabName;

/// Options of `rankwright lab`.
#[derive(Debug, Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an emulated cluster and write its description
    Up(up::Up),
    /// Run a command on a node, or on `head`, where launchers start
    Exec(exec::Exec),
    /// Show how many bytes and packets went through each node's network device
    Counters(counters::Counters),
    /// List the labs that are up
    Status(status::Status),
    /// Remove a lab and every process in it
    Down(down::Down),
    /// The remote shell of a lab, as launchers call it
    #[command(hide = true)]
    Agent(agent::Agent),
}

/// Which lab is meant.
#[derive(Debug, Clone, Args)]
struct Which {
    /// Name of the lab
    #[arg(long, default_value = "lab", env = state::NAME_VARIABLE, hide_env_values = true)]
    name: LabName,
}

impl Lab {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Up(action) => action.run(verbosity),
            Action::Exec(action) => action.run(),
            Action::Counters(action) => action.run(),
            Action::Status(action) => action.run(verbosity),
            Action::Down(action) => action.run(verbosity),
            Action::Agent(action) => action.run(),
        }
    }
}

//! `rankwright lab`: an emulated cluster on this machine.

mod agent;
mod counters;
mod down;
mod exec;
mod named;
mod relay;
mod status;
mod up;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Verbosity;

/// Options of `rankwright lab`.
#[derive(Debug, Args)]
pub(crate) struct Lab {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start an emulated cluster and write its description
    Up(up::Up),
    /// Run a command on a node, or on `head`, where launchers start
    Exec(exec::Exec),
    /// Show the bytes and packets that each network device and uplink has sent and received
    Counters(counters::Counters),
    /// List the labs that are up
    Status(status::Status),
    /// Remove a lab and end every process in it
    Down(down::Down),
    /// The remote shell of a lab, as launchers call it
    #[command(hide = true)]
    Agent(agent::Agent),
    /// What delays the frames of a lab
    #[command(hide = true)]
    Relay(relay::Relay),
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
            Action::Relay(action) => action.run(),
        }
    }
}

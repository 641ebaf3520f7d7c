//! `rankwright cluster`.

mod check;
mod description;
mod discover;
mod import;
mod named;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Verbosity;

/// Options of `rankwright cluster`.
#[derive(Debug, Args)]
pub(crate) struct ClusterCommand {
    #[command(subcommand)]
    action: Action,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Action {
    /// Describe this node as a cluster.toml
    Discover(discover::Discover),
    /// Make a cluster.toml from hwloc XML, a hostfile, switches (Slurm, InfiniBand) or the current
    /// job
    Import(import::Import),
    /// Show nodes, memories, cores, devices and switches, as text or picture
    Show(show::Show),
    /// Summarise a description and warn of doubtful values
    Check(check::Check),
}

impl ClusterCommand {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Discover(command) => command.run(verbosity)?,
            Action::Import(command) => command.run(verbosity)?,
            Action::Show(command) => command.run(verbosity)?,
            Action::Check(command) => command.run(verbosity)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! `rankwright timeline`.

mod export;
mod run;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Verbosity;

/// Options of `rankwright timeline`.
#[derive(Debug, Args)]
pub(crate) struct TimelineCommand {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    /// Show when each network device and rank uses the network, and by how many it is used at once
    Show(show::Show),
    /// Write a time line for another tool
    Export(export::Export),
}

impl TimelineCommand {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.command {
            Commands::Show(command) => command.run(verbosity)?,
            Commands::Export(command) => command.run(verbosity)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

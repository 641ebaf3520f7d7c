//! `rankwright traffic`.

mod export;
mod formats;
mod generate;
mod import;
mod list;
mod merge;
mod messages;
mod recorded;
mod redact;
mod show;
mod written;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::output::Verbosity;

/// Options of `rankwright traffic`.
#[derive(Debug, Args)]
pub(crate) struct Traffic {
    #[command(subcommand)]
    command: TrafficCommand,
}

#[derive(Debug, Subcommand)]
enum TrafficCommand {
    /// Show messages, bytes and times, with the heaviest pairs of ranks
    Show(show::Show),
    /// List the messages of one rank in the order of sending
    Messages(messages::Messages),
    /// Convert traffic of another format to a profile
    Import(import::Import),
    /// Convert traffic to another format
    Export(export::Export),
    /// List the built-in workloads
    List(list::List),
    /// Generate traffic with a regular pattern
    Generate(generate::Generate),
    /// Add up several runs of one program
    Merge(merge::Merge),
    /// Replace the names of hosts, program and communicators by neutral ones
    Redact(redact::Redact),
}

impl Traffic {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.command {
            TrafficCommand::Show(command) => command.run(verbosity)?,
            TrafficCommand::Messages(command) => command.run()?,
            TrafficCommand::Import(command) => command.run()?,
            TrafficCommand::Export(command) => command.run(verbosity)?,
            TrafficCommand::List(command) => command.run()?,
            TrafficCommand::Generate(command) => command.run()?,
            TrafficCommand::Merge(command) => command.run()?,
            TrafficCommand::Redact(command) => command.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! One file per command: its options and what it does.

mod completion;
mod lab;
mod man;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Verbosity;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Make an emulated cluster on this machine to try placements in
    Lab(lab::Lab),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::Man),
}

/// Runs a command; the exit code is its result where it is that of another program.
pub(crate) fn run(command: Command, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
    match command {
        Command::Completion(command) => command.run(),
        Command::Lab(command) => command.run(verbosity),
        Command::Man(command) => command.run(),
    }
}

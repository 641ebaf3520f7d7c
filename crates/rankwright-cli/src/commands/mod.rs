//! One file per command: its options and what it does.

mod cluster;
mod completion;
mod man;
mod profile;
mod traffic;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Verbosity;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program and record who sends how much to whom, and the time inside MPI
    Profile(profile::Profile),
    /// Show, import, export and generate traffic: who sends how much to whom
    Traffic(traffic::Traffic),
    /// Discover, import, show and check cluster descriptions
    Cluster(cluster::ClusterCommand),
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::Man),
}

/// Runs a command; the exit code is its result where it is that of another program.
pub(crate) fn run(command: Command, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
    match command {
        Command::Profile(command) => command.run(verbosity),
        Command::Traffic(command) => command.run(),
        Command::Cluster(command) => command.run(verbosity),
        Command::Completion(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

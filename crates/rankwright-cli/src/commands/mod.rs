//! One file per command: its options and what it does.

mod cluster;
mod compare;
mod completion;
mod man;
mod map;
mod place;
mod profile;
mod traffic;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Verbosity;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the best placement of profiled jobs on a cluster and write it
    Place(place::Place),
    /// Compare what strategies would cost
    Compare(compare::Compare),
    /// Place ranks by one strategy, or map a bare graph onto a hierarchy
    Map(map::Map),
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
        Command::Place(command) => command.run(verbosity),
        Command::Compare(command) => command.run(verbosity),
        Command::Map(command) => command.run(verbosity),
        Command::Profile(command) => command.run(verbosity),
        Command::Traffic(command) => command.run(),
        Command::Cluster(command) => command.run(verbosity),
        Command::Completion(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

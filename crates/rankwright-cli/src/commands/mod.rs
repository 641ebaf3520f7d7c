//! The commands, in folders as `rankwright --help` groups them; a file or folder for each, with its
//! options and what it does.

mod every_day;
mod look;
mod plan;
mod programs;
mod prove;

use std::process::ExitCode;

use clap::Subcommand;

use crate::output::Verbosity;
use every_day::{check, place, profile, run};
use look::{cluster, compare, traffic};
use plan::{launch, lint, map, nic, simulate};
use programs::{completion, exec, man};
use prove::{lab, reproduce};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the best placement of profiled jobs on a cluster and write it
    Place(place::Place),
    /// Compare what strategies would cost
    Compare(compare::Compare),
    /// Simulate the queues at network devices and memories under a placement
    Simulate(simulate::Simulate),
    /// Place ranks by one strategy, or map a bare graph onto a hierarchy
    Map(map::Map),
    /// Run a program and record who sends how much to whom, and the time inside MPI
    Profile(profile::Profile),
    /// Show, import, export and generate traffic: who sends how much to whom
    Traffic(traffic::Traffic),
    /// Discover, import, show and check cluster descriptions
    Cluster(cluster::ClusterCommand),
    /// Verify on the machine that every rank gets the place it should have
    Check(check::Check),
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Bind this rank as placed, then become the program (the shim that launchers start)
    Exec(exec::Exec),
    /// Write the files and the command line that a launcher needs for a placement
    Launch(launch::Launch),
    /// Say what a launcher's file really means, warn of traps, translate it for another launcher
    Lint(lint::Lint),
    /// Make an emulated cluster on this machine to try placements in
    Lab(lab::Lab),
    /// Show network devices, which rank uses which, and the variables that say so
    Nic(nic::Nic),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::Man),
    /// Show the numbers that papers print, and ours beside them
    Reproduce(reproduce::Reproduce),
    /// Start a program as placed, with the launcher that is installed
    Run(run::Run),
}

/// Runs a command; the exit code is its result where it is that of another program. `whole` builds
/// the command line, for those that describe it.
pub(crate) fn execute(
    command: Command,
    verbosity: &Verbosity,
    whole: fn() -> clap::Command,
) -> anyhow::Result<ExitCode> {
    match command {
        Command::Place(command) => command.run(verbosity),
        Command::Compare(command) => command.run(verbosity),
        Command::Simulate(command) => command.run(verbosity),
        Command::Map(command) => command.run(verbosity),
        Command::Profile(command) => command.run(verbosity),
        Command::Traffic(command) => command.run(verbosity),
        Command::Cluster(command) => command.run(verbosity),
        Command::Check(command) => command.run(verbosity),
        Command::Completion(command) => command.run(whole()),
        Command::Exec(command) => command.run(),
        Command::Launch(command) => command.run(verbosity),
        Command::Lint(command) => command.run(verbosity),
        Command::Lab(command) => command.run(verbosity),
        Command::Nic(command) => command.run(verbosity),
        Command::Man(command) => command.run(whole()),
        Command::Reproduce(command) => command.run(verbosity),
        Command::Run(command) => command.run(verbosity),
    }
}

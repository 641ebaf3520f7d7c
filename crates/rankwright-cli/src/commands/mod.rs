//! The commands, in the groups of `rankwright --help`; each has a file or folder with its options
//! and its work.

mod every_day;
mod look;
mod plan;
mod programs;
mod prove;

use std::process::ExitCode;

use clap::Subcommand;

use crate::output::Verbosity;
pub(crate) use every_day::next_steps::next_steps;
use every_day::{check, doctor, place, profile, run};
use look::{cluster, compare, report, timeline, traffic};
use plan::{calibrate, launch, lint, map, nic, pair, simulate};
use programs::{completion, exec, man};
use prove::{lab, reproduce};

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find the best placement of profiled jobs on a cluster and write it
    Place(place::Place),
    /// Write one page: does a placement pay, what to type, what is not known
    Report(report::Report),
    /// Compare the placements of several strategies
    Compare(compare::Compare),
    /// Measure the rates of a cluster between real MPI processes, and write them into its description
    Calibrate(calibrate::Calibrate),
    /// Simulate the queues at network devices and memories for a placement
    Simulate(simulate::Simulate),
    /// Place ranks by one strategy, or map a bare graph onto a hierarchy
    Map(map::Map),
    /// Run an MPI program and record the messages between its ranks and the time inside MPI
    Profile(profile::Profile),
    /// Show, import, export and generate traffic (messages between ranks)
    Traffic(traffic::Traffic),
    /// Show when the network is used in a recorded run, by whom, and by how many at once
    Timeline(timeline::TimelineCommand),
    /// Discover, import, show and check cluster descriptions
    Cluster(cluster::ClusterCommand),
    /// Verify on the machine that every rank runs where the placement says
    Check(check::Check),
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Test what is installed and works, and name what is missing and the package that has it
    Doctor(doctor::Doctor),
    /// Bind this rank as placed, then execute the program (the shim that launchers start)
    Exec(exec::Exec),
    /// Write the files and the command line that a launcher needs for a placement
    Launch(launch::Launch),
    /// Show what a launcher's file really does, warn of traps, translate it for another launcher
    Lint(lint::Lint),
    /// Emulate a cluster on this machine, to try placements
    Lab(lab::Lab),
    /// Show network devices, which ranks use them, and the variables that select them
    Nic(nic::Nic),
    /// Find which jobs should share nodes, so that their messages wait least for each other
    Pair(pair::Pair),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::Man),
    /// Compute the numbers of published papers again and compare
    Reproduce(reproduce::Reproduce),
    /// Start a program as placed, with the installed launcher
    Run(run::Run),
}

/// Runs a command and returns its exit code, or that of the program it ran. `whole` builds the
/// command line, for the commands that describe it.
pub(crate) fn execute(
    command: Command,
    verbosity: &Verbosity,
    whole: fn() -> clap::Command,
) -> anyhow::Result<ExitCode> {
    match command {
        Command::Place(command) => command.run(verbosity),
        Command::Report(command) => command.run(verbosity),
        Command::Compare(command) => command.run(verbosity),
        Command::Calibrate(command) => command.run(verbosity),
        Command::Simulate(command) => command.run(verbosity),
        Command::Map(command) => command.run(verbosity),
        Command::Profile(command) => command.run(verbosity),
        Command::Traffic(command) => command.run(verbosity),
        Command::Timeline(command) => command.run(verbosity),
        Command::Cluster(command) => command.run(verbosity),
        Command::Check(command) => command.run(verbosity),
        Command::Completion(command) => command.run(whole()),
        Command::Doctor(command) => command.run(verbosity),
        Command::Exec(command) => command.run(),
        Command::Launch(command) => command.run(verbosity),
        Command::Lint(command) => command.run(verbosity),
        Command::Lab(command) => command.run(verbosity),
        Command::Nic(command) => command.run(verbosity),
        Command::Pair(command) => command.run(verbosity),
        Command::Man(command) => command.run(whole()),
        Command::Reproduce(command) => command.run(verbosity),
        Command::Run(command) => command.run(verbosity),
    }
}

//! One file per command: its options and what it does.

mod check;
mod completion;
mod exec;
mod launch;
mod man;
mod run;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Verbosity;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Verify on the machine that every rank gets the place it should have
    Check(check::Check),
    /// Print the completion script of a shell
    Completion(completion::Completion),
    /// Bind this rank as placed, then become the program (the shim that launchers start)
    Exec(exec::Exec),
    /// Write the files and the command line that a launcher needs for a placement
    Launch(launch::Launch),
    /// Print the manual page, or write those of all commands to a folder
    Man(man::Man),
    /// Start a program as placed, with the launcher that is installed
    Run(run::Run),
}

/// Runs a command; the exit code is its result where it is that of another program.
pub(crate) fn run(command: Command, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
    match command {
        Command::Check(command) => command.run(verbosity),
        Command::Completion(command) => command.run(),
        Command::Exec(command) => command.run(),
        Command::Launch(command) => command.run(verbosity),
        Command::Man(command) => command.run(),
        Command::Run(command) => command.run(verbosity),
    }
}

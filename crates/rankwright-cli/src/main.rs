//! The `rankwright` command line: arguments, progress, exit codes and child processes around the
//! library, which does the work.

mod batch_job;
mod child;
mod cli;
mod commands;
mod elf;
mod exit_code;
mod inputs;
mod interrupt;
mod launch_files;
mod launching;
mod mpi;
mod mpi_launcher;
mod mpi_library;
mod network;
mod node_counts;
mod output;
mod planning;
mod running;
mod simulating;
mod table_row;
mod termination;

use std::process::ExitCode;

use clap::FromArgMatches;

fn main() -> ExitCode {
    // A closed pipe (`rankwright ... | head`) ends the program quietly, as other tools do.
    output::end_quietly_on_closed_pipe();
    output::survive_file_size_limit();
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => error.exit(),
    };
    let cli = match cli::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let result = commands::run(cli.command, &cli.verbosity);
    match result {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            exit_code::of(&error)
        }
    }
}

//! The `rankwright` command: arguments, progress, exit codes and child processes; the library does
//! the work.

mod cli;
mod commands;
mod host;
mod launching;
mod options;
mod output;
mod planning;

use std::process::ExitCode;

use anyhow::Context;
use clap::FromArgMatches;

use output::{exit_code, sources, stages};

fn main() -> ExitCode {
    host::started();
    // A closed pipe (`rankwright ... | head`) ends the program quietly, as other tools do.
    host::signals::end_quietly_on_closed_pipe();
    host::signals::survive_file_size_limit();
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return told(&cli::explained(error)),
    };
    let cli = match cli::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return told(&error),
    };
    let result = match cli.command {
        Some(command) => commands::execute(command, &cli.verbosity, cli::command),
        None => commands::next_steps(),
    };
    match result {
        Ok(code) => {
            if cli.verbosity.verbose {
                sources::tell(&cli.verbosity);
                stages::tell(host::started(), &cli.verbosity);
            }
            code
        }
        Err(error) => {
            output::error(&error);
            sources::tell(&cli.verbosity);
            exit_code::of(&error)
        }
    }
}

/// Prints help, a version or what is wrong with the arguments.
fn told(text: &clap::Error) -> ExitCode {
    match text.print().context("standard output") {
        Ok(()) => u8::try_from(text.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) => {
            output::error(&error);
            exit_code::of(&error)
        }
    }
}

//! `rankwright-exec`, the per-rank shim: it finds its rank, reads that rank's line of `ranks.map`,
//! binds itself to the PUs and the memory there and executes the program. Every rank of a job
//! starts it, so it uses only the standard library, libc and `rankwright-shim-format`, opens one
//! small file and links statically.
//!
//! The program itself belongs to `rankwright-cli`, so that installing that gives both programs.

mod affinity;
mod arguments;
mod bind;
mod failure;
mod identity;
mod memory;
mod process_manager;
mod ranks_map;
mod report;
mod trace;
mod visible_gpu;

use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use arguments::{Arguments, Request};
use failure::Failure;

/// Runs the shim with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let request = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(request) => request,
        Err(failure) => return fail(&failure),
    };
    let result = match request {
        Request::Print(text) => print(&text),
        Request::Report { map, bind } => {
            report::report(map.as_deref(), bind).and_then(|line| print(&format!("{line}\n")))
        }
        Request::Start(arguments) => {
            let failure = start(&arguments);
            let code = fail(&failure);
            process_manager::end_job(failure.code);
            return code;
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Binds this process and executes the program; returns only if that fails.
fn start(arguments: &Arguments) -> Failure {
    let mut program = Command::new(&arguments.program);
    program.args(&arguments.program_arguments);
    if let Some(map) = &arguments.map {
        match bind::bind(map) {
            Ok(bound) => {
                bound.warnings.iter().for_each(|text| say(text));
                program.envs(bound.variables)
            }
            Err(failure) => return failure,
        };
    }
    if let Some(trace) = &arguments.trace {
        match trace.variables() {
            Ok(variables) => program.envs(variables),
            Err(failure) => return failure,
        };
    }
    let error = program.exec();
    let name = arguments.program.display();
    match error.kind() {
        ErrorKind::NotFound => {
            Failure { code: 127, text: format!("{name}: not found on this host") }
        }
        _ => Failure { code: 126, text: format!("{name}: cannot be run: {error}") },
    }
}

/// Writes to standard output in one piece, so that launchers do not mix the lines of ranks.
fn print(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::ours(format!("standard output: {error}")))
}

fn fail(failure: &Failure) -> ExitCode {
    say(&failure.text);
    ExitCode::from(failure.code)
}

/// Writes to standard error in one piece.
fn say(text: &str) {
    // If standard error is closed, this cannot be reported.
    let _ = std::io::stderr().write_all(format!("rankwright-exec: {text}\n").as_bytes());
}

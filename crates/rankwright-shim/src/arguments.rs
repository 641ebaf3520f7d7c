//! The command line of the shim.

use std::ffi::OsString;
use std::path::PathBuf;

use rankwright_shim_format::{RANK_VARIABLES, shim_options as names};

use crate::failure::Failure;
use crate::trace::Trace;

/// The help text.
fn help() -> String {
    let variables = RANK_VARIABLES.join(", ");
    format!(
        "\
         Binds this rank as placed, then executes the program

Usage: rankwright-exec [OPTIONS] [--] PROGRAM [ARGUMENT]...
       rankwright-exec --report [OPTIONS]

Options:
      --map FILE      Bind to the PUs and the memory in this rank's line of FILE (a ranks.map)
      --no-bind       With --report: keep the binding and the variables of the launcher
      --report        Print one line that says where this rank runs; start no program
      --trace FILE    Load the tracer into the program; it writes to FILE
      --tracer LIB    With --trace: the tracer's library
      --spool DIR     With --trace: folder for the records of this rank during the run
      --trace-options WORDS
                      With --trace: options of the tracer, separated by commas: events,
                      no-gaps, no-tsc, per-rank
  -h, --help          Print this help
  -V, --version       Print the version

The rank is the first of these variables that is set:
{variables}.

Exit code: that of the program; 125 if rankwright-exec failed, 126 if the program cannot be run,
127 if it is not found.
"
    )
}

/// What to do.
#[derive(Debug)]
pub(crate) enum Request {
    /// Print a text.
    Print(String),
    /// Report where this rank runs.
    Report { map: Option<PathBuf>, bind: bool },
    /// Start a program.
    Start(Arguments),
}

/// A program, and what to do before it starts.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) map: Option<PathBuf>,
    pub(crate) trace: Option<Trace>,
    pub(crate) program: OsString,
    pub(crate) program_arguments: Vec<OsString>,
}

/// Reads the arguments; the first that is not an option is the program.
pub(crate) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, Failure> {
    let (mut map, mut file, mut library) = (None, None, None);
    let (mut spool, mut options) = (None, None);
    let (mut report, mut bind) = (false, true);
    let program = loop {
        let Some(argument) = arguments.next() else { break None };
        let text = argument.to_str().unwrap_or_default();
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (text, None),
        };
        let mut value = || {
            let value = joined.map(OsString::from).or_else(|| arguments.next());
            value.map(PathBuf::from).ok_or_else(|| usage(&format!("{name} needs a value")))
        };
        match name {
            names::MAP => map = Some(value()?),
            names::TRACE => file = Some(value()?),
            names::TRACER => library = Some(value()?),
            names::SPOOL => spool = Some(value()?),
            names::TRACE_OPTIONS => options = Some(value()?.into_os_string()),
            names::REPORT => report = true,
            names::NO_BIND => bind = false,
            "-h" | "--help" => return Ok(Request::Print(help())),
            "-V" | "--version" => {
                return Ok(Request::Print(format!(
                    "rankwright-exec {}\n",
                    env!("CARGO_PKG_VERSION")
                )));
            }
            "--" => break arguments.next(),
            _ if name.starts_with('-') => return Err(usage(&format!("unknown option {name}"))),
            _ => break Some(argument),
        }
    };
    let trace = match (file, library) {
        (Some(file), Some(library)) => Some(Trace { file, library, spool, options }),
        (None, None) if spool.is_none() && options.is_none() => None,
        (None, None) => return Err(usage("--spool and --trace-options need --trace")),
        _ => return Err(usage("--trace needs --tracer, and --tracer needs --trace")),
    };
    match (program, report) {
        (Some(program), false) if bind => {
            let program_arguments = arguments.collect();
            Ok(Request::Start(Arguments { map, trace, program, program_arguments }))
        }
        (Some(_), false) => Err(usage("--no-bind needs --report")),
        (Some(_), true) => Err(usage("--report starts no program")),
        (None, true) => Ok(Request::Report { map, bind }),
        (None, false) => Err(usage("no program to start")),
    }
}

fn usage(what: &str) -> Failure {
    Failure::ours(format!("{what}; `rankwright-exec --help` lists the options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Request, String> {
        parse(words.iter().map(OsString::from)).map_err(|failure| failure.text)
    }

    #[test]
    fn options_end_at_the_program() {
        let Ok(Request::Start(arguments)) =
            parse_words(&["--map=m", "--trace", "t", "--tracer", "l.so", "./app", "--map", "-h"])
        else {
            panic!("a program to start");
        };
        assert_eq!(arguments.map, Some(PathBuf::from("m")));
        assert_eq!(arguments.program, "./app");
        assert_eq!(arguments.program_arguments, ["--map", "-h"]);
        let Ok(Request::Start(arguments)) = parse_words(&["--", "--strange"]) else {
            panic!("a program to start");
        };
        assert_eq!(arguments.program, "--strange");
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        for (words, why) in [
            (&["--map"][..], "--map needs a value"),
            (&["--mpa", "x"], "unknown option --mpa"),
            (&["--trace", "t", "app"], "--trace needs --tracer"),
            (&["--spool", "s", "app"], "need --trace"),
            (&["--report", "app"], "--report starts no program"),
            (&["--map", "m"], "no program"),
            (&["--no-bind", "app"], "--no-bind needs --report"),
        ] {
            let text = parse_words(words).expect_err("it is wrong");
            assert!(text.contains(why), "{text}");
        }
    }
}

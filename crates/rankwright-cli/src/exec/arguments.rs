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
Binds this rank as placed, then becomes the program

Usage: rankwright-exec [OPTIONS] [--] PROGRAM [ARGUMENT]...
       rankwright-exec --report [OPTIONS]

Options:
      --map FILE      Bind to the PUs and the memory of this rank's line of FILE (a ranks.map)
      --no-bind       With --report: leave binding and variables as the launcher made them
      --report        Print one line that says where this rank is, start no program
      --trace FILE    Load the tracer into the program and let it write to FILE
      --tracer LIB    The tracer's library, for --trace
      --spool DIR     Where the tracer keeps this rank's records while it runs, for --trace
      --trace-options WORDS
                      What the tracer does otherwise, for --trace: events, no-gaps, no-tsc,
                      per-rank; with commas between them
  -h, --help          Print this help
  -V, --version       Print the version

The rank is the first of these variables that is set:
{variables}.

Exit code: that of the program; 125 if it was not started for a reason of ours, 126 if it
cannot be run, 127 if it is not found.
"
    )
}

/// What the user asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// Only a text.
    Print(String),
    /// Where this rank is.
    Report { map: Option<PathBuf>, bind: bool },
    /// A program.
    Start(Arguments),
}

/// A program and what to do before it.
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
        (None, None) => return Err(usage("--spool and --trace-options are for --trace")),
        _ => return Err(usage("--trace and --tracer need each other")),
    };
    match (program, report) {
        (Some(program), false) if bind => {
            let program_arguments = arguments.collect();
            Ok(Request::Start(Arguments { map, trace, program, program_arguments }))
        }
        (Some(_), false) => Err(usage("--no-bind is for --report")),
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
            (&["--trace", "t", "app"], "need each other"),
            (&["--spool", "s", "app"], "are for --trace"),
            (&["--report", "app"], "--report starts no program"),
            (&["--map", "m"], "no program"),
            (&["--no-bind", "app"], "--no-bind is for --report"),
        ] {
            let text = parse_words(words).expect_err("it is wrong");
            assert!(text.contains(why), "{text}");
        }
    }
}

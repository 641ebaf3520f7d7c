//! Finding the programs in a launcher's command line: `mpirun -np 4 -x A ./app in : -np 2 ./other`.

use std::path::Path;

use crate::mpi::find_program;

/// Options of launchers that take one value as the next argument. Names are without leading dashes
/// and stand for the forms with one and with two.
const ONE_VALUE: &[&str] = &[
    // Open MPI
    "n",
    "np",
    "c",
    "H",
    "host",
    "hostfile",
    "machinefile",
    "default-hostfile",
    "rf",
    "rankfile",
    "x",
    "map-by",
    "rank-by",
    "bind-to",
    "N",
    "npernode",
    "npersocket",
    "cpus-per-proc",
    "cpu-set",
    "cpu-list",
    "wdir",
    "wd",
    "path",
    "prefix",
    "app",
    "am",
    "tune",
    "output-filename",
    "stdin",
    "timeout",
    "personality",
    "ppr",
    "max-restarts",
    "preload-files",
    "report-uri",
    "slot-list",
    "display",
    "pmixmca-file",
    "get-stack-traces-timeout",
    "launch-agent",
    "tmpdir",
    "merge-stderr",
    // MPICH and other users of Hydra
    "f",
    "hosts",
    "ppn",
    "perhost",
    "launcher",
    "launcher-exec",
    "bootstrap",
    "bootstrap-exec",
    "iface",
    "rmk",
    "configfile",
    "genvlist",
    "envlist",
    "binding",
    "rankmap",
    "demux",
    "nameserver",
    "outfile-pattern",
    "errfile-pattern",
    "prepend-pattern",
    "topolib",
    "pmi-port",
    "arch",
    "umask",
    // Slurm
    "w",
    "nodelist",
    "p",
    "partition",
    "A",
    "account",
    "t",
    "time",
    "m",
    "distribution",
    "mpi",
    "o",
    "output",
    "e",
    "error",
    "i",
    "input",
    "D",
    "chdir",
    "J",
    "job-name",
    "q",
    "qos",
    "r",
    "relative",
    "C",
    "constraint",
    "cpu-bind",
    "mem-bind",
    "nodes",
    "ntasks",
    "ntasks-per-node",
];

/// Options that take two values.
const TWO_VALUES: &[&str] =
    &["mca", "omca", "gmca", "prtemca", "gprtemca", "pmixmca", "gpmixmca", "env", "genv"];

/// The positions of the programs in `arguments`, which begin behind the launcher's name: one per
/// part of an MPMD command line. Empty if none is found.
pub(super) fn program_positions(arguments: &[String]) -> Vec<usize> {
    let mut positions = Vec::new();
    let mut next = 0;
    while next < arguments.len() {
        let Some(program) = program_position(arguments, next) else { break };
        positions.push(program);
        let colon = arguments[program..].iter().position(|argument| argument == ":");
        next = colon.map_or(arguments.len(), |colon| program + colon + 1);
    }
    positions
}

/// The first argument from `start` on that is neither an option nor the value of one.
fn program_position(arguments: &[String], start: usize) -> Option<usize> {
    let mut position = start;
    while let Some(argument) = arguments.get(position) {
        let Some(name) = argument.strip_prefix('-') else { return Some(position) };
        let name = name.strip_prefix('-').unwrap_or(name);
        position += if name.is_empty() {
            // `--` ends the options.
            return (position + 1 < arguments.len()).then_some(position + 1);
        } else if name.contains('=') {
            1
        } else if ONE_VALUE.contains(&name) {
            2
        } else if TWO_VALUES.contains(&name) {
            3
        } else if looks_like_a_value(arguments.get(position + 1)) {
            // An option we do not know, followed by something that cannot be run.
            2
        } else {
            1
        };
    }
    None
}

fn looks_like_a_value(argument: Option<&String>) -> bool {
    argument.is_some_and(|argument| {
        !argument.starts_with('-') && find_program(Path::new(argument)).is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(line: &str) -> Vec<String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        program_positions(&arguments).into_iter().map(|place| arguments[place].clone()).collect()
    }

    #[test]
    fn the_program_is_found_behind_options_and_their_values() {
        assert_eq!(programs("-np 4 ./app -np 8"), ["./app"]);
        assert_eq!(programs("--mca btl self,tcp -x A=1 --oversubscribe /bin/true"), ["/bin/true"]);
        assert_eq!(programs("-genv A 1 -f hosts -n 2 ./app"), ["./app"]);
        assert_eq!(programs("--map-by=core --unknown-flag sh -c x"), ["sh"]);
        assert_eq!(programs("--unknown-option 17 ./app"), ["./app"]);
        assert_eq!(programs("-n 1 -- ./app"), ["./app"]);
    }

    #[test]
    fn every_part_of_an_mpmd_line_has_its_program() {
        assert_eq!(programs("-n 1 ./a x : -n 2 ./b : -n 3 ./c"), ["./a", "./b", "./c"]);
    }

    #[test]
    fn a_line_without_a_program_has_none() {
        for line in ["", "-np 4", "--", "-np"] {
            assert!(programs(line).is_empty(), "{line}");
        }
    }
}

//! Finding the programs in a launcher's command line: `mpirun -np 4 -x A ./app in : -np 2 ./other`.

use std::path::Path;

use crate::mpi::{Family, find_program};

/// The options of a launcher that are followed by values of their own; names are without leading
/// dashes and stand for the forms with one and with two.
struct Options {
    one_value: &'static [&'static str],
    two_values: &'static [&'static str],
}

/// As `mpirun --help all` of Open MPI 4.1 has them, and what version 5 has besides.
const OPEN_MPI: Options = Options {
    one_value: &[
        "am",
        "app",
        "bind-to",
        "c",
        "cartofile",
        "cf",
        "cpu-list",
        "cpu-set",
        "cpus-per-proc",
        "cpus-per-rank",
        "debugger",
        "default-hostfile",
        "display",
        "H",
        "hnp",
        "host",
        "hostfile",
        "launch-agent",
        "machinefile",
        "map-by",
        "max-restarts",
        "max-vm-size",
        "n",
        "N",
        "np",
        "npernode",
        "npersocket",
        "ompi-server",
        "output",
        "output-filename",
        "path",
        "personality",
        "ppr",
        "prefix",
        "preload-files",
        "rank-by",
        "rankfile",
        "report-events",
        "report-pid",
        "report-uri",
        "rf",
        "stdin",
        "timeout",
        "tune",
        "wd",
        "wdir",
        "x",
        "xml-file",
        "xterm",
    ],
    two_values: &["mca", "omca", "gmca", "prtemca", "gprtemca", "pmixmca", "gpmixmca"],
};

/// As `mpiexec --help` of MPICH 4.0 has them, and the names of other versions.
const HYDRA: Options = Options {
    one_value: &[
        "bind-to",
        "binding",
        "bootstrap",
        "bootstrap-exec",
        "configfile",
        "demux",
        "envlist",
        "errfile-pattern",
        "f",
        "genvlist",
        "gpus-per-proc",
        "host",
        "hostfile",
        "hosts",
        "iface",
        "launcher",
        "launcher-exec",
        "localhost",
        "machinefile",
        "map-by",
        "membind",
        "n",
        "nameserver",
        "np",
        "order-nodes",
        "outfile-pattern",
        "path",
        "perhost",
        "ppn",
        "prepend-pattern",
        "rankmap",
        "rmk",
        "topolib",
        "usize",
        "wd",
        "wdir",
    ],
    two_values: &["env", "genv"],
};

/// The positions of the programs in `arguments`, which begin behind the launcher's name: one per
/// part of an MPMD command line. Empty if none is found.
pub(super) fn program_positions(family: Family, arguments: &[String]) -> Vec<usize> {
    let options = match family {
        Family::OpenMpi => &OPEN_MPI,
        Family::Mpich => &HYDRA,
    };
    let mut positions = Vec::new();
    let mut next = 0;
    while next < arguments.len() {
        let Some(program) = program_position(options, arguments, next) else { break };
        positions.push(program);
        let colon = arguments[program..].iter().position(|argument| argument == ":");
        next = colon.map_or(arguments.len(), |colon| program + colon + 1);
    }
    positions
}

/// The first argument from `start` on that is neither an option nor the value of one.
fn program_position(options: &Options, arguments: &[String], start: usize) -> Option<usize> {
    let mut position = start;
    while let Some(argument) = arguments.get(position) {
        let Some(name) = argument.strip_prefix('-') else { return Some(position) };
        let name = name.strip_prefix('-').unwrap_or(name);
        position += if name.is_empty() {
            // `--` ends the options.
            return (position + 1 < arguments.len()).then_some(position + 1);
        } else if name.contains('=') {
            1
        } else if options.one_value.contains(&name) {
            2
        } else if options.two_values.contains(&name) {
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

    fn programs(family: Family, line: &str) -> Vec<String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let positions = program_positions(family, &arguments).into_iter();
        positions.map(|place| arguments[place].clone()).collect()
    }

    #[test]
    fn the_program_is_found_behind_options_and_their_values() {
        let open_mpi = |line| programs(Family::OpenMpi, line);
        assert_eq!(open_mpi("-np 4 ./app -np 8"), ["./app"]);
        assert_eq!(open_mpi("--mca btl self,tcp -x A=1 --oversubscribe /bin/true"), ["/bin/true"]);
        assert_eq!(open_mpi("--map-by=core --unknown-flag sh -c x"), ["sh"]);
        assert_eq!(open_mpi("--unknown-option 17 ./app"), ["./app"]);
        assert_eq!(open_mpi("-n 1 -- ./app"), ["./app"]);
        let hydra = |line| programs(Family::Mpich, line);
        assert_eq!(hydra("-genv A 1 -f hosts -n 2 ./app"), ["./app"]);
        assert_eq!(hydra("-bind-to core -env A 1 -envall -np 2 ./app"), ["./app"]);
    }

    #[test]
    fn what_is_a_value_for_one_launcher_is_a_flag_for_the_other() {
        assert_eq!(programs(Family::OpenMpi, "-q -np 2 sh"), ["sh"]);
        assert_eq!(programs(Family::OpenMpi, "-np 2 -q sh"), ["sh"]);
        assert_eq!(programs(Family::Mpich, "-n 2 -pmi-port sh"), ["sh"]);
    }

    #[test]
    fn every_part_of_an_mpmd_line_has_its_program() {
        let line = "-n 1 ./a x : -n 2 ./b : -n 3 ./c";
        assert_eq!(programs(Family::OpenMpi, line), ["./a", "./b", "./c"]);
    }

    #[test]
    fn a_line_without_a_program_has_none() {
        for line in ["", "-np 4", "--", "-np"] {
            assert!(programs(Family::OpenMpi, line).is_empty(), "{line}");
        }
    }
}

//! The options of `mpirun` and `mpiexec` (Open MPI, Hydra, Intel MPI, PALS) that have values, and so where
//! their program begins.

/// Options with a value in the next word, without their dashes.
const WITH_VALUE: [&str; 112] = [
    // The number of ranks, and their hosts.
    "n",
    "np",
    "c",
    "N",
    "npernode",
    "npersocket",
    "ppn",
    "perhost",
    "H",
    "host",
    "hosts",
    "hosts-group",
    "add-host",
    "hostfile",
    "machinefile",
    "machine",
    "default-hostfile",
    "add-hostfile",
    "host-file",
    "f",
    "rf",
    "rankfile",
    "rankmap",
    "configfile",
    "app",
    "file",
    "order-nodes",
    // Mapping and binding.
    "map-by",
    "rank-by",
    "bind-to",
    "binding",
    "ppr",
    "cpu-set",
    "cpu-list",
    "slot-list",
    "cpus-per-proc",
    "cpus-per-rank",
    "d",
    "depth",
    "cpu-bind",
    "mem-bind",
    "membind",
    "gpu-bind",
    "gpus-per-proc",
    "gpu-subdevs-per-proc",
    "topolib",
    // The environment of ranks.
    "x",
    "genvlist",
    "genvexcl",
    "envlist",
    "envexcl",
    "set-env",
    "unset-env",
    "wdir",
    "wd",
    "prefix",
    "pmix-prefix",
    "app-pmix-prefix",
    "path",
    "gpath",
    "preload-files",
    "pset",
    "arch",
    "am",
    "amca",
    "tune",
    "with-ft",
    "gpu-support",
    "memory-alloc-kinds",
    "initial-errhandler",
    // The launcher itself, its input and output.
    "launcher",
    "launcher-exec",
    "launch-agent",
    "bootstrap",
    "bootstrap-exec",
    "rmk",
    "iface",
    "localhost",
    "nameserver",
    "pmi",
    "usize",
    "demux",
    "gtool",
    "gtoolfile",
    "prepend-pattern",
    "outfile-pattern",
    "errfile-pattern",
    "display",
    "output",
    "output-filename",
    "output-directory",
    "stream-buffering",
    "xml-file",
    "xterm",
    "stdin",
    "timeout",
    "spawn-timeout",
    "report-events",
    "report-pid",
    "report-uri",
    "personality",
    "runtime-options",
    "forward-signals",
    "max-restarts",
    "max-vm-size",
    "ompi-server",
    "tmpdir",
    "debugger",
    "hnp",
    "keepalive",
    "cartofile",
    "cf",
];

/// Options with two values.
const WITH_TWO: [&str; 11] = [
    "mca",
    "gmca",
    "omca",
    "gomca",
    "prtemca",
    "gprtemca",
    "pmixmca",
    "gpmixmca",
    "genv",
    "append-env",
    "prepend-env",
];

/// The number of words of the option that these words begin with, itself included.
pub(in crate::lint) fn words_of_option(words: &[String]) -> usize {
    let name = words.first().map_or("", |word| word.trim_start_matches('-'));
    // `-env NAME VALUE` of Hydra, `-env NAME=VALUE` of PALS.
    let assigns = words.get(1).is_some_and(|value| value.contains('='));
    let count = match name {
        "env" if assigns => 2,
        "env" => 3,
        name if WITH_TWO.contains(&name) => 3,
        name if WITH_VALUE.contains(&name) => 2,
        _ => 1,
    };
    count.min(words.len())
}

/// The position of the program behind the options.
pub(in crate::lint) fn program(words: &[String]) -> usize {
    let mut at = 0;
    while words.get(at).is_some_and(|word| word.starts_with('-')) {
        at += words_of_option(&words[at..]);
    }
    at
}

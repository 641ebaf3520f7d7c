//! The options of `mpirun` and `mpiexec` (Open MPI 4.1 and 5.0, Hydra of MPICH 4 and 5, Intel MPI 2021, PALS): which
//! have values, and so where their program begins.

use crate::lint::similar;

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

/// Options without a value.
const FLAGS: &str = "
    allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous debug debug-daemons
    debug-daemons-file debug-devel disable-recovery display-allocation display-devel-allocation display-devel-map
    display-diffable-map display-map display-topo do-not-launch do-not-resolve dvm enable-instant-on-support
    enable-prte-prefix-by-default enable-recovery fwd-mpirun-port get-stack-traces h help hetero-nodes
    index-argv-by-rank leave-session-attached merge-stderr-to-stdout multiple-default-hostfiles no-app-prefix
    no-ready-msg nolocal nooversubscribe noprefix novm output-proctable oversubscribe pernode preload-binary q quiet
    report-bindings report-child-jobs-separately report-state-on-timeout set-cwd-to-session-dir set-sid
    show-progress singleton stop-in-app stop-in-init stop-on-exec stream system-server tag-output test-suicide
    timestamp-output tv use-hwthread-cpus use-regexp v verbose version V xml
    genvall genvnone envall envnone enable-x disable-x info l print-all-exitcodes prepend-rank profile
    disable-auto-cleanup enable-auto-cleanup disable-hostname-propagation enable-hostname-propagation
    hostname-propagation no-hostname-propagation skip-launch-node pmi-port s silent-abort aps mps check-mpi trace gdb
    gdba gdb-ia gdb-args tune print-rank-map prepend-timestamp prot ordered-output rr grr
    label line-buffer exclusive transfer no-transfer abort-on-failure no-abort-on-failure procinfo rlimits
";

/// An option that no `mpirun` known here has.
pub(in crate::lint) struct Unknown<'a> {
    /// As written, without its value.
    pub(in crate::lint) word: &'a str,
    /// The known option with the most similar name, without dashes.
    pub(in crate::lint) similar: Option<&'static str>,
}

/// The options among those before the program that no `mpirun` known here has.
pub(in crate::lint) fn unknown(options: &[String]) -> Vec<Unknown<'_>> {
    let (mut unknown, mut at) = (Vec::new(), 0);
    while let Some(word) = options.get(at).map(String::as_str) {
        at += if word.starts_with('-') { words_of_option(&options[at..]) } else { 1 };
        let word = word.split('=').next().unwrap_or_default();
        let name = word.trim_start_matches('-');
        if word.starts_with('-') && !name.is_empty() && all().all(|known| known != name) {
            unknown.push(Unknown { word, similar: similar::to(name, all()) });
        }
    }
    unknown
}

/// The names of all options.
fn all() -> impl Iterator<Item = &'static str> {
    let with_values = WITH_VALUE.into_iter().chain(WITH_TWO).chain(["env"]);
    with_values.chain(FLAGS.split_ascii_whitespace())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_options_are_those_that_no_mpirun_has() {
        let line = "-np 4 --oversubscirbe --map-by=node -x A=--b -genv B --c --bnd-to core --mca btl self --sauron -env C D";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = unknown(&words).into_iter().map(|it| (it.word, it.similar));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ("--oversubscirbe", Some("oversubscribe")),
                ("--bnd-to", Some("bind-to")),
                ("--sauron", None)
            ]
        );
    }
}

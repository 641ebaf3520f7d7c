//! numactl before every rank, as in Zarrinchian, Soryani and Analoui 2009: a list of the command of
//! every rank, grouped by host, and one wrapper script for all of them that looks up its rank.

use std::fmt::Write;

use super::{
    Launch, LaunchError, LaunchFile, Part, Program, Request, Task, openmpi4, shell, text_file,
};
use crate::ids::PuSet;
use crate::placement::{PlacementFile, RankEntry};

const LAUNCHER: &str = "numactl";
const WRAPPER: &str = "bind.sh";

/// Writes the list, the wrapper and one host per rank.
pub(super) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    if let Some(reason) = request.general_obstacle().filter(|_| request.placement.cluster.emulated)
    {
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    if request.binding == super::Binding::Exec {
        let reason =
            "numactl does the binding; without --binding, or with another --for".to_owned();
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    let Task::Programs(line) = request.task else {
        let reason = "it starts no ranks by itself, check with the launcher that does".to_owned();
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    };
    let programs = line.for_ranks(request.job.ranks.len())?;
    let wrapper = LaunchFile { name: WRAPPER, contents: wrapper(request), executable: true };
    let (arguments, hosts) = openmpi4::unbound(request);
    let commands = text_file("commands", commands(request, &programs));
    let files = hosts.into_iter().chain([commands, wrapper]).collect();
    let part = |program: &Program<'_>| Part {
        ranks: program.ranks,
        command: [&[request.path(WRAPPER)], program.words].concat(),
    };
    let parts = programs.iter().map(part).collect();
    let command = openmpi4::command_line(request, arguments, parts);
    let notes = vec![
        "the command line is for Open MPI 4; any launcher that puts the ranks on their hosts can \
         start bind.sh"
            .to_owned(),
        "--membind is strict: a rank whose NUMA node is full is killed".to_owned(),
    ];
    let binding = "numactl binds".to_owned();
    Ok(Launch { by_exec: false, binding, files, environment: Vec::new(), command, notes })
}

/// One line per rank, grouped by host.
fn commands(request: &Request<'_>, programs: &[Program<'_>]) -> String {
    let of_ranks = programs.iter().flat_map(|p| std::iter::repeat_n(shell::join(p.words), p.ranks));
    let of_ranks: Vec<String> = of_ranks.collect();
    let mut text = String::new();
    for (host, ranks) in request.ranks_by_host() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# {host}");
        for entry in ranks {
            let prefix = options(request.placement, entry)
                .map_or(String::new(), |options| format!("numactl {options} "));
            let program = &of_ranks[entry.rank.index()];
            let _ = writeln!(text, "{prefix}{program}  # rank {}", entry.rank);
        }
    }
    text
}

/// numactl's options, `None` for a rank that is not bound. PUs and memories are P#.
fn options(placement: &PlacementFile, entry: &RankEntry) -> Option<String> {
    let pus: PuSet = entry.pus.iter().copied().collect();
    let memory = placement.numa_os(entry).map(|numa| format!(" --membind={numa}"));
    entry.bound.then(|| format!("--physcpubind={pus}{}", memory.unwrap_or_default()))
}

const WRAPPER_START: &str = r#"#!/bin/sh
# Binds one rank as placed, then becomes the program: bind.sh PROGRAM [ARGUMENT]...
rank=${OMPI_COMM_WORLD_RANK:-${PALS_RANKID:-${MV2_COMM_WORLD_RANK:-${FLUX_TASK_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}}}}}
case $rank in
"#;

const WRAPPER_END: &str = r#"'') echo "bind.sh: no launcher has set a rank variable" >&2; exit 125 ;;
*) echo "bind.sh: rank $rank is not in the placement" >&2; exit 125 ;;
esac
here=$(uname -n)
if [ "$host" != localhost ] && [ "${here%%.*}" != "${host%%.*}" ]; then
  echo "bind.sh: rank $rank runs on $here, placed on $host" >&2
  exit 125
fi
exec ${options:+numactl $options} "$@"
"#;

fn wrapper(request: &Request<'_>) -> String {
    let mut text = WRAPPER_START.to_owned();
    for entry in &request.job.ranks {
        let options = options(request.placement, entry).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}) host={} options='{options}' ;;", entry.rank, entry.node);
    }
    text + WRAPPER_END
}

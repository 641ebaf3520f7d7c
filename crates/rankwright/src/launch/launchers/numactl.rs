//! numactl before every rank, as in Mercier and Clet-Ortega 2009: a list with the command of every
//! rank, grouped by host, and one wrapper script that looks up the options of its rank.

use std::fmt::Write;

use super::openmpi4;
use crate::ids::PuSet;
use crate::launch::{
    Launch, LaunchError, LaunchFile, Part, Program, Request, Task, rank_variables, shell, text_file,
};
use crate::placement::{MemoryPolicy, RankEntry};

const LAUNCHER: &str = "numactl";
const WRAPPER: &str = "bind.sh";

/// Writes the list, the wrapper and one host per rank.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    if let Some(reason) = request.general_obstacle().filter(|_| request.placement.cluster.emulated)
    {
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    if request.binding == crate::launch::Binding::Exec {
        let reason = "here numactl binds; leave out --binding or choose another --for".to_owned();
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    let Task::Programs(line) = request.task else {
        let reason = "numactl starts no ranks; check with the launcher that does".to_owned();
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    };
    openmpi4::refuse_hosts(LAUNCHER, request)?;
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
    let command = openmpi4::command_line(request, &openmpi4::AGENT, arguments, parts);
    let mut notes = vec![
        "the command line is for Open MPI 4; any launcher that puts the ranks on their hosts can \
         start bind.sh"
            .to_owned(),
    ];
    if request.settings.memory == MemoryPolicy::Bind {
        notes.push("--membind is strict: a rank whose NUMA node is full is killed".to_owned());
    }
    let binding = "numactl binds the ranks".to_owned();
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
            let prefix = options(request, entry)
                .map_or(String::new(), |options| format!("numactl {options} "));
            let set = |(name, value): &(String, String)| format!("{name}={} ", shell::quote(value));
            let variables = request.settings.variables(entry.rank.index());
            let variables: String = variables.iter().map(set).collect();
            let program = &of_ranks[entry.rank.index()];
            let _ = writeln!(text, "{variables}{prefix}{program}  # rank {}", entry.rank);
        }
    }
    text
}

/// numactl's options, `None` for a rank that is not bound. PUs and memories are P#.
fn options(request: &Request<'_>, entry: &RankEntry) -> Option<String> {
    let pus: PuSet = entry.pus.iter().copied().collect();
    let option = match request.settings.memory {
        MemoryPolicy::Preferred => Some("--preferred"),
        MemoryPolicy::Bind => Some("--membind"),
        MemoryPolicy::Unset => None,
    };
    let memory = option.zip(request.placement.numa_os(entry));
    let memory = memory.map(|(option, numa)| format!(" {option}={numa}"));
    entry.bound.then(|| format!("--physcpubind={pus}{}", memory.unwrap_or_default()))
}

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
    let mut text = format!(
        "#!/bin/sh\n# Binds one rank as placed, then becomes the program: bind.sh PROGRAM \
         [ARGUMENT]...\nrank={}\ncase $rank in\n",
        rank_variables::in_shell()
    );
    for entry in &request.job.ranks {
        let options = options(request, entry).unwrap_or_default();
        // A variable that the user has set is kept.
        let export = |(name, value): &(String, String)| {
            format!("[ -n \"${{{name}+x}}\" ] || export {name}={}; ", shell::quote(value))
        };
        let variables = request.settings.variables(entry.rank.index());
        let variables: String = variables.iter().map(export).collect();
        let (rank, node) = (entry.rank, &entry.node);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{rank}) {variables}host={node} options='{options}' ;;");
    }
    text + WRAPPER_END
}

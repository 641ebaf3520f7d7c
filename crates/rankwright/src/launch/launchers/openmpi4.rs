//! Open MPI 4. Native: a rankfile in the syntax that versions 4.1 and 5 read alike. Else: the `seq`
//! mapper, which reads one host per rank from a hostfile and does not bind.

use std::collections::HashMap;

use crate::ids::format_index_list;
use crate::launch::{Launch, LaunchError, LaunchFile, Part, Request, text_file};
use crate::placement::{PlacementFile, RankEntry};

const LAUNCHER: &str = "openmpi4";

/// The most characters of host and slot list together: Open MPI 4.1 prints both, with ` slot=`
/// between them, into a buffer of 64 bytes without a check.
pub(crate) const LONGEST_TOGETHER: usize = 57;

/// Writes for `mpirun` of Open MPI 4.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    refuse_hosts(LAUNCHER, request)?;
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "rankfile", obstacle(request))?;
    let mut notes = Vec::new();
    let (mut arguments, files) = if by_exec {
        let (arguments, hosts) = unbound(request);
        (arguments, hosts.into_iter().chain([request.ranks_map()]).collect())
    } else {
        notes.push(WHOLE_NODES.to_owned());
        let job = ["-rf".to_owned(), request.path(RANKFILE)].into();
        let rankfile = text_file(RANKFILE, rankfile(&request.job.ranks));
        (Arguments { job, part: Vec::new() }, vec![rankfile])
    };
    arguments.part.extend(exports(request, by_exec));
    let command = command_line(request, &AGENT, arguments, request.parts(by_exec)?);
    Ok(Launch { by_exec, binding, files, environment: environment(request), command, notes })
}

pub(in crate::launch) const HOSTS: &str = "hosts";
pub(in crate::launch) const RANKFILE: &str = "rankfile";

pub(in crate::launch) const WHOLE_NODES: &str = "the rankfile numbers the cores (L#) of whole \
    nodes; in a cpuset with part of a node Open MPI numbers the cores of that part: use \
    --binding exec there";

/// The option for MCA parameters, the parameter for the remote shell, and the one that switches off
/// the tree of remote shells.
pub(in crate::launch) const AGENT: [&str; 3] = ["--mca", "plm_rsh_agent", "plm_rsh_no_tree_spawn"];

/// An error if Open MPI misreads the name of a host: it cuts names at the first dot and reads
/// digits as a number.
pub(in crate::launch) fn refuse_hosts(
    launcher: &'static str,
    request: &Request<'_>,
) -> Result<(), LaunchError> {
    let mut whole: HashMap<&str, &str> = HashMap::new();
    for (host, _) in request.ranks_by_host() {
        let short =
            if is_number(host.split('.')) { host } else { host.split('.').next().unwrap_or(host) };
        let other = *whole.entry(short).or_insert(host);
        let reason = if other != host {
            format!("Open MPI takes both {other} and {host} for {short}; use another --for")
        } else if is_number([host].into_iter()) && host.len() > 1 && host.starts_with('0') {
            format!(
                "Open MPI reads the host {host} as a number, without its leading zeros; use another --for"
            )
        } else {
            continue;
        };
        return Err(LaunchError::Impossible { launcher, reason });
    }
    Ok(())
}

fn is_number<'a>(mut parts: impl Iterator<Item = &'a str>) -> bool {
    parts.all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The arguments of `mpirun` before the programs.
pub(in crate::launch) struct Arguments {
    /// Apply to all programs; written once.
    pub(in crate::launch) job: Vec<String>,
    /// Apply to one program; repeated before each.
    pub(in crate::launch) part: Vec<String>,
}

/// `mpirun -np N ... PROGRAM`, with ` : -np N ... PROGRAM` for every further program.
pub(in crate::launch) fn command_line(
    request: &Request<'_>,
    parameters: &[&str; 3],
    arguments: Arguments,
    parts: Vec<Part>,
) -> Vec<String> {
    let mut once = Vec::new();
    once.extend(request.agent.into_iter().flat_map(|program| agent(parameters, program)));
    once.extend(arguments.job);
    let mut command = vec![request.program.unwrap_or("mpirun").to_owned()];
    for (index, part) in parts.into_iter().enumerate() {
        command.extend((index > 0).then(|| ":".to_owned()));
        command.extend(["-np".to_owned(), part.ranks.to_string()]);
        command.append(&mut once);
        command.extend_from_slice(&arguments.part);
        // `-x` and `--wdir` apply to one program; options of the whole job may be repeated. So
        // every part gets all arguments.
        command.extend_from_slice(request.arguments);
        command.extend(part.command);
    }
    command
}

/// The arguments that make mpirun call `agent` instead of `ssh`, on this host only: a tree of
/// remote shells would need `agent` on the remote nodes too.
pub(in crate::launch) fn agent([option, name, no_tree]: &[&str; 3], agent: &str) -> Vec<String> {
    [option, name, agent, option, no_tree, "1"].map(str::to_owned).into()
}

/// The arguments, and the hostfile if needed, that put every rank on its host without binding it.
pub(in crate::launch) fn unbound(request: &Request<'_>) -> (Arguments, Option<LaunchFile>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    // The seq mapper fails for `localhost`, and a single host needs no order.
    if let [(host, ref ranks)] = request.ranks_by_host()[..] {
        let part = words(&["--host", &format!("{host}:{}", ranks.len())]);
        return (Arguments { job: words(&["--bind-to", "none"]), part }, None);
    }
    // With --hostfile, the seq mapper starts at the first line for every program; with the default
    // hostfile it continues behind the lines of the program before.
    let option = if request.is_mpmd() { "--default-hostfile" } else { "--hostfile" };
    let hosts = request.path(HOSTS);
    let job = words(&[option, &hosts, "--mca", "rmaps", "seq", "--bind-to", "none"]);
    (Arguments { job, part: Vec::new() }, Some(text_file(HOSTS, request.host_per_rank())))
}

/// `-x NAME=VALUE`: without it, variables do not reach ranks on other hosts.
pub(in crate::launch) fn exports(
    request: &Request<'_>,
    by_exec: bool,
) -> impl Iterator<Item = String> {
    let variables = request.variables(by_exec).iter();
    variables.flat_map(|(name, value)| ["-x".to_owned(), format!("{name}={value}")])
}

/// Makes ranks that share cores yield them while they wait.
pub(in crate::launch) fn environment(request: &Request<'_>) -> Vec<(String, String)> {
    let emulated = request.placement.cluster.emulated;
    // Daemons that leave the session get separate scheduling groups. A rank that yields then does
    // not yield to ranks of other groups, which starve on shared PUs.
    let names = ["OMPI_MCA_mpi_yield_when_idle", "OMPI_MCA_orte_leave_session_attached"];
    let names = if emulated { &names[..] } else { &[] };
    names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect()
}

pub(in crate::launch) fn rankfile(ranks: &[RankEntry]) -> String {
    ranks.iter().map(|e| format!("rank {}={} slot={}\n", e.rank, e.node, slot_list(e))).collect()
}

/// The cores (L#): a range if they are contiguous, else a list, else a list of ranges if that is
/// too long.
fn slot_list(entry: &RankEntry) -> String {
    let mut cores: Vec<u32> = entry.cores.iter().map(|core| core.0).collect();
    cores.sort_unstable();
    let ranges = format_index_list(&cores);
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let longest = LONGEST_TOGETHER.saturating_sub(entry.node.len());
    if ranges.contains(',') && list.len() <= longest { list } else { ranges }
}

/// Why a rankfile cannot express the job.
pub(in crate::launch) fn obstacle(request: &Request<'_>) -> Option<String> {
    request.general_obstacle().or_else(|| {
        let part = |entry: &&RankEntry| !has_whole_cores(request.placement, entry);
        if let Some(entry) = request.job.ranks.iter().find(part) {
            let rank = entry.rank;
            return Some(format!("rank {rank} has part of a core, a rankfile names whole cores"));
        }
        let length = |entry: &RankEntry| entry.node.len() + slot_list(entry).len();
        let long = |entry: &&RankEntry| length(entry) > LONGEST_TOGETHER;
        let entry = request.job.ranks.iter().find(long)?;
        Some(format!(
            "host and core list of rank {} have {} characters, Open MPI reads at most \
             {LONGEST_TOGETHER}",
            entry.rank,
            length(entry)
        ))
    })
}

/// Whether a rank is known to have all PUs of its cores. A placement file does not say which PU
/// belongs to which core, so the PUs are counted; that needs cores with equal numbers of PUs.
fn has_whole_cores(placement: &PlacementFile, entry: &RankEntry) -> bool {
    placement.node(&entry.node).is_some_and(|node| {
        let cores = node.cores.max(1);
        node.pus.is_multiple_of(cores)
            && entry.pus.len() == entry.cores.len() * (node.pus / cores) as usize
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{CoreId, parse_index_list};
    use crate::launch::Binding;
    use crate::launch::testing::random_placement::{contents, native, placements};

    proptest! {
        #[test]
        fn a_rankfile_read_back_is_the_placement(placement in placements()) {
            let launch = write(&native(&placement)).unwrap();
            let ranks = &placement.jobs[0].ranks;
            let lines: Vec<&str> = contents(&launch, RANKFILE).lines().collect();
            prop_assert_eq!(lines.len(), ranks.len());
            for (line, entry) in lines.iter().zip(ranks) {
                let start = format!("rank {}={} slot=", entry.rank, entry.node);
                let slots = line.strip_prefix(&start).expect("ranks in order, on their hosts");
                prop_assert!(entry.node.len() + slots.len() <= LONGEST_TOGETHER);
                let cores: Vec<CoreId> =
                    parse_index_list(slots).unwrap().into_iter().map(CoreId).collect();
                prop_assert_eq!(&cores, &entry.cores);
            }
        }

        #[test]
        fn a_host_list_read_back_is_the_placement(placement in placements()) {
            let launch = write(&Request { binding: Binding::Exec, ..native(&placement) }).unwrap();
            let wanted: Vec<&str> =
                placement.jobs[0].ranks.iter().map(|entry| entry.node.as_str()).collect();
            if let Some(file) = launch.files.iter().find(|file| file.name == HOSTS) {
                prop_assert_eq!(file.contents.lines().collect::<Vec<_>>(), wanted);
            } else {
                let host = format!("{}:{}", wanted[0], wanted.len());
                prop_assert!(launch.command.contains(&host));
                prop_assert!(wanted.iter().all(|host| *host == wanted[0]));
            }
        }
    }

    /// A placement of one rank that has every second core of a node.
    fn one_rank_with_many_cores(count: u32) -> PlacementFile {
        let text = format!(
            r#"{{"format": 1, "strategy": "s", "workload_digest": "",
               "cluster": {{"name": "c", "digest": ""}},
               "nodes": [{{"name": "n0", "cores": 200, "pus": 200, "numa_os": [0]}}],
               "jobs": [{{"name": "j", "ranks": [{{"rank": 0, "node": "n0", "numa": null,
               "cores": {cores:?}, "pus": {cores:?}}}]}}]}}"#,
            cores = (0..count).map(|core| 2 * core).collect::<Vec<_>>()
        );
        PlacementFile::parse(&text, "test").unwrap()
    }

    #[test]
    fn a_core_list_that_open_mpi_would_cut_goes_through_the_shim() {
        // With the two characters of `n0`: 0,2,..,38 has 56 characters, 0,2,..,50 has 74.
        let short = one_rank_with_many_cores(20);
        assert!(!write(&native(&short)).unwrap().by_exec);
        let long = one_rank_with_many_cores(26);
        let launch = write(&Request { binding: Binding::Auto, ..native(&long) }).unwrap();
        assert!(
            launch.by_exec
                && launch.binding.contains("have 74 characters, Open MPI reads at most 57")
        );
        let error = write(&native(&long)).unwrap_err().to_string();
        assert!(error.contains("use --binding exec"), "{error}");
    }

    #[test]
    fn what_the_caller_knows_counts_unless_the_user_insists() {
        let placement = one_rank_with_many_cores(2);
        let request = Request { obstacle: Some("2 PUs here"), ..native(&placement) };
        assert!(!write(&request).unwrap().by_exec);
        let launch = write(&Request { binding: Binding::Auto, ..request }).unwrap();
        assert_eq!(launch.binding, "rankwright-exec binds the ranks: 2 PUs here");
    }

    #[test]
    fn hosts_that_open_mpi_takes_for_others_are_refused() {
        let mut placement = one_rank_with_many_cores(1);
        let mut with_hosts = |names: [&str; 2]| {
            let first = placement.jobs[0].ranks[0].clone();
            let node = placement.nodes[0].clone();
            placement.nodes = names
                .map(|name| crate::placement::NodeEntry { name: name.to_owned(), ..node.clone() })
                .into();
            placement.jobs[0].ranks =
                names.map(|name| RankEntry { node: name.to_owned(), ..first.clone() }).into();
            write(&Request { binding: Binding::Auto, ..native(&placement) })
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(with_hosts(["a.x", "b.x"]), Ok(()));
        assert_eq!(with_hosts(["10.0.0.1", "10.0.0.2"]), Ok(()));
        let said = with_hosts(["a.x", "a.y"]).unwrap_err();
        assert!(
            said.ends_with("Open MPI takes both a.x and a.y for a; use another --for"),
            "{said}"
        );
        let said = with_hosts(["007", "8"]).unwrap_err();
        assert!(said.contains("reads the host 007 as a number"), "{said}");
    }
}

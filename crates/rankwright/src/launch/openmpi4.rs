//! Open MPI 4. Native: a rankfile in the subset that versions 4.1 and 5 read alike. Else: the `seq`
//! mapper, which takes one host per rank from a hostfile, without binding.

use super::{Launch, LaunchError, LaunchFile, Part, Request, text_file};
use crate::ids::format_index_list;
use crate::placement::{PlacementFile, RankEntry};

const LAUNCHER: &str = "openmpi4";

/// Open MPI 4.1 keeps a slot list in 64 bytes: a longer one overflows (4.1) or is cut (5).
const LONGEST_SLOT_LIST: usize = 63;

/// Writes for `mpirun` of Open MPI 4.
pub(super) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "rankfile", obstacle(request))?;
    let mut notes = Vec::new();
    let (arguments, files) = if by_exec {
        let (arguments, hosts) = unbound(request);
        (arguments, hosts.into_iter().chain([request.ranks_map()]).collect())
    } else {
        notes.push(
            "the rankfile counts the cores (L#) of whole nodes; inside a cpuset with a part of a \
             node Open MPI counts only that part: use --binding exec there"
                .to_owned(),
        );
        let job = ["-rf".to_owned(), request.path(RANKFILE)].into();
        let rankfile = text_file(RANKFILE, rankfile(&request.job.ranks));
        (Arguments { job, part: Vec::new() }, vec![rankfile])
    };
    let command = command_line(request, arguments, request.parts(by_exec)?);
    Ok(Launch { by_exec, binding, files, environment: environment(request), command, notes })
}

const HOSTS: &str = "hosts";
const RANKFILE: &str = "rankfile";

/// What `mpirun` is told before the programs.
pub(super) struct Arguments {
    /// Counts for all programs wherever it stands.
    job: Vec<String>,
    /// Counts only for the program that it stands before.
    part: Vec<String>,
}

/// `mpirun -np N ... PROGRAM`, with ` : -np N ... PROGRAM` for every further program.
pub(super) fn command_line(
    request: &Request<'_>,
    arguments: Arguments,
    parts: Vec<Part>,
) -> Vec<String> {
    let mut once = Vec::new();
    if let Some(agent) = request.agent {
        // A tree of remote shells would call the agent on the remote nodes too.
        let arguments = ["--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1"];
        once.extend(arguments.map(str::to_owned));
    }
    once.extend(arguments.job);
    let mut command = vec![request.program.unwrap_or("mpirun").to_owned()];
    for (index, part) in parts.into_iter().enumerate() {
        command.extend((index > 0).then(|| ":".to_owned()));
        command.extend(["-np".to_owned(), part.ranks.to_string()]);
        command.append(&mut once);
        command.extend_from_slice(&arguments.part);
        // `-x` and `--wdir` count for one program only, and what counts for the job may stand in
        // every part: so all arguments reach all programs.
        command.extend_from_slice(request.arguments);
        command.extend(part.command);
    }
    command
}

/// The arguments, and the file if there is one, that put every rank on its host without binding it.
pub(super) fn unbound(request: &Request<'_>) -> (Arguments, Option<LaunchFile>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    // The seq mapper does not know `localhost`, and one host needs no order.
    if let [(host, ref ranks)] = request.ranks_by_host()[..] {
        let part = words(&["--host", &format!("{host}:{}", ranks.len())]);
        return (Arguments { job: words(&["--bind-to", "none"]), part }, None);
    }
    // A hostfile counts for one program, and the seq mapper begins again with its first line; in the
    // default hostfile a program goes on where the one before ended.
    let option = if request.is_mpmd() { "--default-hostfile" } else { "--hostfile" };
    let hosts = request.path(HOSTS);
    let job = words(&[option, &hosts, "--mca", "rmaps", "seq", "--bind-to", "none"]);
    (Arguments { job, part: Vec::new() }, Some(text_file(HOSTS, request.host_per_rank())))
}

/// Ranks that share cores must give them up while they wait.
pub(super) fn environment(request: &Request<'_>) -> Vec<(&'static str, String)> {
    let emulated = request.placement.cluster.emulated;
    // Daemons that leave the session get a scheduling group each; ranks that yield in one of them
    // then starve all others on the PUs that they share.
    let names = ["OMPI_MCA_mpi_yield_when_idle", "OMPI_MCA_orte_leave_session_attached"];
    let names = if emulated { &names[..] } else { &[] };
    names.iter().map(|name| (*name, "1".to_owned())).collect()
}

fn rankfile(ranks: &[RankEntry]) -> String {
    ranks.iter().map(|e| format!("rank {}={} slot={}\n", e.rank, e.node, slot_list(e))).collect()
}

/// The cores, L#: a plain range, else a plain list, else both mixed where a list is too long.
fn slot_list(entry: &RankEntry) -> String {
    let mut cores: Vec<u32> = entry.cores.iter().map(|core| core.0).collect();
    cores.sort_unstable();
    let ranges = format_index_list(&cores);
    let list = cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    if ranges.contains(',') && list.len() <= LONGEST_SLOT_LIST { list } else { ranges }
}

/// Why a rankfile cannot express the job.
fn obstacle(request: &Request<'_>) -> Option<String> {
    request.general_obstacle().or_else(|| {
        let part = |entry: &&RankEntry| !has_whole_cores(request.placement, entry);
        if let Some(entry) = request.job.ranks.iter().find(part) {
            let rank = entry.rank;
            return Some(format!("rank {rank} has a part of a core, a rankfile names whole cores"));
        }
        let long = |entry: &&RankEntry| slot_list(entry).len() > LONGEST_SLOT_LIST;
        let entry = request.job.ranks.iter().find(long)?;
        let length = slot_list(entry).len();
        Some(format!(
            "the core list of rank {} has {length} characters, Open MPI takes {LONGEST_SLOT_LIST}",
            entry.rank
        ))
    })
}

/// Whether a rank surely has all PUs of its cores. A placement file does not say which PU is on
/// which core; where all cores have the same number of PUs, counting tells.
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
    use crate::launch::random_placement::{contents, native, placements};

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
                prop_assert!(slots.len() <= LONGEST_SLOT_LIST);
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
        // 0,2,..,42 has 60 characters, 0,2,..,50 has 72.
        let short = one_rank_with_many_cores(22);
        assert!(!write(&native(&short)).unwrap().by_exec);
        let long = one_rank_with_many_cores(26);
        let launch = write(&Request { binding: Binding::Auto, ..native(&long) }).unwrap();
        assert!(launch.by_exec && launch.binding.contains("has 72 characters, Open MPI takes 63"));
        let error = write(&native(&long)).unwrap_err().to_string();
        assert!(error.contains("use --binding exec"), "{error}");
    }

    #[test]
    fn what_the_caller_knows_counts_unless_the_user_insists() {
        let placement = one_rank_with_many_cores(2);
        let request = Request { obstacle: Some("2 PUs here"), ..native(&placement) };
        assert!(!write(&request).unwrap().by_exec);
        let launch = write(&Request { binding: Binding::Auto, ..request }).unwrap();
        assert_eq!(launch.binding, "rankwright-exec binds: 2 PUs here");
    }
}

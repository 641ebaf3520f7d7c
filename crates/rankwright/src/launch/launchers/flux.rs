//! Flux: `flux run --taskmap=hostfile:FILE` takes one host per rank, of the nodes that `--requires`
//! selects. Native, if all hosts need the same list: `-o cpu-affinity=map:`, a list indexed by local rank.
//! Else: the shim.

use std::collections::HashSet;

use crate::cluster::hostlist;
use crate::launch::local_sets::{LocalSets, Surplus};
use crate::launch::{Launch, LaunchError, Request, text_file};

const LAUNCHER: &str = "flux";
const HOSTS: &str = "hosts";

/// Writes for `flux run`.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let sets = LocalSets::of_all(request, Surplus::Refused);
    let obstacle = request.general_obstacle();
    let obstacle = obstacle.or_else(|| sets.as_ref().err().map(|why| format!("{why}, {ONE_LIST}")));
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "cpu-affinity=map", obstacle)?;
    let (program, script) = request.one_command(by_exec)?;
    let hosts: Vec<&str> = request.ranks_by_host().into_iter().map(|(host, _)| host).collect();
    let nodes = hosts.len().to_string();
    let requires = format!("--requires=host:{}", host_list(&hosts));
    let [count, tasks] = size(request, &hosts)?;
    let map = format!("--taskmap=hostfile:{}", request.path(HOSTS));
    let affinity = match sets {
        Ok(sets) if !by_exec => format!("cpu-affinity=map:{}", sets.ranges()),
        _ => "cpu-affinity=off".to_owned(),
    };
    let flux = request.program.unwrap_or("flux");
    let size = ["--exclusive", "-N", &nodes, &count, &tasks];
    let words = [&[flux, "run"][..], &size, &[&requires, &map, "-o", &affinity]].concat();
    let mut command: Vec<String> = words.into_iter().map(str::to_owned).collect();
    command.extend_from_slice(request.arguments);
    command.extend(program);
    let mut files = vec![text_file(HOSTS, request.host_per_rank())];
    files.extend(by_exec.then(|| request.ranks_map()));
    files.extend(script);
    let environment = request.variables(by_exec).to_vec();
    let mut notes = vec![
        "start it in an instance that has the hosts of the placement whole (flux alloc, flux batch)"
            .to_owned(),
    ];
    notes.extend(request.job.mpi_library.contains("Open MPI v5").then(|| PMIX.to_owned()));
    Ok(Launch { by_exec, binding, files, environment, command, notes })
}

/// Open MPI 4 has Flux's own PMI, MPICH and Intel MPI the simple one.
const PMIX: &str = "Open MPI 5 needs the plugin flux-pmix and `-o pmi=pmix`, if that is not the site's \
                    default: without them each rank is a job of its own";

/// The option for the number of tasks. Flux gives each of `-n` tasks a core and refuses more tasks than cores;
/// a number per node says nothing about cores.
fn size(request: &Request<'_>, hosts: &[&str]) -> Result<[String; 2], LaunchError> {
    let (ranks, nodes) = (request.job.ranks.len(), hosts.len());
    let hosts: HashSet<&str> = hosts.iter().copied().collect();
    let of_job = request.placement.nodes.iter().filter(|node| hosts.contains(node.name.as_str()));
    let cores: usize = of_job.map(|node| node.cores as usize).sum();
    let [option, number] = match ranks {
        _ if ranks <= cores => ["-n", &ranks.to_string()],
        _ if ranks.is_multiple_of(nodes) => ["--tasks-per-node", &(ranks / nodes).to_string()],
        _ => {
            let reason = format!(
                "flux run refuses {ranks} tasks on {cores} cores, and a number per node takes only \
                 multiples of {nodes}: place another number of ranks, or fewer on these nodes"
            );
            return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
        }
    };
    Ok([option.to_owned(), number.to_owned()])
}

/// The hosts as a list with at most one bracket for each name: Flux expands no more.
fn host_list(hosts: &[&str]) -> String {
    let list = hostlist::compress(hosts);
    let has_two = |rest: &str| rest.split(',').next().is_some_and(|rest| rest.contains('['));
    match list.split(']').skip(1).any(has_two) {
        true => hosts.join(","),
        false => list,
    }
}

const ONE_LIST: &str = "cpu-affinity has one list for all hosts";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::PuSet;
    use crate::launch::Binding;
    use crate::launch::testing::random_placement::{contents, native, placements};

    proptest! {
        #[test]
        fn hosts_and_affinity_read_back_are_the_placement(placement in placements()) {
            let request = Request { binding: Binding::Auto, ..native(&placement) };
            let launch = match write(&request) {
                Err(LaunchError::Impossible { reason, .. }) => {
                    prop_assert!(reason.starts_with("flux run refuses"), "{reason}");
                    return Ok(());
                }
                launch => launch.unwrap(),
            };
            let ranks = &placement.jobs[0].ranks;
            let hosts: Vec<&str> = contents(&launch, HOSTS).lines().collect();
            let wanted: Vec<&str> = ranks.iter().map(|entry| entry.node.as_str()).collect();
            prop_assert_eq!(&hosts, &wanted);
            let at = launch.command.iter().position(|word| word == "-o").unwrap() + 1;
            let affinity = launch.command[at].strip_prefix("cpu-affinity=").unwrap();
            prop_assert_eq!(affinity == "off", launch.by_exec);
            if let Some(list) = affinity.strip_prefix("map:") {
                let sets: Vec<PuSet> = list.split(';').map(|set| set.parse().unwrap()).collect();
                for host in hosts {
                    let of_host = ranks.iter().filter(|entry| entry.node == host);
                    let bound: Vec<PuSet> =
                        of_host.map(|entry| entry.pus.iter().copied().collect()).collect();
                    prop_assert_eq!(&bound, &sets);
                }
            }
        }
    }
}

//! Flux: `flux run --taskmap=hostfile:FILE` takes one host per rank. Native, if all hosts need the
//! same list: `-o cpu-affinity=map:`, a list indexed by local rank. Else: the shim. Follows Flux's
//! documentation (flux-run(1), flux-shell-options); not tested with Flux itself.

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
    let hosts = request.ranks_by_host().len().to_string();
    let ranks = request.job.ranks.len().to_string();
    let map = format!("--taskmap=hostfile:{}", request.path(HOSTS));
    let affinity = match sets {
        Ok(sets) if !by_exec => format!("cpu-affinity=map:{}", sets.ranges()),
        _ => "cpu-affinity=off".to_owned(),
    };
    let flux = request.program.unwrap_or("flux");
    let words = [flux, "run", "--exclusive", "-N", &hosts, "-n", &ranks, &map, "-o", &affinity];
    let mut command: Vec<String> = words.map(str::to_owned).into();
    command.extend_from_slice(request.arguments);
    command.extend(program);
    let mut files = vec![text_file(HOSTS, request.host_per_rank())];
    files.extend(by_exec.then(|| request.ranks_map()));
    files.extend(script);
    let environment = request.variables(by_exec).to_vec();
    let notes = vec![
        "this follows the documentation and is not tested with Flux: `rankwright check` says \
         what it does"
            .to_owned(),
        "start it in an instance of exactly the hosts of the placement (flux alloc, flux batch)"
            .to_owned(),
    ];
    Ok(Launch { by_exec, binding, files, environment, command, notes })
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
            let launch = write(&request).unwrap();
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

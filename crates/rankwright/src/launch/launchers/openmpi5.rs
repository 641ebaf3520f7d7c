//! Open MPI 5, whose launcher is PRRTE. Native: a rankfile in the syntax that versions 4.1 and 5
//! read alike, with a hostfile for the slots. Else: the `seq` mapper, one host per rank, without
//! binding.
//!
//! Never written for PRRTE 5.0.11: `:oversubscribe`, which leaves all ranks unbound, and
//! `:overload-allowed`, because two ranks on one core are an error of the placement.

use super::openmpi4::{self, Arguments, HOSTS, RANKFILE, WHOLE_NODES};
use crate::launch::{Binding, Launch, LaunchError, Request, text_file};

const LAUNCHER: &str = "openmpi5";

pub(in crate::launch) const AGENT: [&str; 3] =
    ["--prtemca", "plm_ssh_agent", "plm_ssh_no_tree_spawn"];

/// Writes for `mpirun` of Open MPI 5.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    openmpi4::refuse_hosts(LAUNCHER, request)?;
    let obstacle = openmpi4::obstacle(request).or_else(|| hyphen(request));
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "rankfile", obstacle)?;
    let mut notes = Vec::new();
    let mut part: Vec<String> = openmpi4::exports(request, by_exec).collect();
    let (job, files) = if by_exec {
        let ranks = request.job.ranks.len();
        // A single host needs no order, and --host applies to one program.
        if let [(host, _)] = request.ranks_by_host()[..] {
            part.splice(..0, ["--host".to_owned(), format!("{host}:{ranks}")]);
            (words(&["--bind-to", "none"]), vec![request.ranks_map()])
        } else {
            let job = [&hostfile(request)[..], &words(&["--map-by", "seq", "--bind-to", "none"])];
            let hosts = text_file(HOSTS, request.host_per_rank());
            (job.concat(), vec![hosts, request.ranks_map()])
        }
    } else {
        notes.push(WHOLE_NODES.to_owned());
        let mapper = format!("rankfile:file={}", request.path(RANKFILE));
        let job = [&hostfile(request)[..], &words(&["--map-by", &mapper])].concat();
        let rankfile = text_file(RANKFILE, openmpi4::rankfile(&request.job.ranks));
        (job, vec![text_file(HOSTS, slots(request)), rankfile])
    };
    let parts = request.parts(by_exec)?;
    let command = openmpi4::command_line(request, &AGENT, Arguments { job, part }, parts);
    let emulated = request.placement.cluster.emulated;
    // Ranks that share cores yield them while they wait.
    let patient = ("OMPI_MCA_mpi_yield_when_idle".to_owned(), "1".to_owned());
    let environment = Vec::from_iter(emulated.then_some(patient));
    Ok(Launch { by_exec, binding, files, environment, command, notes })
}

/// Open MPI 5.0.7 (PRRTE 3.0.8) takes what follows a hyphen in the path for a qualifier and ends. 5.0.11 does not,
/// so whoever asks for native binding gets it.
fn hyphen(request: &Request<'_>) -> Option<String> {
    let is_hit = request.binding == Binding::Auto && request.path(RANKFILE).contains('-');
    is_hit.then(|| "Open MPI 5.0.7 takes no rankfile from a path with a hyphen".to_owned())
}

/// `--hostfile` applies to one program, `--default-hostfile` to all.
fn hostfile(request: &Request<'_>) -> Vec<String> {
    let option = if request.is_mpmd() { "--default-hostfile" } else { "--hostfile" };
    vec![option.to_owned(), request.path(HOSTS)]
}

/// `n0 slots=2`: without a number PRRTE assumes one slot per host of a rankfile.
fn slots(request: &Request<'_>) -> String {
    let hosts = request.ranks_by_host();
    hosts.iter().map(|(host, ranks)| format!("{host} slots={}\n", ranks.len())).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::launch::testing::random_placement::{contents, native, placements};

    proptest! {
        #[test]
        fn rankfile_and_host_list_are_those_of_open_mpi_4(placement in placements()) {
            for binding in [Binding::Native, Binding::Exec] {
                let request = Request { binding, ..native(&placement) };
                let (four, five) = (openmpi4::write(&request).unwrap(), write(&request).unwrap());
                prop_assert!(!five.command.iter().any(|word| word.contains("oversubscribe")));
                for file in four.files {
                    prop_assert_eq!(contents(&five, file.name), file.contents);
                }
            }
        }

        #[test]
        fn a_rankfile_behind_a_hyphen_is_written_on_request_only(placement in placements()) {
            let folder = "/home/jane-doe/files";
            let native = Request { folder, ..native(&placement) };
            prop_assert!(!write(&native).unwrap().by_exec);
            let auto = write(&Request { binding: Binding::Auto, ..native }).unwrap();
            prop_assert!(auto.by_exec);
            prop_assert!(auto.files.iter().all(|file| file.name != RANKFILE));
        }

        #[test]
        fn hosts_have_a_slot_for_each_of_their_ranks(placement in placements()) {
            let launch = write(&native(&placement)).unwrap();
            let mut slots = std::collections::BTreeMap::<&str, usize>::new();
            for entry in &placement.jobs[0].ranks {
                *slots.entry(&entry.node).or_default() += 1;
            }
            let written: std::collections::BTreeMap<&str, usize> = contents(&launch, HOSTS)
                .lines()
                .map(|line| line.split_once(" slots=").unwrap())
                .map(|(host, slots)| (host, slots.parse().unwrap()))
                .collect();
            prop_assert_eq!(written, slots);
        }
    }
}

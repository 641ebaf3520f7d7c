//! MPICH (Hydra). From 4.1: a hostfile and `-rankmap`, which gives every rank its line of the
//! hostfile. Before: one line of the hostfile per rank, in rank order.

use std::collections::HashMap;

use super::{Launch, LaunchError, Request, text_file};
use crate::ids::PuSet;
use crate::placement::RankEntry;

/// Hydra reads a line of a hostfile into 1024 bytes.
const LONGEST_LINE: usize = 1000;

/// Linux takes at most 128 KiB in one argument.
const LONGEST_ARGUMENT: usize = 131_071;

const HOSTS: &str = "hosts";

/// Writes for `mpiexec` of MPICH 4.1 or newer.
pub(super) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    const LAUNCHER: &str = "mpich";
    let how = "binding=user";
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, how, obstacle(request))?;
    let rankmap = rankmap(request);
    if rankmap.len() > LONGEST_ARGUMENT {
        let length = rankmap.len();
        let reason = format!(
            "-rankmap would take {length} characters, Linux takes {LONGEST_ARGUMENT} in one \
             argument; use --for mpich:4.0, which needs no -rankmap"
        );
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    let hosts = host_lines(request, !by_exec).iter().map(|line| format!("{line}\n")).collect();
    let mut files = vec![text_file(HOSTS, hosts)];
    files.extend(by_exec.then(|| request.ranks_map()));
    let mut command = start(request);
    command.extend(["-rankmap".to_owned(), rankmap]);
    finish(request, by_exec, &mut command);
    Ok(Launch { by_exec, binding, files, environment: Vec::new(), command, notes: Vec::new() })
}

/// Writes for `mpiexec` of MPICH before 4.1.
pub(super) fn write_4_0(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let reason = "MPICH before 4.1 has no -rankmap, and binding=user in a line per rank makes \
                  every rank a host of its own";
    let (by_exec, binding) =
        request.bind_by_exec("mpich:4.0", "binding=user", Some(reason.to_owned()))?;
    let mut notes = Vec::new();
    if !hosts_are_contiguous(&request.job.ranks) {
        notes.push(
            "MPICH before 4.1 starts one proxy for every run of ranks on one host, so \
             MPI_LOCALRANKID and MPI_LOCALNRANKS count within the run: programs and libraries must \
             not take them for the rank on the node"
                .to_owned(),
        );
    }
    let files = vec![text_file(HOSTS, request.host_per_rank()), request.ranks_map()];
    let mut command = start(request);
    finish(request, by_exec, &mut command);
    Ok(Launch { by_exec, binding, files, environment: Vec::new(), command, notes })
}

fn start(request: &Request<'_>) -> Vec<String> {
    let ranks = request.job.ranks.len().to_string();
    let program = request.program.unwrap_or("mpiexec");
    let hosts = request.path(HOSTS);
    let mut command: Vec<String> = [program, "-f", &hosts, "-n", &ranks].map(str::to_owned).into();
    if let Some(agent) = request.agent {
        command.extend(["-launcher", "ssh", "-launcher-exec", agent].map(str::to_owned));
    }
    command
}

fn finish(request: &Request<'_>, by_exec: bool, command: &mut Vec<String>) {
    if by_exec {
        command.extend(["-bind-to", "none"].map(str::to_owned));
    }
    command.extend_from_slice(request.arguments);
    command.extend(request.task_command(by_exec));
}

/// `n0:2 binding=user:0,1+3`: `,` separates the ranks of the host, `+` the PUs (P#) of a rank.
fn host_lines(request: &Request<'_>, binding: bool) -> Vec<String> {
    let line = |(host, ranks): (&str, Vec<&RankEntry>)| {
        let count = ranks.len();
        if !binding {
            return format!("{host}:{count}");
        }
        let sets: Vec<String> = ranks.iter().map(|entry| joined_pus(entry)).collect();
        format!("{host}:{count} binding=user:{}", sets.join(","))
    };
    request.ranks_by_host().into_iter().map(line).collect()
}

/// Hydra knows no ranges here: every PU is named.
fn joined_pus(entry: &RankEntry) -> String {
    let pus: PuSet = entry.pus.iter().copied().collect();
    pus.as_slice().iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}

/// For every rank the line of the hostfile that it runs on, from 0.
fn rankmap(request: &Request<'_>) -> String {
    let hosts = request.ranks_by_host();
    let lines: HashMap<&str, usize> =
        hosts.iter().enumerate().map(|(index, (host, _))| (*host, index)).collect();
    let line = |entry: &RankEntry| lines[entry.node.as_str()].to_string();
    request.job.ranks.iter().map(line).collect::<Vec<_>>().join(",")
}

fn obstacle(request: &Request<'_>) -> Option<String> {
    request.general_obstacle().or_else(|| {
        let lines = host_lines(request, true);
        let line = lines.iter().find(|line| line.len() > LONGEST_LINE)?;
        let host = line.split(':').next().unwrap_or_default();
        let length = line.len();
        Some(format!("the binding of {host} takes {length} characters, Hydra takes {LONGEST_LINE}"))
    })
}

fn hosts_are_contiguous(ranks: &[RankEntry]) -> bool {
    let mut seen = std::collections::HashSet::new();
    ranks.chunk_by(|a, b| a.node == b.node).all(|run| seen.insert(run[0].node.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::PuId;
    use crate::launch::random_placement::{contents, native, placements};

    /// Host and PUs of every rank, as Hydra reads a hostfile and `-rankmap`: the n-th rank that a
    /// line gets has the n-th set of its binding.
    fn read_back(hosts: &str, rankmap: &str) -> Vec<(String, Vec<PuId>)> {
        let line = |line: &str| {
            let (host, binding) = line.split_once(" binding=user:").unwrap();
            let (host, count) = host.split_once(':').unwrap();
            let sets: Vec<&str> = binding.split(',').collect();
            assert_eq!(sets.len().to_string(), count);
            let set = |set: &&str| set.split('+').map(|pu| PuId(pu.parse().unwrap())).collect();
            (host.to_owned(), sets.iter().map(set).collect::<Vec<Vec<PuId>>>().into_iter())
        };
        let mut lines: Vec<_> = hosts.lines().map(line).collect();
        let rank = |index: &str| {
            let (host, sets) = &mut lines[index.parse::<usize>().unwrap()];
            (host.clone(), sets.next().unwrap())
        };
        rankmap.split(',').map(rank).collect()
    }

    proptest! {
        #[test]
        fn hosts_and_rankmap_read_back_are_the_placement(placement in placements()) {
            let launch = write(&native(&placement)).unwrap();
            let rankmap = launch.command.iter().position(|word| word == "-rankmap").unwrap() + 1;
            let found = read_back(contents(&launch, HOSTS), &launch.command[rankmap]);
            prop_assert_eq!(found.len(), placement.jobs[0].ranks.len());
            for ((host, mut pus), entry) in found.into_iter().zip(&placement.jobs[0].ranks) {
                let mut wanted = entry.pus.clone();
                wanted.sort_unstable();
                pus.sort_unstable();
                prop_assert_eq!((host, pus), (entry.node.clone(), wanted));
            }
        }
    }

    #[test]
    fn hosts_are_contiguous_where_no_host_comes_back() {
        let mut hosts = [0, 0, 1].map(|node| format!("n{node}"));
        let entry = |node: &String| RankEntry {
            rank: crate::ids::Rank(0),
            node: node.clone(),
            cores: Vec::new(),
            pus: Vec::new(),
            numa: None,
            nics: Vec::new(),
            gpus: Vec::new(),
            bound: true,
        };
        assert!(hosts_are_contiguous(&hosts.each_ref().map(entry)));
        hosts.swap(0, 2);
        assert!(hosts_are_contiguous(&hosts.each_ref().map(entry)));
        hosts.swap(0, 1);
        assert!(!hosts_are_contiguous(&hosts.each_ref().map(entry)));
    }
}

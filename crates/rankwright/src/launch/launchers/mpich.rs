//! MPICH (Hydra). From 4.1: a hostfile and `-rankmap`, which gives every rank its line of the
//! hostfile. Before: one line of the hostfile per rank, in rank order.

use std::collections::HashMap;

use crate::ids::PuSet;
use crate::launch::{Launch, LaunchError, Request, text_file};
use crate::placement::RankEntry;

/// The longest line of a hostfile that is written; Hydra's buffer for a line has 1024 bytes.
const LONGEST_LINE: usize = 1000;

/// The longest argument that Linux passes to a program, in bytes.
const LONGEST_ARGUMENT: usize = 131_071;

const HOSTS: &str = "hosts";

/// Writes for `mpiexec` of MPICH 4.1 or newer.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    const LAUNCHER: &str = "mpich";
    let how = "binding=user";
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, how, obstacle(request))?;
    let rankmap = rankmap(request);
    if rankmap.len() > LONGEST_ARGUMENT {
        let length = rankmap.len();
        let reason = format!(
            "-rankmap needs {length} characters, Linux allows {LONGEST_ARGUMENT} in one \
             argument; use --for mpich:4.0, which needs no -rankmap"
        );
        return Err(LaunchError::Impossible { launcher: LAUNCHER, reason });
    }
    let hosts = host_lines(request, !by_exec).iter().map(|line| format!("{line}\n")).collect();
    let mut files = vec![text_file(HOSTS, hosts)];
    files.extend(by_exec.then(|| request.ranks_map()));
    let command = command_line(request, by_exec, Some(rankmap))?;
    Ok(Launch { by_exec, binding, files, environment: Vec::new(), command, notes: Vec::new() })
}

/// Writes for `mpiexec` of MPICH before 4.1.
pub(in crate::launch) fn write_4_0(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let reason = "MPICH before 4.1 has no -rankmap, and with binding=user in a line per rank it \
                  takes every rank for a separate host";
    let (by_exec, binding) =
        request.bind_by_exec("mpich:4.0", "binding=user", Some(reason.to_owned()))?;
    let mut notes = Vec::new();
    if !hosts_are_contiguous(&request.job.ranks) {
        notes.push(
            "MPICH before 4.1 starts one proxy per run of consecutive ranks on a host, and \
             MPI_LOCALRANKID and MPI_LOCALNRANKS count within that run: programs and libraries \
             must not use them as the local rank"
                .to_owned(),
        );
    }
    let files = vec![text_file(HOSTS, request.host_per_rank()), request.ranks_map()];
    let command = command_line(request, by_exec, None)?;
    Ok(Launch { by_exec, binding, files, environment: Vec::new(), command, notes })
}

/// `mpiexec -f hosts -n N ... PROGRAM`, with ` : -n N ... PROGRAM` for every further program.
fn command_line(
    request: &Request<'_>,
    by_exec: bool,
    rankmap: Option<String>,
) -> Result<Vec<String>, LaunchError> {
    let mut job = Vec::new();
    job.extend(request.agent.into_iter().flat_map(agent));
    job.extend(rankmap.into_iter().flat_map(|map| ["-rankmap".to_owned(), map]));
    if by_exec {
        job.extend(["-bind-to", "none"].map(str::to_owned));
    }
    job.extend(genv(request, by_exec));
    job.extend_from_slice(request.arguments);
    // Hydra refuses a setting of the whole job that is given twice.
    let further = of_one_program(request.arguments);
    let program = request.program.unwrap_or("mpiexec").to_owned();
    let mut command = vec![program, "-f".to_owned(), request.path(HOSTS)];
    for (index, part) in request.parts(by_exec)?.into_iter().enumerate() {
        command.extend((index > 0).then(|| ":".to_owned()));
        command.extend(["-n".to_owned(), part.ranks.to_string()]);
        command.extend_from_slice(if index == 0 { &job } else { &further });
        command.extend(part.command);
    }
    Ok(command)
}

/// The arguments that make Hydra call `agent` instead of `ssh`.
pub(in crate::launch) fn agent(agent: &str) -> Vec<String> {
    ["-launcher", "ssh", "-launcher-exec", agent].map(str::to_owned).into()
}

/// `-genv NAME VALUE` for every variable.
pub(in crate::launch) fn genv(
    request: &Request<'_>,
    by_exec: bool,
) -> impl Iterator<Item = String> {
    let variables = request.variables(by_exec).iter();
    variables.flat_map(|(name, value)| ["-genv".to_owned(), name.clone(), value.clone()])
}

/// Those of the arguments that apply to one program only: the options that `mpiexec -help` calls
/// local, and `-wdir`, which it calls global.
pub(in crate::launch) fn of_one_program(arguments: &[String]) -> Vec<String> {
    let mut chosen = Vec::new();
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        let name = option.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name));
        let own_value = name.is_some_and(|name| name.contains('='));
        let name = name.and_then(|name| name.split('=').next());
        let values = match name {
            _ if own_value => 0,
            // `-env NAME VALUE` or `-env NAME=VALUE`.
            Some("env") if behind.first().is_some_and(|name| !name.contains('=')) => 2,
            Some("env" | "envlist" | "wdir") => 1,
            _ => 0,
        };
        let length = (1 + values).min(rest.len());
        if matches!(name, Some("env" | "envlist" | "envnone" | "envall" | "wdir")) {
            chosen.extend_from_slice(&rest[..length]);
        }
        rest = &rest[length..];
    }
    chosen
}

/// `n0:2 binding=user:0,1+3`: `,` between the ranks of the host, `+` between the PUs (P#) of a
/// rank.
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

/// Every PU by its number: Hydra does not read ranges here.
fn joined_pus(entry: &RankEntry) -> String {
    let pus: PuSet = entry.pus.iter().copied().collect();
    pus.as_slice().iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}

/// For every rank its line of the hostfile, from 0.
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
        Some(format!(
            "the binding of {host} needs {length} characters, the limit is {LONGEST_LINE}"
        ))
    })
}

/// Whether the ranks of every host are consecutive.
pub(in crate::launch) fn hosts_are_contiguous(ranks: &[RankEntry]) -> bool {
    let mut seen = std::collections::HashSet::new();
    ranks.chunk_by(|a, b| a.node == b.node).all(|run| seen.insert(run[0].node.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::PuId;
    use crate::launch::testing::random_placement::{contents, native, placements};

    /// Host and PUs of every rank, as Hydra reads a hostfile and `-rankmap`: the n-th rank of a
    /// line has the n-th set of its binding.
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
            let ranks = read_back(contents(&launch, HOSTS), &launch.command[rankmap]);
            prop_assert_eq!(ranks.len(), placement.jobs[0].ranks.len());
            for ((host, mut pus), entry) in ranks.into_iter().zip(&placement.jobs[0].ranks) {
                let mut wanted = entry.pus.clone();
                wanted.sort_unstable();
                pus.sort_unstable();
                prop_assert_eq!((host, pus), (entry.node.clone(), wanted));
            }
        }
    }

    #[test]
    fn arguments_of_one_program_are_told_from_those_of_the_job() {
        let arguments = ["-prepend-rank", "-env", "A", "-1", "--env=B=2", "-genv", "C", "3"];
        let arguments =
            [&arguments[..], &["-env", "D=4", "-wdir", "/w", "-l", "-envnone"]].concat();
        let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        let local = ["-env", "A", "-1", "--env=B=2", "-env", "D=4", "-wdir", "/w", "-envnone"];
        assert_eq!(of_one_program(&arguments), local);
        assert_eq!(of_one_program(&arguments[1..3]), ["-env", "A"]);
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

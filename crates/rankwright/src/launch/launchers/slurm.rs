//! Slurm: `srun -m arbitrary` takes one host per rank from `SLURM_HOSTFILE`. Native: `--cpu-bind`,
//! one list indexed by local rank for all hosts; if the hosts need different lists and each has
//! consecutive ranks, one component per host (`srun ... : ...`) under PMIx. Else: the shim.
//!
//! Options by which a step gets only part of its nodes (`-c`, `--exact`, `--exclusive`) are never
//! written: Slurm would refuse to bind to the other CPUs.

use crate::launch::local_sets::{LocalSets, Surplus};
use crate::launch::{Launch, LaunchError, LaunchFile, Request, text_file};

const LAUNCHER: &str = "slurm";
const HOSTS: &str = "hosts";

/// With more components than this, the start takes too long.
const MOST_COMPONENTS: usize = 16;

/// The number of bits of Slurm's CPU sets (`CPU_SET_SIZE` of the kernel).
pub(in crate::launch) const MOST_CPUS: u32 = 1024;

/// Writes for `srun`.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let how = how(request);
    let obstacle = how.as_ref().err().cloned();
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, "--cpu-bind", obstacle)?;
    let (program, script) = request.one_command(by_exec)?;
    let mut command = vec![request.program.unwrap_or("srun").to_owned()];
    command.extend(mpi(request));
    let mut environment = request.variables(by_exec).to_vec();
    let mut files: Vec<LaunchFile> = Vec::new();
    match how {
        Ok(Native::Components(hosts)) if !by_exec => {
            for (index, (host, sets)) in hosts.iter().enumerate() {
                command.extend((index > 0).then(|| ":".to_owned()));
                let ranks = request.job.ranks.iter().filter(|entry| entry.node == *host).count();
                let words = ["-N", "1", "-n", &ranks.to_string(), "-w", host, &cpu_bind(sets)];
                command.extend(words.map(str::to_owned));
                command.extend_from_slice(request.arguments);
                command.extend_from_slice(&program);
            }
        }
        how => {
            let hosts = request.ranks_by_host().len().to_string();
            let ranks = request.job.ranks.len().to_string();
            command.extend(["-N", &hosts, "-n", &ranks, "-m", "arbitrary"].map(str::to_owned));
            command.push(match how {
                Ok(Native::OneList(sets)) if !by_exec => cpu_bind(&sets),
                _ => "--cpu-bind=none".to_owned(),
            });
            // More ranks than a node has CPUs.
            let emulated = request.placement.cluster.emulated;
            command.extend(emulated.then(|| "--overcommit".to_owned()));
            if by_exec {
                command.extend(end_with_a_refused_rank(request.arguments));
            }
            command.extend_from_slice(request.arguments);
            command.extend(program);
            environment.push(("SLURM_HOSTFILE".to_owned(), request.path(HOSTS)));
            files.push(text_file(HOSTS, request.host_per_rank()));
            files.extend(by_exec.then(|| request.ranks_map()));
        }
    }
    files.extend(script);
    let notes = vec![notes(by_exec)];
    Ok(Launch { by_exec, binding, files, environment, command, notes })
}

fn notes(by_exec: bool) -> String {
    let rest = if by_exec {
        ""
    } else {
        "; --cpu-bind needs task/affinity in Slurm's TaskPlugin: without it, srun leaves the ranks \
         unbound and prints no warning; `rankwright check` reports it"
    };
    format!("start it inside an allocation of whole nodes (salloc --exclusive){rest}")
}

/// How `--cpu-bind` expresses a placement.
enum Native<'a> {
    /// One list for all hosts.
    OneList(LocalSets),
    /// One component per host, with the host's sets.
    Components(Vec<(&'a str, LocalSets)>),
}

fn how<'a>(request: &'a Request<'_>) -> Result<Native<'a>, String> {
    if let Some(obstacle) = request.general_obstacle() {
        return Err(obstacle);
    }
    let hosts = LocalSets::by_host(request);
    let largest = hosts.iter().filter_map(|(_, sets)| sets.largest()).max();
    if let Some(pu) = largest.filter(|pu| pu.0 >= MOST_CPUS) {
        return Err(format!("PU P#{pu} is beyond the {MOST_CPUS} CPUs of --cpu-bind"));
    }
    let differs = match LocalSets::of_all(request, Surplus::Ignored) {
        Ok(sets) => return Ok(Native::OneList(sets)),
        Err(differs) => format!("{differs}, --cpu-bind has one list for all hosts"),
    };
    let runs = request.job.ranks.chunk_by(|a, b| a.node == b.node);
    let in_order: Vec<&str> = runs.map(|run| run[0].node.as_str()).collect();
    if in_order.len() != hosts.len() {
        return Err(format!("{differs}, and a component per host needs consecutive ranks"));
    }
    if in_order.len() > MOST_COMPONENTS {
        return Err(format!("{differs}, and more than {MOST_COMPONENTS} components are too many"));
    }
    if pmi(&request.job.mpi_library) != Some("pmix") {
        return Err(format!("{differs}, and only under PMIx are several components one MPI job"));
    }
    let with_sets = |host: &str| hosts.iter().find(|(name, _)| *name == host).cloned();
    Ok(Native::Components(in_order.into_iter().filter_map(with_sets).collect()))
}

/// CPU numbers if every rank has a single PU, else masks.
pub(in crate::launch) fn cpu_bind(sets: &LocalSets) -> String {
    if sets.are_single() {
        format!("--cpu-bind=map_cpu:{}", sets.list())
    } else {
        format!("--cpu-bind=mask_cpu:{}", sets.masks())
    }
}

/// `--mpi=...` for the MPI library of the job, if that is known and the user does not give it.
fn mpi(request: &Request<'_>) -> Option<String> {
    option_for(&request.job.mpi_library, request.arguments)
}

/// `--mpi=...` for an MPI library, by its version string; `None` if the user's arguments have it.
pub(in crate::launch) fn option_for(library: &str, arguments: &[String]) -> Option<String> {
    let said = arguments.iter().any(|argument| argument.starts_with("--mpi"));
    pmi(library).filter(|_| !said).map(|pmi| format!("--mpi={pmi}"))
}

/// The option without which ranks wait for ever for a rank that the shim refused; `None` if the
/// user's arguments have it.
pub(in crate::launch) fn end_with_a_refused_rank(arguments: &[String]) -> Option<String> {
    let said = |word: &String| word.starts_with("-K") || word.starts_with("--kill-on-bad-exit");
    (!arguments.iter().any(said)).then(|| "--kill-on-bad-exit=1".to_owned())
}

/// The process management interface that an MPI library uses, if its version string tells.
fn pmi(library: &str) -> Option<&'static str> {
    let library = library.to_ascii_lowercase();
    let is = |name: &str| library.contains(name);
    if is("open mpi") {
        Some("pmix")
    } else if is("cray") {
        None
    } else {
        ["mpich", "intel(r) mpi", "mvapich"].into_iter().any(is).then_some("pmi2")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::PuId;
    use crate::launch::testing::random_placement::{contents, native, placements};
    use crate::launch::{Binding, Request};
    use crate::placement::PlacementFile;

    fn sets(argument: &str) -> Vec<Vec<PuId>> {
        let bits = |mask: &str| {
            let bits = u128::from_str_radix(mask.strip_prefix("0x").expect("hex"), 16).unwrap();
            (0..128).filter(|bit| bits >> bit & 1 == 1).map(PuId).collect()
        };
        match argument.strip_prefix("--cpu-bind=").and_then(|text| text.split_once(':')) {
            Some(("map_cpu", list)) => {
                list.split(',').map(|pu| vec![PuId(pu.parse().unwrap())]).collect()
            }
            Some(("mask_cpu", list)) => list.split(',').map(bits).collect(),
            _ => panic!("{argument}"),
        }
    }

    /// Host and PUs of every rank, as srun reads it.
    fn read_back(launch: &Launch) -> Vec<(String, Vec<PuId>)> {
        let value = |words: &[String], name: &str| {
            words.iter().position(|word| word == name).map(|at| words[at + 1].clone())
        };
        let bind = |words: &[String]| {
            let word = words.iter().find(|word| word.starts_with("--cpu-bind=")).unwrap();
            sets(word)
        };
        if launch.files.iter().any(|file| file.name == HOSTS) {
            let lists = bind(&launch.command);
            let mut seen: HashMap<&str, usize> = HashMap::new();
            let rank = |host| {
                let local = seen.entry(host).or_default();
                *local += 1;
                (host.to_owned(), lists[*local - 1].clone())
            };
            return contents(launch, HOSTS).lines().map(rank).collect();
        }
        let components = launch.command.split(|word| word == ":");
        let ranks = |words: &[String]| {
            let host = value(words, "-w").unwrap();
            let count = value(words, "-n").unwrap().parse::<usize>().unwrap();
            bind(words)
                .into_iter()
                .take(count)
                .map(move |set| (host.clone(), set))
                .collect::<Vec<_>>()
        };
        components.flat_map(ranks).collect()
    }

    fn wanted(placement: &PlacementFile) -> Vec<(String, Vec<PuId>)> {
        let rank = |entry: &crate::placement::RankEntry| {
            let mut pus = entry.pus.clone();
            pus.sort_unstable();
            (entry.node.clone(), pus)
        };
        placement.jobs[0].ranks.iter().map(rank).collect()
    }

    proptest! {
        #[test]
        fn what_is_written_read_back_is_the_placement(
            placement in placements(), blocked: bool, library in "(Open MPI v5|MPICH)",
        ) {
            let mut placement = placement;
            let job = &mut placement.jobs[0];
            job.mpi_library = library;
            if blocked {
                job.ranks.sort_by(|a, b| a.node.cmp(&b.node));
                for (index, entry) in job.ranks.iter_mut().enumerate() {
                    entry.rank = crate::ids::Rank::from_index(index);
                }
            }
            let request = Request { binding: Binding::Auto, ..native(&placement) };
            let launch = write(&request).unwrap();
            if launch.by_exec {
                let hosts: Vec<&str> = contents(&launch, HOSTS).lines().collect();
                let wanted: Vec<&str> =
                    placement.jobs[0].ranks.iter().map(|entry| entry.node.as_str()).collect();
                prop_assert_eq!(hosts, wanted);
                prop_assert!(launch.command.iter().any(|word| word == "--cpu-bind=none"));
            } else {
                prop_assert_eq!(read_back(&launch), wanted(&placement));
            }
        }
    }

    #[test]
    fn the_library_chooses_how_ranks_find_each_other() {
        assert_eq!(pmi("Open MPI v4.1.4, package: Debian"), Some("pmix"));
        assert_eq!(pmi("MPICH Version: 4.0.2"), Some("pmi2"));
        assert_eq!(pmi("Intel(R) MPI Library 2021.19"), Some("pmi2"));
        assert_eq!(pmi("MPI VERSION : CRAY MPICH version 8.1.28"), None);
        assert_eq!(pmi(""), None);
    }
}

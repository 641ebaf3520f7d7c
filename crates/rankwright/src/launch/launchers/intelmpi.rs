//! Intel MPI, whose launcher derives from Hydra: a machinefile puts the ranks on their hosts in
//! order. Native: `I_MPI_PIN_PROCESSOR_LIST` or `I_MPI_PIN_DOMAIN`, one list indexed by local rank
//! for all hosts. With `--binding native` also a configfile: the first block of each host has the
//! list of that host. Else: `I_MPI_PIN=0` and the shim.
//!
//! For masks without `0x` and for lists longer than the ranks of the host, Intel MPI prints a
//! message, pins by its default and ends with exit code 0. The two variables contradict each other.
//! So none of these is written.

use std::collections::HashSet;
use std::fmt::Write;

use super::mpich::{agent, genv, of_one_program};
use crate::launch::local_sets::{LocalSets, Surplus};
use crate::launch::{Binding, Launch, LaunchError, Part, Request, text_file};

const LAUNCHER: &str = "intelmpi";
const HOSTS: &str = "hosts";
const CONFIGFILE: &str = "configfile";

/// Writes for `mpiexec` of Intel MPI.
pub(in crate::launch) fn write(request: &Request<'_>) -> Result<Launch, LaunchError> {
    let same = LocalSets::of_all(request, Surplus::Refused);
    let (by_exec, binding) = request.bind_by_exec(LAUNCHER, HOW, obstacle(request, &same))?;
    let parts = request.parts(by_exec)?;
    let mut notes = Vec::new();
    let mut command = vec![request.program.unwrap_or("mpiexec").to_owned()];
    command.extend(request.agent.into_iter().flat_map(agent));
    let mut files = Vec::new();
    match same {
        Err(_) if !by_exec => {
            command.extend(genv(request, by_exec));
            command.extend_from_slice(request.arguments);
            command.extend(["-configfile".to_owned(), request.path(CONFIGFILE)]);
            files.push(text_file(CONFIGFILE, configfile(request, &parts)));
            if request.ranks_by_host().len() < blocks(request, &parts).len() {
                notes.push(APP_NUMBERS.to_owned());
            }
        }
        same => {
            command.extend(["-machinefile".to_owned(), request.path(HOSTS)]);
            let off = ("I_MPI_PIN", "0".to_owned());
            let pin = same
                .ok()
                .filter(|_| !by_exec)
                .map_or(off, |sets| pinning(&sets, sets.are_single()));
            command.extend(["-genv".to_owned(), pin.0.to_owned(), pin.1]);
            command.extend(genv(request, by_exec));
            command.extend_from_slice(request.arguments);
            programs(request, parts, &mut command);
            files.push(text_file(HOSTS, machinefile(request)));
            files.extend(by_exec.then(|| request.ranks_map()));
        }
    }
    Ok(Launch { by_exec, binding, files, environment: Vec::new(), command, notes })
}

const HOW: &str = "I_MPI_PIN_PROCESSOR_LIST or I_MPI_PIN_DOMAIN";

const APP_NUMBERS: &str = "Intel MPI counts every block of the configfile as a separate program: \
                           MPI_APPNUM is the number of the block";

/// `-n N ./a : -n N ./b`.
fn programs(request: &Request<'_>, parts: Vec<Part>, command: &mut Vec<String>) {
    let further = of_one_program(request.arguments);
    for (index, part) in parts.into_iter().enumerate() {
        command.extend((index > 0).then(|| ":".to_owned()));
        command.extend(["-n".to_owned(), part.ranks.to_string()]);
        command.extend_from_slice(if index == 0 { &[] } else { &further });
        command.extend(part.command);
    }
}

/// The variable that pins, and its value: a list if every rank has a `single` PU, else masks.
fn pinning(sets: &LocalSets, single: bool) -> (&'static str, String) {
    if single {
        ("I_MPI_PIN_PROCESSOR_LIST", sets.list())
    } else {
        ("I_MPI_PIN_DOMAIN", format!("[{}]", sets.masks()))
    }
}

/// `n1:2`: ranks follow the lines. Local ranks are right even if a host has several lines.
fn machinefile(request: &Request<'_>) -> String {
    let runs = request.job.ranks.chunk_by(|a, b| a.node == b.node);
    runs.map(|run| format!("{}:{}\n", run[0].node, run.len())).collect()
}

/// The runs of consecutive ranks with the same host and program: first rank, number of ranks, index
/// of the program.
fn blocks(request: &Request<'_>, parts: &[Part]) -> Vec<(usize, usize, usize)> {
    let programs: Vec<usize> =
        parts.iter().enumerate().flat_map(|(index, p)| vec![index; p.ranks]).collect();
    let of_rank: Vec<(usize, &str, usize)> = request
        .job
        .ranks
        .iter()
        .zip(&programs)
        .map(|(entry, program)| (entry.rank.index(), entry.node.as_str(), *program))
        .collect();
    let runs = of_rank.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2));
    runs.map(|run| (run[0].0, run.len(), run[0].2)).collect()
}

/// One line per block. Intel MPI reads the pinning from the first block of each host only.
fn configfile(request: &Request<'_>, parts: &[Part]) -> String {
    let lists = LocalSets::by_host(request);
    // Intel MPI refuses a list for one host with masks for another.
    let single = lists.iter().all(|(_, sets)| sets.are_single());
    let mut pinned = HashSet::new();
    let mut text = String::new();
    for (first, ranks, program) in blocks(request, parts) {
        let host = request.job.ranks[first].node.as_str();
        let mut line = format!("-n {ranks} -host {host}");
        if let Some((_, sets)) = lists.iter().find(|(name, _)| *name == host)
            && pinned.insert(host)
        {
            let (name, value) = pinning(sets, single);
            // Writing to a string cannot fail.
            let _ = write!(line, " -env {name} {value}");
        }
        let _ = writeln!(text, "{line} {}", parts[program].command.join(" "));
    }
    text
}

fn obstacle(request: &Request<'_>, same: &Result<LocalSets, String>) -> Option<String> {
    request.general_obstacle().or_else(|| {
        let differs = same.as_ref().err()?;
        if request.binding != Binding::Native {
            let reason = "which needs a configfile, where each block gets another MPI_APPNUM";
            return Some(format!("{differs}, {reason}"));
        }
        let Ok(parts) = request.parts(false) else { return None };
        let words = parts.iter().flat_map(|part| &part.command);
        let odd = words.into_iter().find(|word| !is_plain(word))?;
        Some(format!("{differs}, and a configfile cannot hold the word `{odd}`"))
    })
}

/// Whether a configfile can hold a word: its only quotes are double quotes around whole words.
fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=,./-".contains(&byte);
    !word.is_empty() && word.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    use super::*;
    use crate::ids::PuId;
    use crate::launch::testing::random_placement::{contents, native, placements};

    /// The sets of a value of one of the two variables.
    fn sets(name: &str, value: &str) -> Vec<Vec<PuId>> {
        let bits = |mask: &str| {
            let bits = u128::from_str_radix(mask.strip_prefix("0x").expect("hex"), 16).unwrap();
            (0..128).filter(|bit| bits >> bit & 1 == 1).map(PuId).collect()
        };
        match name {
            "I_MPI_PIN_PROCESSOR_LIST" => {
                value.split(',').map(|pu| vec![PuId(pu.parse().unwrap())]).collect()
            }
            "I_MPI_PIN_DOMAIN" => {
                let value = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
                value.expect("in brackets").split(',').map(bits).collect()
            }
            other => panic!("{other}"),
        }
    }

    /// Host and PUs of every rank, as Intel MPI reads it.
    fn read_back(launch: &Launch) -> Vec<(String, Vec<PuId>)> {
        let mut lists: HashMap<String, std::vec::IntoIter<Vec<PuId>>> = HashMap::new();
        let mut ranks = Vec::new();
        if let Some(file) = launch.files.iter().find(|file| file.name == CONFIGFILE) {
            for line in file.contents.lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let host = words[3].to_owned();
                if words[4] == "-env" {
                    lists.entry(host.clone()).or_insert(sets(words[5], words[6]).into_iter());
                }
                ranks.extend(vec![host; words[1].parse().unwrap()]);
            }
        } else {
            let genv = launch.command.iter().position(|word| word == "-genv").unwrap();
            let sets = sets(&launch.command[genv + 1], &launch.command[genv + 2]);
            for line in contents(launch, HOSTS).lines() {
                let (host, count) = line.split_once(':').unwrap();
                lists.entry(host.to_owned()).or_insert(sets.clone().into_iter());
                ranks.extend(vec![host.to_owned(); count.parse().unwrap()]);
            }
        }
        let with_set = |host: String| {
            let set = lists.get_mut(&host).and_then(Iterator::next).expect("a set per rank");
            (host, set)
        };
        let ranks = ranks.into_iter().map(with_set).collect();
        assert!(lists.values_mut().all(|rest| rest.next().is_none()), "lists as long as the ranks");
        ranks
    }

    proptest! {
        #[test]
        fn what_is_written_read_back_is_the_placement(placement in placements()) {
            let launch = write(&native(&placement)).unwrap();
            let wanted: Vec<_> = placement.jobs[0].ranks.iter().map(|entry| {
                let mut pus = entry.pus.clone();
                pus.sort_unstable();
                (entry.node.clone(), pus)
            }).collect();
            prop_assert_eq!(read_back(&launch), wanted);
        }
    }

    /// Each host needs the variable in its first block.
    #[test]
    fn every_host_has_its_own_pinning_in_its_first_block() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let strategy = placements().prop_filter("hosts differ", |placement| {
            LocalSets::of_all(&native(placement), Surplus::Refused).is_err()
        });
        for _ in 0..20 {
            let placement = strategy.new_tree(&mut runner).unwrap().current();
            let launch = write(&native(&placement)).unwrap();
            let mut kinds = HashMap::new();
            let mut seen = HashSet::new();
            for line in contents(&launch, CONFIGFILE).lines() {
                let words: Vec<&str> = line.split(' ').collect();
                assert_eq!(words[4] == "-env", seen.insert(words[3].to_owned()), "{line}");
                if words[4] == "-env" {
                    *kinds.entry(words[5].to_owned()).or_insert(0) += 1;
                }
            }
            let hosts = native(&placement).ranks_by_host().len();
            assert_eq!(kinds.into_values().collect::<Vec<_>>(), [hosts]);
        }
    }
}

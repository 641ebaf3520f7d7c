//! `-o cpu-affinity=` of Flux: `map:` by local rank, or what Flux makes of the cores that the job has.

use std::collections::HashMap;

use crate::cluster::Machine;
use crate::files::InputError;
use crate::ids::{PuId, PuSet};
use crate::lint::read::cpu_bind::{self, CpuBind};
use crate::lint::{Place, Reading, Source};

/// The binding of the tasks of every node.
#[derive(Debug)]
pub(super) enum Affinity {
    /// One binding, by local rank, on every node.
    Same(CpuBind),
    /// The cores of a whole node, shared out over its tasks.
    PerTask,
}

impl Affinity {
    pub(super) fn of(source: &Source<'_>) -> Result<Self, InputError> {
        let values = source.arguments.words().filter_map(|word| word.split_once("cpu-affinity="));
        let mut value = values.last().map_or("on", |(_, value)| value);
        let mut is_tried = false;
        while let Some(rest) = behind(value, "dry-run").or_else(|| behind(value, "verbose")) {
            is_tried |= value.starts_with("dry-run");
            value = rest;
        }
        if is_tried || value == "off" {
            return Ok(Self::Same(CpuBind::None));
        }
        if let Some(list) = value.strip_prefix("map:") {
            return Ok(Self::Same(CpuBind::List(sets(source, list)?)));
        }
        Ok(match (takes_whole_nodes(source), value) {
            // Flux allocates any free cores of a shared node.
            (false, _) => Self::Same(CpuBind::Own),
            (true, "per-task") => Self::PerTask,
            // All tasks may use all cores of the node.
            (true, _) => Self::Same(CpuBind::None),
        })
    }

    /// Adds a rank for each host of the list, which has the line of each.
    pub(super) fn place(
        &self,
        hosts: &[(String, usize)],
        source: &Source<'_>,
        reading: &mut Reading,
    ) {
        if let Self::Same(bind) = self {
            return super::slurm::place(hosts, bind, reading);
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        hosts.iter().for_each(|(host, _)| *counts.entry(host).or_default() += 1);
        let shares = |(host, tasks): (&str, usize)| {
            let shares = source.machines.machine(host).map(|machine| shared_out(machine, tasks));
            (host.to_owned(), shares.unwrap_or_default().into_iter())
        };
        let mut shares: HashMap<String, _> = counts.into_iter().map(shares).collect();
        for (rank, (host, line)) in hosts.iter().enumerate() {
            let share = shares.get_mut(host).and_then(Iterator::next);
            reading.add(rank, host, share.map_or(Place::Unknown, Place::Pus), *line);
        }
    }
}

/// The rest behind a word that stands first, and behind the comma that may follow it.
fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    Some(rest.strip_prefix(',').unwrap_or(rest))
}

/// Whether the job gets all cores of its nodes: with `--exclusive`, or if the nodes are given without the
/// number of tasks or cores.
fn takes_whole_nodes(source: &Source<'_>) -> bool {
    let has = |long: &str, short: Option<&str>| {
        source.arguments.words().any(|word| {
            word.split('=').next() == Some(long) || short.is_some_and(|name| word.starts_with(name))
        })
    };
    has("--exclusive", Some("-x"))
        || (has("--nodes", Some("-N")) && !has("--ntasks", Some("-n")) && !has("--cores", None))
}

fn sets(source: &Source<'_>, list: &str) -> Result<Vec<PuSet>, InputError> {
    let wrong = |entry: &str| {
        source.wrong_argument(
            entry,
            "-o cpu-affinity=map: with lists of PUs (0-1;2,3) or masks (0x3;0xc)",
        )
    };
    let set = |entry: &str| {
        let pus = match entry.starts_with("0x") {
            true => mask(entry),
            false => entry.parse::<PuSet>().ok().filter(|pus| !pus.is_empty()),
        };
        pus.ok_or_else(|| wrong(entry))
    };
    let sets: Vec<PuSet> =
        list.split(';').filter(|entry| !entry.is_empty()).map(set).collect::<Result<_, _>>()?;
    if sets.is_empty() { Err(wrong(list)) } else { Ok(sets) }
}

/// A mask; one with commas is hwloc's, of 32 bits each, the highest first.
fn mask(text: &str) -> Option<PuSet> {
    if !text.contains(',') {
        return cpu_bind::mask(text);
    }
    let mut digits = String::new();
    for part in text.split(',') {
        let part = part.strip_prefix("0x").unwrap_or(part);
        digits.push_str(&format!("{part:0>8}"));
    }
    cpu_bind::mask(&digits)
}

/// The PUs of each of the tasks of a node, as `hwloc_distrib` shares its cores out: in order and as evenly as
/// possible, with several tasks on a core if there are more of them.
fn shared_out(machine: &Machine, tasks: usize) -> Vec<PuSet> {
    let total = machine.pus.len().max(1);
    let before = |pus: usize| (pus * tasks).div_ceil(total);
    let mut shares: Vec<Vec<PuId>> = Vec::new();
    let mut pus = 0;
    for core in &machine.cores {
        let first = before(pus);
        pus += core.pus.len();
        match before(pus) - first {
            0 => shares.last_mut().into_iter().for_each(|share| share.extend(&core.pus)),
            some => shares.extend(std::iter::repeat_n(core.pus.clone(), some)),
        }
    }
    shares.into_iter().map(|share| share.into_iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::shared_out;
    use crate::cluster::read::{synthetic, toml};

    fn shares(topology: &str, tasks: usize) -> String {
        let machine = synthetic::parse(topology).unwrap();
        let shares: Vec<String> =
            shared_out(&machine, tasks).iter().map(ToString::to_string).collect();
        shares.join(" ")
    }

    /// From `flux run -xN2 -n .. -o cpu-affinity=dry-run,per-task` of Flux 0.88 on such nodes.
    #[test]
    fn cores_are_shared_out_as_flux_does() {
        for (tasks, expected) in [
            (1, "0-15"),
            (2, "0-7 8-15"),
            (3, "0-3 4-9 10-15"),
            (13, "0-1 0-1 2-3 2-3 4-5 6-7 6-7 8-9 8-9 10-11 12-13 12-13 14-15"),
        ] {
            assert_eq!(shares("pack:2 numa:1 core:4 pu:2", tasks), expected, "{tasks}");
        }
    }

    /// The PUs of the ranks, `any` for unbound ones and `?` for unknown ones.
    fn pus(options: &str) -> Result<String, String> {
        let text = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"core:4 pu:2\"\n";
        let cluster = toml::parse(text, "c.toml", Path::new("/")).unwrap();
        let script = format!("#!/bin/sh\nflux run {options} ./a\n");
        let guessed = crate::lint::read_guessed(&script, "job.sh", &[], Some(&cluster));
        let reading = guessed.map_err(|error| error.to_string())?.reading;
        let shown = reading.ranks.iter().map(|rank| match (rank.bound, &rank.pus) {
            (false, _) => "any".to_owned(),
            (true, Some(pus)) => pus.to_string(),
            (true, None) => "?".to_owned(),
        });
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_affinity_of_tasks_is_that_of_the_option() {
        for (options, expected) in [
            ("-N2 -n4 -o cpu-affinity=off", "any any any any"),
            ("-N2 -n4", "? ? ? ?"),
            ("-N2 -n4 -o cpu-affinity=per-task", "? ? ? ?"),
            ("-xN2 -n4", "any any any any"),
            ("-N2 --exclusive -n3 -o cpu-affinity=per-task", "0-3 4-7 0-7"),
            ("-N2 -o cpu-affinity=verbose,per-task", "0-7 0-7"),
            ("-N2 -o cpu-affinity=dry-run,per-task", "any any"),
            ("-N2 -n4 -o 'cpu-affinity=verbose,map:0;2-3'", "0 2-3 0 2-3"),
            ("-N1 -n3 -o 'cpu-affinity=map:0x3;0x0,0x0000000c;5'", "0-1 2-3 5"),
        ] {
            assert_eq!(pus(options), Ok(expected.to_owned()), "{options}");
        }
        for list in ["", "x", "0x", "0x0", "1-0"] {
            let error = pus(&format!("-N2 -o cpu-affinity=map:{list}")).unwrap_err();
            assert!(error.contains("with lists of PUs (0-1;2,3)"), "{error}");
        }
    }
}

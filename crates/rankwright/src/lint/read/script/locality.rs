//! Warnings of devices and memories that are far from the cores of a rank, shared, or missing.

use std::collections::{BTreeMap, BTreeSet};

use super::chosen::numa_of;
use crate::cluster::Machine;
use crate::ids::{NumaId, format_index_list};
use crate::lint::machines::{Machines, pus_of};
use crate::lint::{RankReading, Reading, Trap, listed, traps};

/// The warnings with their ranks.
#[derive(Default)]
struct Found {
    /// By trap and text.
    warnings: BTreeMap<(&'static str, String), (&'static Trap, Vec<u32>)>,
    /// What machines do not have, by trap and by what is said of it.
    missing: BTreeMap<(&'static str, Absent), Named>,
}

/// A trap with the names and ranks concerned.
type Named = (&'static Trap, BTreeSet<String>, BTreeSet<u32>);

/// What is said of devices or NUMA nodes that a machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Absent {
    /// What they are: `GPU`.
    noun: &'static str,
    /// What the machine has instead.
    but: String,
    /// Whether the rank does not start.
    refused: bool,
}

impl Found {
    fn add(&mut self, trap: &'static Trap, text: String, ranks: impl IntoIterator<Item = u32>) {
        let entry = self.warnings.entry((trap.code, text));
        entry.or_insert((trap, Vec::new())).1.extend(ranks);
    }

    /// The warnings with their texts, by trap and by their first ranks.
    fn told(self) -> Vec<(&'static Trap, bool, String)> {
        let missing = self.missing.into_iter().map(|((_, absent), (trap, names, ranks))| {
            let plural = if names.len() == 1 { "" } else { "s" };
            let text = format!("{}{plural} {}, {}", absent.noun, joined(&names), absent.but);
            (trap, absent.refused, ranks.into_iter().collect::<Vec<u32>>(), text)
        });
        let others = self.warnings.into_iter();
        let others = others.map(|((_, text), (trap, ranks))| (trap, false, ranks, text));
        let mut all: Vec<_> = missing.chain(others).collect();
        all.sort_by(|a, b| (a.0.code, &a.2).cmp(&(b.0.code, &b.2)));
        let told = all.into_iter().map(|(trap, refused, ranks, text)| {
            (trap, refused, format!("{}: {text}", listed("rank", &ranks)))
        });
        told.collect()
    }
}

/// Numbers as ranges, and then other names.
fn joined(names: &BTreeSet<String>) -> String {
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let mut all = Vec::new();
    if !numbers.is_empty() {
        all.push(format_index_list(&numbers));
    }
    all.extend(names.iter().filter(|name| name.parse::<u32>().is_err()).cloned());
    all.join(", ")
}

/// Compares what ranks got with their machines.
pub(super) fn check(reading: &mut Reading, machines: &Machines<'_>) {
    let mut found = Found::default();
    let mut hosts: BTreeMap<&str, Vec<&RankReading>> = BTreeMap::new();
    for rank in &reading.ranks {
        hosts.entry(&rank.host).or_default().push(rank);
    }
    for (host, ranks) in hosts {
        let Some(machine) = machines.machine(host) else { continue };
        for rank in &ranks {
            let mut of_rank = OfRank { machine, rank, found: &mut found };
            of_rank.missing();
            of_rank.far();
        }
        shared(machine, &ranks, &mut found);
    }
    for (trap, refused, text) in found.told() {
        if refused {
            reading.refuse(trap, None, text);
        } else {
            reading.warn(trap, None, text);
        }
    }
}

/// A rank of a machine.
struct OfRank<'a> {
    machine: &'a Machine,
    rank: &'a RankReading,
    found: &'a mut Found,
}

impl OfRank<'_> {
    fn add(&mut self, trap: &'static Trap, text: String) {
        self.found.add(trap, text, [self.rank.rank.0]);
    }

    fn add_missing(&mut self, trap: &'static Trap, absent: Absent, name: &str) {
        let entry = self.found.missing.entry((trap.code, absent));
        let (_, names, ranks) = entry.or_insert((trap, BTreeSet::new(), BTreeSet::new()));
        names.insert(name.to_owned());
        ranks.insert(self.rank.rank.0);
    }

    /// Devices and NUMA nodes that the machine does not have.
    fn missing(&mut self) {
        let Some(devices) = &self.rank.devices else { return };
        let count = self.machine.gpus.len();
        let gpus = devices.gpus.iter().flatten();
        // A UUID may be of any GPU.
        let is_index =
            |name: &&String| name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        for name in gpus.filter(is_index).filter(|_| count > 0) {
            let but = format!("but the node has {count}, from 0");
            self.add_missing(&traps::NO_GPU, Absent { noun: "GPU", but, refused: false }, name);
        }
        if devices.gpus.as_ref().is_some_and(Vec::is_empty) && count > 0 {
            self.add(&traps::NO_GPU, "no GPU is visible: the list is empty".to_owned());
        }
        let numbers: Vec<u32> = self.machine.numa_nodes.iter().map(|numa| numa.os_index).collect();
        for number in devices.numa.iter().chain(&devices.memory) {
            if !numbers.contains(number) {
                let but = "which the node does not have".to_owned();
                let absent = Absent { noun: "NUMA node", but, refused: true };
                self.add_missing(&traps::NO_NUMA, absent, &number.to_string());
            }
        }
        let known = |name: &&String| {
            let is_it =
                |nic: &crate::cluster::Nic| nic.name == **name || nic.aliases.contains(name);
            self.machine.nics.iter().any(is_it)
        };
        let missing: Vec<&String> = devices.nics.iter().filter(|name| !known(name)).collect();
        for name in missing.into_iter().filter(|_| !self.machine.nics.is_empty()) {
            let but = "which the node does not have".to_owned();
            let absent = Absent { noun: "network device", but, refused: false };
            self.add_missing(&traps::NO_NIC, absent, name);
        }
    }

    /// Devices and memories that are not beside the cores of the rank.
    fn far(&mut self) {
        let machine = self.machine;
        let Some(devices) = &self.rank.devices else { return };
        let pus = match (&self.rank.pus, &self.rank.cores) {
            (Some(pus), _) => pus.clone(),
            (None, Some(cores)) => pus_of(machine, cores),
            (None, None) => return,
        };
        if !self.rank.bound {
            return;
        }
        let numa = numa_of(machine, &pus);
        if numa.is_empty() {
            return;
        }
        let cores = format!("its cores are beside NUMA node {}", numa_list(machine, &numa));
        let gpus = machine.gpus.iter().map(|gpu| (&gpu.name, gpu.near.as_slice()));
        let nics = machine.nics.iter().map(|nic| (&nic.name, nic.near.as_slice()));
        let gpus: Vec<(&String, &[NumaId])> = gpus.collect();
        let nics: Vec<(&String, &[NumaId])> = nics.collect();
        let chosen_gpus: Vec<String> = devices.gpus.iter().flatten().cloned().collect();
        for (trap, what, all, chosen) in [
            (&traps::GPU_FAR, "GPU", &gpus, &chosen_gpus),
            (&traps::NIC_FAR, "network device", &nics, &devices.nics),
        ] {
            let is_near = |near: &[NumaId]| near.iter().any(|one| numa.contains(one));
            let near: Vec<&str> = all
                .iter()
                .filter(|(_, near)| is_near(near))
                .map(|(name, _)| name.as_str())
                .collect();
            for (name, its) in all.iter().filter(|(name, _)| chosen.contains(name)) {
                if its.is_empty() || is_near(its) {
                    continue;
                }
                let place = numa_list(machine, its);
                let better = match near.join(", ") {
                    none if none.is_empty() => "no other is".to_owned(),
                    near => format!("{near} would be near"),
                };
                let text = format!("{what} {name} is beside NUMA node {place}, {cores}; {better}");
                self.add(trap, text);
            }
        }
        let os_index = |numa: &NumaId| machine.numa_nodes[numa.index()].os_index;
        for number in &devices.memory {
            let has_cores = machine.cores.iter().any(|core| os_index(&core.numa) == *number);
            if has_cores && !numa.iter().any(|one| os_index(one) == *number) {
                self.add(&traps::MEMORY_FAR, format!("memory of NUMA node {number}, {cores}"));
            }
        }
    }
}

/// NUMA nodes as `numactl` numbers them.
fn numa_list(machine: &Machine, numa: &[NumaId]) -> String {
    let numbers: Vec<String> =
        numa.iter().map(|numa| machine.numa_nodes[numa.index()].os_index.to_string()).collect();
    numbers.join(",")
}

/// GPUs of several ranks while others have none.
fn shared(machine: &Machine, ranks: &[&RankReading], found: &mut Found) {
    let mut users: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut all_known = true;
    for rank in ranks {
        let gpus = rank.devices.as_ref().and_then(|devices| devices.gpus.as_ref());
        all_known &= gpus.is_some();
        // A rank that sees all GPUs chooses by itself.
        for gpu in gpus.into_iter().flatten().filter(|_| gpus.is_some_and(|it| it.len() == 1)) {
            users.entry(gpu).or_default().push(rank.rank.0);
        }
    }
    let names = machine.gpus.iter().map(|gpu| gpu.name.as_str());
    let unused: Vec<&str> = names.filter(|name| !users.contains_key(name)).collect();
    if !all_known || unused.is_empty() || users.is_empty() {
        return;
    }
    for (gpu, ranks) in users.into_iter().filter(|(_, ranks)| ranks.len() > 1) {
        let text = format!("they share GPU {gpu}, and no rank uses {}", unused.join(", "));
        found.add(&traps::GPU_SHARED, text, ranks);
    }
}

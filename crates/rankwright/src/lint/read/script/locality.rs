//! Warnings of devices and memories that are far from the cores of a rank, shared, or missing.

use std::collections::BTreeMap;

use super::chosen::numa_of;
use crate::cluster::Machine;
use crate::ids::NumaId;
use crate::lint::machines::{Machines, pus_of};
use crate::lint::{RankReading, Reading, Trap, listed, traps};

/// The warnings by trap and text, with their ranks.
type Found = BTreeMap<(&'static str, String), (&'static Trap, bool, Vec<u32>)>;

/// Compares what ranks got with their machines.
pub(super) fn check(reading: &mut Reading, machines: &Machines<'_>) {
    let mut found = Found::new();
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
    for ((_, text), (trap, refused, ranks)) in found {
        let text = format!("{}: {text}", listed("rank", &ranks));
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
    fn add(&mut self, trap: &'static Trap, refused: bool, text: String) {
        let ranks = self.found.entry((trap.code, text)).or_insert((trap, refused, Vec::new()));
        ranks.2.push(self.rank.rank.0);
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
            let text = format!("GPU {name}, but the node has {count}, from 0");
            self.add(&traps::NO_GPU, false, text);
        }
        if devices.gpus.as_ref().is_some_and(Vec::is_empty) && count > 0 {
            self.add(&traps::NO_GPU, false, "no GPU is visible: the list is empty".to_owned());
        }
        let numbers: Vec<u32> = self.machine.numa_nodes.iter().map(|numa| numa.os_index).collect();
        for number in devices.numa.iter().chain(&devices.memory) {
            if !numbers.contains(number) {
                let text = format!("NUMA node {number}, which the node does not have");
                self.add(&traps::NO_NUMA, true, text);
            }
        }
        let known = |name: &&String| {
            let is_it =
                |nic: &crate::cluster::Nic| nic.name == **name || nic.aliases.contains(name);
            self.machine.nics.iter().any(is_it)
        };
        let missing: Vec<&String> = devices.nics.iter().filter(|name| !known(name)).collect();
        for name in missing.into_iter().filter(|_| !self.machine.nics.is_empty()) {
            self.add(
                &traps::NO_NIC,
                false,
                format!("network device {name}, which the node does not have"),
            );
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
                self.add(trap, false, text);
            }
        }
        let os_index = |numa: &NumaId| machine.numa_nodes[numa.index()].os_index;
        for number in &devices.memory {
            let has_cores = machine.cores.iter().any(|core| os_index(&core.numa) == *number);
            if has_cores && !numa.iter().any(|one| os_index(one) == *number) {
                self.add(
                    &traps::MEMORY_FAR,
                    false,
                    format!("memory of NUMA node {number}, {cores}"),
                );
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
        let trap = &traps::GPU_SHARED;
        found.entry((trap.code, text)).or_insert((trap, false, Vec::new())).2.extend(ranks);
    }
}

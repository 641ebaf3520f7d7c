//! Checks for the files of all launchers: hosts and PUs must exist, and ranks must not share PUs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::machines::{Machines, pus_of};
use super::{HostReading, RankReading, Reading, Trap, traps};
use crate::cluster::NodeGroup;
use crate::ids::{CoreId, PuId, PuSet};
use crate::units::counted;

/// The traps that `audit` finds.
pub(super) const TRAPS: [&Trap; 7] = [
    &traps::HOST_UNKNOWN,
    &traps::NO_PU,
    &traps::PU_NOT_FREE,
    &traps::OVERLAP,
    &traps::SHARED_CORE,
    &traps::THREADS,
    &traps::CROWDED,
];

/// Adds what the cluster tells about the ranks, lists the hosts, and warns.
pub(super) fn audit(reading: &mut Reading, machines: &Machines<'_>, format: &str) {
    let mut ranks = std::mem::take(&mut reading.ranks);
    for rank in &mut ranks {
        if let (Some(cluster), Some(node)) = (machines.cluster(), machines.find(&rank.host)) {
            rank.host.clone_from(&cluster.node(node).name);
        }
    }
    for (host, indices) in by_host(&ranks) {
        let node = machines.find(&host);
        let group = machines.cluster().zip(node).map(|(cluster, node)| cluster.group(node));
        let first = &ranks[indices[0]];
        if machines.cluster().is_some() && node.is_none() {
            let text = format!("the cluster has no host {host}");
            reading.warn(&traps::HOST_UNKNOWN, first.line, text);
        }
        let mut on_host = OnHost { host: &host, group, reading, format };
        on_host.complete(&indices, &mut ranks);
        on_host.check(&indices, &ranks);
    }
    warn_of_threads(reading, &ranks);
    reading.ranks = ranks;
}

/// Warns once of ranks with more threads than hardware threads.
fn warn_of_threads(reading: &mut Reading, ranks: &[RankReading]) {
    let Some((threads, line)) = reading.threads else { return };
    // These say already that a rank has one CPU or core.
    let is_said = [&traps::CPUS_IGNORED, &traps::PACKED];
    if reading.warnings.iter().any(|warning| is_said.contains(&warning.trap)) {
        return;
    }
    let few = |rank: &&RankReading| {
        rank.bound && rank.pus.as_ref().is_some_and(|pus| pus.as_slice().len() < threads)
    };
    let rank_text = ranks.iter().find(few).map(|rank| {
        let pus = rank.pus.as_ref().map_or(0, |pus| pus.as_slice().len());
        let so_many = ranks.iter().filter(few).count();
        let others = match so_many {
            1 => String::new(),
            more => format!("; so have {}", counted(more - 1, "other rank")),
        };
        format!(
            "OMP_NUM_THREADS is {threads}, but rank {} is bound to {}{others}: give each rank {threads} cores, or \
             set fewer threads",
            rank.rank,
            counted(pus, "hardware thread")
        )
    });
    let host_text = || {
        by_host(ranks).into_iter().find_map(|(host, indices)| {
            let unbound: Vec<_> =
                indices.iter().map(|index| &ranks[*index]).filter(|rank| !rank.bound).collect();
            let pus = unbound.first()?.pus.as_ref()?.as_slice().len();
            let wanted = unbound.len().saturating_mul(threads);
            (wanted > pus).then(|| {
                format!(
                    "OMP_NUM_THREADS is {threads}: {} on {host} have {}, but it has {}",
                    counted(unbound.len(), "rank"),
                    counted(wanted, "thread"),
                    counted(pus, "hardware thread")
                )
            })
        })
    };
    if let Some(text) = rank_text.or_else(host_text) {
        reading.warn(&traps::THREADS, Some(line).filter(|line| *line > 0), text);
    }
}

/// The hosts in the order of their first ranks, with the positions of their ranks.
fn by_host(ranks: &[RankReading]) -> Vec<(String, Vec<usize>)> {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    let mut hosts: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, rank) in ranks.iter().enumerate() {
        let position = *positions.entry(&rank.host).or_insert_with(|| {
            hosts.push((rank.host.clone(), Vec::new()));
            hosts.len() - 1
        });
        hosts[position].1.push(index);
    }
    hosts
}

/// One host and its ranks.
struct OnHost<'a> {
    host: &'a str,
    group: Option<&'a NodeGroup>,
    reading: &'a mut Reading,
    format: &'a str,
}

impl OnHost<'_> {
    /// Adds the cores and PUs of ranks that the machine description tells.
    fn complete(&mut self, indices: &[usize], ranks: &mut [RankReading]) {
        let Some(group) = self.group else { return };
        let machine = &group.machine;
        let core_of: HashMap<PuId, CoreId> =
            machine.pus.iter().map(|pu| (pu.id, pu.core)).collect();
        for &index in indices {
            let rank = &mut ranks[index];
            if !rank.bound {
                rank.pus = Some(machine.pus.iter().map(|pu| pu.id).collect());
                rank.cores = Some(machine.core_ids().collect());
                continue;
            }
            if let (Some(cores), None) = (&rank.cores, &rank.pus) {
                rank.pus = Some(pus_of(machine, cores));
            }
            let Some(pus) = &rank.pus else { continue };
            let missing: Vec<u32> = pus
                .as_slice()
                .iter()
                .filter(|pu| !core_of.contains_key(pu))
                .map(|pu| pu.0)
                .collect();
            if !missing.is_empty() {
                let which = super::listed("PU", &missing).replace(' ', " P#");
                let text = format!("rank {}: {} has no {which}", rank.rank, self.host);
                // Intel MPI skips PUs that do not exist; MPICH 4.0 does not check.
                if ["intelmpi", "mpich:4.0"].contains(&self.format) {
                    self.reading.warn(&traps::NO_PU, rank.line, text);
                } else {
                    self.reading.refuse(&traps::NO_PU, rank.line, text);
                }
            }
            let mut cores: Vec<CoreId> =
                pus.as_slice().iter().filter_map(|pu| core_of.get(pu).copied()).collect();
            cores.sort_unstable();
            cores.dedup();
            rank.cores = Some(cores);
        }
    }

    /// Warns of ranks that share PUs or cores, and lists the host.
    fn check(&mut self, indices: &[usize], ranks: &[RankReading]) {
        let bound: Vec<&RankReading> =
            indices.iter().map(|index| &ranks[*index]).filter(|rank| rank.bound).collect();
        let is_own =
            |rank: &&RankReading| !self.reading.objects_are_shared && !shares_numa_nodes(rank);
        let own: Vec<&RankReading> = bound.iter().copied().filter(is_own).collect();
        self.warn_of_overlap(&own);
        let mut users: HashMap<CoreId, (&RankReading, usize)> = HashMap::new();
        let mut shared: Option<(&RankReading, &RankReading, CoreId)> = None;
        for &rank in &bound {
            for &core in rank.cores.iter().flatten() {
                let (first, count) = users.entry(core).or_insert((rank, 0));
                *count += 1;
                if *count > 1 && disjoint(first, rank) {
                    shared.get_or_insert((first, rank, core));
                }
            }
        }
        let all_known =
            bound.len() == indices.len() && bound.iter().all(|rank| rank.cores.is_some());
        let free = self.group.map(free_cores);
        let unused = free
            .filter(|_| all_known)
            .map(|free| free.iter().filter(|core| !users.contains_key(core)).count());
        if let Some((first, second, core)) = shared.filter(|_| unused.is_some_and(|n| n > 0)) {
            let text = format!(
                "ranks {} and {} share core L#{core} of {} (different hardware threads), while other \
                 cores have no rank",
                first.rank, second.rank, self.host
            );
            self.reading.warn(&traps::SHARED_CORE, second.line, text);
        }
        let cores = self.group.map(|group| group.machine.cores.len());
        if let Some(cores) = cores.filter(|cores| *cores < indices.len()) {
            let text = format!(
                "{} has {} and {}",
                self.host,
                counted(cores, "core"),
                counted(indices.len(), "rank")
            );
            self.reading.warn(&traps::CROWDED, ranks[indices[cores]].line, text);
        }
        self.warn_of_occupied(&bound);
        let host = self.host.to_owned();
        let ranks = indices.len();
        self.reading.hosts.push(HostReading { host, ranks, cores, unused_cores: unused });
    }

    /// Warns once per host of ranks that share PUs, or cores if the PUs are unknown.
    fn warn_of_overlap(&mut self, bound: &[&RankReading]) {
        let mut owners: HashMap<(bool, u32), &RankReading> = HashMap::new();
        let mut pairs = 0;
        let mut first_pair = None;
        for &rank in bound {
            let mut met = None;
            for place in places(rank) {
                match owners.entry(place) {
                    Entry::Occupied(owner) => met = met.or(Some((*owner.get(), place))),
                    Entry::Vacant(vacant) => {
                        vacant.insert(rank);
                    }
                }
            }
            pairs += usize::from(met.is_some());
            first_pair = first_pair.or(met.map(|(owner, place)| (owner, rank, place)));
        }
        let Some((owner, rank, (is_pu, number))) = first_pair else { return };
        let what = if is_pu { "PU P#" } else { "core L#" };
        let mut text = format!(
            "ranks {} and {} are both on {what}{number} of {}",
            owner.rank, rank.rank, self.host
        );
        if pairs > 1 {
            text += &format!("; {} share too", counted(pairs - 1, "more rank"));
        }
        if self.reading.overlap_is_refused {
            self.reading.refuse(&traps::OVERLAP, rank.line, text);
        } else {
            self.reading.warn(&traps::OVERLAP, rank.line, text);
        }
    }

    /// Warns once of PUs that jobs may not use.
    fn warn_of_occupied(&mut self, bound: &[&RankReading]) {
        let Some(group) = self.group.filter(|group| group.free.contains(&false)) else { return };
        let occupied: PuSet = group
            .machine
            .pus
            .iter()
            .zip(&group.free)
            .filter(|(_, free)| !**free)
            .map(|(pu, _)| pu.id)
            .collect();
        for rank in bound {
            let pus = rank.pus.as_ref().map(PuSet::as_slice).unwrap_or_default();
            if let Some(pu) = pus.iter().find(|pu| occupied.as_slice().binary_search(pu).is_ok()) {
                let text = format!(
                    "rank {} is on PU P#{pu} of {}, which the cluster description excludes from jobs",
                    rank.rank, self.host
                );
                self.reading.warn(&traps::PU_NOT_FREE, rank.line, text);
                return;
            }
        }
    }
}

/// Whether a rank is bound to whole NUMA nodes by `numactl -N`, which ranks usually share.
fn shares_numa_nodes(rank: &RankReading) -> bool {
    rank.devices.as_ref().is_some_and(|devices| !devices.numa.is_empty())
}

/// The PUs of a rank (`true`, P#), or its cores (`false`, L#) if the PUs are unknown.
fn places(rank: &RankReading) -> Vec<(bool, u32)> {
    match (&rank.pus, &rank.cores) {
        (Some(pus), _) => pus.as_slice().iter().map(|pu| (true, pu.0)).collect(),
        (None, Some(cores)) => cores.iter().map(|core| (false, core.0)).collect(),
        (None, None) => Vec::new(),
    }
}

/// Whether two ranks have no PU in common.
fn disjoint(first: &RankReading, second: &RankReading) -> bool {
    let (Some(first), Some(second)) = (&first.pus, &second.pus) else { return false };
    first.as_slice().iter().all(|pu| second.as_slice().binary_search(pu).is_err())
}

/// The cores with a PU that jobs may use.
fn free_cores(group: &NodeGroup) -> Vec<CoreId> {
    let free = group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
    let mut cores: Vec<CoreId> = free.map(|(pu, _)| pu.core).collect();
    cores.dedup();
    cores
}

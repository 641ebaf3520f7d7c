//! The ranks of each node with their GPUs, and where these are not beside each other.

use std::collections::{BTreeMap, BTreeSet};

use super::{cores, names};
use crate::cluster::{Cluster, Machine, hostlist};
use crate::ids::{NodeId, NumaId, format_index_list};
use crate::placement::{PlacementFile, RankEntry};
use crate::units::counted;

/// The ranks of each node with their cores, GPUs and network devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuReport {
    /// A row per rank; of nodes that have the same cores, GPUs and devices in use only the first.
    rows: Vec<[String; 6]>,
    /// Which nodes are alike: `t[1-3]: like t0`.
    alike: Vec<String>,
    /// What is impossible, a sentence each.
    pub misses: Vec<String>,
}

/// Ranks that are not beside what they use: their number, and the first of them in words.
#[derive(Default)]
struct Misses {
    count: usize,
    first: String,
}

impl GpuReport {
    /// The report on a placement; `None` if no rank has a GPU, or the placement is for another cluster.
    #[must_use]
    pub fn new(cluster: &Cluster, file: &PlacementFile) -> Option<Self> {
        let ranks = || file.jobs.iter().flat_map(|job| &job.ranks);
        if ranks().all(|rank| rank.gpus.is_empty()) {
            return None;
        }
        let mut by_node: BTreeMap<NodeId, Vec<&RankEntry>> = BTreeMap::new();
        for rank in ranks() {
            by_node.entry(cluster.find_node(&rank.node)?).or_default().push(rank);
        }
        let mut report = Self { rows: Vec::new(), alike: Vec::new(), misses: Vec::new() };
        let (mut far_gpus, mut far_nics) = (Misses::default(), Misses::default());
        // What a node's ranks use, with the names of the nodes.
        let mut patterns: Vec<(Vec<[String; 4]>, Vec<String>)> = Vec::new();
        for (node, ranks) in &by_node {
            let machine = cluster.machine(*node);
            for rank in ranks {
                far_gpus.note(far_gpu(machine, rank));
                far_nics.note(far_nic(machine, rank));
            }
            let used: Vec<[String; 4]> = ranks.iter().map(|rank| used(rank)).collect();
            let name = cluster.node(*node).name.clone();
            match patterns.iter_mut().find(|(pattern, _)| *pattern == used) {
                Some((_, nodes)) => nodes.push(name),
                None => {
                    let row = |(rank, [cores, numa, gpus, nics]): (&&RankEntry, &[String; 4])| {
                        let cells = [cores, numa, gpus, nics].map(Clone::clone);
                        let [cores, numa, gpus, nics] = cells;
                        [name.clone(), rank.rank.to_string(), cores, numa, gpus, nics]
                    };
                    report.rows.extend(ranks.iter().zip(&used).map(row));
                    patterns.push((used, vec![name]));
                }
            }
        }
        for (_, nodes) in patterns.iter().filter(|(_, nodes)| nodes.len() > 1) {
            let others = hostlist::compress(&nodes[1..]);
            report.alike.push(format!("{others}: like {}, with other ranks", nodes[0]));
        }
        report.misses.extend(far_gpus.sentence("not on the NUMA node of their GPU"));
        report
            .misses
            .extend(far_nics.sentence("with a network device that is not beside their GPU"));
        Some(report)
    }

    /// The table: its columns and rows.
    #[must_use]
    pub fn table(&self) -> ([&'static str; 6], Vec<Vec<String>>) {
        let rows = self.rows.iter().map(|row| row.to_vec()).collect();
        (["node", "rank", "cores L#", "NUMA L#", "GPUs", "NICs"], rows)
    }

    /// What stands below the table: nodes that are not in it. May be empty.
    #[must_use]
    pub fn remarks(&self) -> String {
        self.alike.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Misses {
    fn note(&mut self, miss: Option<String>) {
        let Some(miss) = miss else { return };
        self.count += 1;
        if self.first.is_empty() {
            self.first = miss;
        }
    }

    fn sentence(&self, what: &str) -> Option<String> {
        let ranks = counted(self.count, "rank");
        (self.count > 0).then(|| format!("{ranks} {what}; the first: {}", self.first))
    }
}

/// Cores, NUMA node, GPUs and network devices of a rank.
fn used(rank: &RankEntry) -> [String; 4] {
    let numa = rank.numa.map_or_else(|| "-".to_owned(), |numa| numa.to_string());
    [cores(&rank.cores), numa, names(&rank.gpus), names(&rank.nics)]
}

/// Where a rank runs that has a GPU elsewhere.
fn far_gpu(machine: &Machine, rank: &RankEntry) -> Option<String> {
    let (name, near) = gpus(machine, rank).next()?;
    let of_core =
        |numa: &NumaId| rank.cores.iter().any(|core| machine.cores[core.index()].numa == *numa);
    if near.is_empty() || near.iter().any(of_core) {
        return None;
    }
    Some(format!(
        "rank {} on {} has cores {}, and {name}, which is beside NUMA node L#{}",
        rank.rank,
        rank.node,
        cores(&rank.cores),
        numbers(near)
    ))
}

/// Where the network device of a rank with GPUs is, if beside none of them.
fn far_nic(machine: &Machine, rank: &RankEntry) -> Option<String> {
    let nic = rank.nics.first()?;
    let device = machine.nics.iter().find(|device| device.name == *nic)?;
    let mut near = BTreeSet::new();
    for (_, of_gpu) in gpus(machine, rank) {
        if of_gpu.is_empty() {
            return None;
        }
        near.extend(of_gpu.iter().copied());
    }
    let known = !near.is_empty() && !device.near.is_empty();
    if !known || device.near.iter().any(|numa| near.contains(numa)) {
        return None;
    }
    Some(format!(
        "rank {} on {} has {nic} beside NUMA node L#{}, and {} beside L#{}",
        rank.rank,
        rank.node,
        numbers(&device.near),
        names(&rank.gpus),
        numbers(&Vec::from_iter(near))
    ))
}

/// Names and NUMA nodes of a rank's GPUs.
fn gpus<'a>(
    machine: &'a Machine,
    rank: &'a RankEntry,
) -> impl Iterator<Item = (&'a str, &'a [NumaId])> {
    let find = |name: &'a String| machine.gpus.iter().find(move |gpu| gpu.name == *name);
    rank.gpus.iter().filter_map(find).map(|gpu| (gpu.name.as_str(), gpu.near.as_slice()))
}

fn numbers(numa: &[NumaId]) -> String {
    format_index_list(&numa.iter().map(|numa| numa.0).collect::<Vec<_>>())
}

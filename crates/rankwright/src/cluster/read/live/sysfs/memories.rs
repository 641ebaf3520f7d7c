//! NUMA nodes.

use std::collections::BTreeMap;

use super::processors::Processors;
use super::set::Set;
use super::tree::Tree;
use crate::cluster::{Machine, MemoryAccess, NumaNode};
use crate::ids::{CoreId, NumaId};
use crate::units::{Bytes, BytesPerSecond, Seconds};

/// The folder of the NUMA nodes.
const NODE: &str = "sys/devices/system/node";

/// The kernel's unit of bandwidth, as libhwloc understands it: 1 MiB/s in bytes per second.
const MIB: f64 = 1_048_576.0;

/// A NUMA node.
pub(super) struct Memory {
    pub(super) node: NumaNode,
    /// The PUs that it is local to; empty for all of the machine.
    pub(super) pus: Set,
    /// For these PUs, where the kernel knows them.
    bandwidth: Option<BytesPerSecond>,
    latency: Option<Seconds>,
}

/// The NUMA nodes of a machine: those with PUs before those without.
pub(super) struct Memories {
    pub(super) list: Vec<Memory>,
    /// By P#, ascending: the distances to all, in the same order.
    distances: Option<Vec<(u32, Vec<u32>)>>,
}

impl Memories {
    /// Reads the NUMA nodes; a machine whose kernel has none is one NUMA node.
    pub(super) fn read(tree: &Tree, processors: &Processors) -> Self {
        let numbers = match tree.list(&format!("{NODE}/online")) {
            Some(online) => online.iter().collect(),
            None => tree.numbered(NODE, "node"),
        };
        let distances = distances(tree, &numbers);
        let of_gpus = memories_of_gpus(tree);
        let mut taken = Set::default();
        let mut local: BTreeMap<u32, Set> = BTreeMap::new();
        for number in numbers {
            let Some(pus) = tree.mask(&format!("{NODE}/node{number}/cpumap")) else { continue };
            // Only one NUMA node can be the local one of a PU.
            if pus.intersects(&taken) || of_gpus.contains(number) {
                continue;
            }
            taken.add(&pus);
            local.insert(number, pus);
        }
        let kinds = kinds_of_dax(tree);
        let (with, without): (Vec<u32>, Vec<u32>) =
            local.keys().partition(|number| !local[number].is_empty());
        let mut list: Vec<Memory> = Vec::new();
        for number in with.into_iter().chain(without) {
            let mut pus = local[&number].clone();
            let had = !pus.is_empty();
            initiators(tree, number).iter().for_each(|other| {
                if let Some(more) = local.get(other) {
                    pus.add(more);
                }
            });
            if pus.is_empty() && !had {
                pus = nearest(number, distances.as_deref(), &local);
            }
            let mut node = NumaNode::new(number);
            node.memory = size(tree, &format!("{NODE}/node{number}/meminfo"));
            let on_package = (processors.is_xeon_phi && !had).then_some("MCDRAM");
            node.kind = kinds.get(&number).copied().or(on_package).map(str::to_owned);
            let pus = pus.and(&processors.online);
            let (bandwidth, latency) = rates(tree, number);
            list.push(Memory { node, pus, bandwidth, latency });
        }
        if list.is_empty() {
            let node = NumaNode { memory: size(tree, "proc/meminfo"), ..NumaNode::new(0) };
            let pus = Set::default();
            list.push(Memory { node, pus, bandwidth: None, latency: None });
        }
        name_fast_memory(&mut list);
        Self { list, distances }
    }

    /// Adds bandwidths and latencies to the NUMA nodes of the machine.
    pub(super) fn add_access(&self, logical: &BTreeMap<u32, NumaId>, machine: &mut Machine) {
        for memory in &self.list {
            let (bandwidth, latency) = (memory.bandwidth, memory.latency);
            let Some(numa) = logical.get(&memory.node.os_index) else { continue };
            let local = |core: &CoreId| {
                machine.cores[core.index()].pus.iter().any(|pu| memory.pus.contains(pu.0))
            };
            let cores: Vec<CoreId> = machine.core_ids().filter(local).collect();
            if !cores.is_empty() && (bandwidth.is_some() || latency.is_some()) {
                let access = MemoryAccess { cores, bandwidth, latency };
                machine.numa_nodes[numa.index()].access.push(access);
            }
        }
    }

    /// The distances by L#; `None` if the kernel has none of all NUMA nodes.
    pub(super) fn distances(&self, logical: &BTreeMap<u32, NumaId>) -> Option<Vec<Vec<u32>>> {
        let rows = self.distances.as_ref().filter(|_| logical.len() > 1)?;
        let mut distances = vec![vec![0; logical.len()]; logical.len()];
        for (from, index) in logical {
            let (_, row) = rows.iter().find(|(number, _)| number == from)?;
            for ((to, _), distance) in rows.iter().zip(row) {
                if let Some(to) = logical.get(to) {
                    distances[index.index()][to.index()] = *distance;
                }
            }
        }
        Some(distances)
    }
}

/// The rows of the firmware's table; the kernel writes a number for each NUMA node that is online.
fn distances(tree: &Tree, numbers: &[u32]) -> Option<Vec<(u32, Vec<u32>)>> {
    let row = |number: &u32| {
        let text = tree.text(&format!("{NODE}/node{number}/distance"))?;
        let row: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        Some((*number, row.filter(|row| row.len() == numbers.len())?))
    };
    numbers.iter().map(row).collect()
}

/// The folder with the processors that access a NUMA node fastest; `access0` may count other devices, too.
fn access(tree: &Tree, number: u32) -> Option<String> {
    let folders =
        ["access1", "access0"].map(|name| format!("{NODE}/node{number}/{name}/initiators"));
    folders.into_iter().find(|folder| tree.exists(folder))
}

/// The other NUMA nodes whose PUs access this one fastest.
fn initiators(tree: &Tree, number: u32) -> Vec<u32> {
    let folder = access(tree, number);
    let numbers = folder.map(|folder| tree.numbered(&folder, "node")).unwrap_or_default();
    numbers.into_iter().filter(|other| *other != number).collect()
}

/// The PUs of the nearest NUMA nodes with PUs by the distances; empty if all are equally far.
fn nearest(number: u32, rows: Option<&[(u32, Vec<u32>)]>, local: &BTreeMap<u32, Set>) -> Set {
    let mut pus = Set::default();
    let Some((_, row)) = rows.and_then(|rows| rows.iter().find(|(other, _)| *other == number))
    else {
        return pus;
    };
    let all = rows.into_iter().flatten().zip(row);
    let own = all.clone().find(|((other, _), _)| *other == number).map_or(0, |(_, own)| *own);
    let others: Vec<(u32, u32)> = all
        .filter(|((other, _), _)| *other != number && local.contains_key(other))
        .map(|((other, _), distance)| (*other, *distance))
        .collect();
    let Some(least) = others.iter().map(|(_, distance)| *distance).min() else { return pus };
    let near = others.iter().filter(|(_, distance)| *distance == least);
    if least <= own || near.clone().count() == others.len() {
        return pus;
    }
    near.for_each(|(other, _)| pus.add(&local[other]));
    pus
}

/// The size in a `meminfo`: `Node 0 MemTotal:  8383848 kB`, `MemTotal:  8383848 kB`.
fn size(tree: &Tree, path: &str) -> Option<Bytes> {
    let text = tree.text(path)?;
    let (_, rest) = text.split_once("MemTotal:")?;
    let kibibytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024).filter(|size| *size > 0).map(Bytes)
}

/// Bandwidth and latency of a NUMA node for the PUs that it is local to. A value for reading and writing
/// is the mean of both, as in libhwloc.
fn rates(tree: &Tree, number: u32) -> (Option<BytesPerSecond>, Option<Seconds>) {
    let Some(folder) = access(tree, number) else { return (None, None) };
    let value = |what: &str| {
        let number = |way: &str| {
            let value = tree.number(&format!("{folder}/{way}_{what}"))?;
            u32::try_from(value).ok().filter(|value| *value > 0).map(u64::from)
        };
        match (number("read"), number("write")) {
            (Some(read), Some(write)) => Some(u64::midpoint(read, write) as f64),
            (read, write) => read.or(write).map(|value| value as f64),
        }
    };
    let bandwidth = value("bandwidth").map(|value| BytesPerSecond(value * MIB));
    (bandwidth, value("latency").map(|value| Seconds(value / 1e9)))
}

/// The kinds of memories that came as devices: `NVM`, `SPM` (for a purpose that the firmware reserves).
fn kinds_of_dax(tree: &Tree) -> BTreeMap<u32, &'static str> {
    const DEVICES: &str = "sys/bus/dax/devices";
    let kind = |name: String| {
        let folder = format!("{DEVICES}/{name}");
        let number = u32::try_from(tree.number(&format!("{folder}/target_node"))?).ok()?;
        let path = tree.link(&folder)?;
        let is_memory = tree.exists(&format!("sys/bus/dax/drivers/kmem/{name}"));
        is_memory.then_some((number, if path.contains("ndbus") { "NVM" } else { "SPM" }))
    };
    tree.names(DEVICES).into_iter().filter_map(kind).collect()
}

/// The NUMA nodes that are memories of NVIDIA GPUs: the driver uses them, programs do not.
fn memories_of_gpus(tree: &Tree) -> Set {
    const GPUS: &str = "proc/driver/nvidia/gpus";
    let number = |name: String| {
        let text = tree.text(&format!("{GPUS}/{name}/numa_status"))?;
        let (_, rest) = text.split_once("Node:")?;
        rest.split_whitespace().next()?.parse().ok()
    };
    tree.names(GPUS).into_iter().filter_map(number).collect()
}

/// Calls reserved memory HBM if all of it has more than twice the bandwidth of all other memory.
fn name_fast_memory(list: &mut [Memory]) {
    let rate = |memory: &Memory| memory.bandwidth.map_or(0.0, |rate| rate.0);
    let is_reserved = |memory: &Memory| memory.node.kind.as_deref() == Some("SPM");
    let plain = list.iter().filter(|memory| memory.node.kind.is_none()).map(rate);
    let plain = plain.fold(0.0, f64::max);
    let reserved = list.iter().filter(|memory| is_reserved(memory)).map(rate);
    let reserved = reserved.fold(f64::INFINITY, f64::min);
    if plain > 0.0 && reserved.is_finite() && 2.0 * plain < reserved {
        let fast = list.iter_mut().filter(|memory| is_reserved(memory));
        fast.for_each(|memory| memory.node.kind = Some("HBM".to_owned()));
    }
}

//! One node: packages, memories, caches, cores with their PUs, network devices and GPUs where they
//! are.

use std::collections::{BTreeMap, BTreeSet};

use super::{chip, rate};
use crate::cluster::{Cluster, HardwareRates, Machine, Nic, NodeGroup, NumaNode, Pu, Rated};
use crate::ids::{CoreId, NumaId, format_index_list};
use crate::report::drawing::boxes::{Frame, columns, in_columns, wrapped};
use crate::units::{Bytes, BytesPerSecond};

/// How wide a row of packages or devices may be.
const WIDEST: i32 = 1500;

/// The box of a node.
pub(super) fn frame(cluster: &Cluster, group: usize, title: String) -> Frame {
    Picture::new(cluster, group).node(title)
}

/// Where devices are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Node,
    Package(usize),
    /// With the cores of this memory.
    Memory(NumaId),
}

struct Picture<'a> {
    rates: &'a HardwareRates,
    group: &'a NodeGroup,
    machine: &'a Machine,
    /// The cores next to each memory.
    cores: Vec<Vec<CoreId>>,
    /// The package beside each memory, if there is one.
    beside: Vec<Option<usize>>,
    /// How many cores each cache has.
    sharing: BTreeMap<u32, usize>,
    /// Whether packages are drawn inside of memories, because one serves several.
    memories_outside: bool,
    /// That of the widest core.
    core_width: i32,
    /// That of the widest PU.
    pu_width: i32,
}

impl<'a> Picture<'a> {
    fn new(cluster: &'a Cluster, group: usize) -> Self {
        let rates = cluster.hardware_rates(group);
        let group = &cluster.groups[group];
        let machine = &group.machine;
        let pu = |pu: &Pu| Frame::small("pu", format!("P#{}", pu.id), Vec::new()).width();
        let mut picture = Self {
            rates,
            group,
            machine,
            cores: machine.cores_by_numa(),
            beside: machine.packages_beside(),
            sharing: BTreeMap::new(),
            memories_outside: false,
            core_width: 0,
            pu_width: machine.pus.iter().map(pu).max().unwrap_or(0),
        };
        for cache in machine.cores.iter().filter_map(|core| core.cache) {
            *picture.sharing.entry(cache).or_default() += 1;
        }
        picture.memories_outside = (0..picture.cores.len())
            .any(|numa| picture.packages_of(NumaId::from_index(numa)).len() > 1);
        let widths = machine.core_ids().map(|core| picture.core(core).width());
        picture.core_width = widths.max().unwrap_or(0);
        picture
    }

    fn node(&self, title: String) -> Frame {
        let mut devices = self.devices();
        let mut rows = wrapped(devices.remove(&Place::Node).unwrap_or_default(), WIDEST);
        // A memory for several packages is around them; else packages are around memories.
        let mut inside: BTreeMap<Option<usize>, Vec<Frame>> = BTreeMap::new();
        let mut bare: BTreeMap<Option<usize>, Vec<Frame>> = BTreeMap::new();
        for index in 0..self.cores.len() {
            let numa = NumaId::from_index(index);
            let package = self.beside[index].filter(|_| !self.memories_outside);
            if self.cores[index].is_empty() {
                bare.entry(package).or_default().push(self.memory(numa));
            } else {
                let near = devices.remove(&Place::Memory(numa)).unwrap_or_default();
                inside.entry(package).or_default().push(self.numa(numa, near));
            }
        }
        let outer: Vec<Frame> = if self.memories_outside {
            inside.remove(&None).unwrap_or_default()
        } else {
            let package = |package: usize| {
                let mut rows = square(inside.remove(&Some(package)).unwrap_or_default());
                rows.extend(square(bare.remove(&Some(package)).unwrap_or_default()));
                let near = devices.remove(&Place::Package(package)).unwrap_or_default();
                rows.extend(wrapped(near, WIDEST / 2));
                Frame::new("package", vec![format!("package L#{package}")], rows)
            };
            (0..self.machine.packages).map(package).collect()
        };
        rows.extend(wrapped(outer, WIDEST));
        rows.extend(in_columns(bare.remove(&None).unwrap_or_default(), 2));
        Frame::new("node", vec![title, self.machine.to_string()], rows)
    }

    /// The packages with cores next to a memory.
    fn packages_of(&self, numa: NumaId) -> BTreeSet<usize> {
        self.cores[numa.index()].iter().map(|core| self.package_at(*core)).collect()
    }

    /// A memory with its cores and devices.
    fn numa(&self, numa: NumaId, devices: Vec<Frame>) -> Frame {
        let mut rows = vec![vec![self.memory(numa).wide()]];
        let cores = &self.cores[numa.index()];
        for part in cores.chunk_by(|a, b| self.package_at(*a) == self.package_at(*b)) {
            let inner = self.caches(part);
            if self.memories_outside {
                let label = vec![format!("package L#{}", self.package_at(part[0]))];
                rows.push(vec![Frame::new("package", label, inner).wide()]);
            } else {
                rows.extend(inner);
            }
        }
        rows.extend(wrapped(devices, WIDEST / 3));
        Frame::new("numa", Vec::new(), rows)
    }

    fn package_at(&self, core: CoreId) -> usize {
        self.machine.cores[core.index()].package
    }

    fn memory(&self, numa: NumaId) -> Frame {
        let node = &self.machine.numa_nodes[numa.index()];
        let mut what: Vec<String> = node.kind.iter().cloned().collect();
        what.extend(node.memory.map(size));
        what.extend(speed(node, &self.rates.memories[numa.index()]));
        chip(class_of_memory(node), format!("NUMA node L#{numa} (P#{})", node.os_index), what)
    }

    /// Cores in their caches; caches of a single core are not drawn.
    fn caches(&self, cores: &[CoreId]) -> Vec<Vec<Frame>> {
        let cache = |core: &CoreId| self.machine.cores[core.index()].cache;
        let parts: Vec<&[CoreId]> = cores.chunk_by(|a, b| cache(a) == cache(b)).collect();
        let shared = parts.iter().any(|part| part.len() > 1 && cache(&part[0]).is_some());
        if !shared {
            return self.cores(cores);
        }
        let frame = |part: &&[CoreId]| {
            let number = cache(&part[0]);
            let all = number.map_or(0, |number| self.sharing[&number]);
            let label = match number {
                Some(number) if all > part.len() => format!("cache L#{number} (part)"),
                Some(number) => format!("cache L#{number}"),
                None => "no shared cache".to_owned(),
            };
            Frame::new("cache", vec![label], self.cores(part))
        };
        square(parts.iter().map(frame).collect())
    }

    /// Cores side by side, all of one width.
    fn cores(&self, cores: &[CoreId]) -> Vec<Vec<Frame>> {
        let frames = cores.iter().map(|core| self.core(*core).at_least(self.core_width));
        in_columns(
            frames.collect(),
            columns(cores.len(), (2.0 * cores.len() as f64).sqrt().max(4.0)),
        )
    }

    fn core(&self, core: CoreId) -> Frame {
        let index = core.index();
        let threads = self.machine.cores[index].pus.len();
        let range = self.machine.pus_of(core);
        let pus = self.machine.pus[range.clone()].iter().zip(&self.group.free[range]);
        let pus: Vec<Frame> = pus
            .map(|(pu, free)| {
                let class = if *free { "pu" } else { "taken" };
                let frame = Frame::small(class, format!("P#{}", pu.id), Vec::new());
                let frame = frame.at_least(self.pu_width);
                if threads > 4 { frame } else { frame.wide() }
            })
            .collect();
        let entry = &self.machine.cores[index];
        let numbers: Vec<u32> = entry.pus.iter().map(|pu| pu.0).collect();
        let tip = format!(
            "core L#{core}, package L#{}, NUMA node L#{}, PUs P#{}",
            entry.package,
            entry.numa,
            format_index_list(&numbers)
        );
        let columns = if threads > 4 { 2 } else { 1 };
        Frame::small("core", format!("L#{core}"), in_columns(pus, columns)).with_tip(tip)
    }

    /// All devices where they are drawn.
    fn devices(&self) -> BTreeMap<Place, Vec<Frame>> {
        let mut places: BTreeMap<Place, Vec<Frame>> = BTreeMap::new();
        for (position, nic) in self.machine.nics.iter().enumerate() {
            places.entry(self.place_of(&nic.near)).or_default().push(self.nic(position, nic));
        }
        for gpu in &self.machine.gpus {
            let what = gpu.pci.clone().into_iter().chain(beside(&gpu.near)).collect();
            let frame = chip("gpu", gpu.name.clone(), what);
            places.entry(self.place_of(&gpu.near)).or_default().push(frame);
        }
        places
    }

    /// Where a device beside these memories is drawn.
    fn place_of(&self, near: &[NumaId]) -> Place {
        let with_cores: Vec<NumaId> =
            near.iter().copied().filter(|numa| !self.packages_of(*numa).is_empty()).collect();
        match with_cores.as_slice() {
            _ if self.machine.numa_nodes.len() == 1 => Place::Node,
            [only] => Place::Memory(*only),
            _ if self.memories_outside => Place::Node,
            [] => {
                let package = near.first().and_then(|numa| self.beside[numa.index()]);
                package.map_or(Place::Node, Place::Package)
            }
            several => {
                let packages: BTreeSet<usize> =
                    several.iter().flat_map(|numa| self.packages_of(*numa)).collect();
                match packages.first() {
                    Some(only) if packages.len() == 1 => Place::Package(*only),
                    _ => Place::Node,
                }
            }
        }
    }

    fn nic(&self, position: usize, nic: &Nic) -> Frame {
        let mut what = vec![rated(&self.rates.nics[position].bandwidth)];
        what.extend(nic.latency.map(|latency| latency.to_string()));
        what.extend(self.machine.without_mpi(nic).map(|why| why.to_string()));
        what.extend(beside(&nic.near));
        let aliases = match nic.aliases.as_slice() {
            [] => String::new(),
            aliases => format!(" ({})", aliases.join(", ")),
        };
        chip("nic", format!("{}{aliases}", nic.name), what)
    }
}

/// The class of a memory in the style sheet.
pub(super) fn class_of_memory(node: &NumaNode) -> &'static str {
    match node.kind.as_deref() {
        None => "dram",
        Some(kind) if kind.ends_with("HBM") || kind == "MCDRAM" => "hbm",
        Some(_) => "far",
    }
}

fn beside(near: &[NumaId]) -> Option<String> {
    let numbers: Vec<u32> = near.iter().map(|numa| numa.0).collect();
    (numbers.len() > 1).then(|| format!("near NUMA nodes L#{}", format_index_list(&numbers)))
}

/// Boxes in an area somewhat wider than high.
fn square(frames: Vec<Frame>) -> Vec<Vec<Frame>> {
    let count = columns(frames.len(), (2.0 * frames.len() as f64).sqrt());
    in_columns(frames, count)
}

/// A size: exactly if that is short, else rounded.
fn size(memory: Bytes) -> String {
    let exact = memory.to_string();
    if exact.len() <= "1000 GiB".len() { exact } else { format!("{memory:.1}") }
}

/// The largest memory bandwidth of any core, and its latency where known.
fn speed(node: &NumaNode, bandwidth: &Rated<BytesPerSecond>) -> Vec<String> {
    let latency = node.best_access().and_then(|best| best.latency);
    std::iter::once(rated(bandwidth)).chain(latency.map(|time| time.to_string())).collect()
}

/// A rate; the page's first line says whose assumption it is.
fn rated(bandwidth: &Rated<BytesPerSecond>) -> String {
    let assumed = if bandwidth.origin.is_assumed() { " assumed" } else { "" };
    format!("{}{assumed}", rate(bandwidth.value))
}

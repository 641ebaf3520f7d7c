//! hwloc's tree of objects, from XML or a synthetic string, and its conversion to a [`Machine`].

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{ARM, Core, Machine, NumaNode, Pu};
use crate::ids::{CoreId, LARGEST_INDEX, NumaId, PuId};

/// An object of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cluster) struct Object {
    /// Its type.
    pub(in crate::cluster) kind: Kind,
    /// The objects below, with or without PUs, in L# order.
    pub(in crate::cluster) children: Vec<Object>,
    /// The NUMA nodes attached to it, in L# order.
    pub(in crate::cluster) memories: Vec<NumaNode>,
}

/// The types of objects that a [`Machine`] distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster) enum Kind {
    Package,
    /// A cache of data, with its level where known.
    Cache(Option<u8>),
    Core,
    /// A hardware thread, with its P#.
    Pu(u32),
    /// A group, a die or the machine.
    Other,
}

impl Object {
    pub(in crate::cluster) fn new(kind: Kind) -> Self {
        Self { kind, children: Vec::new(), memories: Vec::new() }
    }

    /// Whether a NUMA node is attached to it or to an object below it.
    pub(in crate::cluster) fn has_memory(&self) -> bool {
        !self.memories.is_empty() || self.children.iter().any(Self::has_memory)
    }

    /// Whether it is a PU or has one below it.
    pub(in crate::cluster) fn has_pu(&self) -> bool {
        matches!(self.kind, Kind::Pu(_)) || self.children.iter().any(Self::has_pu)
    }

    /// Changes the NUMA nodes attached to it and to the objects below it.
    pub(in crate::cluster) fn change_memories(&mut self, change: &mut impl FnMut(&mut NumaNode)) {
        self.memories.iter_mut().for_each(&mut *change);
        self.children.iter_mut().for_each(|child| child.change_memories(change));
    }

    /// Appends the NUMA nodes in hwloc's L# order: those of the children before those of the object.
    fn collect_memories(&self, into: &mut Vec<NumaNode>) {
        self.children.iter().for_each(|child| child.collect_memories(into));
        into.extend(self.memories.iter().cloned());
    }
}

/// The L# of each NUMA node, by P#.
pub(in crate::cluster) fn numa_by_number(machine: &Machine) -> BTreeMap<u32, NumaId> {
    let nodes = machine.numa_nodes.iter().enumerate();
    nodes.map(|(index, node)| (node.os_index, NumaId::from_index(index))).collect()
}

/// The name of a processor: its model, else the numbers of an Arm processor where the system has no model.
pub(in crate::cluster) fn processor_name(
    model: Option<&str>,
    implementer: Option<&str>,
    part: Option<&str>,
) -> Option<String> {
    // Linux calls many Arm processors by their instruction set: `ARMv8 Processor rev 1 (v8l)`.
    let is_named = |model: &&str| {
        !model.is_empty() && !model.starts_with("ARMv") && !model.starts_with("AArch64")
    };
    if let Some(model) = model.map(str::trim).filter(is_named) {
        return Some(model.to_owned());
    }
    Some(format!("{ARM} {} part {}", implementer?, part?))
}

/// The machine of a tree without nested cores. Objects get L# in tree order. A machine without
/// packages is one package; a PU without a core is a core.
///
/// # Errors
/// If there is no PU, or two PUs or two NUMA nodes have the same P#: a pair of what was found and
/// what was expected.
pub(in crate::cluster) fn machine(root: &Object) -> Result<Machine, (String, String)> {
    let mut numa_nodes = Vec::new();
    root.collect_memories(&mut numa_nodes);
    if numa_nodes.is_empty() {
        numa_nodes.push(NumaNode::new(0));
    }
    let mut logical = BTreeMap::new();
    for (index, node) in numa_nodes.iter().enumerate() {
        if logical.insert(node.os_index, NumaId::from_index(index)).is_some() {
            let actual = format!("two NUMA nodes P#{}", node.os_index);
            return Err((actual, "unique numbers".to_owned()));
        }
    }
    // A core without NUMA nodes above it uses the first DRAM.
    let plain = numa_nodes.iter().position(|node| node.kind.is_none()).unwrap_or(0);
    let start = Above { package: None, cache: None, core: None, numa: NumaId::from_index(plain) };
    let mut builder = Builder {
        logical,
        machine: Machine::default(),
        packages: 0,
        caches: 0,
        memory_packages: vec![None; numa_nodes.len()],
    };
    builder.visit(root, start);
    let mut machine = builder.machine;
    machine.packages = builder.packages.max(1);
    machine.numa_nodes = numa_nodes;
    attach_to_packages(&mut machine, &builder.memory_packages);
    check_pus(&machine)?;
    Ok(machine)
}

/// Keeps the package of those memories whose cores are in several, though they are attached to one.
fn attach_to_packages(machine: &mut Machine, packages: &[Option<usize>]) {
    let by_cores = machine.packages_beside();
    for ((node, package), by_cores) in machine.numa_nodes.iter_mut().zip(packages).zip(by_cores) {
        node.package = package.filter(|_| by_cores.is_none());
    }
}

fn check_pus(machine: &Machine) -> Result<(), (String, String)> {
    if machine.pus.is_empty() {
        return Err(("no PU".to_owned(), "at least one".to_owned()));
    }
    let mut seen = BTreeSet::new();
    for pu in &machine.pus {
        if pu.id.0 > LARGEST_INDEX {
            let actual = format!("PU P#{}", pu.id);
            return Err((actual, format!("numbers up to {LARGEST_INDEX}")));
        }
        if !seen.insert(pu.id) {
            let actual = format!("two PUs P#{}", pu.id);
            return Err((actual, "unique numbers".to_owned()));
        }
    }
    Ok(())
}

/// The objects above an object.
#[derive(Clone, Copy)]
struct Above {
    /// L#.
    package: Option<usize>,
    /// The outermost cache, which is the last level, numbered within the machine.
    cache: Option<u32>,
    core: Option<CoreId>,
    numa: NumaId,
}

struct Builder {
    /// L# of each NUMA node, by P#.
    logical: BTreeMap<u32, NumaId>,
    machine: Machine,
    /// The number of packages so far.
    packages: usize,
    /// The number of caches so far.
    caches: u32,
    /// By L# of NUMA nodes: the package (L#) that it is attached to or inside of.
    memory_packages: Vec<Option<usize>>,
}

impl Builder {
    fn visit(&mut self, object: &Object, mut above: Above) {
        let plain = object.memories.iter().filter(|memory| memory.kind.is_none());
        if let Some(numa) = plain.map(|memory| self.logical[&memory.os_index]).min() {
            above.numa = numa;
        }
        match object.kind {
            Kind::Package => {
                above.package = Some(self.packages);
                self.packages += 1;
            }
            Kind::Cache(level) if above.cache.is_none() && above.core.is_none() => {
                above.cache = Some(self.caches);
                self.machine.cache_level = self.machine.cache_level.or(level);
                self.caches += 1;
            }
            Kind::Core => above.core = Some(self.add_core(above)),
            Kind::Pu(number) => self.add_pu(PuId(number), above),
            Kind::Cache(_) | Kind::Other => {}
        }
        for memory in &object.memories {
            self.memory_packages[self.logical[&memory.os_index].index()] = above.package;
        }
        object.children.iter().for_each(|child| self.visit(child, above));
        // A core whose PUs are all offline does not count.
        if object.kind == Kind::Core && self.machine.cores.last().is_some_and(|c| c.pus.is_empty())
        {
            self.machine.cores.pop();
        }
    }

    fn add_core(&mut self, above: Above) -> CoreId {
        let id = CoreId::from_index(self.machine.cores.len());
        self.machine.cores.push(Core {
            package: above.package.unwrap_or(0),
            numa: above.numa,
            cache: above.cache,
            pus: Vec::new(),
        });
        id
    }

    fn add_pu(&mut self, id: PuId, above: Above) {
        let core = above.core.unwrap_or_else(|| self.add_core(above));
        let entry = &mut self.machine.cores[core.index()];
        if entry.pus.is_empty() {
            // A NUMA node may be attached between the core and its PUs.
            entry.numa = above.numa;
        }
        entry.pus.push(id);
        self.machine.pus.push(Pu { id, core });
    }
}

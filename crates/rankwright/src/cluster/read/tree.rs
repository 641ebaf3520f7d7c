//! The tree of objects that hwloc describes a node with, whatever it was read from, and what
//! becomes of it: a [`Machine`].

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{Core, Machine, NumaNode, Pu};
use crate::ids::{CoreId, LARGEST_INDEX, NumaId, PuId};

/// An object with all below it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cluster) struct Object {
    /// What it is.
    pub(in crate::cluster) kind: Kind,
    /// The objects below it that hold PUs, in order.
    pub(in crate::cluster) children: Vec<Object>,
    /// The memories attached to it, in order.
    pub(in crate::cluster) memories: Vec<NumaNode>,
}

/// What an object is, as far as a [`Machine`] tells objects apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cluster) enum Kind {
    Package,
    Cache,
    Core,
    /// With its P#.
    Pu(u32),
    /// A group, a die, the machine.
    Other,
}

impl Object {
    pub(in crate::cluster) fn new(kind: Kind) -> Self {
        Self { kind, children: Vec::new(), memories: Vec::new() }
    }

    /// Whether a memory is attached to it or to anything below it.
    pub(in crate::cluster) fn has_memory(&self) -> bool {
        !self.memories.is_empty() || self.children.iter().any(Self::has_memory)
    }

    /// Whether it is a PU or has one below it.
    pub(in crate::cluster) fn has_pu(&self) -> bool {
        matches!(self.kind, Kind::Pu(_)) || self.children.iter().any(Self::has_pu)
    }

    /// Counts through the memories: those of the children before those of the object itself, as
    /// hwloc numbers them (L#).
    fn collect_memories(&self, into: &mut Vec<NumaNode>) {
        self.children.iter().for_each(|child| child.collect_memories(into));
        into.extend(self.memories.iter().cloned());
    }
}

/// Makes the machine: objects get their L# in the order of the tree. A node without packages is
/// one package; PUs without a core are cores of their own.
///
/// # Errors
/// In words, with what was found first and what was expected behind: no PU, or two PUs or two NUMA
/// nodes of one P#.
pub(in crate::cluster) fn machine(root: &Object) -> Result<Machine, (String, String)> {
    let mut numa_nodes = Vec::new();
    root.collect_memories(&mut numa_nodes);
    if numa_nodes.is_empty() {
        numa_nodes.push(NumaNode::new(0));
    }
    let mut logical = BTreeMap::new();
    for (index, node) in numa_nodes.iter().enumerate() {
        if logical.insert(node.os_index, NumaId::from_index(index)).is_some() {
            let found = format!("two NUMA nodes P#{}", node.os_index);
            return Err((found, "a number of its own for each".to_owned()));
        }
    }
    // Where nothing is attached above a core, the first plain memory serves it.
    let plain = numa_nodes.iter().position(|node| node.kind.is_none()).unwrap_or(0);
    let start = Above { package: None, cache: None, core: None, numa: NumaId::from_index(plain) };
    let mut builder = Builder { logical, machine: Machine::default(), packages: 0, caches: 0 };
    builder.visit(root, start);
    let mut machine = builder.machine;
    machine.packages = builder.packages.max(1);
    machine.numa_nodes = numa_nodes;
    check_pus(&machine)?;
    Ok(machine)
}

fn check_pus(machine: &Machine) -> Result<(), (String, String)> {
    if machine.pus.is_empty() {
        return Err(("no PU".to_owned(), "at least one".to_owned()));
    }
    let mut seen = BTreeSet::new();
    for pu in &machine.pus {
        if pu.id.0 > LARGEST_INDEX {
            let found = format!("PU P#{}", pu.id);
            return Err((found, format!("numbers up to {LARGEST_INDEX}")));
        }
        if !seen.insert(pu.id) {
            let found = format!("two PUs P#{}", pu.id);
            return Err((found, "a number of its own for each".to_owned()));
        }
    }
    Ok(())
}

/// What stands above an object.
#[derive(Clone, Copy)]
struct Above {
    package: Option<usize>,
    /// The outermost cache, which is the last level.
    cache: Option<u32>,
    core: Option<CoreId>,
    numa: NumaId,
}

struct Builder {
    /// P# to L#.
    logical: BTreeMap<u32, NumaId>,
    machine: Machine,
    packages: usize,
    caches: u32,
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
            Kind::Cache if above.cache.is_none() && above.core.is_none() => {
                above.cache = Some(self.caches);
                self.caches += 1;
            }
            Kind::Core => above.core = Some(self.add_core(above)),
            Kind::Pu(number) => self.add_pu(PuId(number), above),
            Kind::Cache | Kind::Other => {}
        }
        object.children.iter().for_each(|child| self.visit(child, above));
        // A core all of whose PUs are switched off is not there.
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
            // A memory may hang between the core and its PUs.
            entry.numa = above.numa;
        }
        entry.pus.push(id);
        self.machine.pus.push(Pu { id, core });
    }
}

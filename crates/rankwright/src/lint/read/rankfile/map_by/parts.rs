//! The parts of a host (packages, NUMA nodes, caches, cores, hardware threads) as Open MPI counts them.

use crate::cluster::{Core, Machine};
use crate::ids::CoreId;
use crate::lint::Place;

/// A kind of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lint) enum Resource {
    Node,
    Package,
    Numa,
    /// The caches of this level.
    Cache(u8),
    Core,
    Thread,
}

impl Resource {
    /// The resource that `--map-by`, `--rank-by` or `--bind-to` calls so; 4.1 does not know `package`.
    pub(in crate::lint) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "node" => Self::Node,
            "socket" | "package" => Self::Package,
            "numa" => Self::Numa,
            "l1cache" => Self::Cache(1),
            "l2cache" => Self::Cache(2),
            "l3cache" => Self::Cache(3),
            "core" => Self::Core,
            "hwthread" => Self::Thread,
            _ => return None,
        })
    }

    /// Its name in texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Node => "host",
            Self::Package => "package",
            Self::Numa => "NUMA node",
            Self::Cache(1) => "L1 cache",
            Self::Cache(2) => "L2 cache",
            Self::Cache(_) => "L3 cache",
            Self::Core => "core",
            Self::Thread => "hardware thread",
        }
    }

    /// The height at which Open MPI 5.0 sees it: no rank is bound to a part above that of its mapping.
    pub(super) fn depth(self) -> u8 {
        match self {
            Self::Node => 0,
            Self::Package => 1,
            Self::Numa => 2,
            Self::Cache(level) => 6 - level.min(3),
            Self::Core => 6,
            Self::Thread => 7,
        }
    }
}

/// One part of a host.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Its PUs, L#, ascending.
    pub(super) pus: Vec<usize>,
    /// The CPUs (cores, or hardware threads) that lie in it as a whole, ascending.
    pub(super) cpus: Vec<usize>,
}

impl Part {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.pus.iter().any(|pu| other.pus.binary_search(pu).is_ok())
    }
}

/// The parts of one host.
#[derive(Debug)]
pub(super) struct Topology<'a> {
    /// `None` if what is asked for is not known of the machine: the host then has a single part of each kind,
    /// with room for all ranks, and no rank has a known place.
    machine: Option<&'a Machine>,
    /// The PUs (L#) of each CPU.
    cpus: Vec<Vec<usize>>,
    /// The PUs (L#) of each core.
    cores: Vec<Vec<usize>>,
}

impl<'a> Topology<'a> {
    /// The parts of this machine if it has all of `needed`.
    pub(super) fn new(machine: Option<&'a Machine>, threads: bool, needed: &[Resource]) -> Self {
        let known = |machine: &&Machine| needed.iter().all(|it| groups(machine, *it).is_some());
        let machine = machine.filter(known);
        let cores_of = |machine: &Machine| {
            machine.core_ids().map(|core| machine.pus_of(core).collect()).collect()
        };
        let cores: Vec<Vec<usize>> = machine.map_or_else(Vec::new, cores_of);
        let pus = cores.iter().map(Vec::len).sum();
        let cpus = if threads { (0..pus).map(|pu| vec![pu]).collect() } else { cores.clone() };
        Self { machine, cpus, cores }
    }

    pub(super) fn is_known(&self) -> bool {
        self.machine.is_some()
    }

    /// The parts of this kind, in order; empty if the machine has none. The one part of an unknown machine
    /// lists no PUs.
    pub(super) fn parts(&self, resource: Resource) -> Vec<Part> {
        let pus: Vec<Vec<usize>> = match (resource, self.machine) {
            (_, None) => return vec![Part { pus: Vec::new(), cpus: Vec::new() }],
            (Resource::Core, _) => self.cores.clone(),
            (Resource::Thread, _) => self.cores.iter().flatten().map(|pu| vec![*pu]).collect(),
            (_, Some(machine)) => groups(machine, resource)
                .unwrap_or_default()
                .into_iter()
                .map(|cores| {
                    let mut pus: Vec<usize> =
                        cores.into_iter().flat_map(|core| machine.pus_of(core)).collect();
                    pus.sort_unstable();
                    pus
                })
                .collect(),
        };
        pus.into_iter().map(|pus| self.part(pus)).collect()
    }

    fn part(&self, pus: Vec<usize>) -> Part {
        let within = |cpu: &Vec<usize>| cpu.iter().all(|pu| pus.binary_search(pu).is_ok());
        // CPUs are in the order of their PUs.
        let first = self.cpus.partition_point(|cpu| cpu.last() < pus.first());
        let end = self.cpus.partition_point(|cpu| cpu.first() <= pus.last());
        let cpus = (first..end).filter(|cpu| within(&self.cpus[*cpu])).collect();
        Part { pus, cpus }
    }

    /// The number of CPUs; 0 if the machine is unknown.
    pub(super) fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// The PUs (L#) of a CPU.
    pub(super) fn pus_of_cpu(&self, cpu: usize) -> &[usize] {
        &self.cpus[cpu]
    }

    /// The place of a rank that is bound to these PUs (L#): its cores if these are whole.
    pub(super) fn place(&self, pus: &[usize]) -> Place {
        let Some(machine) = self.machine else { return Place::Unknown };
        let mut pus = pus.to_vec();
        pus.sort_unstable();
        pus.dedup();
        let cores: Vec<CoreId> = machine
            .core_ids()
            .filter(|core| machine.pus_of(*core).all(|pu| pus.binary_search(&pu).is_ok()))
            .collect();
        if cores.iter().map(|core| machine.pus_of(*core).len()).sum::<usize>() == pus.len() {
            return Place::Cores(cores);
        }
        Place::Pus(pus.into_iter().map(|pu| machine.pus[pu].id).collect())
    }
}

/// The cores of each part of a machine, ascending; `None` if its caches of this level are not known.
pub(in crate::lint) fn groups(machine: &Machine, resource: Resource) -> Option<Vec<Vec<CoreId>>> {
    if let Resource::Cache(level) = resource
        && machine.cache_level.unwrap_or(3) != level
    {
        return None;
    }
    let number = |(index, core): (usize, &Core)| {
        Some(match resource {
            Resource::Node => 0,
            Resource::Package => core.package,
            Resource::Numa => core.numa.index(),
            Resource::Cache(_) => core.cache? as usize,
            Resource::Core | Resource::Thread => index,
        })
    };
    let mut groups: Vec<(usize, Vec<CoreId>)> = Vec::new();
    let mut positions = std::collections::HashMap::new();
    for (core, entry) in machine.core_ids().zip(machine.cores.iter().enumerate()) {
        let number = number(entry)?;
        let position = *positions.entry(number).or_insert_with(|| {
            groups.push((number, Vec::new()));
            groups.len() - 1
        });
        groups[position].1.push(core);
    }
    Some(groups.into_iter().map(|(_, cores)| cores).collect())
}

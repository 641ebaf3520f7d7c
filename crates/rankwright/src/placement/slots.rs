//! Slots: the hardware that ranks can take.

use std::collections::BTreeMap;

use serde::Serialize;

use super::programs::{self, ProgramRanks};
use super::shares::{self, Lacking, RanksPer, Share};
use super::{PlacementError, RankPlacement};
use crate::cluster::{Cluster, Machine};
use crate::ids::{CoreId, NodeId, NumaId, PuId};

/// The hardware of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Granularity {
    /// A number of whole cores, from 1, with all their free PUs.
    Cores(u32),
    /// A PU: several ranks share a core with several PUs.
    Pu,
    /// A part of a node, package, NUMA node or of the cores beside a GPU, which takes a fixed number
    /// of ranks.
    Part {
        /// The number of ranks.
        ranks: RanksPer,
        /// What each of them gets.
        share: Share,
    },
    /// Whole cores, as many for each rank as its program has.
    Programs {
        /// The programs.
        programs: Vec<ProgramRanks>,
        /// Whether each program has nodes of its own.
        own_nodes: bool,
    },
}

impl Granularity {
    fn unit(&self) -> String {
        match self {
            Self::Cores(1) => "core".to_owned(),
            Self::Cores(cores) => format!("group of {cores} cores"),
            Self::Pu => "PU".to_owned(),
            Self::Part { ranks, share } => format!("{ranks}{share}"),
            Self::Programs { .. } => "place of a program".to_owned(),
        }
    }
}

/// The hardware for a rank: cores of one node that no other slot has, or a PU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The node.
    pub node: NodeId,
    /// The cores (L#), ascending.
    pub cores: Vec<CoreId>,
    /// The free PUs (P#) of the cores, in the order of the cores; or a single PU.
    pub pus: Vec<PuId>,
    /// The NUMA node (L#), if it is that of all cores.
    pub numa: Option<NumaId>,
    /// Names of the network devices that a rank uses there; empty if devices are not part of the
    /// choice. Slots that differ only in this field are alternatives for one rank.
    pub nics: Vec<String>,
    /// Which ranks may take it: those of the same class. All are of class 0, except where programs of a job
    /// have slots of their own ([`Granularity::Programs`]).
    pub class: u32,
}

impl Slot {
    /// A rank that is bound to this slot, without GPUs.
    #[must_use]
    pub fn place(&self) -> RankPlacement {
        RankPlacement {
            node: self.node,
            cores: self.cores.clone(),
            pus: self.pus.clone(),
            numa: self.numa,
            nics: self.nics.clone(),
            gpus: Vec::new(),
            bound: true,
        }
    }
}

/// Divides the free cores of the cluster into slots, node by node, and in L# order within a node.
///
/// A core is free if at least one of its PUs is. With several cores per slot, slots are first formed
/// within NUMA nodes, then of the remaining cores of each package, then of those of each node. Slots
/// across NUMA nodes are returned only where they are needed: in nodes without other slots, and
/// for ranks that do not fit into all other slots.
///
/// [`Granularity::Part`] has its own rules: every object that can takes its number of ranks, and its
/// cores (or PUs) are shared evenly among them, as far as possible within NUMA nodes. All slots of a
/// node have the same size, that of its smallest object. There is one slot for each rank: the first nodes
/// are full, and the last of them has the slots for the ranks that are left. [`Granularity::Programs`] gives exactly one slot
/// for each rank of the programs.
///
/// # Errors
/// If there are fewer slots than `ranks`; the error has both numbers.
pub fn slots(
    cluster: &Cluster,
    granularity: Granularity,
    ranks: usize,
) -> Result<Vec<Slot>, PlacementError> {
    if let Granularity::Programs { programs, own_nodes } = &granularity {
        return programs::slots(cluster, programs, *own_nodes);
    }
    let mut lacking = None;
    let mut slots = Vec::new();
    // By group: the slots of its first node.
    let mut alike: Vec<Option<Vec<Slot>>> = vec![None; cluster.groups.len()];
    for node in cluster.node_ids() {
        let group = cluster.node(node).group;
        if let Some(of_node) = &alike[group] {
            slots.extend(of_node.iter().map(|slot| Slot { node, ..slot.clone() }));
            continue;
        }
        let (of_node, why) = slots_of_node(cluster, node, &granularity);
        // Parts may differ from node to node.
        if matches!(granularity, Granularity::Cores(_) | Granularity::Pu) {
            alike[group] = Some(of_node.clone());
        }
        slots.extend(of_node);
        lacking = lacking.or(why.map(|why| (node, why)));
    }
    if slots.len() < ranks {
        if let Granularity::Part { .. } = granularity {
            return Err(PlacementError::TooFewParts {
                cluster: cluster.name.clone(),
                ranks,
                per: granularity.unit(),
                slots: slots.len(),
                why: lacking.map(|(node, why)| why.on(&cluster.node(node).name)),
            });
        }
        return Err(PlacementError::TooFewSlots {
            cluster: cluster.name.clone(),
            ranks,
            slots: slots.len(),
            total: cluster.core_count(),
            unit: granularity.unit(),
        });
    }
    match &granularity {
        Granularity::Cores(_) => drop_avoidable(cluster, &mut slots, ranks),
        Granularity::Part { ranks: per, .. } => keep_one_each(cluster, &mut slots, per, ranks),
        Granularity::Pu | Granularity::Programs { .. } => {}
    }
    Ok(slots)
}

/// Leaves one slot for each rank, in the first nodes. On the last of them these are the first slots, or
/// those beside the GPUs of its ranks.
fn keep_one_each(cluster: &Cluster, slots: &mut Vec<Slot>, per: &RanksPer, ranks: usize) {
    let Some(last) = ranks.checked_sub(1).map(|rank| slots[rank].node) else { return };
    let full = slots.partition_point(|slot| slot.node < last);
    let end = slots.partition_point(|slot| slot.node <= last);
    slots.truncate(end);
    let mut of_last = slots.split_off(full);
    let left = ranks - full;
    if let RanksPer::Gpus { gpus, .. } = per {
        shares::retain_beside_gpus(cluster.machine(last), &mut of_last, *gpus, left);
    }
    of_last.truncate(left);
    slots.append(&mut of_last);
}

/// How many slots each node has, those across NUMA nodes included.
pub(crate) fn slots_by_node(cluster: &Cluster, granularity: &Granularity) -> Vec<usize> {
    cluster.node_ids().map(|node| slots_of_node(cluster, node, granularity).0.len()).collect()
}

/// Removes the slots across NUMA nodes that are not needed.
fn drop_avoidable(cluster: &Cluster, slots: &mut Vec<Slot>, ranks: usize) {
    // Whether the node has slots within a NUMA node.
    let mut has_whole = vec![false; cluster.nodes.len()];
    for slot in slots.iter().filter(|slot| slot.numa.is_some()) {
        has_whole[slot.node.index()] = true;
    }
    let avoidable = |slot: &Slot| slot.numa.is_none() && has_whole[slot.node.index()];
    let unavoidable = slots.iter().filter(|slot| !avoidable(slot)).count();
    let mut left_over = ranks.saturating_sub(unavoidable);
    slots.retain(|slot| {
        if !avoidable(slot) {
            return true;
        }
        let needed = left_over > 0;
        left_over -= usize::from(needed);
        needed
    });
}

/// The slots of a node, and what of it cannot take its ranks.
fn slots_of_node(
    cluster: &Cluster,
    node: NodeId,
    granularity: &Granularity,
) -> (Vec<Slot>, Option<Lacking>) {
    let free = FreeUnits::new(cluster, node);
    let (mut groups, lacking) = match granularity {
        Granularity::Pu => (free.pus().into_iter().map(|pu| vec![pu]).collect(), None),
        Granularity::Cores(count) => {
            (cut(free.machine, free.cores(), (*count).max(1) as usize), None)
        }
        Granularity::Part { ranks, share } => shares::of_node(&free, node, ranks, *share),
        // Room for ranks of any of the programs.
        Granularity::Programs { programs, .. } => {
            let most = programs.iter().map(|program| program.cores.get()).max().unwrap_or(1);
            (cut(free.machine, free.cores(), most as usize), None)
        }
    };
    groups.sort();
    (groups.iter().map(|units| free.slot(node, units)).collect(), lacking)
}

/// What slots are made of: a core with all its free PUs, or one of them, by its position among these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unit {
    pub(super) core: CoreId,
    pu: Option<usize>,
}

/// The free cores and PUs of a node.
pub(super) struct FreeUnits<'a> {
    pub(super) machine: &'a Machine,
    /// By core (L#): its free PUs.
    pus: Vec<Vec<PuId>>,
}

impl<'a> FreeUnits<'a> {
    pub(super) fn new(cluster: &'a Cluster, node: NodeId) -> Self {
        let group = cluster.group(node);
        let machine = &group.machine;
        let mut pus: Vec<Vec<PuId>> = vec![Vec::new(); machine.cores.len()];
        for (pu, _) in machine.pus.iter().zip(&group.free).filter(|(_, free)| **free) {
            pus[pu.core.index()].push(pu.id);
        }
        Self { machine, pus }
    }

    /// The free cores, ascending.
    pub(super) fn cores(&self) -> Vec<Unit> {
        let free = self.machine.core_ids().filter(|core| !self.pus[core.index()].is_empty());
        free.map(|core| Unit { core, pu: None }).collect()
    }

    /// The free PUs, ascending by core.
    pub(super) fn pus(&self) -> Vec<Unit> {
        let of_core = |core: CoreId| {
            (0..self.pus[core.index()].len()).map(move |pu| Unit { core, pu: Some(pu) })
        };
        self.machine.core_ids().flat_map(of_core).collect()
    }

    pub(super) fn slot(&self, node: NodeId, units: &[Unit]) -> Slot {
        let mut cores: Vec<CoreId> = units.iter().map(|unit| unit.core).collect();
        cores.dedup();
        let pus_of = |unit: &Unit| {
            let pus = &self.pus[unit.core.index()];
            unit.pu.map_or(pus.as_slice(), |pu| std::slice::from_ref(&pus[pu]))
        };
        Slot {
            node,
            pus: units.iter().flat_map(pus_of).copied().collect(),
            numa: common_numa(self.machine, units),
            cores,
            nics: Vec::new(),
            class: 0,
        }
    }
}

/// Groups of `count` units, each ascending: within NUMA nodes, then of the remaining units of each
/// package, then of those of all packages. There are as many groups as there can be.
pub(super) fn cut(machine: &Machine, free: Vec<Unit>, count: usize) -> Vec<Vec<Unit>> {
    let core = |unit: &Unit| &machine.cores[unit.core.index()];
    let mut groups = Vec::new();
    let mut rest = free;
    for border in [0, 1, 2] {
        let domain = |unit: &Unit| match border {
            0 => (core(unit).package, core(unit).numa.0),
            1 => (core(unit).package, 0),
            _ => (0, 0),
        };
        rest.sort_by_key(|unit| (domain(unit), *unit));
        let mut left = Vec::new();
        for units in rest.chunk_by(|a, b| domain(a) == domain(b)) {
            let whole = units.chunks_exact(count);
            left.extend_from_slice(whole.remainder());
            groups.extend(whole.map(|group| {
                let mut group = group.to_vec();
                group.sort_unstable();
                group
            }));
        }
        rest = left;
    }
    groups
}

/// The NUMA node of the units, if it is the same.
pub(super) fn common_numa(machine: &Machine, units: &[Unit]) -> Option<NumaId> {
    let numa = |unit: &Unit| machine.cores[unit.core.index()].numa;
    let first = numa(units.first()?);
    units.iter().all(|unit| numa(unit) == first).then_some(first)
}

/// `count` of some things, taken from NUMA nodes in turn, those across NUMA nodes last; in the order
/// given.
pub(crate) fn in_turn<T>(
    things: Vec<T>,
    count: usize,
    numa: impl Fn(&T) -> Option<NumaId>,
) -> Vec<T> {
    let mut taken: BTreeMap<Option<NumaId>, usize> = BTreeMap::new();
    let turn = |(position, thing): (usize, &T)| {
        let numa = numa(thing);
        let before = taken.entry(numa).or_default();
        *before += 1;
        (numa.is_none(), *before, position)
    };
    let mut order: Vec<(bool, usize, usize)> = things.iter().enumerate().map(turn).collect();
    order.sort_unstable();
    let mut chosen = vec![false; things.len()];
    order.into_iter().take(count).for_each(|(.., position)| chosen[position] = true);
    things.into_iter().zip(chosen).filter_map(|(thing, chosen)| chosen.then_some(thing)).collect()
}

//! Slots: the hardware that ranks can take.

use serde::Serialize;

use super::{PlacementError, RankPlacement};
use crate::cluster::{Cluster, Machine};
use crate::ids::{CoreId, NodeId, NumaId, PuId};

/// The hardware of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Granularity {
    /// A number of whole cores, from 1, with all their free PUs.
    Cores(u32),
    /// A PU: several ranks share a core with several PUs.
    Pu,
}

impl Granularity {
    fn unit(self) -> String {
        match self {
            Self::Cores(1) => "core".to_owned(),
            Self::Cores(cores) => format!("group of {cores} cores"),
            Self::Pu => "PU".to_owned(),
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
/// # Errors
/// If there are fewer slots than `ranks`; the error has both numbers.
pub fn slots(
    cluster: &Cluster,
    granularity: Granularity,
    ranks: usize,
) -> Result<Vec<Slot>, PlacementError> {
    let mut slots: Vec<Slot> =
        cluster.node_ids().flat_map(|node| slots_of_node(cluster, node, granularity)).collect();
    if slots.len() < ranks {
        return Err(PlacementError::TooFewSlots {
            cluster: cluster.name.clone(),
            ranks,
            slots: slots.len(),
            total: cluster.core_count(),
            unit: granularity.unit(),
        });
    }
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
    Ok(slots)
}

fn slots_of_node(cluster: &Cluster, node: NodeId, granularity: Granularity) -> Vec<Slot> {
    let group = cluster.group(node);
    let machine = &group.machine;
    let mut free_pus: Vec<Vec<PuId>> = vec![Vec::new(); machine.cores.len()];
    for (pu, _) in machine.pus.iter().zip(&group.free).filter(|(_, free)| **free) {
        free_pus[pu.core.index()].push(pu.id);
    }
    let free: Vec<CoreId> =
        machine.core_ids().filter(|core| !free_pus[core.index()].is_empty()).collect();
    let slot = |cores: &[CoreId]| Slot {
        node,
        cores: cores.to_vec(),
        pus: cores.iter().flat_map(|core| free_pus[core.index()].iter().copied()).collect(),
        numa: common_numa(machine, cores),
        nics: Vec::new(),
    };
    match granularity {
        Granularity::Pu => {
            let slots_of_core = |core: CoreId| {
                let whole = slot(&[core]);
                let pus = whole.pus.clone();
                pus.into_iter().map(move |pu| Slot { pus: vec![pu], ..whole.clone() })
            };
            free.into_iter().flat_map(slots_of_core).collect()
        }
        Granularity::Cores(count) => {
            let mut groups = cut(machine, free, count.max(1) as usize);
            groups.sort();
            groups.iter().map(|cores| slot(cores)).collect()
        }
    }
}

/// Groups of `count` cores: within NUMA nodes, then of the remaining cores of each package, then of
/// those of the node.
fn cut(machine: &Machine, free: Vec<CoreId>, count: usize) -> Vec<Vec<CoreId>> {
    let core = |id: &CoreId| &machine.cores[id.index()];
    let mut groups = Vec::new();
    let mut rest = free;
    for border in [0, 1, 2] {
        let domain = |id: &CoreId| match border {
            0 => (core(id).package, core(id).numa.0),
            1 => (core(id).package, 0),
            _ => (0, 0),
        };
        rest.sort_by_key(|id| (domain(id), *id));
        let mut left = Vec::new();
        for cores in rest.chunk_by(|a, b| domain(a) == domain(b)) {
            let whole = cores.chunks_exact(count);
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

/// The NUMA node of the cores, if it is the same.
fn common_numa(machine: &Machine, cores: &[CoreId]) -> Option<NumaId> {
    let first = machine.cores[cores.first()?.index()].numa;
    cores.iter().all(|core| machine.cores[core.index()].numa == first).then_some(first)
}

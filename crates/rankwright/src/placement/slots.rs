//! The places that ranks can take.

use serde::Serialize;

use super::{PlacementError, RankPlacement};
use crate::cluster::{Cluster, Machine};
use crate::ids::{CoreId, NodeId, NumaId, PuId};

/// What one rank gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Granularity {
    /// This many whole cores (at least 1), with all their free PUs.
    Cores(u32),
    /// One PU: several ranks per core where cores have several PUs.
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

/// A place for one rank: cores of one node that no other slot has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The node.
    pub node: NodeId,
    /// The cores, L#, ascending.
    pub cores: Vec<CoreId>,
    /// The free PUs of the cores, P#, in the order of the cores; or one PU.
    pub pus: Vec<PuId>,
    /// The NUMA node, where all the cores are next to the same one.
    pub numa: Option<NumaId>,
    /// The network devices that a rank uses there, by name; empty where that is not part of the
    /// choice. Slots that differ in nothing else are the same place.
    pub nics: Vec<String>,
}

impl Slot {
    /// The place of a rank that is bound to this slot.
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

/// Cuts the free cores of the cluster into slots, node by node and in L# order within a node.
///
/// A core is free if at least one of its PUs is. With several cores per rank, each NUMA node is
/// cut on its own first; what is left over in the NUMA nodes of one package is joined, then what is
/// left over in the node. Slots across NUMA nodes are offered only where nothing else fits: in nodes
/// that have no other, and as many as ranks are left over when all others are taken.
///
/// # Errors
/// If there are fewer slots than `ranks`; the error carries both numbers.
pub fn slots(
    cluster: &Cluster,
    granularity: Granularity,
    ranks: usize,
) -> Result<Vec<Slot>, PlacementError> {
    let mut slots: Vec<Slot> =
        cluster.node_ids().flat_map(|node| slots_of_node(cluster, node, granularity)).collect();
    if slots.len() < ranks {
        return Err(PlacementError::TooFewPlaces {
            cluster: cluster.name.clone(),
            ranks,
            places: slots.len(),
            total: cluster.core_count(),
            unit: granularity.unit(),
        });
    }
    let mut has_whole = vec![false; cluster.nodes.len()];
    for slot in slots.iter().filter(|slot| slot.numa.is_some()) {
        has_whole[slot.node.index()] = true;
    }
    let avoidable = |slot: &Slot| slot.numa.is_none() && has_whole[slot.node.index()];
    let others = slots.iter().filter(|slot| !avoidable(slot)).count();
    let mut left_over = ranks.saturating_sub(others);
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
            let one_pu = |core: CoreId| {
                let whole = slot(&[core]);
                let pus = whole.pus.clone();
                pus.into_iter().map(move |pu| Slot { pus: vec![pu], ..whole.clone() })
            };
            free.into_iter().flat_map(one_pu).collect()
        }
        Granularity::Cores(count) => {
            let mut groups = cut(machine, free, count.max(1) as usize);
            groups.sort();
            groups.iter().map(|cores| slot(cores)).collect()
        }
    }
}

/// Groups of `count` cores: within NUMA nodes, then from the remainders within packages, then from
/// what is left in the node.
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

fn common_numa(machine: &Machine, cores: &[CoreId]) -> Option<NumaId> {
    let first = machine.cores[cores.first()?.index()].numa;
    cores.iter().all(|core| machine.cores[core.index()].numa == first).then_some(first)
}

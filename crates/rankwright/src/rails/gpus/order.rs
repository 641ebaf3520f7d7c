//! `near`: local rank i of each node uses GPU i, as in `cudaSetDevice(local_rank)`, and is near it; or the
//! i-th pair of GPUs, and so on.

use std::collections::BTreeMap;

use super::counted;
use super::division::divide;
use super::{by_node, distance_from};
use crate::cluster::{Cluster, Gpu, Machine};
use crate::ids::NodeId;
use crate::placement::{JobShape, Mapping, Placement, Slot};
use crate::rails::node_view::numa_of_cores;

/// By global rank: the GPU that a program takes by its local rank, modulo the number of GPUs, or `each`
/// of them; local ranks are counted within a job.
pub(super) fn in_turn(cluster: &Cluster, placement: &Placement, each: usize) -> Vec<Vec<String>> {
    let mut names = Vec::new();
    for job in placement.jobs() {
        let first = names.len();
        names.resize(first + job.ranks.len(), Vec::new());
        for (node, places) in by_node(job.ranks.iter()) {
            let gpus = counted::in_turn(cluster.machine(node), each);
            for ((position, _), gpus) in places.into_iter().zip(gpus.iter().cycle()) {
                names[first + position] = gpus.iter().map(|gpu| gpu.name.clone()).collect();
            }
        }
    }
    names
}

/// The mapping in which the ranks of a job on a node have exchanged slots so that each is as near as
/// possible to the GPU that it takes by its local rank, or to the `each` GPUs. As many ranks as possible
/// keep theirs.
pub(crate) fn ordered(
    cluster: &Cluster,
    shapes: &[JobShape],
    slots: &[Slot],
    mapping: &Mapping,
    each: usize,
) -> Mapping {
    let mut slot_of = mapping.as_indices().to_vec();
    let mut first = 0;
    for shape in shapes {
        let ranks = first..first + shape.ranks as usize;
        first = ranks.end;
        let mut by_node: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for rank in ranks {
            by_node.entry(slots[slot_of[rank]].node).or_default().push(rank);
        }
        for (node, ranks) in by_node {
            let machine = cluster.machine(node);
            order_on_node(machine, &counted::in_turn(machine, each), slots, &ranks, &mut slot_of);
        }
    }
    slot_of.into()
}

fn order_on_node(
    machine: &Machine,
    gpus: &[Vec<&Gpu>],
    slots: &[Slot],
    ranks: &[usize],
    slot_of: &mut [usize],
) {
    if gpus.len() < 2 {
        return;
    }
    // Ranks exchange slots of one size only.
    let mut by_size: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (local, rank) in ranks.iter().enumerate() {
        let size = slots[slot_of[*rank]].pus.len();
        by_size.entry(size).or_default().push((*rank, local % gpus.len()));
    }
    for ranks in by_size.into_values() {
        let cost = |(rank, own): &(usize, usize)| -> Vec<i64> {
            let numa = numa_of_cores(machine, &slots[slot_of[*rank]].cores);
            let to = |gpus: &Vec<&Gpu>| -> i64 {
                gpus.iter().map(|gpu| distance_from(machine, &numa, gpu)).sum()
            };
            let far = gpus.iter().map(to);
            far.enumerate().map(|(gpu, far)| 4 * far + i64::from(gpu != *own)).collect()
        };
        let costs: Vec<Vec<i64>> = ranks.iter().map(cost).collect();
        let mut room = vec![0; gpus.len()];
        ranks.iter().for_each(|(_, gpu)| room[*gpu] += 1);
        let gpu_of_slot = divide(&costs, gpus.len(), |gpu, held| (held < room[gpu]).then_some(0));
        let moves = |at: &usize| ranks[*at].1 != gpu_of_slot[*at];
        let old: Vec<usize> = ranks.iter().map(|(rank, _)| slot_of[*rank]).collect();
        let mut left: Vec<usize> = (0..ranks.len()).filter(moves).collect();
        for at in (0..ranks.len()).filter(moves) {
            let (rank, own) = ranks[at];
            let taken = left.iter().position(|other| gpu_of_slot[*other] == own);
            // As many slots go to a GPU as ranks, so there is one.
            if let Some(position) = taken {
                slot_of[rank] = old[left.remove(position)];
            }
        }
    }
}

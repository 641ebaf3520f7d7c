//! The GPUs of ranks: which one each rank uses, the order of ranks in which local rank i is near GPU i,
//! and the variables that hide all GPUs but one from a rank.

// | file | what it has |
// |---|---|
// | `counted` | the GPUs of a node as programs count them |
// | `order` | `near`: the order of the ranks of a node |
// | `share` | `one-per-rank`: the nearest GPU of each rank, in equal shares |
// | `division` | items divided among bins at the least cost |
// | `far` | ranks whose GPU is on another package |
// | `variables` | the variables of the vendors' libraries |

mod counted;
mod division;
mod far;
mod order;
mod share;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

pub use far::FarGpus;
pub(crate) use far::far_gpus;
pub(crate) use order::ordered;
pub use variables::{count_like, set_variables};

use super::node_view::{distance_of, numa_nodes};
use super::{Selection, selectable};
use crate::cluster::{Cluster, Gpu, Machine};
use crate::ids::{NodeId, NumaId};
use crate::placement::{GpuUse, Placement, PlacementError, RankPlacement};
use crate::units::counted;

/// The placement with a GPU for each rank on a node that has some, or with `each` of them under `near`.
/// GPUs that it names already are replaced.
///
/// # Errors
/// If the result is not a valid placement, which would be an error of this function.
pub fn assign(
    cluster: &Cluster,
    placement: Placement,
    gpu_use: GpuUse,
    each: usize,
) -> Result<Placement, PlacementError> {
    let names = match gpu_use {
        GpuUse::None => vec![Vec::new(); placement.ranks().count()],
        GpuUse::Near => order::in_turn(cluster, &placement, each),
        GpuUse::OnePerRank => share::nearest(cluster, &placement),
    };
    placement.with_gpus(cluster, gpu_use, names)
}

/// The network devices and GPUs of ranks of which each belongs to a GPU, where the user does not say: `near`
/// their GPUs, and the network devices beside them; each where nodes have some.
#[must_use]
pub fn of_ranks_per_gpu(cluster: &Cluster) -> (Option<Selection>, Option<GpuUse>) {
    let affinity: Option<Selection> = "device-affinity".parse().ok();
    let affinity = affinity.filter(|selection| selectable(cluster, selection).is_ok());
    (affinity, any(cluster).then_some(GpuUse::Near))
}

/// How ranks use GPUs where this is wanted, and a warning if they cannot, or if it is not known which GPUs are
/// theirs. `why` it is wanted begins the warning of a cluster without GPUs; `granted` is the number of GPUs that
/// a batch job has on one of its hosts.
#[must_use]
pub fn possible(
    cluster: &Cluster,
    wanted: GpuUse,
    why: &str,
    granted: Option<usize>,
) -> (GpuUse, Option<String>) {
    let counts: BTreeSet<usize> =
        cluster.groups.iter().map(|group| group.machine.gpus.len()).collect();
    let most = counts.last().copied().unwrap_or_default();
    match (wanted, granted) {
        (GpuUse::None, _) => (wanted, None),
        _ if most == 0 => {
            let text = format!(
                "{why}: no node of {} has one in its description (`cluster discover` finds GPUs; \
                 [[node.gpu]] in a cluster.toml)",
                cluster.name
            );
            (GpuUse::None, Some(text))
        }
        (_, Some(granted)) if granted < most && !counts.contains(&granted) => {
            let text = format!(
                "this job has {} here, the nodes of {} have {most}: which of them are granted is not \
                 known, so ranks may be far from theirs",
                counted(granted, "GPU"),
                cluster.name
            );
            (wanted, Some(text))
        }
        _ => (wanted, None),
    }
}

/// Whether a node of the cluster has a GPU.
#[must_use]
pub fn any(cluster: &Cluster) -> bool {
    cluster.groups.iter().any(|group| !group.machine.gpus.is_empty())
}

/// Positions in the placement, by node; of a job the first rank first.
fn by_node<'a>(
    places: impl Iterator<Item = &'a RankPlacement>,
) -> BTreeMap<NodeId, Vec<(usize, &'a RankPlacement)>> {
    let mut nodes: BTreeMap<NodeId, Vec<(usize, &RankPlacement)>> = BTreeMap::new();
    for (position, place) in places.enumerate() {
        nodes.entry(place.node).or_default().push((position, place));
    }
    nodes
}

/// How far a GPU is from a rank on these NUMA nodes: 0 beside it, where the rank is not bound, or where
/// it is not known; else the firmware's distance, or without one 1 in the same package and 2 in another.
fn distance_from(machine: &Machine, numa: &[NumaId], gpu: &Gpu) -> i64 {
    // A broken table must not make sums overflow.
    i64::from(distance_of(machine, numa, &gpu.near).min(1023))
}

/// The distance of a GPU to a rank.
fn distance(machine: &Machine, place: &RankPlacement, gpu: &Gpu) -> i64 {
    distance_from(machine, &numa_nodes(machine, place), gpu)
}

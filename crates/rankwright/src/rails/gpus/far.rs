//! Ranks whose GPU is on another package.

use crate::cluster::{Cluster, Gpu, Machine};
use crate::placement::{Placement, RankPlacement};
use crate::units::counted;

/// Ranks whose GPU is on another package than their cores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarGpus {
    /// How many.
    pub ranks: usize,
    /// How many have a GPU.
    pub of: usize,
    /// The first of them: `rank 2 on socket L#0 of n0 has cuda2 on socket L#1`.
    pub first: String,
    /// Whether the nodes have a GPU for each rank.
    pub one_each: bool,
    /// The cores for each rank that would use all free cores of the first one's node; `None` where
    /// that is no more than the ranks have.
    pub cores_per_rank: Option<usize>,
}

/// The ranks of a placement whose GPU is on another package; `None` if there are none.
pub(crate) fn far_gpus(cluster: &Cluster, placement: &Placement) -> Option<FarGpus> {
    let mut found: Option<FarGpus> = None;
    for job in placement.jobs() {
        for (rank, place) in job.ranks.iter().enumerate() {
            let Some((from, to)) = packages(cluster.machine(place.node), place) else { continue };
            let node = &cluster.node(place.node).name;
            let first = || FarGpus {
                ranks: 0,
                of: placement.ranks().filter(|place| !place.gpus.is_empty()).count(),
                first: format!(
                    "rank {rank} on socket L#{from} of {node} has {} on socket L#{to}",
                    place.gpus[0]
                ),
                one_each: has_one_each(cluster, placement),
                cores_per_rank: spread(cluster, placement, place),
            };
            found.get_or_insert_with(first).ranks += 1;
        }
    }
    found
}

/// The package of a rank and that of its GPU, where these differ.
fn packages(machine: &Machine, place: &RankPlacement) -> Option<(usize, usize)> {
    let is_own = |gpu: &&Gpu| place.bound && place.gpus.contains(&gpu.name);
    let own: Vec<&Gpu> = machine.gpus.iter().filter(is_own).collect();
    let gpu = own.iter().find(|gpu| place.gpus.first() == Some(&gpu.name))?;
    let beside = machine.packages_beside();
    let of = |gpu: &Gpu| -> Vec<usize> {
        gpu.near.iter().filter_map(|numa| beside[numa.index()]).collect()
    };
    let of_cores = || place.cores.iter().map(|core| machine.cores[core.index()].package);
    let near =
        |gpu: &&Gpu| gpu.near.is_empty() || of_cores().any(|package| of(gpu).contains(&package));
    (!own.iter().any(near)).then_some(())?;
    Some((of_cores().next()?, *of(gpu).first()?))
}

fn has_one_each(cluster: &Cluster, placement: &Placement) -> bool {
    let gpus: usize = cluster.node_ids().map(|node| cluster.machine(node).gpus.len()).sum();
    placement.ranks().count() <= gpus
}

fn spread(cluster: &Cluster, placement: &Placement, place: &RankPlacement) -> Option<usize> {
    let group = cluster.group(place.node);
    let free = group.machine.pus.iter().zip(&group.free).filter(|(_, free)| **free);
    let mut cores: Vec<_> = free.map(|(pu, _)| pu.core).collect();
    cores.dedup();
    let ranks = placement.ranks().filter(|other| other.node == place.node).count();
    Some(cores.len() / ranks.max(1)).filter(|each| *each > place.cores.len())
}

impl FarGpus {
    /// `2 of 4 ranks are on another socket than their GPU (rank 2 ...)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { ranks, of, first, .. } = self;
        let verb = if *ranks == 1 { "is" } else { "are" };
        format!(
            "{ranks} of {} {verb} on another socket than their GPU ({first})",
            counted(*of, "rank")
        )
    }

    /// The way out.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self.cores_per_rank {
            _ if self.one_each => {
                "`--ranks-per-gpu 1` puts each rank on cores beside its GPU".to_owned()
            }
            Some(cores) => {
                format!("`--cores-per-rank {cores}` spreads the ranks of a node over its sockets")
            }
            None => "place fewer ranks on each node, or leave only the cores beside the GPUs free \
                     (`free` in the cluster.toml)"
                .to_owned(),
        }
    }
}

//! The core on which the models and the simulator assume each rank to run.

use super::{Placement, RankPlacement};
use crate::cluster::{Cluster, Machine};
use crate::ids::CoreId;

impl Placement {
    /// By [`GlobalRank`](crate::ids::GlobalRank): the first core (L#) of a bound rank. Where an unbound
    /// rank runs is up to the operating system; unbound ranks are assumed to be spread over the cores
    /// of their node, over all NUMA nodes in turn.
    ///
    /// # Panics
    /// If the placement is for another cluster.
    #[must_use]
    pub(crate) fn homes(&self, cluster: &Cluster) -> Vec<CoreId> {
        homes(cluster, self.ranks().map(|place| (place, place.bound)))
    }
}

/// [`Placement::homes`] of ranks at these places, each with whether it is bound.
///
/// # Panics
/// If a node or core is not in the cluster.
pub(crate) fn homes<'a>(
    cluster: &Cluster,
    places: impl Iterator<Item = (&'a RankPlacement, bool)>,
) -> Vec<CoreId> {
    // By node.
    let mut turns = vec![0_usize; cluster.nodes.len()];
    let home = |(place, bound): (&RankPlacement, bool)| {
        if bound {
            return place.cores.first().copied().unwrap_or(CoreId(0));
        }
        let turn = &mut turns[place.node.index()];
        *turn += 1;
        // Most slots are one core.
        if let [only] = place.cores[..] {
            return only;
        }
        let cores = in_turn(cluster.machine(place.node), &place.cores);
        cores.get((*turn - 1) % cores.len().max(1)).copied().unwrap_or(CoreId(0))
    };
    places.map(home).collect()
}

/// The cores, one of each NUMA node in turn.
fn in_turn(machine: &Machine, cores: &[CoreId]) -> Vec<CoreId> {
    let mut taken = vec![0_usize; machine.numa_nodes.len()];
    let mut ordered: Vec<(usize, usize, CoreId)> = Vec::with_capacity(cores.len());
    for core in cores {
        let numa = machine.cores[core.index()].numa.index();
        ordered.push((taken[numa], numa, *core));
        taken[numa] += 1;
    }
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, _, core)| core).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::built_in;
    use crate::placement::{Granularity, JobShape, slots};

    #[test]
    fn unbound_ranks_are_spread_over_the_memories() {
        let cluster = built_in::find("paper:2009-placement").unwrap().cluster();
        let slots = slots(&cluster, Granularity::Cores(1), 12).unwrap();
        let shape = JobShape { name: "j".to_owned(), ranks: 12 };
        let slot_of: Vec<usize> = (0..12).rev().collect();
        let placement = Placement::from_slots(&cluster, &[shape], "x", &slots, &slot_of).unwrap();
        let bound: Vec<u32> = placement.homes(&cluster).iter().map(|core| core.0).collect();
        assert_eq!(bound, [3, 2, 1, 0, 7, 6, 5, 4, 3, 2, 1, 0]);
        let unbound = placement.unbound(&cluster);
        let homes: Vec<u32> = unbound.homes(&cluster).iter().map(|core| core.0).collect();
        assert_eq!(homes, [0, 2, 4, 6, 0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(unbound.jobs()[0].ranks[11].pus.len(), 8);
        assert!(unbound.ranks().all(|place| !place.bound && place.numa.is_none()));
    }
}

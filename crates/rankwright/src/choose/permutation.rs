//! Side effects of a reordering of ranks: on collective operations and on the ranks of a node.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::Cluster;
use crate::estimate::{CollectiveCost, CollectivePrices};
use crate::ids::Rank;
use crate::map::{GroupOrigin, NodeGroups};
use crate::placement::{Granularity, JobShape, Placement, PlacementError, slots};
use crate::traffic::{Job, Workload};

/// The side effects of a placement against block order, the launcher's default, which programs often
/// expect.
#[derive(Debug, Clone, PartialEq)]
pub struct PermutationEffects {
    /// The cost of collective operations; `None` if none are known.
    pub collectives: Option<CollectiveEffects>,
    /// Number of ranks.
    pub ranks: usize,
    /// Number of ranks that share their node with other ranks of their job than expected.
    pub changed_ranks: usize,
    /// The origin of the expected node groups.
    pub expected: GroupOrigin,
    /// Names of the jobs that have a communicator for the ranks of each host, and so depend on the
    /// node groups.
    pub aware_jobs: Vec<String>,
}

/// The cost of collective operations, whose algorithms follow the order of the ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveEffects {
    /// Under the placement.
    pub placed: CollectiveCost,
    /// In block order.
    pub in_block_order: CollectiveCost,
}

impl PermutationEffects {
    /// The effects of a placement of a workload.
    ///
    /// # Errors
    /// If there are more ranks than slots, so that block order is impossible.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        granularity: Granularity,
        placement: &Placement,
    ) -> Result<Self, PlacementError> {
        let groups = NodeGroups::expected(cluster, workload, granularity.clone())?;
        let prices = CollectivePrices::new(workload);
        let collectives = (!prices.is_empty()).then(|| {
            let in_block_order = block_order(cluster, workload, granularity)?;
            Ok(CollectiveEffects {
                placed: prices.cost(cluster, placement),
                in_block_order: prices.cost(cluster, &in_block_order),
            })
        });
        let aware = workload.jobs.iter().filter(|job| has_communicators_of_hosts(job));
        Ok(Self {
            collectives: collectives.transpose()?,
            ranks: workload.rank_count(),
            changed_ranks: groups.changed(placement),
            expected: groups.origin(),
            aware_jobs: aware.map(|job| job.name.clone()).collect(),
        })
    }
}

/// The placement in block order.
fn block_order(
    cluster: &Cluster,
    workload: &Workload,
    granularity: Granularity,
) -> Result<Placement, PlacementError> {
    let ranks = workload.rank_count();
    let slots = slots(cluster, granularity, ranks)?;
    let slot_of: Vec<usize> = (0..ranks).collect();
    Placement::from_slots(cluster, &JobShape::of(workload), "blocked", &slots, &slot_of)
}

/// Whether a job was recorded on several hosts, and every host with several ranks has a
/// communicator of just these.
fn has_communicators_of_hosts(job: &Job) -> bool {
    let mut on_hosts: BTreeMap<&str, BTreeSet<Rank>> = BTreeMap::new();
    for (rank, host) in job.seen.hosts.iter().enumerate() {
        on_hosts.entry(host).or_default().insert(Rank::from_index(rank));
    }
    let members: BTreeSet<BTreeSet<Rank>> = job
        .collectives
        .communicators
        .iter()
        .map(|communicator| communicator.members.iter().copied().flatten().collect())
        .collect();
    let mut shared = on_hosts.values().filter(|ranks| ranks.len() > 1).peekable();
    on_hosts.len() > 1 && shared.peek().is_some() && shared.all(|ranks| members.contains(ranks))
}

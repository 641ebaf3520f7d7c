//! Which ranks share a node, where that must not change: programs that look for the ranks of their node
//! (`MPI_Comm_split_type`, shared windows, a GPU by local rank, files per node) would notice.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::ids::{GlobalRank, JobId, NodeId};
use crate::placement::{Granularity, Placement, PlacementError, Slot, slots};
use crate::traffic::Workload;

/// The ranks of each job in groups that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGroups {
    origin: GroupOrigin,
    groups: Vec<NodeGroup>,
    /// Positions in `groups`. Index: [`GlobalRank`].
    group_of: Vec<usize>,
}

/// Ranks of one job that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeGroup {
    pub(super) job: JobId,
    /// Ascending.
    pub(super) ranks: Vec<GlobalRank>,
    /// The host they were on, or their node in block order.
    pub(super) host: String,
}

/// Where groups come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupOrigin {
    /// Ranks in order, node after node: the launcher's default.
    BlockOrder,
    /// The hosts of recorded runs; jobs without them in block order.
    Recorded,
}

impl GroupOrigin {
    /// Whether the groups are those of recorded runs.
    #[must_use]
    pub fn is_recorded(self) -> bool {
        self == Self::Recorded
    }
}

impl NodeGroups {
    /// The groups of ranks in order, one on each of these slots.
    #[must_use]
    pub fn in_block_order(cluster: &Cluster, workload: &Workload, slots: &[Slot]) -> Self {
        Self::by_host(GroupOrigin::BlockOrder, workload, &block_hosts(cluster, slots))
    }

    /// The groups of the hosts that the jobs were recorded on; those of jobs without recorded hosts, or
    /// that ran on one host, are as in block order. `None` if that is so for all.
    #[must_use]
    pub fn recorded(cluster: &Cluster, workload: &Workload, slots: &[Slot]) -> Option<Self> {
        let mut hosts = block_hosts(cluster, slots);
        let mut any_recorded = false;
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            let seen = &job.seen.hosts;
            if seen.len() == job.ranks as usize && seen.iter().any(|host| *host != seen[0]) {
                any_recorded = true;
                hosts.splice(
                    first.index()..first.index() + seen.len(),
                    seen.iter().map(String::as_str),
                );
            }
        }
        any_recorded.then(|| Self::by_host(GroupOrigin::Recorded, workload, &hosts))
    }

    /// The groups that programs had in their runs: the recorded ones where there are any, else those
    /// of block order.
    ///
    /// # Errors
    /// If there are more ranks than slots.
    pub fn expected(
        cluster: &Cluster,
        workload: &Workload,
        granularity: Granularity,
    ) -> Result<Self, PlacementError> {
        let slots = slots(cluster, granularity, workload.rank_count())?;
        Ok(Self::recorded(cluster, workload, &slots)
            .unwrap_or_else(|| Self::in_block_order(cluster, workload, &slots)))
    }

    /// The groups of ranks with the same host. Index of `host_of`: [`GlobalRank`].
    fn by_host(origin: GroupOrigin, workload: &Workload, host_of: &[&str]) -> Self {
        let mut groups: Vec<NodeGroup> = Vec::new();
        let mut group_of = Vec::with_capacity(host_of.len());
        let offsets = workload.rank_offsets();
        for (job, ranks) in offsets.windows(2).enumerate() {
            let job = JobId::from_index(job);
            let mut group_on: BTreeMap<&str, usize> = BTreeMap::new();
            let ranks = ranks[0].index()..ranks[1].index();
            for (rank, host) in ranks.clone().zip(&host_of[ranks]) {
                let group = *group_on.entry(host).or_insert_with(|| {
                    groups.push(NodeGroup { job, ranks: Vec::new(), host: (*host).to_owned() });
                    groups.len() - 1
                });
                groups[group].ranks.push(GlobalRank::from_index(rank));
                group_of.push(group);
            }
        }
        Self { origin, groups, group_of }
    }

    /// Where the groups come from.
    #[must_use]
    pub fn origin(&self) -> GroupOrigin {
        self.origin
    }

    /// How many groups there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// How many ranks share their node under a placement with other ranks of their job than here.
    #[must_use]
    pub fn changed(&self, placement: &Placement) -> usize {
        let nodes: Vec<NodeId> = placement.ranks().map(|place| place.node).collect();
        self.changed_on(&nodes)
    }

    /// As [`NodeGroups::changed`], from the node of each rank.
    pub(in crate::map) fn changed_on(&self, nodes: &[NodeId]) -> usize {
        let mut sizes: BTreeMap<(JobId, NodeId), usize> = BTreeMap::new();
        for (node, group) in nodes.iter().zip(&self.group_of) {
            *sizes.entry((self.groups[*group].job, *node)).or_default() += 1;
        }
        let kept = |group: &&NodeGroup| {
            let node = nodes[group.ranks[0].index()];
            group.ranks.iter().all(|rank| nodes[rank.index()] == node)
                && sizes[&(group.job, node)] == group.ranks.len()
        };
        let unchanged = self.groups.iter().filter(kept).map(|group| group.ranks.len());
        self.group_of.len() - unchanged.sum::<usize>()
    }

    pub(super) fn groups(&self) -> &[NodeGroup] {
        &self.groups
    }

    /// The position of a rank's group in [`Self::groups`].
    pub(super) fn group_of(&self, rank: GlobalRank) -> usize {
        self.group_of[rank.index()]
    }
}

/// The host of each rank if ranks take these slots in order.
fn block_hosts<'a>(cluster: &'a Cluster, slots: &[Slot]) -> Vec<&'a str> {
    slots.iter().map(|slot| cluster.node(slot.node).name.as_str()).collect()
}

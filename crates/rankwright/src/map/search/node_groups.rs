//! Which ranks share a node, where that is not to change: programs that look for the ranks of their
//! node (`MPI_Comm_split_type`, shared windows, a GPU by local rank, files per node) notice.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::ids::NodeId;
use crate::placement::{Granularity, Placement, PlacementError, Slot, slots};
use crate::traffic::Workload;

/// The ranks of each job in groups that share a node. All ranks of all jobs are counted through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeGroups {
    origin: GroupOrigin,
    groups: Vec<NodeGroup>,
    /// The group of each rank.
    group_of: Vec<usize>,
}

/// Ranks of one job that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct NodeGroup {
    pub(in crate::map) job: usize,
    /// Ascending.
    pub(in crate::map) ranks: Vec<usize>,
    /// The host they were on, or the node where they are in block order.
    pub(in crate::map) host: String,
}

/// Where groups come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupOrigin {
    /// Ranks in their order, node after node, as launchers place them unasked.
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
    /// The groups of ranks in their order on these slots, one each.
    #[must_use]
    pub fn in_block_order(cluster: &Cluster, workload: &Workload, slots: &[Slot]) -> Self {
        Self::of(GroupOrigin::BlockOrder, workload, &block_hosts(cluster, slots))
    }

    /// The groups of the hosts that the jobs were recorded on; those of jobs of which nothing is
    /// known, or that ran on one host, are as in block order. `None` if that is so for all.
    #[must_use]
    pub fn recorded(cluster: &Cluster, workload: &Workload, slots: &[Slot]) -> Option<Self> {
        let mut hosts = block_hosts(cluster, slots);
        let mut known = false;
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            let seen = &job.seen.hosts;
            if seen.len() == job.ranks as usize && seen.iter().any(|host| *host != seen[0]) {
                known = true;
                hosts.splice(first..first + seen.len(), seen.iter().map(String::as_str));
            }
        }
        known.then(|| Self::of(GroupOrigin::Recorded, workload, &hosts))
    }

    /// The groups that programs know from their runs: the recorded ones where there are any, else
    /// those of block order.
    ///
    /// # Errors
    /// If there are more ranks than places.
    pub fn expected(
        cluster: &Cluster,
        workload: &Workload,
        granularity: Granularity,
    ) -> Result<Self, PlacementError> {
        let slots = slots(cluster, granularity, workload.rank_count())?;
        Ok(Self::recorded(cluster, workload, &slots)
            .unwrap_or_else(|| Self::in_block_order(cluster, workload, &slots)))
    }

    /// The groups of ranks with the same host.
    fn of(origin: GroupOrigin, workload: &Workload, host_of: &[&str]) -> Self {
        let mut groups: Vec<NodeGroup> = Vec::new();
        let mut group_of = Vec::with_capacity(host_of.len());
        let offsets = workload.rank_offsets();
        for (job, ranks) in offsets.windows(2).enumerate() {
            let mut known: BTreeMap<&str, usize> = BTreeMap::new();
            for (rank, host) in (ranks[0]..).zip(&host_of[ranks[0]..ranks[1]]) {
                let group = *known.entry(host).or_insert_with(|| {
                    groups.push(NodeGroup { job, ranks: Vec::new(), host: (*host).to_owned() });
                    groups.len() - 1
                });
                groups[group].ranks.push(rank);
                group_of.push(group);
            }
        }
        Self { origin, groups, group_of }
    }

    /// Where they come from.
    #[must_use]
    pub fn origin(&self) -> GroupOrigin {
        self.origin
    }

    /// How many groups there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// How many ranks have other ranks of their job on their node under a placement than here.
    #[must_use]
    pub fn changed(&self, placement: &Placement) -> usize {
        let nodes: Vec<NodeId> = placement.ranks().map(|place| place.node).collect();
        self.changed_on(&nodes)
    }

    /// The same for the node of each rank.
    pub(in crate::map) fn changed_on<N: Copy + Ord>(&self, nodes: &[N]) -> usize {
        let mut sizes: BTreeMap<(usize, N), usize> = BTreeMap::new();
        for (node, group) in nodes.iter().zip(&self.group_of) {
            *sizes.entry((self.groups[*group].job, *node)).or_default() += 1;
        }
        let kept = |group: &&NodeGroup| {
            let node = nodes[group.ranks[0]];
            group.ranks.iter().all(|rank| nodes[*rank] == node)
                && sizes[&(group.job, node)] == group.ranks.len()
        };
        let same: usize = self.groups.iter().filter(kept).map(|group| group.ranks.len()).sum();
        self.group_of.len() - same
    }

    pub(in crate::map) fn groups(&self) -> &[NodeGroup] {
        &self.groups
    }

    pub(in crate::map) fn group_of(&self, rank: usize) -> usize {
        self.group_of[rank]
    }
}

fn block_hosts<'a>(cluster: &'a Cluster, slots: &[Slot]) -> Vec<&'a str> {
    slots.iter().map(|slot| cluster.node(slot.node).name.as_str()).collect()
}

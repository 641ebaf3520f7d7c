//! A node for each group of ranks: bin packing with conflicts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::groups::{GroupOrigin, NodeGroup, NodeGroups};
use crate::cluster::Levels;
use crate::ids::JobId;
use crate::map::Problem;

/// The nodes that have slots; other functions name them by their position here.
pub(super) struct NodeSlots {
    /// The slots of each node, as a range of [`SlotId`](crate::ids::SlotId).
    pub(super) ranges: Vec<Range<usize>>,
    /// The core of the first slot of each node, L# counted over all nodes.
    cores: Vec<usize>,
    levels: Levels,
}

impl NodeSlots {
    pub(super) fn new(problem: &Problem) -> Self {
        let ranges = problem.slots_of_nodes();
        let cores = ranges.iter().map(|range| problem.core(range.start)).collect();
        Self { ranges, cores, levels: problem.levels().clone() }
    }

    /// The node of a slot.
    pub(super) fn of_slot(&self, slot: usize) -> usize {
        self.ranges.partition_point(|range| range.end <= slot)
    }

    /// Whether it makes no difference which group is on which node.
    pub(super) fn are_alike(&self, problem: &Problem) -> bool {
        let node = |range: &Range<usize>| problem.slots()[range.start].node;
        let first = self.ranges.first().map(|range| (node(range), range.len()));
        let is_alike = |range: &Range<usize>| {
            first.is_some_and(|(first, slots)| {
                let nodes = &problem.cluster.nodes;
                nodes[node(range).index()].group == nodes[first.index()].group
                    && nodes[node(range).index()].switch == nodes[first.index()].switch
                    && range.len() == slots
            })
        };
        problem.workload.jobs.len() == 1 && self.ranges.iter().all(is_alike)
    }

    /// A node for each group: the wanted one where the group fits, else the nearest to it, or without
    /// a wanted one the fullest where it fits (best fit decreasing). A node never gets two groups of
    /// a job. For one job this finds nodes whenever they exist.
    pub(super) fn pack(&self, groups: &NodeGroups, wanted: &[Option<usize>]) -> Option<Vec<usize>> {
        let groups = groups.groups();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|group| Reverse(groups[*group].ranks.len()));
        let mut free: Vec<usize> = self.ranges.iter().map(Range::len).collect();
        let mut jobs_on: Vec<BTreeSet<JobId>> = vec![BTreeSet::new(); free.len()];
        let mut node_of = vec![0; groups.len()];
        for group in order {
            let NodeGroup { job, ranks, .. } = &groups[group];
            let fits = |node: &usize| free[*node] >= ranks.len() && !jobs_on[*node].contains(job);
            let fitting = || (0..free.len()).filter(fits);
            let node = match wanted[group] {
                Some(wanted) if fits(&wanted) => Some(wanted),
                Some(wanted) => fitting().min_by_key(|node| self.distance(wanted, *node)),
                None => fitting().min_by_key(|node| free[*node]),
            }?;
            free[node] -= ranks.len();
            jobs_on[node].insert(*job);
            node_of[group] = node;
        }
        Some(node_of)
    }

    fn distance(&self, a: usize, b: usize) -> u64 {
        self.levels.distance(self.cores[a], self.cores[b])
    }

    /// The reason why groups do not fit on the nodes.
    pub(super) fn why_not(&self, problem: &Problem, groups: &NodeGroups) -> String {
        let shared = match groups.origin() {
            GroupOrigin::BlockOrder => "share a node in block order",
            GroupOrigin::Recorded => "shared a host in the recorded run",
        };
        let most = self.ranges.iter().map(Range::len).max().unwrap_or_default();
        let job = |group: &NodeGroup| &problem.workload.jobs[group.job.index()].name;
        let largest = groups.groups().iter().max_by_key(|group| group.ranks.len());
        if let Some(group) = largest.filter(|group| group.ranks.len() > most) {
            let (ranks, host) = (group.ranks.len(), &group.host);
            return format!(
                "{ranks} ranks of job `{}` {shared} ({host}), but no node has more than {most} \
                 slots",
                job(group)
            );
        }
        let mut counts: BTreeMap<JobId, usize> = BTreeMap::new();
        groups.groups().iter().for_each(|group| *counts.entry(group.job).or_default() += 1);
        let nodes = self.ranges.len();
        if let Some((job, count)) = counts.into_iter().find(|(_, count)| *count > nodes) {
            return format!(
                "the ranks of job `{}` come from {count} hosts, but there are {nodes} nodes: ranks \
                 that did not share a node would have to",
                problem.workload.jobs[job.index()].name
            );
        }
        format!("found no nodes where all {} groups of ranks that {shared} fit", groups.count())
    }
}

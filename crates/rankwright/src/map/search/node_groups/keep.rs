//! Any strategy, with the ranks of a node kept together: it maps first the groups among the nodes,
//! then the ranks of each node among its slots.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::groups::{NodeGroup, NodeGroups};
use super::packing::NodeSlots;
use super::quotient::quotient;
use crate::ids::GlobalRank;
use crate::map::{Budget, MapError, Problem, Start};
use crate::placement::{Mapping, PlacementError, Slot};

/// Groups of ranks that have to share a node each, and nodes where they all fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct KeptGroups {
    pub(in crate::map) groups: NodeGroups,
    /// The node of each group, as a position among the nodes with slots.
    start: Vec<usize>,
}

impl KeptGroups {
    /// # Errors
    /// If no nodes are found for all groups.
    pub(in crate::map) fn new(
        problem: &Problem,
        groups: NodeGroups,
    ) -> Result<Self, PlacementError> {
        let nodes = NodeSlots::new(problem);
        let name = |node: &Range<usize>| {
            let node = problem.slots()[node.start].node;
            problem.cluster.node(node).name.as_str()
        };
        let nodes_by_name: BTreeMap<&str, usize> =
            nodes.ranges.iter().map(name).enumerate().map(|(node, name)| (name, node)).collect();
        let recorded = |group: &NodeGroup| nodes_by_name.get(group.host.as_str()).copied();
        let wanted: Vec<Option<usize>> = groups.groups().iter().map(recorded).collect();
        let start = nodes.pack(&groups, &wanted);
        match start.or_else(|| nodes.pack(&groups, &vec![None; wanted.len()])) {
            Some(start) => Ok(Self { groups, start }),
            None => Err(PlacementError::GroupsDoNotFit { why: nodes.why_not(problem, &groups) }),
        }
    }

    /// The slot of each rank; `run` is the strategy.
    pub(in crate::map) fn map(
        &self,
        problem: &Problem,
        budget: &Budget,
        run: &Run,
    ) -> Result<Mapping, MapError> {
        let nodes = NodeSlots::new(problem);
        let count = 1 + self.start.iter().collect::<BTreeSet<_>>().len();
        let node_of = if nodes.are_alike(problem) {
            self.start.clone()
        } else {
            self.among_nodes(problem, &nodes, &Subproblem { budget, number: 0, count, run })?
        };
        let mut slot_of = vec![0; problem.rank_count()];
        let mut groups_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (group, node) in node_of.iter().enumerate() {
            groups_of.entry(*node).or_default().push(group);
        }
        for (number, (node, groups)) in (1..).zip(groups_of) {
            let subproblem = Subproblem { budget, number, count, run };
            let groups = groups.iter().map(|group| &self.groups.groups()[*group]);
            let ranks: Vec<GlobalRank> = groups.flat_map(|group| &group.ranks).copied().collect();
            inside_node(problem, &nodes, node, ranks, &subproblem, &mut slot_of)?;
        }
        Ok(slot_of.into())
    }

    /// The node of each group: the strategy maps groups that are one rank each, on nodes that have
    /// one slot for each job.
    fn among_nodes(
        &self,
        problem: &Problem,
        nodes: &NodeSlots,
        subproblem: &Subproblem,
    ) -> Result<Vec<usize>, MapError> {
        let jobs = problem.workload.jobs.len();
        let (mut slots, mut node_of_slot) = (Vec::new(), Vec::new());
        for (node, range) in nodes.ranges.iter().enumerate() {
            let some = range.start..range.end.min(range.start + jobs);
            node_of_slot.extend(some.clone().map(|_| node));
            slots.extend_from_slice(&problem.slots()[some]);
        }
        let groups = self.groups.groups();
        let workload = quotient(problem.workload, &|rank| Some(self.groups.group_of(rank)));
        let restrict = |slot_of: &[usize]| {
            let mut taken = vec![0; nodes.ranges.len()];
            let slot = |group: &NodeGroup| {
                let node = nodes.of_slot(slot_of[group.ranks[0].index()]);
                taken[node] += 1;
                let first = node_of_slot.partition_point(|other| *other < node);
                first + taken[node] - 1
            };
            groups.iter().map(slot).collect()
        };
        let among = Problem::in_slots(problem.cluster, &workload, slots);
        let slot_of = subproblem.solve(&among, restrict)?;
        let wanted: Vec<Option<usize>> =
            slot_of.iter().map(|slot| node_of_slot.get(*slot).copied()).collect();
        Ok(nodes.pack(&self.groups, &wanted).unwrap_or_else(|| self.start.clone()))
    }
}

/// The strategy.
pub(in crate::map) type Run<'a> = dyn Fn(&Problem, &Budget) -> Result<Mapping, MapError> + 'a;

/// One of the problems that a problem divides into.
struct Subproblem<'a> {
    budget: &'a Budget<'a>,
    /// Its number, from 0.
    number: usize,
    /// The number of subproblems; each gets an equal part of the time.
    count: usize,
    run: &'a Run<'a>,
}

impl Subproblem<'_> {
    /// The mapping by the strategy; `restrict` makes mappings of this problem from those of the whole.
    fn solve(
        &self,
        problem: &Problem,
        mut restrict: impl FnMut(&[usize]) -> Vec<usize>,
    ) -> Result<Vec<usize>, MapError> {
        let starts: Vec<Start> = self
            .budget
            .starts()
            .iter()
            .map(|whole| Start {
                strategy: whole.strategy.clone(),
                mapping: restrict(whole.mapping.as_indices()).into(),
            })
            .filter(|start| problem.check(start.mapping.as_indices()).is_ok())
            .collect();
        let budget = self.budget.part(self.number, self.count).with_starts(&starts);
        let slot_of = (self.run)(problem, &budget)?.into_indices();
        problem.check(&slot_of)?;
        self.budget.count_moves(budget.moves());
        Ok(slot_of)
    }
}

/// Maps the ranks on a node among its slots.
fn inside_node(
    problem: &Problem,
    nodes: &NodeSlots,
    node: usize,
    mut ranks: Vec<GlobalRank>,
    subproblem: &Subproblem,
    slot_of: &mut [usize],
) -> Result<(), MapError> {
    let range = nodes.ranges[node].clone();
    ranks.sort_unstable();
    let workload = quotient(problem.workload, &|rank| ranks.binary_search(&rank).ok());
    let slots: Vec<Slot> = problem.slots()[range.clone()].to_vec();
    let inside = Problem::in_slots(problem.cluster, &workload, slots);
    // The slot within the node on which a mapping has the rank, whichever node that is.
    let restrict = |slot_of: &[usize]| {
        let local = |rank: &GlobalRank| {
            let slot = slot_of[rank.index()];
            slot - nodes.ranges[nodes.of_slot(slot)].start
        };
        ranks.iter().map(local).collect()
    };
    let local_slots = subproblem.solve(&inside, restrict)?;
    for (rank, slot) in ranks.iter().zip(local_slots) {
        slot_of[rank.index()] = range.start + slot;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::cluster::read::synthetic;
    use crate::cluster::{Cluster, ClusterDescription, NodeGroup, Switch};
    use crate::ids::SlotId;
    use crate::map::find;
    use crate::placement::Granularity;
    use crate::traffic::{Job, Workload};

    /// Two nodes of four cores, each at a switch of its own.
    fn two_nodes() -> Cluster {
        let machine = synthetic::parse("core:4 pu:1").unwrap();
        let names = vec!["a".to_owned(), "b".to_owned()];
        let group = NodeGroup::all_free(machine);
        let mut description = ClusterDescription::uniform("two", names, group);
        let switch = |name: &str| Switch { name: name.to_owned(), parent: None, uplink: None };
        description.switches = vec![switch("left"), switch("right")];
        description.nodes[0].switch = Some(0);
        description.nodes[1].switch = Some(1);
        description.build().unwrap()
    }

    #[test]
    fn starts_time_and_moves_are_divided() {
        let cluster = two_nodes();
        let workload = Workload::single(Job::new("job", 8, []).unwrap());
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let groups = NodeGroups::in_block_order(&cluster, &workload, problem.slots());
        let kept = KeptGroups::new(&problem, groups).unwrap();
        // The nodes change places, and the ranks inside them.
        let slot_of: Vec<usize> = (0..8).rev().collect();
        let strategy = "cyclic".parse().unwrap();
        let starts = [Start { strategy, mapping: slot_of.clone().into() }];
        let half = || 0.5;
        let budget = Budget::default().with_starts(&starts).with_clock(&half);
        let passed = Mutex::new(Vec::new());
        let run = |_: &Problem, budget: &Budget| {
            budget.count_moves(10);
            passed.lock().unwrap().push(budget.time_passed());
            let cyclic = find("cyclic").unwrap();
            Ok(budget.start(cyclic).expect("a mapping of this subproblem").clone())
        };
        assert_eq!(kept.map(&problem, &budget, &run).unwrap().as_indices(), slot_of);
        assert_eq!(budget.moves(), 30);
        // Half of the time of three parts is over: the first is through, the second in the middle.
        assert_eq!(*passed.lock().unwrap(), [Some(1.5), Some(0.5), Some(0.0)]);
    }

    #[test]
    fn a_mapping_that_brings_groups_together_is_repaired() {
        let cluster = two_nodes();
        let mut workload = Workload::default();
        for name in ["a", "b"] {
            workload.push(Job::new(name, 4, []).unwrap());
        }
        let hosts = |job: &mut Job| job.seen.hosts = ["x", "x", "y", "y"].map(str::to_owned).into();
        workload.jobs.iter_mut().for_each(hosts);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let groups = NodeGroups::recorded(&cluster, &workload, problem.slots()).unwrap();
        let problem = problem.keeping(groups).unwrap();
        // Ranks in order: both groups of the first job on the first node.
        let run = |part: &Problem, _: &Budget| {
            Ok((0..part.rank_count()).map(SlotId::from_index).collect())
        };
        let kept = problem.kept_groups().unwrap();
        let mapping = kept.map(&problem, &Budget::default(), &run).unwrap();
        assert_eq!(problem.check(mapping.as_indices()), Ok(()));
    }
}

//! Any strategy, with the ranks of a node kept together: it maps first the groups among the nodes,
//! then the ranks of each node among its places.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::node_groups::{GroupOrigin, NodeGroup, NodeGroups};
use crate::cluster::Levels;
use crate::ids::Rank;
use crate::map::{Budget, Known, MapError, Problem};
use crate::placement::{PlacementError, Slot};
use crate::traffic::{Flow, Job, Send, Source, Workload};

/// Groups of ranks that have to share a node each, and nodes where they all fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct KeptGroups {
    pub(in crate::map) groups: NodeGroups,
    /// The node of each group, by position among those with slots.
    start: Vec<usize>,
}

impl KeptGroups {
    /// # Errors
    /// If no nodes are found for all groups.
    pub(in crate::map) fn new(
        problem: &Problem,
        groups: NodeGroups,
    ) -> Result<Self, PlacementError> {
        let nodes = Nodes::new(problem);
        let name = |node: &Range<usize>| {
            let node = problem.slots()[node.start].node;
            problem.cluster.node(node).name.as_str()
        };
        let names: BTreeMap<&str, usize> =
            nodes.ranges.iter().enumerate().map(|(at, node)| (name(node), at)).collect();
        let home = |group: &NodeGroup| names.get(group.host.as_str()).copied();
        let homes: Vec<Option<usize>> = groups.groups().iter().map(home).collect();
        let found = nodes.assign(&groups, &homes);
        let found = found.or_else(|| nodes.assign(&groups, &vec![None; homes.len()]));
        match found {
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
    ) -> Result<Vec<usize>, MapError> {
        let nodes = Nodes::new(problem);
        let parts = 1 + self.start.iter().collect::<BTreeSet<_>>().len();
        let node_of = if nodes.are_alike(problem) {
            self.start.clone()
        } else {
            self.among_nodes(problem, &nodes, &Part { budget, number: 0, parts, run })?
        };
        let mut slot_of = vec![0; problem.rank_count()];
        let mut groups_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (group, node) in node_of.iter().enumerate() {
            groups_of.entry(*node).or_default().push(group);
        }
        for (number, (node, groups)) in (1..).zip(groups_of) {
            let part = Part { budget, number, parts, run };
            let groups = groups.iter().map(|group| &self.groups.groups()[*group]);
            let ranks: Vec<usize> = groups.flat_map(|group| &group.ranks).copied().collect();
            inside_node(problem, &nodes, node, &ranks, &part, &mut slot_of)?;
        }
        Ok(slot_of)
    }

    /// The node of each group: what the strategy makes of groups that are one rank each, on nodes
    /// that have one place for each job.
    fn among_nodes(
        &self,
        problem: &Problem,
        nodes: &Nodes,
        part: &Part,
    ) -> Result<Vec<usize>, MapError> {
        let jobs = problem.workload.jobs.len();
        let (mut slots, mut node_of_slot) = (Vec::new(), Vec::new());
        for (node, range) in nodes.ranges.iter().enumerate() {
            let some = range.start..range.end.min(range.start + jobs);
            node_of_slot.extend(some.clone().map(|_| node));
            slots.extend_from_slice(&problem.slots()[some]);
        }
        let groups = self.groups.groups();
        let condensed = regrouped(problem.workload, &|rank| Some(self.groups.group_of(rank)));
        let known = |slot_of: &[usize]| {
            let mut taken = vec![0; nodes.ranges.len()];
            let slot = |group: &NodeGroup| {
                let node = nodes.of_slot(slot_of[group.ranks[0]]);
                taken[node] += 1;
                let first = node_of_slot.partition_point(|known| *known < node);
                first + taken[node] - 1
            };
            groups.iter().map(slot).collect()
        };
        let sub = Problem::in_slots(problem.cluster, &condensed, slots);
        let answer = part.answer(&sub, known)?;
        let wanted: Vec<Option<usize>> =
            answer.iter().map(|slot| node_of_slot.get(*slot).copied()).collect();
        Ok(nodes.assign(&self.groups, &wanted).unwrap_or_else(|| self.start.clone()))
    }
}

/// The strategy.
pub(in crate::map) type Run<'a> = dyn Fn(&Problem, &Budget) -> Result<Vec<usize>, MapError> + 'a;

/// One of the problems that a problem falls into.
struct Part<'a> {
    budget: &'a Budget<'a>,
    number: usize,
    /// How many there are; each gets the same time.
    parts: usize,
    run: &'a Run<'a>,
}

impl Part<'_> {
    /// What the strategy answers; `known` makes answers of this problem from those of the whole.
    fn answer(
        &self,
        problem: &Problem,
        mut known: impl FnMut(&[usize]) -> Vec<usize>,
    ) -> Result<Vec<usize>, MapError> {
        let known: Vec<Known> = self
            .budget
            .all_known()
            .iter()
            .map(|one| Known { strategy: one.strategy.clone(), slot_of: known(&one.slot_of) })
            .filter(|one| problem.check(&one.slot_of).is_ok())
            .collect();
        let budget = self.budget.part(self.number, self.parts).with_known(&known);
        let answer = (self.run)(problem, &budget)?;
        problem.check(&answer)?;
        self.budget.count_moves(budget.moves());
        Ok(answer)
    }
}

/// Maps ranks that are on a node among its slots.
fn inside_node(
    problem: &Problem,
    nodes: &Nodes,
    node: usize,
    ranks: &[usize],
    part: &Part,
    slot_of: &mut [usize],
) -> Result<(), MapError> {
    let range = nodes.ranges[node].clone();
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    let position = |rank: usize| ranks.binary_search(&rank).ok();
    let workload = regrouped(problem.workload, &position);
    let slots: Vec<Slot> = problem.slots()[range.clone()].to_vec();
    let sub = Problem::in_slots(problem.cluster, &workload, slots);
    // The place within whichever node an answer had the rank on.
    let known = |slot_of: &[usize]| {
        let place = |rank: &usize| {
            let slot = slot_of[*rank];
            slot - nodes.ranges[nodes.of_slot(slot)].start
        };
        ranks.iter().map(place).collect()
    };
    let answer = part.answer(&sub, known)?;
    for (rank, slot) in ranks.iter().zip(answer) {
        slot_of[*rank] = range.start + slot;
    }
    Ok(())
}

/// The workload of some ranks, or of groups of ranks: `number` counts them over all jobs, those of
/// each job together and after those of the jobs before it. What passes within one, or to a rank
/// without a number, is left out.
fn regrouped(workload: &Workload, number: &dyn Fn(usize) -> Option<usize>) -> Workload {
    let mut first_number = 0;
    let mut regrouped = Workload { name: workload.name.clone(), jobs: Vec::new() };
    for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
        let of = |rank: Rank| {
            let number = number(first + rank.index())?;
            Some(Rank::from_index(number - first_number))
        };
        let ranks = (0..job.ranks).filter_map(|rank| of(Rank(rank)));
        let Some(last) = ranks.max() else { continue };
        let ranks = last.0 + 1;
        let flows = job.flows.iter().filter_map(|flow| {
            let (source, destination) = (of(flow.source)?, of(flow.destination)?);
            (source != destination).then_some(Flow { source, destination, ..*flow })
        });
        let sources = job.sources.iter().filter_map(|source| {
            let rank = of(source.rank)?;
            let send = |send: &Send| Some(Send { destination: of(send.destination)?, ..*send });
            let sends: Vec<Send> =
                source.sends.iter().filter_map(send).filter(|s| s.destination != rank).collect();
            (!sends.is_empty()).then_some(Source { rank, sends, ..source.clone() })
        });
        let by_clocks = Job::from_sources(job.name.clone(), ranks, sources.collect());
        let by_clocks = by_clocks.ok().filter(|_| !job.sources.is_empty());
        let made = by_clocks.or_else(|| Job::new(job.name.clone(), ranks, flows).ok());
        regrouped.jobs.extend(made);
        first_number += ranks as usize;
    }
    regrouped
}

/// The nodes that have slots.
struct Nodes {
    /// The slots of each.
    ranges: Vec<Range<usize>>,
    /// How far a node is from another.
    cores: Vec<usize>,
    levels: Levels,
}

impl Nodes {
    fn new(problem: &Problem) -> Self {
        let ranges = problem.slots_of_nodes();
        let cores = ranges.iter().map(|range| problem.core(range.start)).collect();
        Self { ranges, cores, levels: problem.levels().clone() }
    }

    fn of_slot(&self, slot: usize) -> usize {
        self.ranges.partition_point(|range| range.end <= slot)
    }

    /// Whether it makes no difference which group is on which node.
    fn are_alike(&self, problem: &Problem) -> bool {
        let node = |range: &Range<usize>| problem.slots()[range.start].node;
        let first = self.ranges.first().map(|range| (node(range), range.len()));
        let alike = |range: &Range<usize>| {
            first.is_some_and(|(first, places)| {
                let nodes = &problem.cluster.nodes;
                nodes[node(range).index()].group == nodes[first.index()].group
                    && nodes[node(range).index()].switch == nodes[first.index()].switch
                    && range.len() == places
            })
        };
        problem.workload.jobs.len() == 1 && self.ranges.iter().all(alike)
    }

    /// A node for each group, the wanted one where it can be: no group is divided, and no two of
    /// a job come together. The largest groups choose first; for one job that finds nodes whenever
    /// there are some.
    fn assign(&self, groups: &NodeGroups, wanted: &[Option<usize>]) -> Option<Vec<usize>> {
        let groups = groups.groups();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|group| Reverse(groups[*group].ranks.len()));
        let mut room: Vec<usize> = self.ranges.iter().map(Range::len).collect();
        let mut jobs_of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); room.len()];
        let mut node_of = vec![0; groups.len()];
        for group in order {
            let NodeGroup { job, ranks, .. } = &groups[group];
            let fits = |node: &usize| room[*node] >= ranks.len() && !jobs_of[*node].contains(job);
            let others = || (0..room.len()).filter(fits);
            let node = match wanted[group] {
                Some(wanted) if fits(&wanted) => Some(wanted),
                Some(wanted) => others().min_by_key(|node| self.distance(wanted, *node)),
                None => others().min_by_key(|node| room[*node]),
            }?;
            room[node] -= ranks.len();
            jobs_of[node].insert(*job);
            node_of[group] = node;
        }
        Some(node_of)
    }

    fn distance(&self, a: usize, b: usize) -> u64 {
        self.levels.distance(self.cores[a], self.cores[b])
    }

    /// Why there are no nodes for all groups.
    fn why_not(&self, problem: &Problem, groups: &NodeGroups) -> String {
        let shared = match groups.origin() {
            GroupOrigin::BlockOrder => "share a node in block order",
            GroupOrigin::Recorded => "shared a host in the recorded run",
        };
        let most = self.ranges.iter().map(Range::len).max().unwrap_or_default();
        let job = |group: &NodeGroup| &problem.workload.jobs[group.job].name;
        let largest = groups.groups().iter().max_by_key(|group| group.ranks.len());
        if let Some(group) = largest.filter(|group| group.ranks.len() > most) {
            let (ranks, host) = (group.ranks.len(), &group.host);
            return format!(
                "{ranks} ranks of job `{}` {shared} ({host}), but no node has room for more than \
                 {most}",
                job(group)
            );
        }
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        groups.groups().iter().for_each(|group| *counts.entry(group.job).or_default() += 1);
        let nodes = self.ranges.len();
        if let Some((job, count)) = counts.into_iter().find(|(_, count)| *count > nodes) {
            return format!(
                "the ranks of job `{}` come from {count} hosts, but there are {nodes} nodes: ranks \
                 that did not share a node would have to",
                problem.workload.jobs[job].name
            );
        }
        format!("found no nodes where all {} groups of ranks that {shared} fit", groups.count())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::cluster::read::synthetic;
    use crate::cluster::{Cluster, ClusterDescription, NodeGroup, Switch};
    use crate::placement::Granularity;

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
    fn known_answers_time_and_moves_are_divided() {
        let cluster = two_nodes();
        let workload = Workload::single(Job::new("job", 8, []).unwrap());
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let groups = NodeGroups::in_block_order(&cluster, &workload, problem.slots());
        let kept = KeptGroups::new(&problem, groups).unwrap();
        // The nodes change places, and the ranks inside them.
        let slot_of: Vec<usize> = (0..8).rev().collect();
        let known = [Known { strategy: "other".to_owned(), slot_of: slot_of.clone() }];
        let half = || 0.5;
        let budget = Budget::default().with_known(&known).with_clock(&half);
        let passed = Mutex::new(Vec::new());
        let run = |_: &Problem, budget: &Budget| {
            budget.count_moves(10);
            passed.lock().unwrap().push(budget.time_passed());
            Ok(budget.known("other").expect("an answer of this part").to_vec())
        };
        assert_eq!(kept.map(&problem, &budget, &run).unwrap(), slot_of);
        assert_eq!(budget.moves(), 30);
        // Half of the time of three parts is over: the first is through, the second in the middle.
        assert_eq!(*passed.lock().unwrap(), [Some(1.5), Some(0.5), Some(0.0)]);
    }

    #[test]
    fn an_answer_that_brings_groups_together_is_mended() {
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
        // As many ranks as there are, one after the other: both groups of the first job on the
        // first node.
        let run = |part: &Problem, _: &Budget| Ok((0..part.rank_count()).collect());
        let kept = problem.kept_groups().unwrap();
        let slot_of = kept.map(&problem, &Budget::default(), &run).unwrap();
        assert_eq!(problem.check(&slot_of), Ok(()));
    }
}

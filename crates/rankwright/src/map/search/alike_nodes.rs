//! Nodes that are alike: of many free ones a search needs only some.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::problem::Problem;
use crate::cluster::Cluster;
use crate::placement::{Mapping, Slot};

/// With fewer nodes a search takes no longer for those that it does not need.
const MANY_NODES: usize = 128;

/// A problem with the slots of some nodes only.
pub(in crate::map) struct FewerNodes<'a> {
    pub(in crate::map) problem: Problem<'a>,
    /// By slot of `problem`: the slot of the whole problem, ascending.
    whole: Vec<usize>,
}

impl<'a> FewerNodes<'a> {
    /// Of nodes that are alike the first ones, as many as there are ranks, and those that a start uses.
    /// A mapping to other nodes has an equal one to these. `None` where that leaves out no node, where
    /// the cluster is small, and where ranks share slots or have to share nodes.
    pub(in crate::map) fn new(problem: &Problem<'a>, starts: &[Mapping]) -> Option<Self> {
        let nodes = problem.slots_of_nodes();
        if nodes.len() <= MANY_NODES || problem.limit() != 1 || problem.kept_groups().is_some() {
            return None;
        }
        let mut used = vec![false; problem.slots().len()];
        for slot in starts.iter().flat_map(Mapping::as_indices) {
            used[*slot] = true;
        }
        let kinds = kinds_of_nodes(problem.cluster, problem.slots(), &nodes);
        let mut seen = vec![0_usize; nodes.len()];
        let mut whole = Vec::new();
        for (slots, kind) in nodes.into_iter().zip(kinds) {
            seen[kind] += 1;
            if seen[kind] <= problem.rank_count() || used[slots.clone()].contains(&true) {
                whole.extend(slots);
            }
        }
        let fewer = whole.len() < problem.slots().len();
        fewer.then(|| Self { problem: problem.in_part(&whole), whole })
    }

    /// The slots of the whole problem as those of [`FewerNodes::problem`]; `None` for a mapping to other
    /// nodes.
    pub(in crate::map) fn part_of(&self, mapping: &Mapping) -> Option<Mapping> {
        let slots = mapping.as_indices().iter();
        let slots: Option<Vec<usize>> =
            slots.map(|slot| self.whole.binary_search(slot).ok()).collect();
        slots.map(Mapping::from)
    }

    /// The slots of [`FewerNodes::problem`] as those of the whole problem.
    pub(in crate::map) fn whole_of(&self, mapping: &Mapping) -> Mapping {
        let slots = mapping.as_indices().iter();
        slots.map(|slot| self.whole[*slot]).collect::<Vec<usize>>().into()
    }
}

/// By node, a position in [`Problem::slots_of_nodes`]: its kind.
fn kinds_of_nodes(cluster: &Cluster, slots: &[Slot], nodes: &[Range<usize>]) -> Vec<usize> {
    let mut kinds: HashMap<(usize, usize, u32, usize), usize> = HashMap::new();
    let switch_kinds = kinds_of_switches(cluster);
    let kind = |slots_of_node: &Range<usize>| {
        let first = &slots[slots_of_node.start];
        let node = &cluster.nodes[first.node.index()];
        let above = node.switch.map_or(usize::MAX, |switch| switch_kinds[switch]);
        let next = kinds.len();
        *kinds.entry((node.group, slots_of_node.len(), first.class, above)).or_insert(next)
    };
    nodes.iter().map(kind).collect()
}

/// By switch: its kind. Switches of a kind have the same link upwards, as many nodes of each type below
/// them, and switches of one kind above them.
fn kinds_of_switches(cluster: &Cluster) -> Vec<usize> {
    let mut below: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); cluster.switches.len()];
    for node in &cluster.nodes {
        let mut switch = node.switch;
        while let Some(index) = switch {
            *below[index].entry(node.group).or_default() += 1;
            switch = cluster.switches[index].parent;
        }
    }
    let mut kinds = HashMap::new();
    let mut kind_of = vec![0_usize; below.len()];
    // A switch comes before the one above it.
    for (index, (switch, below)) in cluster.switches.iter().zip(below).enumerate().rev() {
        let above = switch.parent.map(|parent| kind_of[parent]);
        let uplink = switch.uplink.map(|rate| rate.0.to_bits());
        let next = kinds.len();
        kind_of[index] = *kinds.entry((above, uplink, below)).or_insert(next);
    }
    kind_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::{synthetic, toml};
    use crate::cluster::{ClusterDescription, NodeGroup};
    use crate::placement::Granularity;
    use crate::traffic::Workload;
    use crate::traffic::generate::pattern::Pattern;

    fn ring(ranks: usize) -> Workload {
        let job = Pattern::parse(&format!("ring:{ranks}")).unwrap().job().unwrap();
        Workload { name: "ring".to_owned(), jobs: vec![job] }
    }

    /// The nodes that are left, by number.
    fn left(fewer: &FewerNodes) -> Vec<usize> {
        let mut nodes: Vec<usize> =
            fewer.problem.slots().iter().map(|slot| slot.node.index()).collect();
        nodes.dedup();
        nodes
    }

    #[test]
    fn as_many_alike_nodes_as_ranks_and_the_used_ones_are_left() {
        let group = NodeGroup::all_free(synthetic::parse("core:4 pu:1").unwrap());
        let names = (0..300).map(|node| format!("n{node}")).collect();
        let cluster = ClusterDescription::uniform("alike", names, group).build().unwrap();
        let workload = ring(8);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let start = Mapping::from(vec![0, 1, 2, 3, 4 * 250, 4 * 250 + 1, 4 * 299, 5]);
        let fewer = FewerNodes::new(&problem, std::slice::from_ref(&start)).unwrap();
        assert_eq!(left(&fewer), [0, 1, 2, 3, 4, 5, 6, 7, 250, 299]);
        let part = fewer.part_of(&start).unwrap();
        assert_eq!(part.as_indices(), [0, 1, 2, 3, 32, 33, 36, 5]);
        assert_eq!(fewer.whole_of(&part), start);
        // A slot of a node that was left out.
        assert_eq!(fewer.part_of(&Mapping::from(vec![400; 8])), None);
    }

    #[test]
    fn nodes_below_switches_that_differ_are_not_alike() {
        let cluster = r#"
            [[node]]
            names = "n[000-299]"
            topology = "core:4 pu:1"
            [[switch]]
            name = "slow"
            nodes = "n[000-149]"
            uplink = "1 GB/s"
            [[switch]]
            name = "fast"
            nodes = "n[150-299]"
            uplink = "8 GB/s"
            [[switch]]
            name = "top"
            switches = "slow,fast"
        "#;
        let cluster = toml::parse(cluster, "c.toml", std::path::Path::new("")).unwrap();
        let workload = ring(2);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let start = Mapping::from(vec![0, 1]);
        let fewer = FewerNodes::new(&problem, &[start]).unwrap();
        assert_eq!(left(&fewer), [0, 1, 150, 151]);
    }

    #[test]
    fn of_a_small_cluster_all_nodes_are_left() {
        let group = NodeGroup::all_free(synthetic::parse("core:4 pu:1").unwrap());
        let names = (0..MANY_NODES).map(|node| format!("n{node}")).collect();
        let cluster = ClusterDescription::uniform("small", names, group).build().unwrap();
        let workload = ring(2);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        assert!(FewerNodes::new(&problem, &[Mapping::from(vec![0, 1])]).is_none());
    }
}

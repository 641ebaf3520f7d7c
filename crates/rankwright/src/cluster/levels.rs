//! The hardware that two cores share: a core, cache, NUMA node, package, node, switch, or only the
//! cluster; and the number of hops between them.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::{Cluster, Core};
use crate::ids::{CoreId, NodeId};

/// The levels of a cluster, from the core up. Each level divides all cores into groups, and every
/// group lies within one group of the level above.
///
/// A level with the same groups as its neighbour is left out: a NUMA node that is a whole package
/// is only a package here. Where the hardware does not nest (a cache that spans two NUMA nodes in
/// one node type and lies within one in another), the finer level is split at the borders of the
/// coarser one.
///
/// Here, cores are numbered over all nodes: see [`Levels::core`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    levels: Vec<Level>,
    /// By [`NodeId`]: the number of the node's first core.
    first_core: Vec<usize>,
    core_count: usize,
}

/// One of the [`Levels`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    kind: LevelKind,
    distance: u64,
    /// By core: its group, numbered from 0 in the order of the groups' first cores.
    group_of: Vec<u32>,
    group_count: usize,
}

/// The hardware that the cores of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LevelKind {
    /// The core.
    Core,
    /// The last-level cache.
    Cache,
    /// The NUMA node of their local DRAM.
    Numa,
    /// The package (socket).
    Package,
    /// The node.
    Node,
    /// A switch at this height above the nodes, from 1.
    Switch(u32),
    /// Only the cluster.
    Cluster,
}

impl fmt::Display for LevelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str("core"),
            Self::Cache => f.write_str("cache"),
            Self::Numa => f.write_str("numa"),
            Self::Package => f.write_str("package"),
            Self::Node => f.write_str("node"),
            Self::Switch(height) => write!(f, "switch-{height}"),
            Self::Cluster => f.write_str("cluster"),
        }
    }
}

impl FromStr for LevelKind {
    type Err = ();

    /// Reads what is displayed.
    fn from_str(text: &str) -> Result<Self, ()> {
        const PLAIN: [LevelKind; 6] = [
            LevelKind::Core,
            LevelKind::Cache,
            LevelKind::Numa,
            LevelKind::Package,
            LevelKind::Node,
            LevelKind::Cluster,
        ];
        if let Some(kind) = PLAIN.into_iter().find(|kind| kind.to_string() == text) {
            return Ok(kind);
        }
        let height = text.strip_prefix("switch-").and_then(|height| height.parse().ok());
        height.filter(|height| *height > 0).map(Self::Switch).ok_or(())
    }
}

impl Serialize for LevelKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Level {
    /// The hardware that the cores of a group share.
    #[must_use]
    pub fn kind(&self) -> LevelKind {
        self.kind
    }

    /// The distance of two cores whose lowest common level this is, in hops or in the unit of
    /// [`Levels::with_distances`].
    #[must_use]
    pub fn distance(&self) -> u64 {
        self.distance
    }

    /// The group of a core, from 0.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub(crate) fn group_of(&self, core: usize) -> u32 {
        self.group_of[core]
    }
}

impl Levels {
    /// The levels of a cluster. Distances are in **hops**: two for every level that two cores do not
    /// share, one up and one down the tree. So 0 on the same core, 2 if the cores share the next
    /// level above, and so on.
    #[must_use]
    pub fn new(cluster: &Cluster) -> Self {
        let mut first_core = Vec::with_capacity(cluster.nodes.len());
        let mut core_count = 0;
        for node in cluster.node_ids() {
            first_core.push(core_count);
            core_count += cluster.machine(node).cores.len();
        }
        let mut above: Vec<u32> = vec![0; core_count];
        let mut nested = Vec::new();
        for (kind, labels) in candidates(cluster).into_iter().rev() {
            let (group_of, group_count) = refine(&above, &labels);
            above.clone_from(&group_of);
            nested.push(Level { kind, distance: 0, group_of, group_count });
        }
        nested.reverse();
        let mut levels = without_repeats(nested);
        for (position, level) in levels.iter_mut().enumerate() {
            level.distance = 2 * position as u64;
        }
        Self { levels, first_core, core_count }
    }

    /// These levels with other distances, one per level from the core up.
    ///
    /// # Panics
    /// If the number of distances is not that of the levels.
    #[must_use]
    pub fn with_distances(mut self, distances: &[u64]) -> Self {
        assert_eq!(distances.len(), self.levels.len(), "one distance per level");
        for (level, distance) in self.levels.iter_mut().zip(distances) {
            level.distance = *distance;
        }
        self
    }

    /// The levels, from the core up; never empty.
    #[must_use]
    pub fn as_slice(&self) -> &[Level] {
        &self.levels
    }

    /// The number of cores of the cluster.
    #[must_use]
    pub fn core_count(&self) -> usize {
        self.core_count
    }

    /// The number of a core over all nodes: the cores of the first node by L#, then those of the
    /// second, and so on.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    #[must_use]
    pub fn core(&self, node: NodeId, core: CoreId) -> usize {
        self.first_core[node.index()] + core.index()
    }

    /// The position in [`Levels::as_slice`] of the lowest level that two cores share: 0 for the same
    /// core.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub(crate) fn lowest_common(&self, a: usize, b: usize) -> usize {
        let shared = |level: &Level| level.group_of[a] == level.group_of[b];
        // Cores without a common switch share the top level.
        self.levels.iter().position(shared).unwrap_or(self.levels.len() - 1)
    }

    /// The distance of two cores, in hops unless other distances were set.
    ///
    /// # Panics
    /// If there is no such core.
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> u64 {
        self.levels[self.lowest_common(a, b)].distance
    }
}

/// Cores with equal labels are in one group of a level.
type Label = (usize, usize, usize);
/// By core, numbered over all nodes.
type Labels = Vec<Label>;

/// All levels of the hardware, from the core up, nested or not.
fn candidates(cluster: &Cluster) -> Vec<(LevelKind, Labels)> {
    let per_core = |label: &dyn Fn(usize, usize, &Core) -> Label| -> Labels {
        let label = &label;
        let node_labels = |node: NodeId| {
            let cores = cluster.machine(node).cores.iter().enumerate();
            cores.map(move |(index, core)| label(node.index(), index, core))
        };
        cluster.node_ids().flat_map(node_labels).collect()
    };
    let cache = |node, _, core: &Core| match core.cache {
        Some(cache) => (node, 0, cache as usize),
        None => (node, 1, core.numa.index()),
    };
    let mut inside = [
        (LevelKind::Cache, per_core(&cache)),
        (LevelKind::Numa, per_core(&|node, _, core| (node, 0, core.numa.index()))),
        (LevelKind::Package, per_core(&|node, _, core| (node, 0, core.package))),
    ];
    // The order differs between machines: the more groups, the lower.
    inside.sort_by_key(|(_, labels)| std::cmp::Reverse(refine(&vec![0; labels.len()], labels).1));
    let mut all = vec![(LevelKind::Core, per_core(&|node, index, _| (node, 1, index)))];
    all.extend(inside);
    all.push((LevelKind::Node, per_core(&|node, _, _| (node, 0, 0))));
    let paths: Vec<Vec<usize>> =
        cluster.nodes.iter().map(|node| switch_path(cluster, node.switch)).collect();
    let depth = paths.iter().map(Vec::len).max().unwrap_or_default();
    for height in 1..=depth {
        // Counted from the top, so that two nodes meet at the switch where their paths meet. A
        // shorter path has its lowest switch at all levels below.
        let switch = |node: usize| match paths[node].get(depth - height).or(paths[node].last()) {
            Some(switch) => (*switch, 0, 0),
            None => (node, 1, 0),
        };
        let kind = LevelKind::Switch(u32::try_from(height).unwrap_or(u32::MAX));
        all.push((kind, per_core(&|node, _, _| switch(node))));
    }
    all.push((LevelKind::Cluster, per_core(&|_, _, _| (0, 0, 0))));
    all
}

/// The switches from the top down to `lowest`.
fn switch_path(cluster: &Cluster, lowest: Option<usize>) -> Vec<usize> {
    let mut path: Vec<usize> =
        std::iter::successors(lowest, |switch| cluster.switches[*switch].parent).collect();
    path.reverse();
    path
}

/// Divides the groups of the level above by labels. Returns the group of each core, and the number
/// of groups.
fn refine(above: &[u32], labels: &Labels) -> (Vec<u32>, usize) {
    // Cores are mostly in the order of their groups; then nothing must be looked up.
    let pairs = || above.iter().zip(labels);
    if pairs().is_sorted() {
        let (mut last, mut count) = (None, 0_u32);
        let number = |pair| {
            count += u32::from(last != Some(pair));
            last = Some(pair);
            count - 1
        };
        let group_of: Vec<u32> = pairs().map(number).collect();
        return (group_of, count as usize);
    }
    let mut numbers = HashMap::new();
    let group = |pair| {
        let next = u32::try_from(numbers.len()).expect("fewer than 2^32 groups");
        *numbers.entry(pair).or_insert(next)
    };
    let group_of: Vec<u32> = above.iter().zip(labels).map(group).collect();
    let count = group_of.iter().max().map_or(0, |largest| *largest as usize + 1);
    (group_of, count)
}

/// Of neighbouring levels with the same groups, only the best known one.
fn without_repeats(nested: Vec<Level>) -> Vec<Level> {
    let importance = |level: &Level| match level.kind {
        LevelKind::Core => 6,
        LevelKind::Node => 5,
        LevelKind::Cluster => 4,
        LevelKind::Package => 3,
        LevelKind::Numa => 2,
        LevelKind::Cache => 1,
        LevelKind::Switch(_) => 0,
    };
    let mut kept: Vec<Level> = Vec::new();
    for level in nested {
        // Nested levels with the same number of groups have the same groups.
        match kept.last_mut().filter(|below| below.group_count == level.group_count) {
            Some(below) if importance(&level) > importance(below) => *below = level,
            Some(_) => {}
            None => kept.push(level),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{
        ClusterDescription, Machine, Node, NodeGroup, NumaNode, Pu, Rates, Switch,
    };
    use crate::ids::{NumaId, PuId};

    /// One core per entry: package, NUMA node, cache.
    fn group(cores: &[(usize, u32, Option<u32>)]) -> NodeGroup {
        let core = |(id, &(package, numa, cache)): (u32, &(usize, u32, Option<u32>))| Core {
            package,
            numa: NumaId(numa),
            cache,
            pus: vec![PuId(id)],
        };
        let pu = |id| Pu { id: PuId(id), core: CoreId(id) };
        let numa_nodes = cores.iter().map(|(_, numa, _)| numa + 1).max().unwrap();
        NodeGroup::all_free(Machine {
            packages: cores.iter().map(|(package, ..)| package + 1).max().unwrap(),
            numa_nodes: (0..numa_nodes).map(NumaNode::new).collect(),
            cores: (0..).zip(cores).map(core).collect(),
            pus: (0..cores.len() as u32).map(pu).collect(),
            ..Machine::default()
        })
    }

    fn cluster(groups: Vec<NodeGroup>, nodes: &[(usize, Option<usize>)]) -> Cluster {
        with_switches(groups, nodes, Vec::new())
    }

    fn with_switches(
        groups: Vec<NodeGroup>,
        nodes: &[(usize, Option<usize>)],
        switches: Vec<Switch>,
    ) -> Cluster {
        let node = |(index, &(group, switch)): (usize, &(usize, Option<usize>))| Node {
            name: format!("n{index}"),
            group,
            switch,
        };
        let description = ClusterDescription {
            name: "test".to_owned(),
            emulated: false,
            invented: false,
            rates: Rates::default(),
            groups,
            nodes: nodes.iter().enumerate().map(node).collect(),
            switches,
        };
        description.build().unwrap()
    }

    fn kinds(levels: &Levels) -> Vec<String> {
        levels.as_slice().iter().map(|level| level.kind().to_string()).collect()
    }

    #[test]
    fn plain_nodes_share_core_node_or_cluster() {
        let cluster = cluster(vec![group(&[(0, 0, None); 4])], &[(0, None), (0, None)]);
        let levels = Levels::new(&cluster);
        assert_eq!(kinds(&levels), ["core", "node", "cluster"]);
        assert_eq!(
            (levels.distance(1, 1), levels.distance(0, 3), levels.distance(3, 4)),
            (0, 2, 4)
        );
    }

    #[test]
    fn a_cache_may_be_below_or_above_the_numa_nodes() {
        let below = [(0, 0, Some(0)), (0, 0, Some(0)), (0, 0, Some(1)), (0, 0, Some(1))];
        let below: Vec<_> =
            below.into_iter().chain(below.map(|(_, _, c)| (1, 1, c.map(|c| c + 2)))).collect();
        let levels = Levels::new(&cluster(vec![group(&below)], &[(0, None), (0, None)]));
        assert_eq!(kinds(&levels), ["core", "cache", "package", "node", "cluster"]);
        let above = [0, 0, 1, 1, 2, 2, 3, 3].map(|numa| (numa as usize / 2, numa, Some(numa / 2)));
        let levels = Levels::new(&cluster(vec![group(&above)], &[(0, None)]));
        assert_eq!(kinds(&levels), ["core", "numa", "package", "node"]);
        assert_eq!(levels.distance(0, 2), 4);
    }

    #[test]
    fn nodes_of_different_types_have_the_levels_of_both() {
        let flat = group(&[(0, 0, None); 2]);
        let deep = group(&[(0, 0, None), (0, 0, None), (1, 1, None), (1, 1, None)]);
        let levels = Levels::new(&cluster(vec![flat, deep], &[(0, None), (1, None)]));
        assert_eq!(kinds(&levels), ["core", "package", "node", "cluster"]);
        assert_eq!(levels.core(NodeId(1), CoreId(2)), 4);
        assert_eq!(levels.distance(0, 1), 2);
        assert_eq!(levels.distance(2, 4), 4);
        assert_eq!(levels.distance(1, 2), 6);
    }

    #[test]
    fn nodes_meet_at_the_switch_where_their_paths_meet() {
        let switch = |name: &str, parent| Switch { name: name.to_owned(), parent, uplink: None };
        // The top has node 4 itself; two switches below have two nodes each.
        let tree = with_switches(
            vec![group(&[(0, 0, None); 2])],
            &[(0, Some(0)), (0, Some(0)), (0, Some(1)), (0, Some(1)), (0, Some(2))],
            vec![switch("a", Some(2)), switch("b", Some(2)), switch("top", None)],
        );
        let levels = Levels::new(&tree);
        assert_eq!(kinds(&levels), ["core", "node", "switch-1", "cluster"]);
        assert_eq!(levels.distance(0, 2), 4);
        assert_eq!(levels.distance(0, 4), 6);
        assert_eq!(levels.distance(0, 8), 6);
    }

    #[test]
    fn a_single_core_is_one_level() {
        let levels = Levels::new(&cluster(vec![group(&[(0, 0, None)])], &[(0, None)]));
        assert_eq!(kinds(&levels), ["core"]);
        let levels = Levels::new(&cluster(vec![group(&[(0, 0, None)])], &[(0, None), (0, None)]));
        assert_eq!(kinds(&levels), ["core", "cluster"]);
    }
}

//! Trees and problems for the tests of the search.

use proptest::prelude::*;

use crate::cluster::read::synthetic;
use crate::cluster::{ClusterDescription, Levels, NodeGroup};
use crate::map::hierarchy::Hierarchy;
use crate::map::search::graph::Graph;
use crate::map::search::tree::{BinId, Tree};

/// The tree of a uniform hierarchy.
pub(super) fn uniform_tree(hierarchy: &str, distances: &str) -> Tree {
    let hierarchy = Hierarchy::parse(hierarchy, distances).unwrap();
    let cluster = hierarchy.cluster();
    let cores: Vec<usize> =
        (0..cluster.nodes.len() * cluster.groups[0].machine.cores.len()).collect();
    Tree::new(&Levels::new(&cluster).with_distances(&hierarchy.distances()), &cores).0
}

/// Trees of nodes of two kinds, some cores not free.
pub(super) fn tree() -> impl Strategy<Value = Tree> {
    let free = prop::collection::vec(prop::bool::weighted(0.8), 22);
    free.prop_filter_map("no core", |free| {
        let group = |text: &str| NodeGroup::all_free(synthetic::parse(text).unwrap());
        let names = ["n0", "n1", "n2", "n3"].map(str::to_owned).to_vec();
        let small = group("pack:1 numa:1 core:5 pu:1");
        let large = group("pack:2 numa:1 core:3 pu:1");
        let mut description = ClusterDescription::uniform("mixed", names, large);
        description.groups.push(small);
        description.nodes.iter_mut().skip(1).step_by(2).for_each(|node| node.group = 1);
        let cluster = description.build().unwrap();
        let cores: Vec<usize> = (0..22).filter(|core| free[*core]).collect();
        (!cores.is_empty()).then(|| Tree::new(&Levels::new(&cluster), &cores).0)
    })
}

/// A tree, a graph and an assignment of its vertices.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) tree: Tree,
    pub(super) graph: Graph,
    pub(super) start: Vec<BinId>,
}

impl Case {
    pub(super) fn cost(&self, bin_of: &[BinId]) -> u128 {
        self.graph.cost(|a, b| self.tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }

    /// Capacities with one load unit spare in every third bin.
    pub(super) fn capacity(&self, loads: &[u64]) -> Vec<u64> {
        let bins = bins(&self.start, self.tree.bin_count());
        let load = |bin: &Vec<usize>| bin.iter().map(|vertex| loads[*vertex]).sum::<u64>();
        let filled = bins.iter().map(load).enumerate();
        filled.map(|(bin, filled)| filled.max(1) + u64::from(bin % 3 == 0)).collect()
    }
}

/// Problems of up to 40 vertices.
pub(super) fn problem() -> impl Strategy<Value = Case> {
    let edges = prop::collection::vec((0_u32..40, 0_u32..40, 1_u64..100), 0..120);
    (tree(), edges, prop::collection::vec(any::<u32>(), 40)).prop_map(|(tree, edges, bins)| {
        let start = bins.into_iter().map(|bin| bin % tree.bin_count() as u32).collect();
        Case { tree, graph: Graph::from_edges(40, edges), start }
    })
}

/// The vertices in each bin.
pub(super) fn bins(bin_of: &[BinId], count: usize) -> Vec<Vec<usize>> {
    let mut bins = vec![Vec::new(); count];
    for (vertex, bin) in bin_of.iter().enumerate() {
        bins[*bin as usize].push(vertex);
    }
    bins
}

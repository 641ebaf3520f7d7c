//! Trees and problems for the tests of the search.

use proptest::prelude::*;

use crate::cluster::{Cluster, Core, Levels, Machine, Node, NodeGroup, Rates};
use crate::ids::NumaId;
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
        let machine = |packages: usize, cores: usize| {
            let core = |core: usize| Core {
                package: core / cores,
                numa: NumaId((core / cores) as u32),
                cache: None,
                pus: Vec::new(),
            };
            Machine { cores: (0..packages * cores).map(core).collect(), ..Machine::default() }
        };
        let group = |machine| NodeGroup { machine, free: Vec::new(), speed: 1.0 };
        let node = |group: usize| Node { name: "n".to_owned(), group, switch: None };
        let cluster = Cluster {
            name: "mixed".to_owned(),
            emulated: false,
            rates: Rates::default(),
            groups: vec![group(machine(2, 3)), group(machine(1, 5))],
            nodes: vec![node(0), node(1), node(0), node(1)],
            switches: Vec::new(),
        };
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

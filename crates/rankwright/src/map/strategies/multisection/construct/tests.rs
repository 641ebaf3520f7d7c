use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::{Request, construct};
use crate::map::Effort;
use crate::map::search::graph::Graph;
use crate::map::search::tree::{BinId, Tree};

/// Nodes of 1, 2 or 3 packages of 2, 3 or 4 cores, in turn.
fn uneven_tree(bins: usize) -> Tree {
    let (mut packages, mut nodes) = (Vec::new(), Vec::new());
    let (mut package, mut node) = (0, 0);
    while packages.len() < bins {
        for _ in 0..node % 3 + 1 {
            let cores = package as usize % 3 + 2;
            packages.extend(std::iter::repeat_n(package, cores));
            nodes.extend(std::iter::repeat_n(node, cores));
            package += 1;
        }
        node += 1;
    }
    packages.truncate(bins);
    nodes.truncate(bins);
    Tree::from_levels(&[(1, packages), (10, nodes), (100, vec![0; bins])])
}

fn assign(tree: &Tree, capacity: u64, graph: &Graph, loads: &[u64], threads: usize) -> Vec<BinId> {
    let mut bin_of = Vec::new();
    for effort in [Effort::Fast, Effort::Normal] {
        let request = Request {
            tree,
            capacity: &vec![capacity; tree.bin_count()],
            effort,
            hot: effort == Effort::Normal,
            uneven: effort == Effort::Best,
            start: None,
            seed: 3,
            threads: NonZeroUsize::new(threads).unwrap(),
            is_over: &|| false,
        };
        bin_of = construct(request, graph, loads).unwrap();
        let mut filled = vec![0; tree.bin_count()];
        for (bin, load) in bin_of.iter().zip(loads) {
            filled[*bin as usize] += load;
        }
        assert_eq!(bin_of.len(), loads.len());
        assert!(filled.iter().all(|filled| *filled <= capacity), "{filled:?}, capacity {capacity}");
    }
    bin_of
}

fn cost(tree: &Tree, graph: &Graph, bin_of: &[BinId]) -> u128 {
    graph.cost(|a, b| tree.distance(bin_of[a] as usize, bin_of[b] as usize))
}

#[test]
fn cliques_stay_together() {
    // Eight cliques of four, renumbered, on eight nodes of four cores.
    let clique_of = |vertex: u32| vertex * 5 % 8;
    let pairs = (0..32_u32).flat_map(|a| (0..a).map(move |b| (a, b)));
    let edges = pairs.map(|(a, b)| (a, b, if clique_of(a) == clique_of(b) { 9 } else { 1 }));
    let graph = Graph::from_edges(32, edges.collect());
    let nodes = (0..32).map(|bin| bin / 4).collect();
    let tree = Tree::from_levels(&[(1, nodes), (10, vec![0; 32])]);
    let bin_of = assign(&tree, 1, &graph, &[1; 32], 1);
    assert_eq!(cost(&tree, &graph, &bin_of), 8 * 6 * 9 + (32 * 31 / 2 - 48) * 10);
}

#[test]
fn extreme_graphs_and_trees_are_assigned() {
    let tree = uneven_tree(23);
    let none = Graph::from_edges(23, Vec::new());
    assign(&tree, 1, &none, &[1; 23], 1);
    assign(&tree, 1, &Graph::from_edges(1, Vec::new()), &[1], 1);
    assign(&tree, 1, &Graph::from_edges(0, Vec::new()), &[], 1);
    let star = |weight| Graph::from_edges(200, (1..200).map(|leaf| (0, leaf, weight)).collect());
    assign(&tree, 10, &star(1), &[1; 200], 1);
    assign(&tree, 10, &star(u64::MAX), &[1; 200], 1);
    let heavy = (1..23).map(|vertex| (vertex - 1, vertex, (1 << 63) - u64::from(vertex)));
    assign(&tree, 1, &Graph::from_edges(23, heavy.collect()), &[1; 23], 1);
    let far = Tree::from_levels(&[(u64::MAX, vec![0; 40])]);
    assign(&far, 6, &star(u64::MAX), &[1; 200], 1);
    assign(&Tree::flat(1), 200, &star(3), &[1; 200], 1);
}

#[test]
fn threads_do_not_change_the_assignment() {
    let index = |x: u32, y: u32| (x * 40 + y) * 7 % 1600;
    let cells = (0..40).flat_map(|x| (0..40).map(move |y| (x, y)));
    let edges = cells.flat_map(|(x, y)| {
        [(index(x, y), index((x + 1) % 40, y), 1), (index(x, y), index(x, (y + 1) % 40), 1)]
    });
    let graph = Graph::from_edges(1600, edges.collect());
    for (bins, capacity) in [(1600, 1), (37, 45)] {
        let tree = uneven_tree(bins);
        let single = assign(&tree, capacity, &graph, &[1; 1600], 1);
        assert_eq!(single, assign(&tree, capacity, &graph, &[1; 1600], 3));
        let blocked: Vec<u32> = (0..1600).map(|vertex| vertex / capacity as u32).collect();
        assert!(cost(&tree, &graph, &single) * 2 < cost(&tree, &graph, &blocked));
    }
}

proptest! {
    #[test]
    fn no_bin_is_overfull(
        edges in prop::collection::vec((0_u32..60, 0_u32..60, 1_u64..100), 0..200),
        loads in prop::collection::vec(1_u64..9, 60),
        bins in 1_usize..70,
        spare in 0_u64..5,
    ) {
        let graph = Graph::from_edges(60, edges);
        let tree = uneven_tree(bins);
        let share = loads.iter().sum::<u64>().div_ceil(bins as u64);
        assign(&tree, share + loads.iter().max().unwrap() - 1 + spare, &graph, &loads, 1);
        assign(&tree, 60_u64.div_ceil(bins as u64), &graph, &[1; 60], 1);
    }
}

//! `drb` minimises the sum of weight times distance over all edges, by dual recursive bipartitioning
//! (Pellegrini, "Static mapping by dual recursive bipartitioning of process and architecture graphs",
//! 1994) with Scotch: the graph of ranks and the machine are bisected together, and the whole mapping
//! is refined at the end. Each level of bisections takes time about linear in the edges.

use crate::map::search::graph::{EdgeWeights, Graph, TooManyWeights, VertexId, scale_weights};
use crate::map::search::partitioners::scotch::{
    Refinement, ScotchGraph, ScotchOptions, ScotchTree, map_graph_until,
};
use crate::map::search::repair::repair;
use crate::map::search::tree::{BinId, Tree};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Static mapping by dual recursive bipartitioning.
///
/// The machine is Scotch's `tleaf`: the tree of levels, whose link costs are the differences of the
/// levels' distances; where nodes differ or cores are taken, the part of such a tree that exists.
/// Scotch promises balance only approximately, so [`repair`] moves ranks out of overfull slots. With
/// more slots than ranks it uses the fewest nodes, in the order of the cluster, that hold all ranks. If the budget ends
/// before Scotch does, it packs the ranks in their order.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Drb {
    pub(in crate::map) seed: u64,
    pub(in crate::map) weights: EdgeWeights,
}

impl Mapper for Drb {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let (tree, slot_of_bin) = problem.tree_of_fewest_nodes();
        let graph = problem.weighted_graph(self.weights);
        let mut bin_of = if tree.bin_count() == 1 || problem.rank_count() == 1 {
            vec![0; problem.rank_count()]
        } else {
            // Joined, because Scotch must find an edge to cut (see `Refinement`).
            let joined = joined(&graph);
            let found =
                self.partition(problem, joined.as_ref().unwrap_or(&graph), &tree, budget)?;
            found.unwrap_or_else(|| vec![0; problem.rank_count()])
        };
        let capacity = vec![problem.limit(); tree.bin_count()];
        repair(&tree, &capacity, &graph, problem.loads(), &mut bin_of);
        let slots = bin_of.into_iter().map(|bin| slot_of_bin[bin as usize]).collect();
        Ok(problem.balanced(slots).into())
    }
}

/// The largest sum of weight times distance that Scotch may reach; it adds both ends of an edge, so
/// half of its 32 bits remain unused.
const LARGEST_SUM: u32 = 1 << 30;

/// The resolution of distances where they must be scaled.
const LARGEST_DISTANCE: u32 = 1 << 12;

impl Drb {
    fn partition(
        &self,
        problem: &Problem,
        graph: &Graph,
        tree: &Tree,
        budget: &Budget,
    ) -> Result<Option<Vec<BinId>>, MapError> {
        let too_large =
            |what| move |_: TooManyWeights| MapError::TooLarge { library: "Scotch", what };
        let machine = Machine::new(tree)?;
        let longest: i32 = machine.link_costs.iter().sum();
        let entries = u32::try_from(graph.weights().len()).unwrap_or(u32::MAX);
        let limit = (LARGEST_SUM / longest.unsigned_abs().max(1)).max(entries.saturating_mul(4));
        let weights =
            scale_weights(graph.weights(), limit).map_err(too_large("the number of edges"))?;
        let loads = scale_weights(problem.loads(), LARGEST_SUM)
            .map_err(too_large("the number of ranks"))?;
        // They fit into 32 bits, because the number of weights does.
        let offsets: Vec<i32> = graph.offsets().iter().map(|offset| *offset as i32).collect();
        let neighbours: Vec<i32> = graph.neighbours().iter().map(|n| *n as i32).collect();
        let capacity = problem.limit() as f64 * tree.bin_count() as f64;
        let sum: f64 = problem.loads().iter().map(|load| *load as f64).sum();
        // Scotch finds better cuts with a little slack than with none; `repair` removes it.
        let imbalance = (capacity / sum - 1.0).max(0.01);
        let refinement = if 2.0 * problem.limit() as f64 >= sum {
            Refinement::Bipartitions
        } else {
            Refinement::Whole
        };
        let seed = i32::try_from(self.seed).unwrap_or(i32::MAX);
        let Machine { sizes, link_costs, leaves } = machine;
        map_graph_until(
            ScotchGraph { offsets, neighbours, edge_weights: weights, loads },
            ScotchTree { sizes, link_costs, leaves, leaf_count: tree.bin_count() },
            ScotchOptions { imbalance, refinement, seed },
            &|| budget.is_over(),
        )
    }
}

/// Weights are multiplied by this where that does not overflow, so that joining edges of weight 1 do
/// not count.
const FACTOR: u64 = 1024;

/// The graph with its connected components joined in a row by edges of negligible weight. `None` if
/// it is connected.
fn joined(graph: &Graph) -> Option<Graph> {
    let firsts = firsts_of_components(graph);
    if firsts.len() < 2 {
        return None;
    }
    let largest = graph.weights().iter().copied().max().unwrap_or(1);
    let factor = (u64::MAX / largest).min(FACTOR);
    let mut edges: Vec<(VertexId, VertexId, u64)> =
        firsts.windows(2).map(|pair| (pair[0], pair[1], 1)).collect();
    for (row, number) in (0..graph.vertex_count()).zip(0..) {
        let higher = graph.row(row).filter(|(other, _)| *other > row);
        edges.extend(
            higher
                .map(|(other, weight)| (number, other as VertexId, weight.saturating_mul(factor))),
        );
    }
    Some(Graph::from_edges(graph.vertex_count(), edges))
}

/// The lowest vertex of each connected component.
fn firsts_of_components(graph: &Graph) -> Vec<VertexId> {
    let mut seen = vec![false; graph.vertex_count()];
    let mut firsts = Vec::new();
    let mut reached = Vec::new();
    for (first, number) in (0..graph.vertex_count()).zip(0..) {
        if seen[first] {
            continue;
        }
        firsts.push(number);
        seen[first] = true;
        reached.push(first);
        while let Some(next) = reached.pop() {
            for (neighbour, _) in graph.row(next) {
                if !std::mem::replace(&mut seen[neighbour], true) {
                    reached.push(neighbour);
                }
            }
        }
    }
    firsts
}

/// A tree in which all nodes of a level have as many children as the largest one: Scotch's `tleaf`.
struct Machine {
    /// The number of children of a node. Index: level, from the root down.
    sizes: Vec<i32>,
    /// The costs of the links below each level. Index: as in `sizes`.
    link_costs: Vec<i32>,
    /// The leaves that exist, ascending; `None` if all do.
    leaves: Option<Vec<i32>>,
}

impl Machine {
    fn new(tree: &Tree) -> Result<Self, MapError> {
        let all = 0..tree.bin_count();
        let mut sizes: Vec<usize> = Vec::new();
        let mut distances = Vec::new();
        let mut leaves: Vec<u64> = vec![0];
        let mut groups = vec![all];
        // From the root down: the children of the largest group, and the leaf where each group begins.
        for below in (0..=tree.level_count()).rev() {
            let divided: Vec<Vec<_>> = groups
                .iter()
                .map(|group| match below.checked_sub(1) {
                    Some(level) => tree.groups_within(level, group.clone()),
                    None => group.clone().map(|bin| bin..bin + 1).collect(),
                })
                .collect();
            let most = divided.iter().map(Vec::len).max().unwrap_or(1);
            if most > 1 {
                let number = |(leaf, parts): (&u64, &Vec<_>)| -> Vec<u64> {
                    (0..parts.len() as u64)
                        .map(|part| leaf.saturating_mul(most as u64).saturating_add(part))
                        .collect()
                };
                leaves = leaves.iter().zip(&divided).flat_map(number).collect();
                sizes.push(most);
                // Bins of different groups meet at level `below`.
                distances.push(tree.level_distance(below.min(tree.level_count() - 1)));
                groups = divided.into_iter().flatten().collect();
            }
        }
        distances.push(0);
        let differences: Vec<u64> =
            distances.windows(2).map(|pair| pair[0].saturating_sub(pair[1])).collect();
        let too_large = || MapError::TooLarge { library: "Scotch", what: "the machine" };
        let link_costs = scale_weights(&differences, LARGEST_DISTANCE).map_err(|_| too_large())?;
        let padded = sizes.iter().fold(1, |product: usize, size| product.saturating_mul(*size));
        if i32::try_from(padded).is_err() {
            return Err(too_large());
        }
        let all_exist = padded == leaves.len();
        let narrow = |number: &u64| *number as i32;
        Ok(Self {
            sizes: sizes.iter().map(|size| *size as i32).collect(),
            link_costs,
            leaves: (!all_exist).then(|| leaves.iter().map(narrow).collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bins_are_one_full_level() {
        let machine = Machine::new(&Tree::flat(5)).unwrap();
        assert_eq!((machine.sizes, machine.link_costs), (vec![5], vec![1]));
        assert_eq!(machine.leaves, None);
    }

    #[test]
    fn components_are_joined_by_edges_of_negligible_weight() {
        let graph = Graph::from_edges(5, vec![(0, 3, 7), (1, 4, 2)]);
        let expected = Graph::from_edges(5, vec![(0, 3, 7168), (1, 4, 2048), (0, 1, 1), (1, 2, 1)]);
        assert_eq!(joined(&graph), Some(expected));
        assert_eq!(joined(&Graph::from_edges(3, vec![(0, 1, 7), (1, 2, 2)])), None);
        assert_eq!(joined(&Graph::default()), None);
    }

    #[test]
    fn joining_keeps_the_heaviest_edges() {
        let graph = Graph::from_edges(3, vec![(0, 1, u64::MAX)]);
        let expected = Graph::from_edges(3, vec![(0, 1, u64::MAX), (0, 2, 1)]);
        assert_eq!(joined(&graph), Some(expected));
    }
}

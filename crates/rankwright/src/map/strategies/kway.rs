//! `kway` minimises the cut on each level of the machine, by k-way partitioning and recursive
//! bisection with METIS (Karypis and Kumar, "Multilevel k-way partitioning scheme for irregular
//! graphs", 1998), level by level from the nodes down. Each level takes time about linear in the edges.

use std::ops::Range;

use crate::map::search::graph::{EdgeWeights, Graph, VertexId};
use crate::map::search::partitioners::metis::{Method, partition};
use crate::map::search::repair::repair;
use crate::map::search::tree::{BinId, Tree};
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Hierarchical partitioning: the ranks are divided among the groups of the highest level of the
/// cluster (nodes, or switches with several nodes), those of each group among the groups inside it,
/// down to the cores.
///
/// Each division is the better of METIS's two methods; [`repair`] makes it keep exact capacities.
/// With more slots than ranks it uses the fewest nodes, in the order of the cluster, that hold all
/// ranks, and inside them the fewest groups.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Kway {
    pub(in crate::map) seed: u64,
    pub(in crate::map) weights: EdgeWeights,
}

impl Mapper for Kway {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let (tree, slot_of_bin) = problem.tree_of_fewest_nodes();
        let graph = problem.weighted_graph(self.weights);
        let largest = problem.loads().iter().max().copied().unwrap_or(1).max(1);
        let mut division = Division {
            problem,
            graph: &graph,
            tree: &tree,
            seed: self.seed,
            capacity_in_groups: problem.limit() - (largest - 1),
            position: vec![u32::MAX; problem.rank_count()],
            bin_of: vec![0; problem.rank_count()],
        };
        let ranks: Vec<VertexId> = (0..).take(problem.rank_count()).collect();
        division.divide(&ranks, tree.level_count(), 0..tree.bin_count())?;
        let mut bin_of = division.bin_of;
        let capacity = vec![problem.limit(); tree.bin_count()];
        repair(&tree, &capacity, &graph, problem.loads(), &mut bin_of);
        let slots = bin_of.into_iter().map(|bin| slot_of_bin[bin as usize]).collect();
        Ok(problem.balanced(slots).into())
    }
}

struct Division<'a> {
    problem: &'a Problem<'a>,
    graph: &'a Graph,
    tree: &'a Tree,
    seed: u64,
    /// What each slot of a group of several can take in every case, whatever the loads of the ranks.
    capacity_in_groups: u64,
    /// Scratch space of [`Graph::subgraph`].
    position: Vec<u32>,
    /// Index: [`VertexId`], the global rank.
    bin_of: Vec<BinId>,
}

impl Division<'_> {
    /// Divides ranks among the bins of one group of `level`.
    fn divide(
        &mut self,
        ranks: &[VertexId],
        level: usize,
        bins: Range<usize>,
    ) -> Result<(), MapError> {
        if bins.len() <= 1 || ranks.is_empty() {
            for rank in ranks {
                self.bin_of[*rank as usize] = bins.start as BinId;
            }
            return Ok(());
        }
        let (level, groups) = self.tree.divide(level, bins);
        let capacity = |group: &Range<usize>| match group.len() {
            1 => self.problem.limit(),
            slots => self.capacity_in_groups.saturating_mul(slots as u64),
        };
        let capacity: Vec<u64> = groups.iter().map(capacity).collect();
        let part_of = self.partition(ranks, &capacity)?;
        for (part, group) in (0..).zip(groups) {
            let members = ranks.iter().zip(&part_of).filter(|(_, p)| **p == part);
            let members: Vec<VertexId> = members.map(|(rank, _)| *rank).collect();
            self.divide(&members, level, group)?;
        }
        Ok(())
    }

    /// The part of each of the ranks.
    fn partition(&mut self, ranks: &[VertexId], capacity: &[u64]) -> Result<Vec<u32>, MapError> {
        let loads: Vec<u64> =
            ranks.iter().map(|rank| self.problem.loads()[*rank as usize]).collect();
        let capacity = fewest(&loads, capacity);
        let one_each = ranks.len() <= capacity.len() && loads.iter().all(|load| *load == 1);
        if one_each && capacity.iter().all(|capacity| *capacity == 1) {
            // All parts are single slots and equally far from each other.
            return Ok((0..).take(ranks.len()).collect());
        }
        let graph = self.graph.subgraph(ranks, &mut self.position);
        if graph.edge_count() == 0 || ranks.len() <= capacity.len() {
            let mut part_of = in_order(&loads, capacity);
            repair(&Tree::flat(capacity.len()), capacity, &graph, &loads, &mut part_of);
            return Ok(part_of);
        }
        let whole = capacity.iter().map(|capacity| *capacity as f64).sum::<f64>();
        let sum = loads.iter().map(|load| *load as f64).sum::<f64>();
        let imbalance = whole / sum - 1.0;
        let mut best: Option<(u128, Vec<u32>)> = None;
        for method in [Method::Kway, Method::Recursive] {
            let mut part_of = partition(method, &graph, &loads, capacity, imbalance, self.seed)?;
            repair(&Tree::flat(capacity.len()), capacity, &graph, &loads, &mut part_of);
            let cut = graph.cost(|a, b| u64::from(part_of[a] != part_of[b]));
            if best.as_ref().is_none_or(|(least, _)| cut < *least) {
                best = Some((cut, part_of));
            }
        }
        Ok(best.map(|(_, part_of)| part_of).unwrap_or_default())
    }
}

/// The first parts that hold all loads. METIS prints to standard output when it divides ranks among
/// parts of which a single one could hold them all.
fn fewest<'a>(loads: &[u64], capacity: &'a [u64]) -> &'a [u64] {
    let mut rest: u64 = loads.iter().sum();
    let holds = |capacity: &u64| {
        rest = rest.saturating_sub(*capacity);
        rest == 0
    };
    let last = capacity.iter().position(holds);
    last.map_or(capacity, |last| &capacity[..=last])
}

/// Fills one part after the other.
fn in_order(loads: &[u64], capacity: &[u64]) -> Vec<u32> {
    let (mut part, mut filled) = (0, 0_u64);
    let mut next = |load: &u64| {
        while part + 1 < capacity.len() && filled.saturating_add(*load) > capacity[part] {
            part += 1;
            filled = 0;
        }
        filled = filled.saturating_add(*load);
        part as u32
    };
    loads.iter().map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_filled_in_order() {
        assert_eq!(in_order(&[1, 1, 1, 1], &[2, 1, 5]), [0, 0, 1, 2]);
        assert_eq!(in_order(&[3, 9], &[2, 3]), [1, 1]);
    }

    #[test]
    fn the_fewest_parts_hold_all_loads() {
        assert_eq!(fewest(&[1, 1, 1], &[2, 1, 5]), [2, 1]);
        assert_eq!(fewest(&[2], &[2, 1, 5]), [2]);
        assert_eq!(fewest(&[9], &[2, 1, 5]), [2, 1, 5]);
    }

    #[test]
    fn a_subgraph_leaves_the_scratch_space_clean() {
        let graph = Graph::from_edges(3, vec![(0, 1, 1)]);
        let mut position = vec![u32::MAX; 3];
        graph.subgraph(&[0, 1], &mut position);
        assert_eq!(position, [u32::MAX; 3]);
    }
}

//! Makes an assignment keep exact capacities: partitioners only promise approximate balance.

use super::graph::Graph;
use super::tree::{BinId, Tree};

/// Moves vertices out of bins that hold more than their capacity, until none does.
///
/// The bins are taken in order. The vertices of an overfull bin leave in the order of what their
/// move costs (the growth of the sum of weight times distance over their edges), each to the
/// cheapest bin with capacity left. Targets are, for every level of the tree and every neighbour,
/// the first bin with capacity left in the neighbour's group: no other bin can be cheaper than the
/// best of these. If no bin can take a vertex it goes to the bin with the most capacity left; that
/// cannot happen with vertices of equal load and bins that hold all of them. Without an overfull
/// bin it takes time in vertices and bins, else for each vertex that moves degree × levels ×
/// (degree + log bins).
pub(in crate::map) fn repair(
    tree: &Tree,
    capacity: &[u64],
    graph: &Graph,
    load: &[u64],
    bin_of: &mut [BinId],
) {
    let mut filled = vec![0_u64; capacity.len()];
    for (vertex, bin) in bin_of.iter().enumerate() {
        filled[*bin as usize] += load[vertex];
    }
    let mut overfull: Vec<Vec<usize>> = vec![Vec::new(); capacity.len()];
    for (vertex, bin) in bin_of.iter().enumerate() {
        if filled[*bin as usize] > capacity[*bin as usize] {
            overfull[*bin as usize].push(vertex);
        }
    }
    let free =
        capacity.iter().zip(&filled).map(|(capacity, filled)| capacity.saturating_sub(*filled));
    let mut search = Search { tree, graph, load, free: FreeCapacity::new(free.collect()) };
    for (bin, vertices) in overfull.into_iter().enumerate() {
        let mut by_cost: Vec<(i128, usize)> = vertices
            .into_iter()
            .map(|vertex| {
                (search.best_move(vertex, bin_of).map_or(i128::MAX, |(cost, _)| cost), vertex)
            })
            .collect();
        by_cost.sort_unstable();
        for (_, vertex) in by_cost {
            if filled[bin] <= capacity[bin] {
                break;
            }
            let best = search.best_move(vertex, bin_of).map(|(_, target)| target);
            let Some(target) = best.or_else(|| search.free.largest()) else { break };
            filled[bin] -= load[vertex];
            filled[target] += load[vertex];
            bin_of[vertex] = target as BinId;
            search.free.set(target, capacity[target].saturating_sub(filled[target]));
        }
        search.free.set(bin, capacity[bin].saturating_sub(filled[bin]));
    }
}

struct Search<'a> {
    tree: &'a Tree,
    graph: &'a Graph,
    /// Index: vertex.
    load: &'a [u64],
    free: FreeCapacity,
}

impl Search<'_> {
    /// The cheapest bin that can take a vertex, and what the move there costs.
    fn best_move(&self, vertex: usize, bin_of: &[BinId]) -> Option<(i128, usize)> {
        let mut targets = Vec::new();
        let needed = self.load[vertex];
        for (neighbour, _) in self.graph.row(vertex) {
            let bin = bin_of[neighbour] as usize;
            targets.extend(self.free.first_with(needed, bin..bin + 1));
            for level in 0..self.tree.level_count() {
                targets.extend(self.free.first_with(needed, self.tree.group(level, bin)));
            }
        }
        targets.extend(self.free.first_with(needed, 0..self.tree.bin_count()));
        targets.sort_unstable();
        targets.dedup();
        let cost_at = |bin: usize| -> i128 {
            let edges = self.graph.row(vertex).map(|(neighbour, weight)| {
                let distance = self.tree.distance(bin, bin_of[neighbour] as usize);
                i128::from(weight) * i128::from(distance)
            });
            edges.sum()
        };
        let now = cost_at(bin_of[vertex] as usize);
        targets.into_iter().map(|bin| (cost_at(bin) - now, bin)).min()
    }
}

/// The capacity left in each bin, as a segment tree of maxima.
struct FreeCapacity {
    /// Index: node of the segment tree, the root at 1; the leaf of bin b is at `half` + b.
    most: Vec<u64>,
    half: usize,
}

impl FreeCapacity {
    fn new(free: Vec<u64>) -> Self {
        let half = free.len().next_power_of_two();
        let mut most = vec![0; half];
        most.extend(free);
        most.resize(2 * half, 0);
        for node in (1..half).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        Self { most, half }
    }

    fn set(&mut self, bin: usize, free: u64) {
        let mut node = self.half + bin;
        self.most[node] = free;
        while node > 1 {
            node /= 2;
            self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]);
        }
    }

    /// The first bin of a range with at least this capacity left.
    fn first_with(&self, needed: u64, bins: std::ops::Range<usize>) -> Option<usize> {
        self.find(1, 0..self.half, needed.max(1), &bins)
    }

    fn find(
        &self,
        node: usize,
        covered: std::ops::Range<usize>,
        needed: u64,
        bins: &std::ops::Range<usize>,
    ) -> Option<usize> {
        if self.most[node] < needed || covered.end <= bins.start || covered.start >= bins.end {
            return None;
        }
        if node >= self.half {
            return Some(node - self.half);
        }
        let middle = usize::midpoint(covered.start, covered.end);
        self.find(2 * node, covered.start..middle, needed, bins)
            .or_else(|| self.find(2 * node + 1, middle..covered.end, needed, bins))
    }

    /// The first of the bins with the most left.
    fn largest(&self) -> Option<usize> {
        self.first_with(self.most[1], 0..self.half)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::read::synthetic;
    use crate::cluster::{ClusterDescription, Levels, NodeGroup};

    #[test]
    fn the_vertex_that_belongs_elsewhere_moves_there() {
        // Bins 0 1 | 2 3; vertex 2 sits in bin 0 but talks with vertex 3 in bin 3.
        let graph = Graph::from_edges(4, vec![(0, 1, 9), (2, 3, 5)]);
        let mut bin_of = [0, 1, 0, 3];
        repair(&two_nodes(), &[1; 4], &graph, &[1; 4], &mut bin_of);
        assert_eq!(bin_of, [0, 1, 2, 3]);
    }

    /// Four bins on two nodes of two cores.
    fn two_nodes() -> Tree {
        let group = NodeGroup::all_free(synthetic::parse("core:2 pu:1").unwrap());
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let cluster = ClusterDescription::uniform("two", names, group).build().unwrap();
        Tree::new(&Levels::new(&cluster), &[0, 1, 2, 3]).0
    }

    proptest! {
        #[test]
        fn no_bin_is_overfull_afterwards(
            bins in prop::collection::vec(0_u32..6, 1..18),
            spare in 0_u64..3,
        ) {
            let edges = (1..bins.len() as u32).map(|v| (v / 2, v, u64::from(v))).collect();
            let graph = Graph::from_edges(bins.len(), edges);
            let mut bin_of = bins.clone();
            let capacity = [3 + spare; 6];
            repair(&Tree::flat(6), &capacity, &graph, &vec![1; bins.len()], &mut bin_of);
            for bin in 0..6 {
                let held = bin_of.iter().filter(|b| **b == bin).count() as u64;
                prop_assert!(held <= capacity[bin as usize]);
            }
        }
    }
}

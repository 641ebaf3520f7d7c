//! Multilevel bisection (Karypis and Kumar 1998) with unequal shares.

use super::coarsen::{Coarsening, Rating};
use super::compact::CompactGraph;
use super::gain_buckets::GainBuckets;
use super::refine::Bisection;
use crate::random::Generator;

/// How hard to try.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct BisectionEffort {
    /// Initial bisections of each coarsest graph.
    pub(in crate::map) starts: usize,
    /// Multilevel cycles from the finest graph down and up again.
    pub(in crate::map) cycles: usize,
    /// Every this many levels the graph is coarsened twice, and the better bisection is kept; 0 for
    /// never. With half the vertices on each level, 2 takes 1.7 times as long as never, but tries as
    /// many coarsest graphs as the square root of the number of vertices.
    pub(in crate::map) branch_after: usize,
    /// Refinement passes over each graph, at most.
    pub(in crate::map) passes: usize,
    /// A pass ends after this many moves without improvement.
    pub(in crate::map) patience: usize,
    /// How vertices are matched.
    pub(in crate::map) rating: Rating,
}

/// Graphs with at most this many vertices are not coarsened.
const COARSEST: usize = 30;

/// Bisects a graph with a small cut: the side of each vertex. Side i holds at most `capacity[i]` where
/// moves of single vertices can reach that; both together must hold all.
pub(in crate::map) fn bisect(
    graph: &CompactGraph,
    capacity: [u64; 2],
    effort: BisectionEffort,
    rng: &mut Generator,
) -> Vec<u8> {
    let total = graph.total_load();
    let smaller = capacity[0].min(capacity[1]).min(total / 2);
    let finest_load = graph.largest_load();
    let coarse_load = (total / COARSEST as u64 * 2).min(smaller / 4).max(finest_load);
    let queues = [GainBuckets::new(), GainBuckets::new()];
    let mut multilevel = Multilevel { capacity, finest_load, coarse_load, effort, rng, queues };
    let cycles = if graph.vertex_count() <= COARSEST { 1 } else { effort.cycles };
    multilevel.best(cycles, graph, 1).1
}

/// The quality of a bisection ([`Bisection::quality`]) and the side of each vertex.
type Sides = ((u64, i64), Vec<u8>);

struct Multilevel<'a> {
    /// What each side may hold.
    capacity: [u64; 2],
    /// The largest load in the finest graph.
    finest_load: u64,
    /// The largest load that coarse vertices may have.
    coarse_load: u64,
    effort: BisectionEffort,
    rng: &'a mut Generator,
    queues: [GainBuckets; 2],
}

impl Multilevel<'_> {
    fn best(&mut self, cycles: usize, graph: &CompactGraph, depth: usize) -> Sides {
        let mut best = self.cycle(graph, depth);
        for _ in 1..cycles {
            let sides = self.cycle(graph, depth);
            if sides.0 < best.0 {
                best = sides;
            }
        }
        best
    }

    /// Coarsens once, bisects the coarse graph, and refines that bisection on this one.
    fn cycle(&mut self, graph: &CompactGraph, depth: usize) -> Sides {
        let vertices = graph.vertex_count();
        let capacity = self.with_slack(graph);
        if vertices > COARSEST {
            let rating = self.effort.rating;
            let coarse = Coarsening::new(graph, self.coarse_load, None, rating, self.rng);
            if coarse.graph.vertex_count() * 20 <= vertices * 19 {
                let every = self.effort.branch_after;
                let branch = every > 0
                    && depth.is_multiple_of(every)
                    && coarse.graph.vertex_count() > COARSEST;
                let (_, side_of) = self.best(1 + usize::from(branch), &coarse.graph, depth + 1);
                let side_of = coarse.coarse_of.iter().map(|v| side_of[*v as usize]);
                let mut bisection =
                    Bisection::with_sides(graph, side_of, capacity, &mut self.queues);
                bisection.refine(self.effort.passes, self.effort.patience);
                return (bisection.quality(), bisection.sides().collect());
            }
        }
        self.bisect_coarsest(graph, capacity)
    }

    /// What the sides may hold of a coarse graph: its heavy vertices cannot be shared out exactly.
    fn with_slack(&self, coarse: &CompactGraph) -> [u64; 2] {
        let slack = (coarse.largest_load() - self.finest_load) / 2;
        self.capacity.map(|capacity| capacity.saturating_add(slack))
    }

    fn bisect_coarsest(&mut self, graph: &CompactGraph, capacity: [u64; 2]) -> Sides {
        let vertices = graph.vertex_count();
        let mut bisection = Bisection::new(graph, capacity, &mut self.queues);
        let mut best = (bisection.quality(), bisection.sides().collect());
        for start in 0..self.effort.starts.min(vertices) {
            bisection.grow(self.rng.below(vertices) as u32);
            bisection.refine(self.effort.passes, self.effort.patience);
            if start == 0 || bisection.quality() < best.0 {
                best = (bisection.quality(), bisection.sides().collect());
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::Graph;

    const EFFORT: BisectionEffort = BisectionEffort {
        starts: 4,
        cycles: 2,
        branch_after: 2,
        passes: 4,
        patience: 40,
        rating: Rating::Weight,
    };

    fn sides(graph: &Graph, capacity: [u64; 2]) -> Vec<u8> {
        let graph = CompactGraph::new(graph, &vec![1; graph.vertex_count()]).unwrap();
        bisect(&graph, capacity, EFFORT, &mut Generator::new(1))
    }

    #[test]
    fn a_path_is_cut_once() {
        let path = (1..300).map(|vertex| (vertex - 1, vertex, 7)).collect();
        let graph = Graph::from_edges(300, path);
        let side_of = sides(&graph, [100, 200]);
        assert_eq!(graph.cost(|a, b| u64::from(side_of[a] != side_of[b])), 7);
        assert_eq!(side_of.iter().filter(|side| **side == 0).count(), 100);
    }

    proptest! {
        #[test]
        fn both_sides_keep_their_capacity(
            edges in prop::collection::vec((0_u32..150, 0_u32..150, 1_u64..9), 0..400),
            first in 0_u64..=150,
        ) {
            let side_of = sides(&Graph::from_edges(150, edges), [first, 150 - first]);
            let held = side_of.iter().filter(|side| **side == 0).count() as u64;
            prop_assert_eq!(held, first);
        }
    }
}

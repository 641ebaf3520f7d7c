//! Multilevel bisection with unequal shares.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::buckets::Buckets;
use super::coarsen::{Coarse, Rating};
use super::compact::Compact;
use super::refine::Bisection;

/// How hard to try.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Trials {
    /// How many times to divide the coarsest graphs.
    pub(in crate::map) starts: usize,
    /// How many times to begin with the finest graph.
    pub(in crate::map) cycles: usize,
    /// After how many steps of coarsening to coarsen twice, and keep the better division. With half
    /// the vertices at each step, 2 takes 1.7 times as long as never, but tries the square root of
    /// the number of vertices.
    pub(in crate::map) branch_after: usize,
    /// How many passes over each graph at most.
    pub(in crate::map) passes: usize,
    /// After how many moves that lead to nothing better a pass ends.
    pub(in crate::map) patience: usize,
    /// How vertices are joined.
    pub(in crate::map) rating: Rating,
}

const COARSEST: usize = 30;

/// Divides a graph in two with few edges between: the side of each vertex. Side i holds at most
/// `room[i]` where moving single vertices can reach that; both rooms together must hold all.
pub(in crate::map) fn bisect(
    graph: &Compact,
    room: [u64; 2],
    trials: Trials,
    rng: &mut ChaCha8Rng,
) -> Vec<u8> {
    let total = graph.total_load();
    let smaller = room[0].min(room[1]).min(total / 2);
    let own = graph.largest_load();
    let largest = (total / COARSEST as u64 * 2).min(smaller / 4).max(own);
    let queues = [Buckets::new(), Buckets::new()];
    let mut multilevel = Multilevel { room, own, largest, trials, rng, queues };
    let cycles = if graph.vertex_count() <= COARSEST { 1 } else { trials.cycles };
    multilevel.best(cycles, graph, 1).1
}

type Divided = ((u64, i64), Vec<u8>);

struct Multilevel<'a> {
    room: [u64; 2],
    /// The largest load of the finest graph.
    own: u64,
    /// The largest load that coarse vertices may have.
    largest: u64,
    trials: Trials,
    rng: &'a mut ChaCha8Rng,
    queues: [Buckets; 2],
}

impl Multilevel<'_> {
    fn best(&mut self, cycles: usize, graph: &Compact, depth: usize) -> Divided {
        let mut best = self.cycle(graph, depth);
        for _ in 1..cycles {
            let found = self.cycle(graph, depth);
            if found.0 < best.0 {
                best = found;
            }
        }
        best
    }

    /// Coarsens once, divides the coarse graph, and makes that division better here.
    fn cycle(&mut self, graph: &Compact, depth: usize) -> Divided {
        let vertices = graph.vertex_count();
        let room = self.slack(graph);
        if vertices > COARSEST {
            let coarse = Coarse::new(graph, self.largest, None, self.trials.rating, self.rng);
            if coarse.graph.vertex_count() * 20 <= vertices * 19 {
                let every = self.trials.branch_after;
                let branch = every > 0
                    && depth.is_multiple_of(every)
                    && coarse.graph.vertex_count() > COARSEST;
                let (_, side_of) = self.best(1 + usize::from(branch), &coarse.graph, depth + 1);
                let side_of = coarse.vertex_of.iter().map(|v| side_of[*v as usize]);
                let mut bisection = Bisection::with_sides(graph, side_of, room, &mut self.queues);
                bisection.refine(self.trials.passes, self.trials.patience);
                return (bisection.quality(), bisection.sides().collect());
            }
        }
        self.divide_coarsest(graph, room)
    }

    /// What the sides may hold of a coarse graph: its heavy vertices cannot be shared out exactly.
    fn slack(&self, coarse: &Compact) -> [u64; 2] {
        let more = coarse.largest_load() - self.own;
        self.room.map(|room| room.saturating_add(more / 2))
    }

    fn divide_coarsest(&mut self, graph: &Compact, room: [u64; 2]) -> Divided {
        let vertices = graph.vertex_count();
        let mut bisection = Bisection::new(graph, room, &mut self.queues);
        let mut best = (bisection.quality(), bisection.sides().collect());
        for start in 0..self.trials.starts.min(vertices) {
            bisection.grow(self.rng.random_range(0..vertices as u32));
            bisection.refine(self.trials.passes, self.trials.patience);
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
    use rand::SeedableRng;

    use super::*;
    use crate::map::Graph;

    const TRIALS: Trials = Trials {
        starts: 4,
        cycles: 2,
        branch_after: 2,
        passes: 4,
        patience: 40,
        rating: Rating::Weight,
    };

    fn divide(graph: &Graph, room: [u64; 2]) -> Vec<u8> {
        let graph = Compact::new(graph, &vec![1; graph.vertex_count()]).unwrap();
        bisect(&graph, room, TRIALS, &mut ChaCha8Rng::seed_from_u64(1))
    }

    #[test]
    fn a_path_is_cut_once() {
        let path = (1..300).map(|vertex| (vertex - 1, vertex, 7)).collect();
        let graph = Graph::from_edges(300, path);
        let side_of = divide(&graph, [100, 200]);
        assert_eq!(graph.cost(|a, b| u64::from(side_of[a] != side_of[b])), 7);
        assert_eq!(side_of.iter().filter(|side| **side == 0).count(), 100);
    }

    proptest! {
        #[test]
        fn both_sides_keep_to_their_room(
            edges in prop::collection::vec((0_u32..150, 0_u32..150, 1_u64..9), 0..400),
            first in 0_u64..=150,
        ) {
            let side_of = divide(&Graph::from_edges(150, edges), [first, 150 - first]);
            let held = side_of.iter().filter(|side| **side == 0).count() as u64;
            prop_assert_eq!(held, first);
        }
    }
}

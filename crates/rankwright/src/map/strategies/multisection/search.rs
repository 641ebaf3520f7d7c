//! The whole search: first assignments, then successive halving among them.

use super::effort::WorkPlan;
use super::halving::{MoveBudget, Schedule, successive_halving};
use super::swaps::LocalSearch;
use crate::map::search::graph::Graph;
use crate::map::search::tree::{BinId, Tree};
use crate::map::{Budget, Effort, MapError};
use crate::parallel;

/// The assignment problem that is searched: vertices of a graph to bins at the leaves of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subproblem<'a> {
    pub(super) tree: &'a Tree,
    pub(super) graph: &'a Graph,
    /// Index: vertex.
    pub(super) loads: &'a [u64],
    /// The load that each bin may hold. Index: [`BinId`].
    pub(super) capacity: &'a [u64],
    pub(super) effort: Effort,
    /// Trial swaps to make; `None`: by the effort.
    pub(super) moves: Option<u64>,
    pub(super) seed: u64,
}

impl Subproblem<'_> {
    /// The sum over all edges of weight times distance.
    fn cost(&self, bin_of: &[BinId]) -> u128 {
        self.graph.cost(|a, b| self.tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }
}

/// The bin of each vertex.
///
/// # Errors
/// If the graph is too large to be divided, or threads cannot be started.
pub(super) fn search(problem: &Subproblem, budget: &Budget) -> Result<Vec<BinId>, MapError> {
    let plan = WorkPlan::new(problem);
    let timed = problem.moves.is_none() && budget.time_passed().is_some();
    let moves = problem.moves.unwrap_or(if timed { u64::MAX } else { plan.moves });
    let advance = |made: u64| budget.advance(made as f64 / moves.max(1) as f64);
    let mut best: Option<Vec<BinId>> = None;
    let mut left = MoveBudget { threads: budget.threads(), moves, advance: &advance };
    for number in 0.. {
        let before = left.moves;
        let mut starts = plan.first_assignments(problem, number, budget, &left)?;
        starts.splice(..0, best.clone());
        let improved = improve(problem, &plan, number, &starts, &mut left);
        // A halving without a move does not count as begun.
        if best.is_none() || left.moves < before {
            best = improved;
        }
        if left.moves == 0 || left.moves == before {
            break;
        }
    }
    budget.count_moves(moves - left.moves);
    let best = best.unwrap_or_default();
    let in_order =
        in_order(problem).filter(|in_order| problem.cost(in_order) < problem.cost(&best));
    Ok(in_order.unwrap_or(best))
}

/// The vertices in ascending order, bin after bin: many programs number their ranks for that.
fn in_order(problem: &Subproblem) -> Option<Vec<BinId>> {
    let (mut bin, mut filled) = (0, 0);
    let next = |load: &u64| {
        while filled + load > *problem.capacity.get(bin)? {
            (bin, filled) = (bin + 1, 0);
        }
        filled += load;
        Some(bin as BinId)
    };
    problem.loads.iter().map(next).collect()
}

/// The best assignment of one successive halving, its starts included.
fn improve(
    problem: &Subproblem,
    plan: &WorkPlan,
    number: u64,
    starts: &[Vec<BinId>],
    left: &mut MoveBudget,
) -> Option<Vec<BinId>> {
    let Subproblem { tree, graph, loads, capacity, seed, .. } = *problem;
    let search = LocalSearch::new(tree, graph, loads, capacity, starts);
    let improved = search.map_or_else(Vec::new, |search| {
        let candidates = parallel::map(starts, left.threads, |_, start| match plan.crowded {
            true => search.evaluate(start),
            false => search.descend(start),
        });
        if candidates.iter().any(|candidate| search.is_least(candidate.cost)) {
            return candidates;
        }
        let length = plan.length.saturating_mul(1 << number.min(40));
        let schedule = Schedule { length, ratios: plan.ratios, seed, number };
        successive_halving(&search, candidates, schedule, left)
    });
    let improved = improved.into_iter().map(|solution| solution.bin_of);
    // Huge weights are scaled down for the search: the cost itself decides.
    improved.chain(starts.iter().cloned()).min_by_key(|bin_of| problem.cost(bin_of))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::map::strategies::multisection::testing::{bins, uniform_tree};
    use crate::random::{Generator, below_u32};

    const NORMAL: Effort = Effort::Normal;

    fn run(
        graph: &Graph,
        tree: &Tree,
        effort: Effort,
        moves: Option<u64>,
        budget: &Budget,
    ) -> Vec<BinId> {
        let loads = vec![1; graph.vertex_count()];
        let capacity = vec![1; tree.bin_count()];
        let (loads, capacity) = (&loads[..], &capacity[..]);
        let problem = Subproblem { tree, graph, loads, capacity, effort, moves, seed: 1 };
        let bin_of = search(&problem, budget).unwrap();
        assert_eq!(bin_of.len(), graph.vertex_count());
        assert!(bins(&bin_of, tree.bin_count()).iter().all(|bin| bin.len() <= 1));
        bin_of
    }

    fn cost(graph: &Graph, tree: &Tree, bin_of: &[BinId]) -> u128 {
        graph.cost(|a, b| tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }

    /// A graph with edges between random vertices.
    fn random_graph(vertices: u32, edges: usize, seed: u64) -> Graph {
        let mut generator = Generator::new(seed);
        let mut number = |count| below_u32(generator.bits() as u32, count);
        let edge = |_| (number(vertices), number(vertices), 1 + u64::from(number(20)));
        Graph::from_edges(vertices as usize, (0..edges).map(edge).collect())
    }

    /// The cost of the best assignment of `bin_of.len()` vertices of which some have a bin.
    fn least(graph: &Graph, tree: &Tree, bin_of: &mut Vec<BinId>) -> u128 {
        if bin_of.len() == graph.vertex_count() {
            return cost(graph, tree, bin_of);
        }
        let mut best = u128::MAX;
        for bin in 0..tree.bin_count() as u32 {
            if !bin_of.contains(&bin) {
                bin_of.push(bin);
                best = best.min(least(graph, tree, bin_of));
                bin_of.pop();
            }
        }
        best
    }

    #[test]
    fn small_problems_are_solved_like_exhaustive_search_does() {
        for (hierarchy, distances) in [("2:2:2", "1:10:100"), ("4:2", "1:7"), ("2:3", "1:100")] {
            let tree = uniform_tree(hierarchy, distances);
            for (vertices, edges, seed) in [(8, 12, 1), (6, 9, 2), (5, 4, 3)] {
                let vertices = (tree.bin_count() as u32).min(vertices);
                let graph = random_graph(vertices, edges, seed);
                let bin_of = run(&graph, &tree, NORMAL, None, &Budget::default());
                // Bins of a uniform tree are alike: the first vertex may stay in the first.
                let least = least(&graph, &tree, &mut vec![0]);
                assert_eq!(cost(&graph, &tree, &bin_of), least, "{hierarchy} {vertices}");
            }
        }
    }

    #[test]
    fn renumbering_a_symmetric_graph_changes_nothing() {
        let tree = uniform_tree("2:4:2", "1:10:100");
        let ring = |a: u32, b: u32| (a + 1) % 16 == b || (b + 1) % 16 == a;
        let cube = |a: u32, b: u32| (a ^ b).count_ones() == 1;
        let complete = |_, _| true;
        let kinds: [&dyn Fn(u32, u32) -> bool; 3] = [&ring, &cube, &complete];
        for joined in kinds {
            let costs = [1, 3, 5, 7].map(|factor| {
                let pairs = (0..16).flat_map(|a| (0..a).map(move |b| (a, b)));
                let number = |vertex: u32| (vertex * factor + 3) % 16;
                let edges = pairs.filter(|(a, b)| joined(*a, *b));
                let graph =
                    Graph::from_edges(16, edges.map(|(a, b)| (number(a), number(b), 5)).collect());
                cost(&graph, &tree, &run(&graph, &tree, NORMAL, None, &Budget::default()))
            });
            assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
        }
    }

    #[test]
    fn nothing_is_worse_than_the_order_of_the_ranks() {
        let tree = uniform_tree("4:8:2", "1:10:100");
        for vertices in [12, 37, 52, 64] {
            let path = (1..vertices).map(|vertex| (vertex - 1, vertex, 1)).collect();
            let graph = Graph::from_edges(vertices as usize, path);
            let natural: Vec<BinId> = (0..vertices).collect();
            for effort in [Effort::Fast, NORMAL] {
                let bin_of = run(&graph, &tree, effort, Some(0), &Budget::default());
                assert!(cost(&graph, &tree, &bin_of) <= cost(&graph, &tree, &natural));
            }
        }
    }

    #[test]
    fn odd_graphs_are_mapped() {
        let tree = uniform_tree("2:2:3", "1:10:100");
        let huge = (1_u64 << 63) - 1;
        let graphs = [
            Graph::from_edges(1, vec![]),
            Graph::from_edges(12, vec![]),
            Graph::from_edges(12, vec![(3, 3, 7)]),
            Graph::from_edges(12, vec![(0, 9, 1), (9, 0, 2), (4, 5, 1)]),
            Graph::from_edges(12, (1..12).map(|v| (0, v, huge - u64::from(v))).collect()),
            Graph::from_edges(7, (1..7).map(|v| (v - 1, v, u64::MAX)).chain([(0, 6, 1)]).collect()),
        ];
        for graph in graphs {
            for effort in [Effort::Fast, NORMAL] {
                run(&graph, &tree, effort, None, &Budget::default());
            }
        }
        let flat = Tree::flat(4);
        run(&random_graph(4, 6, 1), &flat, NORMAL, None, &Budget::default());
    }

    #[test]
    fn results_do_not_depend_on_threads_and_moves_are_counted() {
        let tree = uniform_tree("2:3:4", "1:10:100");
        let graph = random_graph(24, 60, 5);
        let start = run(&graph, &tree, NORMAL, Some(0), &Budget::default());
        for moves in [1, 5_000, 12_345, 300_000] {
            let sequential = Budget::default();
            let bin_of = run(&graph, &tree, NORMAL, Some(moves), &sequential);
            assert_eq!(sequential.moves(), moves);
            assert!(cost(&graph, &tree, &bin_of) <= cost(&graph, &tree, &start));
            let parallel = Budget::default().with_threads(NonZeroUsize::new(3).unwrap());
            assert_eq!(run(&graph, &tree, NORMAL, Some(moves), &parallel), bin_of);
            assert_eq!(parallel.moves(), moves);
        }
    }

    #[test]
    fn an_end_by_the_clock_is_repeated_by_its_moves() {
        let tree = uniform_tree("2:3:4", "1:10:100");
        let graph = random_graph(24, 60, 5);
        // Not so early that first assignments are cut short, which moves do not tell.
        for ticks in [1000.0, 2500.0, 10_000.0] {
            let calls = AtomicU64::new(0);
            let clock = move || calls.fetch_add(1, Ordering::Relaxed) as f64 / ticks;
            let timed = Budget::default().with_clock(&clock);
            let bin_of = run(&graph, &tree, NORMAL, None, &timed);
            let again = run(&graph, &tree, NORMAL, Some(timed.moves()), &Budget::default());
            assert_eq!(bin_of, again, "{ticks}");
        }
    }

    #[test]
    fn without_time_the_first_assignment_is_the_solution() {
        let tree = uniform_tree("2:3:4", "1:10:100");
        let budget = Budget::default().with_clock(&|| 1.0);
        run(&random_graph(24, 60, 5), &tree, NORMAL, None, &budget);
        assert_eq!(budget.moves(), 0);
    }
}

//! The whole search: first assignments, then tournaments among them.

use std::num::NonZeroUsize;

use super::annealing::Shares;
use super::construct::{Request, construct};
use super::local_search::{Answer, LocalSearch};
use super::tiles::tilings;
use super::tournament::{Purse, Rules, hold};
use crate::map::search::graph::Graph;
use crate::map::search::tree::Tree;
use crate::map::{Budget, Effort, MapError};
use crate::parallel::side_by_side;

/// What is searched, and how hard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim<'a> {
    pub(super) tree: &'a Tree,
    pub(super) graph: &'a Graph,
    pub(super) loads: &'a [u64],
    /// What each bin may hold.
    pub(super) capacity: &'a [u64],
    pub(super) effort: Effort,
    /// How many trial swaps to make, where not the effort says it.
    pub(super) moves: Option<u64>,
    pub(super) seed: u64,
}

impl Aim<'_> {
    fn cost(&self, bin_of: &[u32]) -> u128 {
        self.graph.cost(|a, b| self.tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }
}

/// The bin of each vertex.
///
/// # Errors
/// If the graph is too large to be divided, or threads cannot be started.
pub(super) fn search(aim: &Aim, budget: &Budget) -> Result<Vec<u32>, MapError> {
    let plan = Plan::new(aim);
    let timed = aim.moves.is_none() && budget.time_passed().is_some();
    let over = || timed && budget.time_passed().is_some_and(|passed| passed >= 1.0);
    let moves = aim.moves.unwrap_or(if timed { u64::MAX } else { plan.moves });
    let mut best: Option<Vec<u32>> = None;
    let mut purse = Purse { threads: budget.threads(), moves, over: &over };
    for number in 0.. {
        let before = purse.moves;
        let mut starts = plan.firsts(aim, number, budget, &purse)?;
        starts.splice(..0, best.clone());
        let found = tournament(aim, &plan, number, &starts, &mut purse);
        // A tournament without a move is as if it had not begun.
        if best.is_none() || purse.moves < before {
            best = found;
        }
        if purse.moves == 0 || purse.moves == before {
            break;
        }
    }
    budget.count_moves(moves - purse.moves);
    let best = best.unwrap_or_default();
    let natural = in_order(aim).filter(|natural| aim.cost(natural) < aim.cost(&best));
    Ok(natural.unwrap_or(best))
}

/// The vertices in their order from the first bin on: what a program was often written for.
fn in_order(aim: &Aim) -> Option<Vec<u32>> {
    let (mut bin, mut load) = (0, 0);
    let next = |own: &u64| {
        while load + own > *aim.capacity.get(bin)? {
            (bin, load) = (bin + 1, 0);
        }
        load += own;
        Some(bin as u32)
    };
    aim.loads.iter().map(next).collect()
}

/// The best assignment of a tournament, the starts included.
fn tournament(
    aim: &Aim,
    plan: &Plan,
    number: u64,
    starts: &[Vec<u32>],
    purse: &mut Purse,
) -> Option<Vec<u32>> {
    let search = LocalSearch::new(aim.tree, aim.graph, aim.loads, aim.capacity, starts);
    let found = search.map_or_else(Vec::new, |search| {
        let players = side_by_side(starts, purse.threads, |_, start| match plan.crowded {
            true => search.answer(start),
            false => search.descend(start),
        });
        if players.iter().any(|player| search.is_least(player.cost)) {
            return players;
        }
        let length = plan.length.saturating_mul(1 << number.min(40));
        hold(&search, players, Rules { length, shares: plan.shares, seed: aim.seed, number }, purse)
    });
    let found = found.into_iter().map(|answer: Answer| answer.bin_of);
    // Huge weights are scaled down for the search; the last word has the cost itself.
    found.chain(starts.iter().cloned()).min_by_key(|bin_of| aim.cost(bin_of))
}

/// How many first assignments the first tournament begins with at most.
const FIRSTS: usize = 8;

/// What share of trial swaps is accepted although it costs something, at first and at last. None
/// is best everywhere: hot ones leave good structure behind, cold ones get stuck.
const SHARES: &[Shares] = &[[0.1, 0.001], [0.2, 0.001], [0.05, 0.001]];
/// For annealings so short that they could not repair what heat spoils.
const COLD: &[Shares] = &[[0.01, 0.001]];

/// How much work each effort is.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// How many first assignments a tournament begins with at most.
    firsts: usize,
    /// How hard each is worked on.
    effort: Effort,
    /// How many trial swaps the first annealings of the first tournament make.
    length: u64,
    /// From how hot to how cold they are, in turn.
    shares: &'static [Shares],
    /// How many trial swaps to make without a clock.
    moves: u64,
    /// Whether many vertices share a bin: a swap finds hardly anything then that moves have not.
    crowded: bool,
}

impl Plan {
    fn new(aim: &Aim) -> Self {
        let vertices = aim.graph.vertex_count() as u64;
        let length = 250 * vertices;
        let of_tournament = |firsts: u64, length: u64| {
            let rounds = std::iter::successors(Some((firsts, length)), |(players, length)| {
                (*players > 2).then(|| (players.div_ceil(2), 2 * length))
            });
            rounds.map(|(players, length)| players * length).sum::<u64>()
        };
        // Where many vertices share a bin, moves made while dividing leave little to anneal.
        let crowded = vertices > 4 * aim.tree.bin_count() as u64;
        let plan = |firsts, effort, length, moves| {
            let shares = if effort == Effort::Fast { COLD } else { SHARES };
            Self { firsts, effort, length, shares, moves, crowded }
        };
        match aim.effort {
            effort if crowded => {
                plan(if effort == Effort::Best { 2 } else { 1 }, effort, 20 * vertices, 0)
            }
            // Several where each takes about a millisecond.
            Effort::Fast => {
                let firsts = (512 / vertices.max(1)).clamp(1, 4);
                let length = 15 * vertices;
                plan(firsts as usize, Effort::Fast, length, firsts * length)
            }
            Effort::Normal => plan(8, Effort::Normal, length, of_tournament(8, length)),
            Effort::Best => {
                let length = 100 * vertices;
                plan(32, Effort::Normal, length, 7 * of_tournament(32, length))
            }
        }
    }

    /// How many first assignments a tournament begins with: first few, so that little time is well
    /// spent.
    fn firsts_of(&self, number: u64) -> usize {
        self.firsts.min(FIRSTS << number.min(32))
    }

    /// Assignments of a grid by tiles, the best first; none where looking for a grid would take longer
    /// than all else.
    fn tiles(&self, aim: &Aim) -> Vec<Vec<u32>> {
        let short = aim.effort == Effort::Fast && !self.crowded;
        let uneven = aim.loads.iter().any(|load| *load != aim.loads[0]);
        if short || uneven {
            return Vec::new();
        }
        tilings(aim.tree, aim.graph, self.firsts_of(0).div_ceil(4))
    }

    /// First assignments. At least one, however late it is.
    fn firsts(
        &self,
        aim: &Aim,
        number: u64,
        budget: &Budget,
        purse: &Purse,
    ) -> Result<Vec<Vec<u32>>, MapError> {
        let threads = if self.firsts == 1 { budget.threads() } else { NonZeroUsize::MIN };
        let tiles = if number == 0 { self.tiles(aim) } else { Vec::new() };
        let mut divided = self.firsts_of(number);
        // Where moves are all that is tried, the division may still be better.
        if !self.crowded || aim.effort == Effort::Fast {
            divided -= tiles.len();
        }
        let firsts: Vec<usize> = (0..tiles.len() + divided).collect();
        let made = side_by_side(&firsts, purse.threads, |first, _| {
            if (first > 0 || number > 0) && (purse.over)() {
                return None;
            }
            let start = tiles.get(first).map(Vec::as_slice);
            let seed = aim.seed.wrapping_add((number * self.firsts as u64 + first as u64) << 32);
            let (tree, capacity, effort) = (aim.tree, aim.capacity, self.effort);
            let (hot, uneven) = (first % 2 == 1, first % 4 == 3);
            let request = Request { tree, capacity, effort, hot, uneven, start, seed, threads };
            Some(construct(request, aim.graph, aim.loads))
        });
        made.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::map::strategies::multisection::generator::{Generator, below};
    use crate::map::strategies::multisection::testing::{bins, uniform_tree};

    const NORMAL: Effort = Effort::Normal;

    fn run(
        graph: &Graph,
        tree: &Tree,
        effort: Effort,
        moves: Option<u64>,
        budget: &Budget,
    ) -> Vec<u32> {
        let loads = vec![1; graph.vertex_count()];
        let capacity = vec![1; tree.bin_count()];
        let (loads, capacity) = (&loads[..], &capacity[..]);
        let aim = Aim { tree, graph, loads, capacity, effort, moves, seed: 1 };
        let bin_of = search(&aim, budget).unwrap();
        assert_eq!(bin_of.len(), graph.vertex_count());
        assert!(bins(&bin_of, tree.bin_count()).iter().all(|bin| bin.len() <= 1));
        bin_of
    }

    fn cost(graph: &Graph, tree: &Tree, bin_of: &[u32]) -> u128 {
        graph.cost(|a, b| tree.distance(bin_of[a] as usize, bin_of[b] as usize))
    }

    /// So many edges between any vertices.
    fn random_graph(vertices: u32, edges: usize, seed: u64) -> Graph {
        let mut generator = Generator::new(seed);
        let mut number = |count| below(generator.next() as u32, count);
        let edge = |_| (number(vertices), number(vertices), 1 + u64::from(number(20)));
        Graph::from_edges(vertices as usize, (0..edges).map(edge).collect())
    }

    /// The cost of the best assignment of `bin_of.len()` vertices of which some have a bin.
    fn least(graph: &Graph, tree: &Tree, bin_of: &mut Vec<u32>) -> u128 {
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
                let found = run(&graph, &tree, NORMAL, None, &Budget::default());
                // Bins of a uniform tree are alike: the first vertex may stay in the first.
                let least = least(&graph, &tree, &mut vec![0]);
                assert_eq!(cost(&graph, &tree, &found), least, "{hierarchy} {vertices}");
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
            let natural: Vec<u32> = (0..vertices).collect();
            for effort in [Effort::Fast, NORMAL] {
                let found = run(&graph, &tree, effort, Some(0), &Budget::default());
                assert!(cost(&graph, &tree, &found) <= cost(&graph, &tree, &natural));
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
            let one = Budget::default();
            let found = run(&graph, &tree, NORMAL, Some(moves), &one);
            assert_eq!(one.moves(), moves);
            assert!(cost(&graph, &tree, &found) <= cost(&graph, &tree, &start));
            let three = Budget::default().with_threads(NonZeroUsize::new(3).unwrap());
            assert_eq!(run(&graph, &tree, NORMAL, Some(moves), &three), found);
            assert_eq!(three.moves(), moves);
        }
    }

    #[test]
    fn what_the_clock_ended_can_be_had_again_by_its_moves() {
        let tree = uniform_tree("2:3:4", "1:10:100");
        let graph = random_graph(24, 60, 5);
        for ticks in [20.0, 60.0, 500.0, 2500.0] {
            let asked = AtomicU64::new(0);
            let clock = move || asked.fetch_add(1, Ordering::Relaxed) as f64 / ticks;
            let timed = Budget::default().with_clock(&clock);
            let found = run(&graph, &tree, NORMAL, None, &timed);
            let again = run(&graph, &tree, NORMAL, Some(timed.moves()), &Budget::default());
            assert_eq!(found, again, "{ticks}");
        }
    }

    #[test]
    fn without_time_there_is_an_answer() {
        let tree = uniform_tree("2:3:4", "1:10:100");
        let budget = Budget::default().with_clock(&|| 1.0);
        run(&random_graph(24, 60, 5), &tree, NORMAL, None, &budget);
        assert_eq!(budget.moves(), 0);
    }
}

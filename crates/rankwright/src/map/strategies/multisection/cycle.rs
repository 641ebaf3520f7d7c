//! Makes an assignment better on coarser graphs first, where one move is that of many vertices.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::bin_codes::BinCodes;
use super::moves::Moves;
use crate::map::search::graph::{Coarse, Compact, Rating};

/// How long to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    /// Over how many coarsenings to go.
    pub(super) cycles: usize,
    /// How many times at most to begin a local search at every vertex.
    pub(super) rounds: usize,
    /// After how many moves that lead to nothing better a local search ends.
    pub(super) patience: usize,
    /// How many neighbours per edge to look at in one round at most.
    pub(super) work: u64,
}

/// Down to how many vertices to coarsen.
const VERTICES_PER_BIN: usize = 60;
/// How often at most to go through the vertices for moves that pay at once.
const PASSES: usize = 6;

/// Bins for the vertices, and what they may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bins<'a> {
    pub(super) codes: &'a BinCodes,
    pub(super) capacity: &'a [u64],
}

/// A better assignment: over the levels of some coarsenings that join only vertices of one bin, from
/// the coarsest to the graph itself.
pub(super) fn improve(
    graph: &Compact,
    bins: Bins<'_>,
    mut bin_of: Vec<u32>,
    search: Search,
    rng: &mut ChaCha8Rng,
) -> Vec<u32> {
    for _ in 0..search.cycles {
        let mut levels = coarsen(graph, VERTICES_PER_BIN * bins.capacity.len(), &bin_of, rng);
        bin_of = levels.iter().fold(bin_of, |bins, level| level.project(&bins));
        while let Some(level) = levels.pop() {
            bin_of = improve_level(&level.graph, graph, bins, bin_of, search, rng);
            bin_of = level.vertex_of.iter().map(|vertex| bin_of[*vertex as usize]).collect();
        }
        bin_of = improve_level(graph, graph, bins, bin_of, search, rng);
    }
    bin_of
}

fn improve_level(
    graph: &Compact,
    finest: &Compact,
    bins: Bins<'_>,
    bin_of: Vec<u32>,
    search: Search,
    rng: &mut ChaCha8Rng,
) -> Vec<u32> {
    // Heavy vertices cannot be shared out exactly.
    let more = (graph.largest_load() - finest.largest_load()) / 2;
    let capacity = bins.capacity.iter().map(|room| room.saturating_add(more)).collect();
    let mut moves = Moves::new(graph, bins.codes, capacity, bin_of);
    moves.balance();
    moves.descend(PASSES);
    for _ in 0..search.rounds {
        let mut order = moves.borders();
        order.shuffle(rng);
        if !moves.search(&order, search.patience, search.work) {
            break;
        }
    }
    moves.into_bins()
}

/// Coarser and coarser graphs, down to about so many vertices.
fn coarsen(graph: &Compact, enough: usize, bin_of: &[u32], rng: &mut ChaCha8Rng) -> Vec<Coarse> {
    let mut levels: Vec<Coarse> = Vec::new();
    let largest = (graph.total_load() / enough.max(1) as u64 * 3 / 2).max(graph.largest_load());
    let mut bins = bin_of.to_vec();
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        if finest.vertex_count() <= enough {
            return levels;
        }
        let coarse = Coarse::new(finest, largest, Some(&bins), Rating::Weight, rng);
        if coarse.graph.vertex_count() * 20 > finest.vertex_count() * 19 {
            return levels;
        }
        bins = coarse.project(&bins);
        levels.push(coarse);
    }
}

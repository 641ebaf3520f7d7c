//! Multilevel cycles over an assignment that exists: on a coarser graph one move is that of many
//! vertices.

use super::moves::BinMoves;
use crate::map::search::graph::{Coarsening, CompactGraph, Rating};
use crate::map::search::tree::BinId;
use crate::map::strategies::multisection::bin_codes::BinCodes;
use crate::random::Generator;

/// How long to search.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct CycleEffort {
    /// How many coarsenings to go over.
    pub(in super::super) cycles: usize,
    /// How many times at most to begin a local search at every vertex.
    pub(in super::super) rounds: usize,
    /// A local search ends after this many moves without improvement.
    pub(in super::super) patience: usize,
    /// Neighbours to look at in one round at most, per edge.
    pub(in super::super) work: u64,
}

/// Graphs are coarsened down to this many vertices per bin.
const VERTICES_PER_BIN: usize = 60;
/// Passes over the vertices at most for moves that do not raise the cost.
const PASSES: usize = 6;

/// Bins with their codes in the tree and what each may hold.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bins<'a> {
    pub(in super::super) codes: &'a BinCodes,
    /// The load that each bin may hold. Index: [`BinId`].
    pub(in super::super) capacity: &'a [u64],
}

/// Improves an assignment: over the levels of some coarsenings that join only vertices of one bin,
/// from the coarsest to the graph itself.
pub(in super::super) fn improve(
    graph: &CompactGraph,
    bins: Bins<'_>,
    mut bin_of: Vec<BinId>,
    effort: CycleEffort,
    rng: &mut Generator,
) -> Vec<BinId> {
    for _ in 0..effort.cycles {
        let mut levels = coarsen(graph, VERTICES_PER_BIN * bins.capacity.len(), &bin_of, rng);
        bin_of = levels.iter().fold(bin_of, |bins, level| level.project(&bins));
        while let Some(level) = levels.pop() {
            bin_of = improve_level(&level.graph, graph, bins, bin_of, effort, rng);
            bin_of = level.coarse_of.iter().map(|coarse| bin_of[*coarse as usize]).collect();
        }
        bin_of = improve_level(graph, graph, bins, bin_of, effort, rng);
    }
    bin_of
}

fn improve_level(
    graph: &CompactGraph,
    finest: &CompactGraph,
    bins: Bins<'_>,
    bin_of: Vec<BinId>,
    effort: CycleEffort,
    rng: &mut Generator,
) -> Vec<BinId> {
    // Heavy vertices cannot be shared out exactly.
    let slack = (graph.largest_load() - finest.largest_load()) / 2;
    let capacity = bins.capacity.iter().map(|capacity| capacity.saturating_add(slack)).collect();
    let mut moves = BinMoves::new(graph, bins.codes, capacity, bin_of);
    moves.balance();
    moves.descend(PASSES);
    for _ in 0..effort.rounds {
        let mut order = moves.border_vertices();
        rng.shuffle(&mut order);
        if !moves.search(&order, effort.patience, effort.work) {
            break;
        }
    }
    moves.into_bins()
}

/// Coarser and coarser graphs, down to about `enough` vertices.
fn coarsen(
    graph: &CompactGraph,
    enough: usize,
    bin_of: &[BinId],
    rng: &mut Generator,
) -> Vec<Coarsening> {
    let mut levels: Vec<Coarsening> = Vec::new();
    let largest = (graph.total_load() / enough.max(1) as u64 * 3 / 2).max(graph.largest_load());
    let mut bins = bin_of.to_vec();
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        if finest.vertex_count() <= enough {
            return levels;
        }
        let coarser = Coarsening::new(finest, largest, Some(&bins), Rating::Weight, rng);
        if coarser.graph.vertex_count() * 20 > finest.vertex_count() * 19 {
            return levels;
        }
        bins = coarser.project(&bins);
        levels.push(coarser);
    }
}

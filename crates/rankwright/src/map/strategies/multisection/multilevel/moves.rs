//! Moves of single vertices into other bins that have capacity left.

use std::cmp::Reverse;

use crate::map::search::graph::{CompactGraph, GainHeap, VertexId};
use crate::map::search::tree::BinId;
use crate::map::strategies::multisection::bin_codes::{BinCode, BinCodes, highest_difference};

/// An assignment, what its bins hold, and the moves that change it.
#[derive(Debug)]
pub(super) struct BinMoves<'a> {
    graph: &'a CompactGraph,
    codes: &'a BinCodes,
    /// Index: the highest bit in which two codes differ. Distances of `2^DISTANCE_BITS` and more are
    /// scaled down to less, none to 0.
    distance: [i64; 32],
    /// The load that each bin may hold. Index: [`BinId`].
    capacity: Vec<u64>,
    /// The load in each bin. Index: [`BinId`].
    filled: Vec<u64>,
    /// Index: [`VertexId`].
    bin_of: Vec<BinId>,
    near: NeighbourBins,
    /// How many neighbours have been looked at.
    work: u64,
}

/// The bins of a vertex' neighbours.
#[derive(Debug)]
struct NeighbourBins {
    bins: Vec<NeighbourBin>,
    /// The position of each bin in `bins`, if it is in there. Index: [`BinId`].
    position_of: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct NeighbourBin {
    bin: BinId,
    code: BinCode,
    /// The weight of the edges to neighbours in this bin.
    weight: i64,
}

#[derive(Debug, Clone, Copy)]
struct Move {
    /// By how much the sum of weight times distance falls.
    gain: i64,
    target: BinId,
}

const DISTANCE_BITS: u32 = 24;

/// Bins tried as targets of a vertex at most: those with the largest weight to it.
const MAX_TARGETS: usize = 12;

/// Neighbours of a moved vertex that a local search spreads to at most.
const MAX_SPREAD: usize = 64;

impl<'a> BinMoves<'a> {
    pub(super) fn new(
        graph: &'a CompactGraph,
        codes: &'a BinCodes,
        capacity: Vec<u64>,
        bin_of: Vec<BinId>,
    ) -> Self {
        let mut filled = vec![0_u64; capacity.len()];
        for (vertex, bin) in bin_of.iter().enumerate() {
            let filled = &mut filled[*bin as usize];
            *filled = filled.saturating_add(graph.load(vertex));
        }
        let near = NeighbourBins { bins: Vec::new(), position_of: vec![0; capacity.len()] };
        let farthest = codes.distances().iter().max().copied().unwrap_or(0);
        let shift = (u64::BITS - farthest.leading_zeros()).saturating_sub(DISTANCE_BITS);
        let distance =
            codes.distances().map(|distance| (distance >> shift).max(distance.min(1)) as i64);
        Self { graph, codes, distance, capacity, filled, bin_of, near, work: 0 }
    }

    pub(super) fn into_bins(self) -> Vec<BinId> {
        self.bin_of
    }

    /// The vertices with a neighbour in another bin.
    pub(super) fn border_vertices(&self) -> Vec<VertexId> {
        let on_border = |vertex: &VertexId| {
            let bin = self.bin_of[*vertex as usize];
            let row = self.graph.row(*vertex as usize);
            row.iter().any(|(other, _)| self.bin_of[*other as usize] != bin)
        };
        (0..self.bin_of.len() as VertexId).filter(on_border).collect()
    }

    /// Moves vertices while that lowers the cost, or balances bins at the same cost: at most `passes`
    /// passes over the vertices for which something has changed.
    pub(super) fn descend(&mut self, passes: usize) {
        let mut active: Vec<VertexId> = (0..).take(self.bin_of.len()).collect();
        let mut waits = vec![true; active.len()];
        for _ in 0..passes {
            let mut next = Vec::new();
            for vertex in active {
                waits[vertex as usize] = false;
                let Some(best) = self.best_move(vertex) else { continue };
                let from = self.bin_of[vertex as usize];
                let load = self.graph.load(vertex as usize);
                let balances = best.gain == 0
                    && self.filled[best.target as usize].saturating_add(load)
                        < self.filled[from as usize];
                if best.gain > 0 || balances {
                    self.relocate(vertex, best.target);
                    for (other, _) in self.graph.row(vertex as usize) {
                        if !std::mem::replace(&mut waits[*other as usize], true) {
                            next.push(*other);
                        }
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            active = next;
        }
    }

    /// Empties bins that hold too much into the bins of neighbours, the cheapest moves first.
    pub(super) fn balance(&mut self) {
        let is_overfull =
            |moves: &Self, bin: BinId| moves.filled[bin as usize] > moves.capacity[bin as usize];
        let mut vertices: Vec<(i64, VertexId)> = Vec::new();
        for vertex in 0..self.bin_of.len() as VertexId {
            if is_overfull(self, self.bin_of[vertex as usize]) {
                vertices.extend(self.best_move(vertex).map(|best| (-best.gain, vertex)));
            }
        }
        vertices.sort_unstable();
        for (_, vertex) in vertices {
            if is_overfull(self, self.bin_of[vertex as usize])
                && let Some(best) = self.best_move(vertex)
            {
                self.relocate(vertex, best.target);
            }
        }
    }

    /// Local searches that climb over moves that raise the cost (the multi-try search of Sanders and
    /// Schulz 2011): each begins at one vertex of `order` and spreads to its neighbours, ends after
    /// `patience` moves without improvement, and returns to the best assignment on its way. None
    /// begins after `work` neighbours per edge have been looked at. Returns whether the cost fell.
    pub(super) fn search(&mut self, order: &[VertexId], patience: usize, work: u64) -> bool {
        let mut queue = GainHeap::new(self.bin_of.len());
        let mut locked = vec![false; self.bin_of.len()];
        let mut improved = false;
        let end = self.work + work * self.graph.edge_count() as u64;
        for start in order {
            if self.work > end {
                break;
            }
            if !locked[*start as usize]
                && let Some(best) = self.best_move(*start)
            {
                queue.set(*start, best.gain);
                improved |= self.search_around(&mut queue, &mut locked, patience);
            }
        }
        improved
    }

    fn search_around(
        &mut self,
        queue: &mut GainHeap,
        locked: &mut [bool],
        patience: usize,
    ) -> bool {
        let mut moved: Vec<(VertexId, BinId)> = Vec::new();
        let (mut gain, mut most, mut keep) = (0, 0, 0);
        while let Some((expected, vertex)) = queue.pop() {
            let Some(best) = self.best_move(vertex) else { continue };
            if best.gain < expected && queue.first().is_some_and(|(next, _)| next > best.gain) {
                queue.set(vertex, best.gain);
                continue;
            }
            moved.push((vertex, self.bin_of[vertex as usize]));
            self.relocate(vertex, best.target);
            locked[vertex as usize] = true;
            gain += best.gain;
            if gain > most {
                most = gain;
                keep = moved.len();
            } else if moved.len() - keep > patience {
                break;
            }
            let graph = self.graph;
            for (other, _) in graph.row(vertex as usize).iter().take(MAX_SPREAD) {
                if !locked[*other as usize] {
                    match self.best_move(*other) {
                        Some(best) => queue.set(*other, best.gain),
                        None => queue.remove(*other),
                    }
                }
            }
        }
        queue.clear();
        while moved.len() > keep {
            let Some((vertex, bin)) = moved.pop() else { break };
            self.relocate(vertex, bin);
            locked[vertex as usize] = false;
        }
        most > 0
    }

    fn relocate(&mut self, vertex: VertexId, target: BinId) {
        let load = self.graph.load(vertex as usize);
        let bin = std::mem::replace(&mut self.bin_of[vertex as usize], target);
        self.filled[bin as usize] = self.filled[bin as usize].saturating_sub(load);
        self.filled[target as usize] = self.filled[target as usize].saturating_add(load);
    }

    /// The best move of a vertex into another bin of one of its neighbours.
    fn best_move(&mut self, vertex: VertexId) -> Option<Move> {
        let from = self.bin_of[vertex as usize];
        let row = self.graph.row(vertex as usize);
        self.work += row.len() as u64;
        if row.iter().all(|(other, _)| self.bin_of[*other as usize] == from) {
            return None;
        }
        self.near.fill(row, &self.bin_of, self.codes);
        let load = self.graph.load(vertex as usize);
        let cost = |code: BinCode| -> i64 {
            let costs = self
                .near
                .bins
                .iter()
                .map(|near| near.weight * self.distance[highest_difference(code, near.code)]);
            costs.sum()
        };
        let targets = self.near.bins.iter().take(MAX_TARGETS).filter(|near| {
            let filled = self.filled[near.bin as usize];
            near.bin != from && filled.saturating_add(load) <= self.capacity[near.bin as usize]
        });
        let key = |near: &NeighbourBin| (cost(near.code), self.filled[near.bin as usize], near.bin);
        let (least, _, target) = targets.map(key).min()?;
        Some(Move { gain: cost(self.codes.code(from as usize, 0)) - least, target })
    }
}

impl NeighbourBins {
    fn fill(&mut self, row: &[(VertexId, u32)], bin_of: &[BinId], codes: &BinCodes) {
        self.bins.clear();
        for (other, weight) in row {
            let bin = bin_of[*other as usize];
            let weight = i64::from(*weight);
            match self.bins.get_mut(self.position_of[bin as usize] as usize) {
                Some(near) if near.bin == bin => near.weight += weight,
                _ => {
                    self.position_of[bin as usize] = self.bins.len() as u32;
                    self.bins.push(NeighbourBin { bin, code: codes.code(bin as usize, 0), weight });
                }
            }
        }
        if self.bins.len() > MAX_TARGETS {
            self.bins.sort_unstable_by_key(|near| (Reverse(near.weight), near.bin));
        }
    }
}

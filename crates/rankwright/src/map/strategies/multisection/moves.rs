//! Makes an assignment of many vertices to few bins better by moving single vertices into bins that
//! have room.

use super::bin_codes::BinCodes;
use crate::map::search::graph::{Compact, GainQueue};

/// An assignment and what its bins hold.
#[derive(Debug)]
pub(super) struct Moves<'a> {
    graph: &'a Compact,
    codes: &'a BinCodes,
    /// By the highest bit in which two codes differ: their distance. Those of `2^DISTANCE_BITS` and more
    /// are scaled down to less, none to 0.
    distance: [i64; 32],
    /// What each bin may hold.
    capacity: Vec<u64>,
    filled: Vec<u64>,
    bin_of: Vec<u32>,
    near: Near,
    /// How many neighbours have been looked at.
    work: u64,
}

/// The bins of a vertex's neighbours.
#[derive(Debug)]
struct Near {
    bins: Vec<NearBin>,
    /// Where a bin stands in the list, if it does.
    place_of: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct NearBin {
    bin: u32,
    code: u32,
    weight: i64,
}

#[derive(Debug, Clone, Copy)]
struct Move {
    /// By how much the sum of weight times distance falls.
    gain: i64,
    target: u32,
}

const DISTANCE_BITS: u32 = 24;

/// No more bins are tried as targets of a vertex: those with the largest weight to it.
const MOST_TARGETS: usize = 12;

impl<'a> Moves<'a> {
    pub(super) fn new(
        graph: &'a Compact,
        codes: &'a BinCodes,
        capacity: Vec<u64>,
        bin_of: Vec<u32>,
    ) -> Self {
        let mut filled = vec![0_u64; capacity.len()];
        for (vertex, bin) in bin_of.iter().enumerate() {
            let filled = &mut filled[*bin as usize];
            *filled = filled.saturating_add(graph.load(vertex));
        }
        let near = Near { bins: Vec::new(), place_of: vec![0; capacity.len()] };
        let top = codes.distances().iter().max().copied().unwrap_or(0);
        let shift = (u64::BITS - top.leading_zeros()).saturating_sub(DISTANCE_BITS);
        let distance =
            codes.distances().map(|distance| (distance >> shift).max(distance.min(1)) as i64);
        Self { graph, codes, distance, capacity, filled, bin_of, near, work: 0 }
    }

    pub(super) fn into_bins(self) -> Vec<u32> {
        self.bin_of
    }

    /// The vertices with a neighbour in another bin.
    pub(super) fn borders(&self) -> Vec<u32> {
        let on_border = |vertex: &u32| {
            let own = self.bin_of[*vertex as usize];
            let row = self.graph.row(*vertex as usize);
            row.iter().any(|(other, _)| self.bin_of[*other as usize] != own)
        };
        (0..self.bin_of.len() as u32).filter(on_border).collect()
    }

    /// Moves vertices while that makes the cost fall, at most `passes` times through those for
    /// which something has changed.
    pub(super) fn descend(&mut self, passes: usize) {
        let mut active: Vec<u32> = (0..).take(self.bin_of.len()).collect();
        let mut waits = vec![true; active.len()];
        for _ in 0..passes {
            let mut next = Vec::new();
            for vertex in active {
                waits[vertex as usize] = false;
                let Some(best) = self.best_move(vertex) else { continue };
                let from = self.bin_of[vertex as usize];
                let fuller = |bin: u32| self.filled[bin as usize];
                let load = self.graph.load(vertex as usize);
                let evens =
                    best.gain == 0 && fuller(best.target).saturating_add(load) < fuller(from);
                if best.gain > 0 || evens {
                    self.shift(vertex, best.target);
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

    /// Empties bins that hold too much into the bins beside them, the cheapest moves first.
    pub(super) fn balance(&mut self) {
        let over =
            |moves: &Self, bin: u32| moves.filled[bin as usize] > moves.capacity[bin as usize];
        let mut vertices: Vec<(i64, u32)> = Vec::new();
        for vertex in 0..self.bin_of.len() as u32 {
            if over(self, self.bin_of[vertex as usize]) {
                vertices.extend(self.best_move(vertex).map(|best| (-best.gain, vertex)));
            }
        }
        vertices.sort_unstable();
        for (_, vertex) in vertices {
            if over(self, self.bin_of[vertex as usize])
                && let Some(best) = self.best_move(vertex)
            {
                self.shift(vertex, best.target);
            }
        }
    }

    /// Local searches that go on through moves that cost something (Sanders and Schulz 2011): each
    /// begins at one vertex on a border and spreads to its neighbours, ends after `patience` moves
    /// that lead to nothing better, and goes back to the best it has seen. `order` says where they
    /// begin; none begins after `work` neighbours per edge have been looked at. Returns whether the cost
    /// has fallen.
    pub(super) fn search(&mut self, order: &[u32], patience: usize, work: u64) -> bool {
        let mut queue = GainQueue::new(self.bin_of.len());
        let mut locked = vec![false; self.bin_of.len()];
        let mut fallen = false;
        let end = self.work + work * self.graph.edge_count() as u64;
        for start in order {
            if self.work > end {
                break;
            }
            if !locked[*start as usize]
                && let Some(best) = self.best_move(*start)
            {
                queue.set(*start, best.gain);
                fallen |= self.search_around(&mut queue, &mut locked, patience);
            }
        }
        fallen
    }

    fn search_around(
        &mut self,
        queue: &mut GainQueue,
        locked: &mut [bool],
        patience: usize,
    ) -> bool {
        let mut moved: Vec<(u32, u32)> = Vec::new();
        let (mut gain, mut most, mut keep) = (0, 0, 0);
        while let Some((expected, vertex)) = queue.pop() {
            let Some(best) = self.best_move(vertex) else { continue };
            if best.gain < expected && queue.first().is_some_and(|(next, _)| next > best.gain) {
                queue.set(vertex, best.gain);
                continue;
            }
            moved.push((vertex, self.bin_of[vertex as usize]));
            self.shift(vertex, best.target);
            locked[vertex as usize] = true;
            gain += best.gain;
            if gain > most {
                most = gain;
                keep = moved.len();
            } else if moved.len() - keep > patience {
                break;
            }
            let graph = self.graph;
            for (other, _) in graph.row(vertex as usize).iter().take(MOST_SPREAD) {
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
            self.shift(vertex, bin);
            locked[vertex as usize] = false;
        }
        most > 0
    }

    fn shift(&mut self, vertex: u32, target: u32) {
        let load = self.graph.load(vertex as usize);
        let bin = std::mem::replace(&mut self.bin_of[vertex as usize], target);
        self.filled[bin as usize] = self.filled[bin as usize].saturating_sub(load);
        self.filled[target as usize] = self.filled[target as usize].saturating_add(load);
    }

    /// The best move of a vertex into another bin of one of its neighbours.
    fn best_move(&mut self, vertex: u32) -> Option<Move> {
        let own = self.bin_of[vertex as usize];
        let row = self.graph.row(vertex as usize);
        self.work += row.len() as u64;
        if row.iter().all(|(other, _)| self.bin_of[*other as usize] == own) {
            return None;
        }
        self.near.fill(row, &self.bin_of, self.codes);
        let load = self.graph.load(vertex as usize);
        let cost = |place: u32| -> i64 {
            let costs = self.near.bins.iter().map(|near| {
                near.weight * self.distance[((place ^ near.code) | 1).ilog2() as usize]
            });
            costs.sum()
        };
        let targets = self.near.bins.iter().take(MOST_TARGETS).filter(|near| {
            let filled = self.filled[near.bin as usize];
            near.bin != own && filled.saturating_add(load) <= self.capacity[near.bin as usize]
        });
        let least = |near: &NearBin| (cost(near.code), self.filled[near.bin as usize], near.bin);
        let (least, _, target) = targets.map(least).min()?;
        Some(Move { gain: cost(self.codes.code(own as usize, 0)) - least, target })
    }
}

/// A search does not look at more neighbours of a vertex.
const MOST_SPREAD: usize = 64;

impl Near {
    fn fill(&mut self, row: &[(u32, u32)], bin_of: &[u32], codes: &BinCodes) {
        self.bins.clear();
        for (other, weight) in row {
            let bin = bin_of[*other as usize];
            let weight = i64::from(*weight);
            match self.bins.get_mut(self.place_of[bin as usize] as usize) {
                Some(near) if near.bin == bin => near.weight += weight,
                _ => {
                    self.place_of[bin as usize] = self.bins.len() as u32;
                    self.bins.push(NearBin { bin, code: codes.code(bin as usize, 0), weight });
                }
            }
        }
        if self.bins.len() > MOST_TARGETS {
            self.bins.sort_unstable_by_key(|near| (std::cmp::Reverse(near.weight), near.bin));
        }
    }
}

//! Who sits where, what that costs each vertex, and what a swap would change.

use std::ops::Range;

use super::bin_codes::BinCodes;
use crate::map::search::graph::{Compact, Graph};
use crate::map::search::tree::Tree;

/// Vertices on the seats of bins, with the costs of their edges kept up to date.
///
/// Every bin has as many seats as vertices may be in it. A move to an empty seat is a swap with
/// the **ghost**, a vertex without edges that sits on all empty seats.
#[derive(Debug, Clone)]
pub(super) struct Seating<'a> {
    rows: &'a Rows,
    places: &'a Places,
    /// The seat of each vertex; that of the ghost means nothing.
    seat_of: Vec<Seat>,
    /// The vertex on each seat.
    vertex_on: Vec<u32>,
    /// The sum over each vertex' edges of weight times distance.
    cost_of: Vec<i64>,
    /// The load in each bin, where loads differ.
    filled: Vec<u64>,
    /// The sum over all edges of weight times distance.
    cost: i64,
    /// By the highest bit in which two codes differ; of equal codes, what `try_swap` says.
    distance: [i64; 32],
}

/// A seat with its code: what a search asks about a vertex lies together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    number: u32,
    code: u32,
}

/// The edges in rows, with weights so small that no sum of weight times distance overflows.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    weights: Vec<i64>,
    /// By the highest bit in which two codes differ.
    distance: [i64; 32],
}

/// The seats of all bins.
#[derive(Debug, Clone)]
pub(super) struct Places {
    code: Vec<u32>,
    bin: Vec<u32>,
    height: [u8; 32],
    /// For each bin, and each height, the seats of its group: the first and how many.
    groups: Vec<(u32, u32)>,
    heights: usize,
    /// The lowest height at which a group has several seats.
    lowest: u32,
    /// Where loads differ.
    loads: Option<Loads>,
}

#[derive(Debug, Clone)]
pub(super) struct Loads {
    pub(super) of_vertex: Vec<u64>,
    pub(super) capacity: Vec<u64>,
}

impl Rows {
    /// `None` where there are more than 2^32 ends of edges.
    pub(super) fn new(graph: &Graph, codes: &BinCodes) -> Option<Self> {
        let offset = |offset: &usize| u32::try_from(*offset).ok();
        let mut offsets: Vec<u32> = graph.offsets().iter().map(offset).collect::<Option<_>>()?;
        offsets.push(*offsets.last()?); // the ghost
        let farthest = codes.distances().iter().max().copied().unwrap_or(0);
        let sum: u128 = graph.weights().iter().map(|weight| u128::from(*weight)).sum();
        // Distances beyond 2^30 lose their last digits, then weights do.
        let far_shift = (u64::BITS - farthest.leading_zeros()).saturating_sub(30);
        let product = sum * u128::from((farthest >> far_shift).max(1));
        let shift = (u128::BITS - product.leading_zeros()).saturating_sub(61);
        let scale = |weight: &u64| (u128::from(*weight) >> shift).max(1) as i64;
        Some(Self {
            offsets,
            neighbours: graph.neighbours().to_vec(),
            weights: graph.weights().iter().map(scale).collect(),
            distance: codes.distances().map(|distance| (distance >> far_shift) as i64),
        })
    }

    /// The rows of a graph whose weights need no care, for bins that all are at distance 1.
    pub(super) fn of_division(graph: &Compact, codes: &BinCodes) -> Option<Self> {
        let mut offsets = Vec::with_capacity(graph.vertex_count() + 2);
        let mut neighbours = Vec::with_capacity(2 * graph.edge_count());
        let mut weights = Vec::with_capacity(2 * graph.edge_count());
        offsets.push(0);
        for vertex in 0..graph.vertex_count() {
            neighbours.extend(graph.row(vertex).iter().map(|(neighbour, _)| *neighbour));
            weights.extend(graph.row(vertex).iter().map(|(_, weight)| i64::from(*weight)));
            offsets.push(u32::try_from(neighbours.len()).ok()?);
        }
        offsets.push(*offsets.last()?); // the ghost
        let distance = codes.distances().map(|distance| distance as i64);
        Some(Self { offsets, neighbours, weights, distance })
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.offsets.len() - 2
    }

    #[inline]
    pub(super) fn range(&self, vertex: u32) -> Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
    }

    /// How many edges there are, each counted at both ends.
    pub(super) fn edge_ends(&self) -> usize {
        self.neighbours.len()
    }

    pub(super) fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    #[inline]
    pub(super) fn row(&self, vertex: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.range(vertex);
        let neighbours = self.neighbours[range.clone()].iter().copied();
        neighbours.zip(self.weights[range].iter().copied())
    }

    #[inline]
    fn between(&self, a: u32, b: u32) -> i64 {
        self.distance[((a ^ b) | 1).ilog2() as usize]
    }
}

impl Places {
    pub(super) fn new(
        tree: &Tree,
        codes: &BinCodes,
        seats: &[usize],
        loads: Option<Loads>,
    ) -> Self {
        let mut firsts = vec![0_u32];
        let (mut code, mut bin_of) = (Vec::new(), Vec::new());
        for (bin, seats) in seats.iter().enumerate() {
            code.extend((0..*seats as u32).map(|seat| codes.code(bin, seat)));
            bin_of.extend(std::iter::repeat_n(bin as u32, *seats));
            firsts.push(code.len() as u32);
        }
        let heights = tree.level_count() + 2;
        let mut groups = Vec::with_capacity(heights * tree.bin_count());
        for bin in 0..tree.bin_count() {
            for height in 0..heights {
                let bins = match height {
                    0 => bin..bin + 1,
                    height if height <= tree.level_count() => tree.group(height - 1, bin),
                    _ => 0..tree.bin_count(),
                };
                groups.push((firsts[bins.start], firsts[bins.end] - firsts[bins.start]));
            }
        }
        let several =
            |height: &usize| groups.iter().skip(*height).step_by(heights).any(|g| g.1 > 1);
        let lowest = (0..heights).find(several).unwrap_or(heights) as u32;
        Self { code, bin: bin_of, height: *codes.heights(), groups, heights, lowest, loads }
    }

    /// The distances from a seat, the smallest first, each with the most seats that are so far
    /// from any seat.
    pub(super) fn most_at_each_distance(&self, rows: &Rows) -> Vec<(i64, usize)> {
        let mut most = Vec::new();
        for height in 0..self.heights {
            let inner = |groups: &[(u32, u32)]| if height == 0 { 1 } else { groups[height - 1].1 };
            let groups = self.groups.chunks_exact(self.heights);
            let seats = groups.map(|groups| groups[height].1 - inner(groups)).max().unwrap_or(0);
            let bit = self.height.iter().rposition(|h| usize::from(*h) == height);
            if seats > 0 {
                most.push((rows.distance[bit.unwrap_or(0)], seats as usize));
            }
        }
        most.sort_unstable();
        most
    }

    /// The height of the lowest group that two seats have in common.
    #[inline]
    pub(super) fn height(&self, a: u32, b: u32) -> usize {
        usize::from(self.height[((a ^ b) | 1).ilog2() as usize])
    }

    /// The seats of the group of a height around a seat: the first and how many.
    #[inline]
    pub(super) fn group(&self, height: usize, seat: u32) -> (u32, u32) {
        self.groups[self.bin[seat as usize] as usize * self.heights + height]
    }
}

impl<'a> Seating<'a> {
    /// Seats the vertices of each bin on its first seats.
    pub(super) fn new(rows: &'a Rows, places: &'a Places, bin_of: &[u32]) -> Self {
        let ghost = bin_of.len() as u32;
        let bins = places.groups.len() / places.heights;
        let mut next: Vec<u32> =
            places.groups.iter().step_by(places.heights).map(|(first, _)| *first).collect();
        let mut seating = Self {
            rows,
            places,
            seat_of: Vec::with_capacity(bin_of.len() + 1),
            vertex_on: vec![ghost; places.code.len()],
            cost_of: vec![0; bin_of.len() + 1],
            filled: vec![0; if places.loads.is_some() { bins } else { 0 }],
            cost: 0,
            distance: rows.distance,
        };
        for (vertex, bin) in (0_u32..).zip(bin_of) {
            let seat = next[*bin as usize];
            next[*bin as usize] += 1;
            seating.seat_of.push(Seat { number: seat, code: places.code[seat as usize] });
            seating.vertex_on[seat as usize] = vertex;
            if let Some(loads) = &places.loads {
                seating.filled[*bin as usize] += loads.of_vertex[vertex as usize];
            }
        }
        seating.seat_of.push(Seat { number: 0, code: 0 });
        for vertex in 0..ghost {
            let cost = seating.cost_after(vertex, seating.seat_of[vertex as usize].code);
            seating.cost_of[vertex as usize] = cost;
            seating.cost += cost;
        }
        seating.cost /= 2;
        seating
    }

    pub(super) fn rows(&self) -> &'a Rows {
        self.rows
    }

    pub(super) fn places(&self) -> &'a Places {
        self.places
    }

    /// The lowest height at which a group has several seats.
    pub(super) fn lowest(&self) -> u32 {
        self.places.lowest
    }

    pub(super) fn bin_of(&self) -> Vec<u32> {
        let seats = &self.seat_of[..self.seat_of.len() - 1];
        seats.iter().map(|seat| self.places.bin[seat.number as usize]).collect()
    }

    pub(super) fn seat(&self, vertex: u32) -> u32 {
        self.seat_of[vertex as usize].number
    }

    #[inline]
    pub(super) fn vertex_on(&self, seat: u32) -> u32 {
        self.vertex_on[seat as usize]
    }

    /// The height of the lowest group that holds both vertices.
    #[inline]
    pub(super) fn height(&self, a: u32, b: u32) -> usize {
        self.places.height(self.seat_of[a as usize].code, self.seat_of[b as usize].code)
    }

    /// The sum over all edges of weight times distance.
    pub(super) fn cost(&self) -> i64 {
        self.cost
    }

    /// What the edges of a vertex cost.
    #[inline]
    pub(super) fn cost_of(&self, vertex: u32) -> i64 {
        self.cost_of[vertex as usize]
    }

    /// Whether the bins have room for a vertex and the one on a seat to change places.
    #[inline]
    pub(super) fn has_room(&self, vertex: u32, seat: u32) -> bool {
        let Some(loads) = &self.places.loads else { return true };
        let (from, to) = (self.seat_of[vertex as usize].number, seat);
        let (from, to) = (self.places.bin[from as usize], self.places.bin[to as usize]);
        let load = |vertex: u32| loads.of_vertex.get(vertex as usize).copied().unwrap_or(0);
        let (coming, going) = (load(vertex), load(self.vertex_on(seat)));
        from == to
            || coming == going
            || if coming > going {
                self.filled[to as usize] + (coming - going) <= loads.capacity[to as usize]
            } else {
                self.filled[from as usize] + (going - coming) <= loads.capacity[from as usize]
            }
    }

    /// What the costs of a vertex and of the one on a seat would become if they changed places;
    /// `None` where the sum of all costs would rise by more than `most`. `least` is a lower bound
    /// of the cost of the second.
    #[inline]
    pub(super) fn try_swap(
        &mut self,
        vertex: u32,
        seat: u32,
        least: i64,
        most: i64,
    ) -> Option<(i64, i64)> {
        let other = self.vertex_on[seat as usize];
        let here = self.seat_of[vertex as usize].code;
        let there = self.places.code[seat as usize];
        // A neighbour on that very seat comes here.
        self.distance[0] = self.rows.between(here, there);
        let limit = most + self.cost_of[vertex as usize] + self.cost_of[other as usize];
        let cost = self.cost_after(vertex, there);
        if cost + least > limit {
            return None;
        }
        let cost_of_other = self.cost_after(other, here);
        (cost + cost_of_other <= limit).then_some((cost, cost_of_other))
    }

    /// What the edges of a vertex would cost at `code`, if the vertex there went away as far as
    /// `self.distance[0]`.
    #[inline]
    fn cost_after(&self, vertex: u32, code: u32) -> i64 {
        let edge = |(neighbour, weight): (u32, i64)| {
            let difference = code ^ self.seat_of[neighbour as usize].code;
            weight * self.distance[(difference | 1).ilog2() as usize]
        };
        self.rows.row(vertex).map(edge).sum()
    }

    /// Lets a vertex and the one on a seat change places; the costs are those of `try_swap`.
    pub(super) fn swap(&mut self, vertex: u32, seat: u32, (cost, cost_of_other): (i64, i64)) {
        let other = self.vertex_on[seat as usize];
        let Seat { number: old_seat, code: here } = self.seat_of[vertex as usize];
        let there = self.places.code[seat as usize];
        self.cost +=
            cost + cost_of_other - self.cost_of[vertex as usize] - self.cost_of[other as usize];
        self.tell_neighbours(vertex, here, there);
        self.tell_neighbours(other, there, here);
        if let Some(loads) = &self.places.loads {
            let (from, to) = (self.places.bin[old_seat as usize], self.places.bin[seat as usize]);
            let load = |vertex: u32| loads.of_vertex.get(vertex as usize).copied().unwrap_or(0);
            let (coming, going) = (load(vertex), load(other));
            self.filled[from as usize] = self.filled[from as usize] + going - coming;
            self.filled[to as usize] = self.filled[to as usize] + coming - going;
        }
        self.cost_of[vertex as usize] = cost;
        self.cost_of[other as usize] = cost_of_other;
        self.seat_of[vertex as usize] = Seat { number: seat, code: there };
        self.seat_of[other as usize] = Seat { number: old_seat, code: here };
        self.vertex_on[seat as usize] = vertex;
        self.vertex_on[old_seat as usize] = other;
    }

    /// Changes the costs of a vertex' neighbours as if it alone moved.
    #[inline]
    fn tell_neighbours(&mut self, vertex: u32, from: u32, to: u32) {
        for (neighbour, weight) in self.rows.row(vertex) {
            let code = self.seat_of[neighbour as usize].code;
            let growth = self.rows.between(to, code) - self.rows.between(from, code);
            self.cost_of[neighbour as usize] += weight * growth;
        }
    }
}

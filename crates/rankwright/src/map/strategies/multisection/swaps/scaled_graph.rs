//! The graph as swaps read it: weights and distances scaled so that no sum overflows 64 bits.

use std::ops::Range;

use crate::map::search::graph::{CompactGraph, Graph, VertexId};
use crate::map::strategies::multisection::bin_codes::{BinCode, BinCodes, highest_difference};

/// A graph in compressed rows, with the distances between bins. The last vertex is the **dummy**: it
/// has no edges and stands for whatever is at an empty location.
#[derive(Debug, Clone)]
pub(super) struct ScaledGraph {
    /// Where the row of each vertex begins, then the end of the last row. Index: [`VertexId`].
    offsets: Vec<u32>,
    /// Row after row.
    neighbours: Vec<VertexId>,
    /// Scaled weights of the edges. Index: as in `neighbours`.
    weights: Vec<i64>,
    /// Index: the highest bit in which two codes differ.
    distance: [i64; 32],
}

impl ScaledGraph {
    /// `None` where there are more than 2^32 ends of edges.
    pub(super) fn new(graph: &Graph, codes: &BinCodes) -> Option<Self> {
        let offset = |offset: &usize| u32::try_from(*offset).ok();
        let mut offsets: Vec<u32> = graph.offsets().iter().map(offset).collect::<Option<_>>()?;
        offsets.push(*offsets.last()?); // the dummy
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

    /// A graph of 32-bit weights, for bins that are all at distance 1: nothing is scaled.
    pub(super) fn for_division(graph: &CompactGraph, codes: &BinCodes) -> Option<Self> {
        let mut offsets = Vec::with_capacity(graph.vertex_count() + 2);
        let mut neighbours = Vec::with_capacity(2 * graph.edge_count());
        let mut weights = Vec::with_capacity(2 * graph.edge_count());
        offsets.push(0);
        for vertex in 0..graph.vertex_count() {
            neighbours.extend(graph.row(vertex).iter().map(|(neighbour, _)| *neighbour));
            weights.extend(graph.row(vertex).iter().map(|(_, weight)| i64::from(*weight)));
            offsets.push(u32::try_from(neighbours.len()).ok()?);
        }
        offsets.push(*offsets.last()?); // the dummy
        let distance = codes.distances().map(|distance| distance as i64);
        Some(Self { offsets, neighbours, weights, distance })
    }

    /// How many vertices there are, the dummy not counted.
    pub(super) fn vertex_count(&self) -> usize {
        self.offsets.len() - 2
    }

    /// The positions of a vertex' row in [`Self::neighbours`].
    #[inline(always)]
    pub(super) fn range(&self, vertex: VertexId) -> Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
    }

    /// How many edges there are, each counted at both ends.
    pub(super) fn edge_ends(&self) -> usize {
        self.neighbours.len()
    }

    pub(super) fn neighbours(&self) -> &[VertexId] {
        &self.neighbours
    }

    /// The neighbours of a vertex, and the weights of the edges to them.
    #[inline(always)]
    pub(super) fn row(&self, vertex: VertexId) -> (&[VertexId], &[i64]) {
        let range = self.range(vertex);
        (&self.neighbours[range.clone()], &self.weights[range])
    }

    /// The distance between two codes.
    #[inline(always)]
    pub(super) fn distance(&self, a: BinCode, b: BinCode) -> i64 {
        self.distance[highest_difference(a, b)]
    }

    /// The distances. Index: the highest bit in which two codes differ.
    pub(super) fn distances(&self) -> &[i64; 32] {
        &self.distance
    }
}

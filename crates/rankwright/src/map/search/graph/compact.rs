//! Graphs with vertex loads and 32-bit edge weights, for multilevel methods.

use super::{Graph, TooManyWeights, VertexId, scale_weights};

/// An undirected graph whose vertices have loads. Every edge stands in the rows of both its ends;
/// the weights of all rows together sum up to less than 2^31, so that no sum of weights overflows
/// an `i32`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::map) struct CompactGraph {
    /// Where the row of each vertex begins, then the end of the last row. Index: [`VertexId`].
    pub(super) offsets: Vec<usize>,
    /// Neighbour and weight, row after row.
    pub(super) edges: Vec<(VertexId, u32)>,
    /// Index: [`VertexId`].
    pub(super) loads: Vec<u64>,
}

impl CompactGraph {
    /// Scales weights to 32 bits where they do not fit.
    ///
    /// # Errors
    /// If the graph has 2^30 edges or more.
    pub(in crate::map) fn new(graph: &Graph, loads: &[u64]) -> Result<Self, TooManyWeights> {
        let weights = scale_weights(graph.weights(), 1 << 31)?;
        let weights = weights.into_iter().map(i32::unsigned_abs);
        let edges = graph.neighbours().iter().copied().zip(weights).collect();
        Ok(Self { offsets: graph.offsets().to_vec(), edges, loads: loads.to_vec() })
    }

    pub(in crate::map) fn vertex_count(&self) -> usize {
        self.loads.len()
    }

    /// How many edges there are, each counted once.
    pub(in crate::map) fn edge_count(&self) -> usize {
        self.edges.len() / 2
    }

    /// The neighbours of a vertex with the weights of the edges to them.
    pub(in crate::map) fn row(&self, vertex: usize) -> &[(VertexId, u32)] {
        &self.edges[self.offsets[vertex]..self.offsets[vertex + 1]]
    }

    pub(in crate::map) fn load(&self, vertex: usize) -> u64 {
        self.loads[vertex]
    }

    /// The loads of all vertices together.
    pub(in crate::map) fn total_load(&self) -> u64 {
        self.loads.iter().fold(0, |sum: u64, load| sum.saturating_add(*load))
    }

    pub(in crate::map) fn largest_load(&self) -> u64 {
        self.loads.iter().max().copied().unwrap_or(0)
    }

    /// The graph of each part, with its vertices in the order of this graph.
    pub(in crate::map) fn split(&self, part_of: &[u32], parts: usize) -> Vec<Self> {
        let mut split = vec![Self { offsets: vec![0], ..Self::default() }; parts];
        let mut sizes = vec![(0, 0); parts];
        let mut position = vec![0_u32; part_of.len()];
        for (vertex, part) in part_of.iter().enumerate() {
            let size = &mut sizes[*part as usize];
            position[vertex] = size.0;
            size.0 += 1;
            size.1 += self.row(vertex).len();
        }
        for (part, (vertices, edges)) in split.iter_mut().zip(sizes) {
            part.offsets.reserve_exact(vertices as usize);
            part.loads.reserve_exact(vertices as usize);
            part.edges.reserve(edges);
        }
        for (vertex, part_id) in part_of.iter().enumerate() {
            let part = &mut split[*part_id as usize];
            let row = self.row(vertex).iter();
            let inside = row.filter(|(other, _)| part_of[*other as usize] == *part_id);
            part.edges.extend(inside.map(|(other, weight)| (position[*other as usize], *weight)));
            part.offsets.push(part.edges.len());
            part.loads.push(self.loads[vertex]);
        }
        split
    }
}

//! The communication graph, as compressed sparse rows.

use super::VertexId;
use crate::ids::GlobalRank;
use crate::traffic::OUTSIDE;
use crate::traffic::{Send, Source, Workload};

/// An undirected graph with weighted edges. Every edge stands in the rows of both its ends; rows
/// are ordered by neighbour; there are no loops and no edges of weight 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// Where the row of each vertex begins, then the end of the last row. Index: [`VertexId`].
    offsets: Vec<usize>,
    /// Row after row.
    neighbours: Vec<VertexId>,
    /// The weights of the edges. Index: as in `neighbours`.
    weights: Vec<u64>,
}

/// What the edges of a workload's graph weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum EdgeWeights {
    /// Bytes.
    Bytes,
    /// Bytes per second.
    Rate,
}

impl Graph {
    /// The graph of a workload. Vertices are global ranks; an edge weighs the bytes of both directions
    /// together. Messages of a rank to itself and empty messages are left out.
    #[must_use]
    pub(crate) fn from_workload(workload: &Workload) -> Self {
        let mut edges = Vec::with_capacity(workload.jobs.iter().map(|job| job.flows.len()).sum());
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            for flow in job.flows.iter().filter(|flow| flow.bytes > 0) {
                let (a, b) = (flow.source.global(first), flow.destination.global(first));
                edges.push((a.min(b).0, a.max(b).0, flow.bytes));
            }
        }
        Self::from_edges(workload.rank_count(), edges)
    }

    /// The graph of a workload with edges that weigh bytes per second, in units so small that rounding
    /// does not matter. `None` if a job has no message timing.
    pub(in crate::map) fn from_rates(workload: &Workload) -> Option<Self> {
        let has_timing =
            workload.jobs.iter().all(|job| job.flows.is_empty() || !job.sources.is_empty());
        let rate = |source: &Source, send: &Send| source.rate.0 * send.length.0 as f64;
        let streams = || {
            let jobs = workload.jobs.iter().zip(workload.rank_offsets());
            let sources = jobs.flat_map(|(job, first)| job.sources.iter().map(move |s| (s, first)));
            let inside = |send: &&Send| send.destination != OUTSIDE;
            sources.flat_map(move |(s, first)| {
                s.sends.iter().filter(inside).map(move |send| (s, send, first))
            })
        };
        let sum: f64 = streams().map(|(source, send, _)| rate(source, send)).sum();
        if !has_timing || sum <= 0.0 {
            return None;
        }
        // All edges together weigh 2^60.
        let unit = sum / (1_u64 << 60) as f64;
        let edge = |(source, send, first): (&Source, &Send, GlobalRank)| {
            let (a, b) = (source.rank.global(first), send.destination.global(first));
            let weight = rate(source, send) / unit;
            let weight = if weight > 0.0 { (weight.round() as u64).max(1) } else { 0 };
            (a.0, b.0, weight)
        };
        Some(Self::from_edges(workload.rank_count(), streams().map(edge).collect()))
    }

    /// A graph from edges in any order, each as its two vertices and its weight. The weights of
    /// parallel edges are added, saturating.
    ///
    /// # Panics
    /// If an edge names a vertex that does not exist.
    #[must_use]
    pub(crate) fn from_edges(vertices: usize, mut edges: Vec<(u32, u32, u64)>) -> Self {
        edges.retain(|(a, b, weight)| a != b && *weight > 0);
        for edge in &mut edges {
            *edge = (edge.0.min(edge.1), edge.0.max(edge.1), edge.2);
        }
        edges.sort_unstable();
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = kept.2.saturating_add(next.2);
            }
            same
        });
        let mut offsets = vec![0; vertices + 1];
        for (a, b, _) in &edges {
            offsets[*a as usize + 1] += 1;
            offsets[*b as usize + 1] += 1;
        }
        for row in 0..vertices {
            offsets[row + 1] += offsets[row];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; 2 * edges.len()];
        let mut weights = vec![0; 2 * edges.len()];
        // Lower neighbours first, then higher ones: two passes leave every row in order.
        let mut put = |row: u32, neighbour: u32, weight: u64| {
            let position = &mut next[row as usize];
            neighbours[*position] = neighbour;
            weights[*position] = weight;
            *position += 1;
        };
        edges.iter().for_each(|(a, b, weight)| put(*b, *a, *weight));
        edges.iter().for_each(|(a, b, weight)| put(*a, *b, *weight));
        Self { offsets, neighbours, weights }
    }

    /// How many vertices there are.
    #[must_use]
    pub(crate) fn vertex_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// How many edges there are, each counted once.
    #[must_use]
    pub(crate) fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The neighbours of a vertex with the weights of the edges to them.
    pub(crate) fn row(&self, vertex: usize) -> impl ExactSizeIterator<Item = (usize, u64)> + '_ {
        let row = self.offsets[vertex]..self.offsets[vertex + 1];
        let neighbours = self.neighbours[row.clone()].iter().map(|vertex| *vertex as usize);
        neighbours.zip(self.weights[row].iter().copied())
    }

    /// The sum over all edges, each counted once, of weight times `distance` between its ends.
    #[must_use]
    pub fn cost(&self, distance: impl Fn(usize, usize) -> u64) -> u128 {
        let mut cost = 0;
        for vertex in 0..self.vertex_count() {
            for (neighbour, weight) in self.row(vertex).filter(|(other, _)| *other > vertex) {
                cost += u128::from(weight) * u128::from(distance(vertex, neighbour));
            }
        }
        cost
    }

    /// The subgraph induced by some vertices: its vertex i is `vertices[i]`. `position` is scratch
    /// space with `u32::MAX` for every vertex of this graph, before and after.
    pub(in crate::map) fn subgraph(&self, vertices: &[VertexId], position: &mut [u32]) -> Self {
        let outside = u32::MAX;
        for (index, vertex) in (0..).zip(vertices) {
            position[*vertex as usize] = index;
        }
        let mut graph = Self { offsets: vec![0], ..Self::default() };
        for vertex in vertices {
            for (neighbour, weight) in self.row(*vertex as usize) {
                if position[neighbour] != outside {
                    graph.neighbours.push(position[neighbour]);
                    graph.weights.push(weight);
                }
            }
            graph.offsets.push(graph.neighbours.len());
        }
        for vertex in vertices {
            position[*vertex as usize] = outside;
        }
        graph
    }

    pub(in crate::map) fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    pub(in crate::map) fn neighbours(&self) -> &[VertexId] {
        &self.neighbours
    }

    pub(in crate::map) fn weights(&self) -> &[u64] {
        &self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::traffic::{Flow, Job};

    #[test]
    fn both_directions_are_summed_and_loops_dropped() {
        let flow = |source, destination, bytes| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages: 1,
            bytes,
            largest: bytes,
        };
        let first = Job::new("a", 2, [flow(0, 1, 5), flow(1, 0, 7), flow(1, 1, 9)]).unwrap();
        let second = Job::new("b", 2, [flow(1, 0, u64::MAX), flow(0, 1, 1)]).unwrap();
        let workload = Workload { name: "both".to_owned(), jobs: vec![first, second] };
        let graph = Graph::from_workload(&workload);
        assert_eq!((graph.vertex_count(), graph.edge_count()), (4, 2));
        assert_eq!(graph.row(1).collect::<Vec<_>>(), [(0, 12)]);
        assert_eq!(graph.row(2).collect::<Vec<_>>(), [(3, u64::MAX)]);
        assert_eq!(graph.cost(|_, _| 2), 24 + 2 * u128::from(u64::MAX));
    }

    #[test]
    fn a_subgraph_has_the_edges_inside() {
        let graph = Graph::from_edges(4, vec![(0, 1, 1), (1, 2, 2), (3, 2, 3), (0, 3, 4)]);
        let part = graph.subgraph(&[3, 2, 1], &mut [u32::MAX; 4]);
        assert_eq!(part.row(0).collect::<Vec<_>>(), [(1, 3)]);
        assert_eq!(part.row(1).collect::<Vec<_>>(), [(2, 2), (0, 3)]);
        assert_eq!(part.row(2).collect::<Vec<_>>(), [(1, 2)]);
    }
}

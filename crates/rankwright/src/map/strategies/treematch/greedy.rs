//! Groups that grow from the heaviest edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::groups::{Clusters, Groups, Part};
use crate::map::search::graph::{Graph, VertexId};

/// Groups for the parts, in the order of `parts`, until all clusters are in a group.
///
/// A group begins with the two clusters of the heaviest edge, and takes the one with the most weight
/// to it until it is full (of equals the one with the least weight to all others, then the first). If
/// no cluster has an edge to it, it takes the one with the least weight to all others. Each cluster
/// takes its load of the capacity for its kind, 1 without `loads`; the last one may take more than is
/// left.
pub(super) fn grow(clusters: &Clusters, loads: Option<&[u64]>, parts: &[Part]) -> Groups {
    let mut growth = Growth::new(clusters, loads);
    let mut groups = Groups::default();
    let mut edges = Vec::new();
    for vertex in 0..clusters.graph.vertex_count() {
        let higher = clusters.graph.row(vertex).filter(|(other, _)| *other > vertex);
        edges.extend(
            higher.map(|(other, weight)| (Reverse(weight), vertex as VertexId, other as VertexId)),
        );
    }
    edges.sort_unstable();
    for part in parts {
        let mut next_edge = 0;
        for _ in 0..part.count {
            growth.begin(&part.capacity);
            let seed = edges[next_edge..].iter().position(|(_, a, b)| growth.both_fit(*a, *b));
            next_edge = seed.map_or(edges.len(), |seed| next_edge + seed);
            if let Some((_, a, b)) = edges.get(next_edge) {
                growth.take(*a);
                growth.take(*b);
            }
            growth.fill();
            if growth.group.is_empty() {
                break;
            }
            groups.add(part.kind, growth.group.drain(..));
        }
    }
    groups
}

struct Growth<'a> {
    graph: &'a Graph,
    /// Index: cluster.
    kind_of: &'a [u32],
    /// `None` if all are 1. Index: cluster.
    loads: Option<&'a [u64]>,
    /// The weight of all edges of each cluster. Index: cluster.
    degree: Vec<u128>,
    /// Whether a cluster is in a group. Index: cluster.
    taken: Vec<bool>,
    /// All clusters of a kind, those of the least degree first, and the position of the first that is
    /// not looked at. Index: kind.
    by_degree: Vec<(Vec<VertexId>, usize)>,
    /// What the group can still take. Index: kind.
    capacity: Vec<u64>,
    group: Vec<VertexId>,
    /// The weight from each cluster to the group. Index: cluster.
    with_group: Vec<u64>,
    /// The clusters for which that is more than 0.
    touched: Vec<VertexId>,
    /// Weight to the group, degree and number of clusters beside it; entries may be out of date.
    heaviest: BinaryHeap<(u64, Reverse<u128>, Reverse<VertexId>)>,
}

impl<'a> Growth<'a> {
    fn new(clusters: &'a Clusters, loads: Option<&'a [u64]>) -> Self {
        let graph = &clusters.graph;
        let count = graph.vertex_count();
        let degree: Vec<u128> = weighted_degrees(graph);
        let mut by_degree: Vec<(Vec<VertexId>, usize)> = Vec::new();
        for (vertex, kind) in (0..).zip(&clusters.kind_of) {
            let kind = *kind as usize;
            by_degree.resize(by_degree.len().max(kind + 1), (Vec::new(), 0));
            by_degree[kind].0.push(vertex);
        }
        for (vertices, _) in &mut by_degree {
            vertices.sort_by_key(|vertex| degree[*vertex as usize]);
        }
        Self {
            graph,
            kind_of: &clusters.kind_of,
            loads,
            degree,
            taken: vec![false; count],
            by_degree,
            capacity: Vec::new(),
            group: Vec::new(),
            with_group: vec![0; count],
            touched: Vec::new(),
            heaviest: BinaryHeap::new(),
        }
    }

    /// Begins an empty group.
    fn begin(&mut self, capacity: &[u64]) {
        self.capacity.clear();
        self.capacity.extend_from_slice(capacity);
        self.heaviest.clear();
        for vertex in self.touched.drain(..) {
            self.with_group[vertex as usize] = 0;
        }
    }

    /// Whether a cluster can join the group.
    fn fits(&self, vertex: VertexId) -> bool {
        !self.taken[vertex as usize] && self.capacity[self.kind_of[vertex as usize] as usize] > 0
    }

    /// Whether two clusters can join the group one after the other.
    fn both_fit(&self, a: VertexId, b: VertexId) -> bool {
        let same = self.kind_of[a as usize] == self.kind_of[b as usize];
        let capacity = self.capacity[self.kind_of[a as usize] as usize];
        let left = capacity.saturating_sub(self.load(a));
        self.fits(a) && self.fits(b) && (!same || left > 0)
    }

    fn load(&self, vertex: VertexId) -> u64 {
        self.loads.map_or(1, |loads| loads[vertex as usize])
    }

    fn take(&mut self, vertex: VertexId) {
        let load = self.load(vertex);
        let capacity = &mut self.capacity[self.kind_of[vertex as usize] as usize];
        *capacity = capacity.saturating_sub(load);
        self.taken[vertex as usize] = true;
        self.group.push(vertex);
        if self.capacity.iter().all(|capacity| *capacity == 0) {
            return;
        }
        for (neighbour, weight) in self.graph.row(vertex as usize) {
            if self.taken[neighbour] {
                continue;
            }
            let with_group = &mut self.with_group[neighbour];
            if *with_group == 0 {
                self.touched.push(neighbour as VertexId);
            }
            *with_group = with_group.saturating_add(weight);
            let degree = Reverse(self.degree[neighbour]);
            self.heaviest.push((*with_group, degree, Reverse(neighbour as VertexId)));
        }
    }

    /// Lets the group grow until nothing fits.
    fn fill(&mut self) {
        while self.capacity.iter().any(|capacity| *capacity > 0) {
            let next = self.next_neighbour().or_else(|| self.next_of_least_degree());
            let Some(vertex) = next else { return };
            self.take(vertex);
        }
    }

    fn next_neighbour(&mut self) -> Option<VertexId> {
        // Older entries of a vertex have smaller weights: they come when it is taken already.
        while let Some((_, _, Reverse(vertex))) = self.heaviest.pop() {
            if self.fits(vertex) {
                return Some(vertex);
            }
        }
        None
    }

    fn next_of_least_degree(&mut self) -> Option<VertexId> {
        let mut first = None;
        for ((vertices, looked_at), capacity) in self.by_degree.iter_mut().zip(&self.capacity) {
            let left = &vertices[*looked_at..];
            let next = left.iter().position(|vertex| !self.taken[*vertex as usize]);
            *looked_at = next.map_or(vertices.len(), |next| *looked_at + next);
            if let Some(vertex) = vertices.get(*looked_at).filter(|_| *capacity > 0) {
                let candidate = (self.degree[*vertex as usize], *vertex);
                first = Some(first.map_or(candidate, |first| candidate.min(first)));
            }
        }
        first.map(|(_, vertex)| vertex)
    }
}

/// The weight of all edges of each vertex.
pub(super) fn weighted_degrees(graph: &Graph) -> Vec<u128> {
    let sum = |vertex| graph.row(vertex).map(|(_, weight)| u128::from(weight)).sum();
    (0..graph.vertex_count()).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(edges: Vec<(u32, u32, u64)>, kind_of: Vec<u32>) -> Clusters {
        Clusters { graph: Graph::from_edges(kind_of.len(), edges), kind_of }
    }

    fn members(groups: &Groups) -> Vec<&[VertexId]> {
        (0..groups.count()).map(|group| groups.members(group)).collect()
    }

    #[test]
    fn groups_grow_from_the_heaviest_edges() {
        let clusters = clusters(vec![(0, 3, 9), (1, 3, 8), (1, 2, 7), (4, 5, 1)], vec![0; 6]);
        let part = Part { kind: 0, count: 3, capacity: vec![2] };
        let groups = grow(&clusters, None, &[part]);
        assert_eq!(members(&groups), [[0, 3], [1, 2], [4, 5]]);
    }

    #[test]
    fn a_group_has_as_many_of_each_kind_as_its_part() {
        // Vertices 0 and 1 have the heaviest edge, but are of the kind of which a part takes one.
        let clusters = clusters(vec![(0, 1, 9), (0, 2, 5), (1, 3, 5)], vec![1, 1, 0, 0, 0]);
        let parts = [
            Part { kind: 1, count: 1, capacity: vec![2, 1] },
            Part { kind: 0, count: 1, capacity: vec![1, 1] },
        ];
        let groups = grow(&clusters, None, &parts);
        assert_eq!(members(&groups), [&[0, 2, 4][..], &[1, 3][..]]);
        assert_eq!((groups.kind(0), groups.kind(1)), (1, 0));
    }

    #[test]
    fn loads_fill_a_group_to_its_share() {
        let clusters = clusters(vec![(0, 1, 9), (1, 2, 5)], vec![0; 4]);
        let part = Part { kind: 0, count: 3, capacity: vec![4] };
        let groups = grow(&clusters, Some(&[3, 3, 4, 2]), &[part]);
        assert_eq!(members(&groups), [&[0, 1][..], &[3, 2][..]]);
    }
}

//! An assignment of vertices to locations, what it costs, and what a swap would change.

use super::locations::{LocationId, Locations};
use super::scaled_graph::ScaledGraph;
use crate::map::search::graph::VertexId;
use crate::map::search::tree::BinId;
use crate::map::strategies::multisection::bin_codes::{BinCode, highest_difference};

/// A solution of the quadratic assignment problem, with the costs of all vertices kept up to date.
///
/// A move to an empty location is a swap with the dummy vertex of [`ScaledGraph`], which is at all
/// empty locations. A trial swap takes time in the degrees of its two vertices.
#[derive(Debug, Clone)]
pub(super) struct Assignment<'a> {
    graph: &'a ScaledGraph,
    locations: &'a Locations,
    /// Index: [`VertexId`]; the entry of the dummy is not used.
    location_of: Vec<CodedLocation>,
    /// Index: [`LocationId`].
    vertex_at: Vec<VertexId>,
    /// The sum over each vertex' edges of weight times distance. Index: [`VertexId`].
    cost_of: Vec<i64>,
    /// The load in each bin. Index: [`BinId`]; empty where all vertices have equal loads.
    filled: Vec<u64>,
    /// The sum over all edges of weight times distance.
    cost: i64,
    /// As [`ScaledGraph::distances`], but for equal codes what `try_swap` writes.
    distance: [i64; 32],
}

/// A location with its code: a search reads both together.
#[derive(Debug, Clone, Copy)]
struct CodedLocation {
    id: LocationId,
    code: BinCode,
}

impl<'a> Assignment<'a> {
    /// The vertices of each bin at its first locations.
    pub(super) fn new(graph: &'a ScaledGraph, locations: &'a Locations, bin_of: &[BinId]) -> Self {
        let dummy = bin_of.len() as VertexId;
        let mut next: Vec<LocationId> = locations.first_of_bins().collect();
        let mut assignment = Self {
            graph,
            locations,
            location_of: Vec::with_capacity(bin_of.len() + 1),
            vertex_at: vec![dummy; locations.count()],
            cost_of: vec![0; bin_of.len() + 1],
            filled: vec![0; if locations.loads().is_some() { next.len() } else { 0 }],
            cost: 0,
            distance: *graph.distances(),
        };
        for (vertex, bin) in (0_u32..).zip(bin_of) {
            let id = next[*bin as usize];
            next[*bin as usize] += 1;
            assignment.location_of.push(CodedLocation { id, code: locations.code(id) });
            assignment.vertex_at[id as usize] = vertex;
            if let Some(loads) = locations.loads() {
                assignment.filled[*bin as usize] += loads.of_vertex[vertex as usize];
            }
        }
        assignment.location_of.push(CodedLocation { id: 0, code: 0 });
        for vertex in 0..dummy {
            let cost = assignment.cost_at(vertex, assignment.location_of[vertex as usize].code);
            assignment.cost_of[vertex as usize] = cost;
            assignment.cost += cost;
        }
        assignment.cost /= 2;
        assignment
    }

    pub(super) fn graph(&self) -> &'a ScaledGraph {
        self.graph
    }

    pub(super) fn locations(&self) -> &'a Locations {
        self.locations
    }

    /// The bin of each vertex.
    pub(super) fn bins(&self) -> Vec<BinId> {
        let occupied = &self.location_of[..self.location_of.len() - 1];
        occupied.iter().map(|location| self.locations.bin(location.id)).collect()
    }

    pub(super) fn location(&self, vertex: VertexId) -> LocationId {
        self.location_of[vertex as usize].id
    }

    #[inline]
    pub(super) fn vertex_at(&self, location: LocationId) -> VertexId {
        self.vertex_at[location as usize]
    }

    /// The height of the lowest group that holds both vertices.
    #[inline]
    pub(super) fn height(&self, a: VertexId, b: VertexId) -> usize {
        self.locations.height(self.location_of[a as usize].code, self.location_of[b as usize].code)
    }

    /// The sum over all edges of weight times distance.
    pub(super) fn cost(&self) -> i64 {
        self.cost
    }

    /// What the edges of a vertex cost.
    #[inline]
    pub(super) fn cost_of(&self, vertex: VertexId) -> i64 {
        self.cost_of[vertex as usize]
    }

    /// Whether a swap of a vertex with the one at a location keeps the capacities of both bins.
    #[inline]
    pub(super) fn fits(&self, vertex: VertexId, location: LocationId) -> bool {
        let Some(loads) = self.locations.loads() else { return true };
        let from = self.locations.bin(self.location_of[vertex as usize].id);
        let to = self.locations.bin(location);
        let load = |vertex: VertexId| loads.of_vertex.get(vertex as usize).copied().unwrap_or(0);
        let (coming, going) = (load(vertex), load(self.vertex_at(location)));
        from == to
            || coming == going
            || if coming > going {
                self.filled[to as usize] + (coming - going) <= loads.capacity[to as usize]
            } else {
                self.filled[from as usize] + (going - coming) <= loads.capacity[from as usize]
            }
    }

    /// What a vertex and the one at a location would cost after a swap; `None` where the sum of all
    /// costs would rise by more than `max_rise`. `least` is a lower bound of the cost of the second.
    #[inline]
    pub(super) fn try_swap(
        &mut self,
        vertex: VertexId,
        location: LocationId,
        least: i64,
        max_rise: i64,
    ) -> Option<(i64, i64)> {
        let other = self.vertex_at[location as usize];
        let old_code = self.location_of[vertex as usize].code;
        let new_code = self.locations.code(location);
        // A neighbour at that very location moves to the old one.
        self.distance[0] = self.graph.distance(old_code, new_code);
        let limit = max_rise + self.cost_of[vertex as usize] + self.cost_of[other as usize];
        let cost = self.cost_at(vertex, new_code);
        if cost + least > limit {
            return None;
        }
        let other_cost = self.cost_at(other, old_code);
        (cost + other_cost <= limit).then_some((cost, other_cost))
    }

    /// What the edges of a vertex would cost at `code`, if the vertex that is at it moved to the
    /// distance `self.distance[0]`.
    #[inline]
    fn cost_at(&self, vertex: VertexId, code: BinCode) -> i64 {
        let (neighbours, weights) = self.graph.row(vertex);
        let (mut cost, mut at) = (0, 0);
        // By index, as in `estimate::fluid::queue`.
        while at < neighbours.len() {
            let neighbour = self.location_of[neighbours[at] as usize].code;
            cost += weights[at] * self.distance[highest_difference(code, neighbour)];
            at += 1;
        }
        cost
    }

    /// Swaps a vertex with the one at a location; the costs are those of `try_swap`.
    pub(super) fn swap(
        &mut self,
        vertex: VertexId,
        location: LocationId,
        (cost, other_cost): (i64, i64),
    ) {
        let other = self.vertex_at[location as usize];
        let CodedLocation { id: old_location, code: old_code } = self.location_of[vertex as usize];
        let new_code = self.locations.code(location);
        self.cost +=
            cost + other_cost - self.cost_of[vertex as usize] - self.cost_of[other as usize];
        self.update_neighbours(vertex, old_code, new_code);
        self.update_neighbours(other, new_code, old_code);
        if let Some(loads) = self.locations.loads() {
            let (from, to) = (self.locations.bin(old_location), self.locations.bin(location));
            let load =
                |vertex: VertexId| loads.of_vertex.get(vertex as usize).copied().unwrap_or(0);
            let (coming, going) = (load(vertex), load(other));
            self.filled[from as usize] = self.filled[from as usize] + going - coming;
            self.filled[to as usize] = self.filled[to as usize] + coming - going;
        }
        self.cost_of[vertex as usize] = cost;
        self.cost_of[other as usize] = other_cost;
        self.location_of[vertex as usize] = CodedLocation { id: location, code: new_code };
        self.location_of[other as usize] = CodedLocation { id: old_location, code: old_code };
        self.vertex_at[location as usize] = vertex;
        self.vertex_at[old_location as usize] = other;
    }

    /// Changes the costs of a vertex' neighbours as if it alone moved.
    #[inline]
    fn update_neighbours(&mut self, vertex: VertexId, from: BinCode, to: BinCode) {
        let (neighbours, weights) = self.graph.row(vertex);
        let mut at = 0;
        while at < neighbours.len() {
            let neighbour = neighbours[at] as usize;
            let code = self.location_of[neighbour].code;
            let growth = self.graph.distance(to, code) - self.graph.distance(from, code);
            self.cost_of[neighbour] += weights[at] * growth;
            at += 1;
        }
    }
}

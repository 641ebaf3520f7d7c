//! Recognises Cartesian grids from the neighbours of each vertex, however vertices are numbered.
//!
//! Stencils couple a vertex with the next one on each axis, often also with those that differ in
//! several axes. The latter edges are not in the Cartesian skeleton ([`super::skeleton`]). Of the
//! other edges, every square shows which edges belong to the same axis ([`super::directions`]). Time is
//! linear in the edges, because degrees are bounded.

use super::directions::Directions;
use super::skeleton::ClosedNeighbourhoods;
use crate::map::search::graph::{Graph, VertexId};

/// The coordinates of the vertices of a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct Grid {
    /// How many vertices there are along each axis.
    lengths: Vec<usize>,
    /// Index: vertex × axes + axis.
    coordinates: Vec<u32>,
}

/// The most neighbours of a vertex in three dimensions, with diagonals.
const MAX_NEIGHBOURS: usize = 26;
/// The most different degrees: inside, and at the border of one, two, three or four axes.
const MAX_DEGREES: usize = 5;
pub(super) const MAX_AXES: usize = 4;
/// No vertex, or no coordinate.
pub(super) const NONE: VertexId = VertexId::MAX;

impl Grid {
    /// The grid that a graph is; `None` if it is not a grid, or has an axis so short that its edges
    /// are ambiguous. Axes may be closed to rings of five vertices or more.
    pub(in crate::map) fn recognise(graph: &Graph) -> Option<Self> {
        if !has_degrees_of_a_grid(graph) {
            return None;
        }
        let skeleton = ClosedNeighbourhoods::new(graph).skeleton();
        Self::from_directions(&Directions::find(&skeleton)?)
    }

    pub(in crate::map) fn vertex_count(&self) -> usize {
        self.coordinates.len() / self.lengths.len()
    }

    /// How many vertices there are along each axis.
    pub(in crate::map) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The coordinate of a vertex on each axis.
    pub(in crate::map) fn coordinates(&self, vertex: usize) -> &[u32] {
        &self.coordinates[vertex * self.lengths.len()..][..self.lengths.len()]
    }

    /// Counts along the axes from a corner; `None` if the vertices do not fill a box.
    fn from_directions(directions: &Directions) -> Option<Self> {
        let (axes, count) = (directions.axes(), directions.vertex_count());
        let corner = directions.corner();
        let (mut vertices, mut lengths) = (vec![corner], Vec::new());
        let mut coordinates = vec![NONE; count * axes];
        coordinates[corner as usize * axes..][..axes].fill(0);
        for axis in 0..axes {
            let mut further = Vec::new();
            let length = directions.line(corner, 2 * axis).len();
            for vertex in vertices {
                let line = directions.line(vertex, 2 * axis);
                if line.len() != length {
                    return None;
                }
                let row = vertex as usize * axes;
                for (coordinate, other) in (0..).zip(&line).skip(1) {
                    let other = *other as usize * axes;
                    if coordinates[other] != NONE {
                        return None;
                    }
                    coordinates.copy_within(row..row + axes, other);
                    coordinates[other + axis] = coordinate;
                }
                further.extend(line);
            }
            vertices = further;
            lengths.push(length);
        }
        (vertices.len() == count).then_some(Self { lengths, coordinates })
    }
}

/// A quick test that hardly any other graph passes.
fn has_degrees_of_a_grid(graph: &Graph) -> bool {
    let mut counts = [0_usize; MAX_NEIGHBOURS + 1];
    for vertex in 0..graph.vertex_count() {
        match counts.get_mut(graph.row(vertex).len()) {
            Some(count) => *count += 1,
            None => return false,
        }
    }
    let different = counts.iter().filter(|count| **count > 0).count();
    graph.vertex_count() > 1 && counts[0] == 0 && different <= MAX_DEGREES
}

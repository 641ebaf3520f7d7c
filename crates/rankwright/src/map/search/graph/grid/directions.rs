//! The directions of the edges of a skeleton: which belong to the same axis.

use std::cmp::Reverse;

use super::coordinates::{MAX_AXES, NONE};
use super::skeleton::{Rows, intersection};
use crate::map::search::graph::VertexId;

/// The neighbours of each vertex by direction.
pub(super) struct Directions {
    axes: usize,
    /// The neighbour or [`NONE`]. Index: vertex × 2 axes + direction; direction 2 a is forwards on
    /// axis a, 2 a + 1 backwards.
    next: Vec<VertexId>,
    /// The vertex from which the directions were propagated.
    start: VertexId,
}

/// The opposite of a direction.
fn opposite(direction: usize) -> usize {
    direction ^ 1
}

impl Directions {
    /// The directions of a skeleton; `None` if they are not unique or contradict each other.
    pub(super) fn find(skeleton: &Rows) -> Option<Self> {
        let start = (0..skeleton.count())
            .max_by_key(|vertex| (skeleton.row(*vertex).len(), Reverse(*vertex)))?;
        let mut axes: Vec<[VertexId; 2]> = Vec::new();
        for neighbour in skeleton.row(start) {
            // Neighbours on the same axis have only the start in common.
            let is_opposite = |axis: &&mut [VertexId; 2]| {
                let common = intersection(skeleton.row(axis[0]), skeleton.row(*neighbour));
                axis[1] == NONE && common.eq([start])
            };
            match axes.iter_mut().find(is_opposite) {
                Some(axis) => axis[1] = *neighbour,
                None => axes.push([*neighbour, NONE]),
            }
        }
        if axes.is_empty() || axes.len() > MAX_AXES {
            return None;
        }
        let next = vec![NONE; skeleton.count() as usize * 2 * axes.len()];
        let mut directions = Self { axes: axes.len(), next, start };
        directions.row_mut(start).copy_from_slice(axes.as_flattened());
        directions.propagate(skeleton).then_some(directions)
    }

    pub(super) fn axes(&self) -> usize {
        self.axes
    }

    pub(super) fn vertex_count(&self) -> usize {
        self.next.len() / (2 * self.axes)
    }

    fn row(&self, vertex: VertexId) -> &[VertexId] {
        &self.next[vertex as usize * 2 * self.axes..][..2 * self.axes]
    }

    fn row_mut(&mut self, vertex: VertexId) -> &mut [VertexId] {
        &mut self.next[vertex as usize * 2 * self.axes..][..2 * self.axes]
    }

    /// From the start to all other vertices, breadth first. Returns whether everything is unique and
    /// free of contradictions.
    fn propagate(&mut self, skeleton: &Rows) -> bool {
        let mut is_reached = vec![false; skeleton.count() as usize];
        is_reached[self.start as usize] = true;
        let mut reached = vec![self.start];
        let mut done = 0;
        while let Some(vertex) = reached.get(done).copied() {
            done += 1;
            for direction in 0..2 * self.axes {
                let neighbour = self.row(vertex)[direction];
                if neighbour == NONE {
                    continue;
                }
                if !is_reached[neighbour as usize] {
                    if !self.propagate_to_neighbour(skeleton, vertex, direction) {
                        return false;
                    }
                    is_reached[neighbour as usize] = true;
                    reached.push(neighbour);
                }
                if self.row(neighbour)[opposite(direction)] != vertex {
                    return false;
                }
            }
        }
        done == is_reached.len()
    }

    /// Derives the directions of a neighbour from those of a vertex: the fourth corner of every
    /// square over their edge. Returns whether they are unique.
    fn propagate_to_neighbour(
        &mut self,
        skeleton: &Rows,
        vertex: VertexId,
        direction: usize,
    ) -> bool {
        let neighbour = self.row(vertex)[direction];
        let mut row = [NONE; 2 * MAX_AXES];
        row[opposite(direction)] = vertex;
        for (side, beside) in self.row(vertex).iter().enumerate() {
            if side / 2 == direction / 2 || *beside == NONE {
                continue;
            }
            let mut corners = intersection(skeleton.row(neighbour), skeleton.row(*beside));
            let mut corners = corners.by_ref().filter(|corner| *corner != vertex);
            match (corners.next(), corners.next()) {
                (Some(corner), None) => row[side] = corner,
                _ => return false,
            }
        }
        let mut others = skeleton.row(neighbour).iter().filter(|other| !row.contains(other));
        let (ahead, second) = (others.next(), others.next());
        row[direction] = ahead.copied().unwrap_or(NONE);
        let length = 2 * self.axes;
        self.row_mut(neighbour).copy_from_slice(&row[..length]);
        second.is_none()
    }

    /// The vertices from one on in a direction, to the last or around a ring.
    pub(super) fn line(&self, from: VertexId, direction: usize) -> Vec<VertexId> {
        let mut line = vec![from];
        let mut vertex = self.row(from)[direction];
        while vertex != NONE && vertex != from && line.len() * 2 * self.axes <= self.next.len() {
            line.push(vertex);
            vertex = self.row(vertex)[direction];
        }
        line
    }

    /// The corner of the box that is backwards on all axes; on rings any vertex.
    pub(super) fn corner(&self) -> VertexId {
        let mut corner = self.start;
        for axis in 0..self.axes {
            let backwards = 2 * axis + 1;
            let line = self.line(corner, backwards);
            let last = line[line.len() - 1];
            if self.row(last)[backwards] == NONE {
                corner = last;
            }
        }
        corner
    }
}

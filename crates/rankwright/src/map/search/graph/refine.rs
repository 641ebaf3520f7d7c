//! Refinement of bisections by moves of single vertices (Fiduccia and Mattheyses 1982): a pass takes
//! time in the edges.

use super::VertexId;
use super::compact::CompactGraph;
use super::gain_buckets::{GainBuckets, Link, Linked};

/// A bisection of a graph.
#[derive(Debug)]
pub(super) struct Bisection<'a> {
    graph: &'a CompactGraph,
    /// Index: [`VertexId`].
    vertices: Vec<Vertex>,
    /// The weight of the edges of each vertex. Index: [`VertexId`].
    degrees: Vec<i32>,
    /// The load on each side.
    loads: [u64; 2],
    /// The load that each side may hold.
    capacity: [u64; 2],
    /// The weight of the edges between the sides.
    cut: i64,
    /// The vertices of each side that may move.
    queues: &'a mut [GainBuckets; 2],
    /// The vertices moved in this pass, the first move first.
    moved: Vec<VertexId>,
}

/// What a move reads and changes of a vertex, together in memory.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    link: Link,
    /// By how much the cut falls when the vertex changes sides.
    gain: i32,
    side: u8,
    locked: bool,
}

impl Linked for Vertex {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }
}

impl<'a> Bisection<'a> {
    /// All vertices on side 1. The queues are empty here and after each refinement.
    pub(super) fn new(
        graph: &'a CompactGraph,
        capacity: [u64; 2],
        queues: &'a mut [GainBuckets; 2],
    ) -> Self {
        let degree = |vertex| graph.row(vertex).iter().map(|(_, weight)| *weight as i32).sum();
        let degrees: Vec<i32> = (0..graph.vertex_count()).map(degree).collect();
        let vertex =
            |degree: &i32| Vertex { link: Link::FREE, gain: -degree, side: 1, locked: false };
        Self {
            graph,
            vertices: degrees.iter().map(vertex).collect(),
            degrees,
            loads: [0, graph.total_load()],
            capacity,
            cut: 0,
            queues,
            moved: Vec::new(),
        }
    }

    /// A bisection from the side of each vertex.
    pub(super) fn with_sides(
        graph: &'a CompactGraph,
        side_of: impl Iterator<Item = u8>,
        capacity: [u64; 2],
        queues: &'a mut [GainBuckets; 2],
    ) -> Self {
        let mut bisection = Self::new(graph, capacity, queues);
        bisection.vertices.iter_mut().zip(side_of).for_each(|(vertex, side)| vertex.side = side);
        bisection.loads = [0; 2];
        let mut cut = 0;
        for index in 0..bisection.vertices.len() {
            let side = bisection.vertices[index].side;
            let load = &mut bisection.loads[usize::from(side)];
            *load = load.saturating_add(graph.loads[index]);
            let vertices = &bisection.vertices;
            let across = graph.row(index).iter().map(|(other, weight)| {
                let across = vertices[*other as usize].side != side;
                if across { *weight as i32 } else { 0 }
            });
            let outside: i32 = across.sum();
            bisection.vertices[index].gain += 2 * outside;
            cut += i64::from(outside);
        }
        bisection.cut = cut / 2;
        bisection
    }

    /// The side of each vertex.
    pub(super) fn sides(&self) -> impl Iterator<Item = u8> + '_ {
        self.vertices.iter().map(|vertex| vertex.side)
    }

    /// By how much the sides hold too much, and the weight of the edges between them; smaller is
    /// better.
    pub(super) fn quality(&self) -> (u64, i64) {
        let over = |side: usize| self.loads[side].saturating_sub(self.capacity[side]);
        (over(0).saturating_add(over(1)), self.cut)
    }

    /// Begins again by greedy graph growing: side 0 grows from a vertex, always by the vertex with the
    /// most weight to it and the least to the rest, until it has its share.
    pub(super) fn grow(&mut self, seed: VertexId) {
        for (vertex, degree) in self.vertices.iter_mut().zip(&self.degrees) {
            *vertex = Vertex { link: Link::FREE, gain: -degree, side: 1, locked: false };
        }
        let total = self.graph.total_load();
        (self.loads, self.cut) = ([0, total], 0);
        let capacity = self.capacity.map(u128::from);
        let share = u128::from(total) * capacity[0] / (capacity[0] + capacity[1]).max(1);
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        let mut next_free = 0;
        let mut next = Some(seed);
        while self.loads[0] < share {
            let vertex = next.take().or_else(|| self.queues[1].first().map(|(_, vertex)| vertex));
            let vertex = vertex.or_else(|| {
                let free = self.vertices[next_free..].iter().position(|vertex| vertex.side == 1);
                next_free += free?;
                Some(next_free as VertexId)
            });
            let Some(vertex) = vertex else { break };
            let load = self.graph.loads[vertex as usize];
            if self.loads[0].saturating_add(load) > self.capacity[0] && self.loads[0] > 0 {
                // The next vertex is too large: side 0 stays below its share.
                break;
            }
            // Vertices on side 0 do not move again.
            self.vertices[vertex as usize].locked = true;
            self.move_across(vertex);
        }
        self.clear_queues();
        self.vertices.iter_mut().for_each(|vertex| vertex.locked = false);
    }

    /// Refines by at most `passes` passes; each ends after `patience` moves without improvement.
    /// Afterwards the bisection can be read or grown anew, but not be refined again.
    pub(super) fn refine(&mut self, passes: usize, patience: usize) {
        for pass in 1..=passes {
            if !self.pass(patience, pass == passes) {
                break;
            }
        }
    }

    /// Returns whether the bisection improved. After the last pass, and after one without improvement,
    /// the gains are not up to date.
    fn pass(&mut self, patience: usize, last: bool) -> bool {
        for (index, degree) in self.degrees.iter().enumerate() {
            let Vertex { gain, side, .. } = self.vertices[index];
            if gain > -degree {
                self.queues[usize::from(side)].push(&mut self.vertices, index as VertexId, gain);
            }
        }
        let mut best = self.quality();
        let mut keep = 0;
        while let Some(vertex) = self.next() {
            self.vertices[vertex as usize].locked = true;
            self.move_across(vertex);
            self.moved.push(vertex);
            let quality = self.quality();
            if quality < best {
                best = quality;
                keep = self.moved.len();
            } else if self.moved.len() - keep > patience {
                break;
            }
        }
        self.clear_queues();
        let again = keep > 0 && !last;
        for position in (keep..self.moved.len()).rev() {
            let vertex = self.moved[position];
            self.change_side(vertex);
            if again {
                self.update_neighbours(vertex);
            }
        }
        for vertex in self.moved.drain(..) {
            self.vertices[vertex as usize].locked = false;
        }
        (_, self.cut) = best;
        keep > 0
    }

    /// The vertex to move next: from the side that holds too much, else the best of both. So a side
    /// may hold one vertex too many for a while.
    fn next(&mut self) -> Option<VertexId> {
        for side in 0..2 {
            if self.loads[side] > self.capacity[side] {
                if self.queues[side].first().is_none() {
                    self.fill_queue(side);
                }
                return self.queues[side].first().map(|(_, vertex)| vertex);
            }
        }
        let first = |side: usize| self.queues[side].first().map(|(bucket, _)| bucket);
        // With equal gains, from the side that has less capacity left.
        let left = |side: usize| self.capacity[side] - self.loads[side];
        let side = match (first(0), first(1)) {
            (Some(a), Some(b)) if a == b => usize::from(left(1) < left(0)),
            (a, b) => usize::from(b > a),
        };
        self.queues[side].first().map(|(_, vertex)| vertex)
    }

    /// Queues the vertices that do not border on the other side, too.
    fn fill_queue(&mut self, side: usize) {
        for index in 0..self.vertices.len() {
            let vertex = self.vertices[index];
            if usize::from(vertex.side) == side && !vertex.locked && vertex.link.is_free() {
                self.queues[side].push(&mut self.vertices, index as VertexId, vertex.gain);
            }
        }
    }

    fn clear_queues(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.clear(&mut self.vertices));
    }

    /// Moves a locked vertex to the other side.
    fn move_across(&mut self, vertex: VertexId) {
        let Vertex { side: from, link, .. } = self.vertices[vertex as usize];
        let to = 1 - from;
        if !link.is_free() {
            self.queues[usize::from(from)].remove(&mut self.vertices, vertex);
        }
        self.change_side(vertex);
        let graph = self.graph;
        for (other, weight) in graph.row(vertex as usize) {
            let neighbour = &mut self.vertices[*other as usize];
            let gains = neighbour.side != to;
            neighbour.gain += gain_change(*weight, gains);
            let Vertex { gain, side, locked, link } = *neighbour;
            let queue = &mut self.queues[usize::from(side)];
            if !link.is_free() {
                queue.change(&mut self.vertices, *other, gain);
            } else if gains && !locked {
                queue.push(&mut self.vertices, *other, gain);
            }
        }
    }

    /// Changes the gains of a vertex' neighbours after it has moved, while the queues are empty.
    fn update_neighbours(&mut self, vertex: VertexId) {
        let side = self.vertices[vertex as usize].side;
        for (other, weight) in self.graph.row(vertex as usize) {
            let neighbour = &mut self.vertices[*other as usize];
            neighbour.gain += gain_change(*weight, neighbour.side != side);
        }
    }

    /// The part of a move that does not concern its neighbours.
    fn change_side(&mut self, vertex: VertexId) {
        let load = self.graph.loads[vertex as usize];
        let moved = &mut self.vertices[vertex as usize];
        let (from, to) = (usize::from(moved.side), usize::from(1 - moved.side));
        self.cut -= i64::from(moved.gain);
        moved.side = to as u8;
        moved.gain = -moved.gain;
        self.loads[from] -= load;
        self.loads[to] = self.loads[to].saturating_add(load);
    }
}

/// How the gain of a vertex changes when a neighbour moves to the other side, or to its own side.
#[inline]
fn gain_change(weight: u32, to_other: bool) -> i32 {
    // Without a branch: both are equally likely.
    weight as i32 * (4 * i32::from(to_other) - 2)
}

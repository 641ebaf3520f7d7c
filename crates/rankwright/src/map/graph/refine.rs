//! Better bisections by moving single vertices.

use super::compact::Compact;
use super::queue::GainQueue;

/// A division of a graph in two that is made better by passes of Fiduccia and Mattheyses (1982).
#[derive(Debug)]
pub(in crate::map) struct Bisection<'a> {
    graph: &'a Compact,
    /// Which side each vertex is on, 0 or 1.
    pub(in crate::map) side_of: Vec<u8>,
    loads: [u64; 2],
    /// What each side may hold.
    room: [u64; 2],
    cut: i64,
    /// The weight of the edges to the other side.
    outside: Vec<i64>,
    /// By how much the cut falls when the vertex changes sides.
    gain: Vec<i64>,
    queues: [GainQueue; 2],
    locked: Vec<bool>,
    moved: Vec<u32>,
}

impl<'a> Bisection<'a> {
    pub(in crate::map) fn new(graph: &'a Compact, side_of: Vec<u8>, room: [u64; 2]) -> Self {
        let vertices = graph.vertex_count();
        let mut bisection = Self {
            graph,
            side_of,
            loads: [0; 2],
            room,
            cut: 0,
            outside: vec![0; vertices],
            gain: vec![0; vertices],
            queues: [GainQueue::new(vertices), GainQueue::new(vertices)],
            locked: vec![false; vertices],
            moved: Vec::new(),
        };
        bisection.count();
        bisection
    }

    /// Begins again from other sides.
    pub(in crate::map) fn reset(&mut self, side_of: &[u8]) {
        self.side_of.copy_from_slice(side_of);
        self.count();
    }

    fn count(&mut self) {
        self.loads = [0; 2];
        self.cut = 0;
        for vertex in 0..self.side_of.len() {
            let own = self.side_of[vertex];
            let load = &mut self.loads[usize::from(own)];
            *load = load.saturating_add(self.graph.loads[vertex]);
            let (mut inside, mut outside) = (0, 0);
            for (other, weight) in self.graph.row(vertex) {
                if self.side_of[*other as usize] == own {
                    inside += i64::from(*weight);
                } else {
                    outside += i64::from(*weight);
                }
            }
            self.outside[vertex] = outside;
            self.gain[vertex] = outside - inside;
            self.cut += outside;
        }
        self.cut /= 2;
    }

    /// By how much the sides hold too much, and the weight of the edges between them: the smaller
    /// the better.
    pub(in crate::map) fn quality(&self) -> (u64, i64) {
        let over = |side: usize| self.loads[side].saturating_sub(self.room[side]);
        (over(0).saturating_add(over(1)), self.cut)
    }

    /// At most so many passes; each ends after `patience` moves that lead to nothing better.
    pub(in crate::map) fn refine(&mut self, passes: usize, patience: usize) {
        for _ in 0..passes {
            let before = self.quality();
            self.pass(patience);
            if self.quality() >= before {
                break;
            }
        }
    }

    fn pass(&mut self, patience: usize) {
        for (vertex, outside) in (0..).zip(&self.outside) {
            if *outside > 0 {
                let side = usize::from(self.side_of[vertex as usize]);
                self.queues[side].set(vertex, self.gain[vertex as usize]);
            }
        }
        let mut best = self.quality();
        let mut keep = 0;
        while let Some(vertex) = self.next() {
            self.shift(vertex);
            self.locked[vertex as usize] = true;
            self.moved.push(vertex);
            let quality = self.quality();
            if quality < best {
                best = quality;
                keep = self.moved.len();
            } else if self.moved.len() - keep > patience {
                break;
            }
        }
        self.queues.iter_mut().for_each(GainQueue::clear);
        while self.moved.len() > keep {
            let Some(vertex) = self.moved.pop() else { break };
            self.locked[vertex as usize] = false;
            self.shift(vertex);
        }
        self.queues.iter_mut().for_each(GainQueue::clear);
        for vertex in self.moved.drain(..) {
            self.locked[vertex as usize] = false;
        }
    }

    /// The vertex to move next: from the side that holds too much, else the best of both. A side
    /// may so hold one vertex too much for a while.
    fn next(&mut self) -> Option<u32> {
        for side in 0..2 {
            if self.loads[side] > self.room[side] {
                if self.queues[side].first().is_none() {
                    self.fill_queue(side);
                }
                return self.queues[side].pop().map(|(_, vertex)| vertex);
            }
        }
        let first = |side: usize| self.queues[side].first().map(|(gain, _)| gain);
        // With equal gains, from the side that has less room left.
        let left = |side: usize| self.room[side] - self.loads[side];
        let side = match (first(0), first(1)) {
            (Some(a), Some(b)) if a == b => usize::from(left(1) < left(0)),
            (a, b) => usize::from(b > a),
        };
        self.queues[side].pop().map(|(_, vertex)| vertex)
    }

    /// Considers vertices that do not border on the other side.
    fn fill_queue(&mut self, side: usize) {
        for vertex in 0..self.side_of.len() {
            if usize::from(self.side_of[vertex]) == side && !self.locked[vertex] {
                self.queues[side].set(vertex as u32, self.gain[vertex]);
            }
        }
    }

    /// Moves a vertex to the other side.
    fn shift(&mut self, vertex: u32) {
        let index = vertex as usize;
        let from = self.side_of[index];
        let to = 1 - from;
        let load = self.graph.loads[index];
        self.loads[usize::from(from)] -= load;
        self.loads[usize::from(to)] = self.loads[usize::from(to)].saturating_add(load);
        self.side_of[index] = to;
        self.cut -= self.gain[index];
        self.outside[index] -= self.gain[index];
        self.gain[index] = -self.gain[index];
        for (other, weight) in self.graph.row(index) {
            let other_index = *other as usize;
            let side = self.side_of[other_index];
            let change = if side == to { -i64::from(*weight) } else { i64::from(*weight) };
            self.outside[other_index] += change;
            self.gain[other_index] += 2 * change;
            let queue = &mut self.queues[usize::from(side)];
            if !self.locked[other_index] && (change > 0 || queue.contains(*other)) {
                queue.set(*other, self.gain[other_index]);
            }
        }
    }
}

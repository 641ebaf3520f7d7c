//! An indexed binary heap of vertices by gain, for searches that ask for the largest after every move.

use super::VertexId;

/// The position of a vertex that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// A binary heap with the position of each vertex, so that gains can change.
#[derive(Debug)]
pub(in crate::map) struct GainHeap {
    /// The children of entry i are 2 i + 1 and 2 i + 2.
    heap: Vec<(i64, VertexId)>,
    /// Index: vertex.
    position: Vec<u32>,
}

impl GainHeap {
    /// An empty heap for the vertices below `vertices`.
    pub(in crate::map) fn new(vertices: usize) -> Self {
        Self { heap: Vec::new(), position: vec![ABSENT; vertices] }
    }

    /// The vertex of the largest gain.
    pub(in crate::map) fn first(&self) -> Option<(i64, VertexId)> {
        self.heap.first().copied()
    }

    /// Removes the vertex of the largest gain.
    pub(in crate::map) fn pop(&mut self) -> Option<(i64, VertexId)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// Inserts a vertex, or changes its gain.
    pub(in crate::map) fn set(&mut self, vertex: VertexId, gain: i64) {
        let position = self.position[vertex as usize];
        if position == ABSENT {
            self.heap.push((gain, vertex));
            self.up(self.heap.len() - 1);
            return;
        }
        let position = position as usize;
        let before = self.heap[position].0;
        self.heap[position].0 = gain;
        if gain > before {
            self.up(position);
        } else if gain < before {
            self.down(position);
        }
    }

    /// Removes a vertex, if it is in the heap.
    pub(in crate::map) fn remove(&mut self, vertex: VertexId) {
        let position = std::mem::replace(&mut self.position[vertex as usize], ABSENT) as usize;
        if position == ABSENT as usize {
            return;
        }
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            let removed = std::mem::replace(&mut self.heap[position], last);
            if last.0 > removed.0 {
                self.up(position);
            } else {
                self.down(position);
            }
        }
    }

    pub(in crate::map) fn clear(&mut self) {
        for (_, vertex) in self.heap.drain(..) {
            self.position[vertex as usize] = ABSENT;
        }
    }

    fn up(&mut self, mut position: usize) {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent].0 >= entry.0 {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
    }

    fn down(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 > self.heap[child].0 {
                child += 1;
            }
            if self.heap[child].0 <= entry.0 {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, entry);
    }

    fn put(&mut self, position: usize, entry: (i64, VertexId)) {
        self.heap[position] = entry;
        self.position[entry.1 as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_largest_gain_comes_first(
            steps in prop::collection::vec((0_u32..20, -9_i64..9, 0..4), 0..200),
        ) {
            let mut queue = GainHeap::new(20);
            let mut gains = BTreeMap::new();
            for (vertex, gain, kind) in steps {
                match kind {
                    0 => {
                        queue.remove(vertex);
                        gains.remove(&vertex);
                    }
                    1 => {
                        if let Some((gain, vertex)) = queue.pop() {
                            prop_assert_eq!(gains.remove(&vertex), Some(gain));
                        }
                    }
                    _ => {
                        queue.set(vertex, gain);
                        gains.insert(vertex, gain);
                    }
                }
                let first = queue.first().map(|(gain, _)| gain);
                prop_assert_eq!(first, gains.values().max().copied());
            }
        }
    }
}

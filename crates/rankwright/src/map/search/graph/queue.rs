//! A priority queue of vertices by gain.

const ABSENT: u32 = u32::MAX;

/// A binary heap that knows where each vertex stands, so that gains can change.
#[derive(Debug)]
pub(in crate::map) struct GainQueue {
    heap: Vec<(i64, u32)>,
    place: Vec<u32>,
}

impl GainQueue {
    /// An empty queue for vertices below `vertices`.
    pub(in crate::map) fn new(vertices: usize) -> Self {
        Self { heap: Vec::new(), place: vec![ABSENT; vertices] }
    }

    /// The vertex of the largest gain.
    pub(in crate::map) fn first(&self) -> Option<(i64, u32)> {
        self.heap.first().copied()
    }

    /// Takes the vertex of the largest gain out.
    pub(in crate::map) fn pop(&mut self) -> Option<(i64, u32)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// Puts a vertex in, or gives it another gain.
    pub(in crate::map) fn set(&mut self, vertex: u32, gain: i64) {
        let place = self.place[vertex as usize];
        if place == ABSENT {
            self.heap.push((gain, vertex));
            self.up(self.heap.len() - 1);
            return;
        }
        let place = place as usize;
        let before = self.heap[place].0;
        self.heap[place].0 = gain;
        if gain > before {
            self.up(place);
        } else if gain < before {
            self.down(place);
        }
    }

    /// Takes a vertex out, if it is there.
    pub(in crate::map) fn remove(&mut self, vertex: u32) {
        let place = std::mem::replace(&mut self.place[vertex as usize], ABSENT) as usize;
        if place == ABSENT as usize {
            return;
        }
        let Some(last) = self.heap.pop() else { return };
        if place < self.heap.len() {
            let removed = std::mem::replace(&mut self.heap[place], last);
            if last.0 > removed.0 {
                self.up(place);
            } else {
                self.down(place);
            }
        }
    }

    pub(in crate::map) fn clear(&mut self) {
        for (_, vertex) in self.heap.drain(..) {
            self.place[vertex as usize] = ABSENT;
        }
    }

    fn up(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 >= entry.0 {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn down(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 > self.heap[child].0 {
                child += 1;
            }
            if self.heap[child].0 <= entry.0 {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (i64, u32)) {
        self.heap[place] = entry;
        self.place[entry.1 as usize] = place as u32;
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
            let mut queue = GainQueue::new(20);
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

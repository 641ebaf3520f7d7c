//! Sets that are joined pair by pair (union-find, with halved paths).

/// Elements from 0 up, each in one set.
pub(super) struct Joined {
    above: Vec<usize>,
}

impl Joined {
    /// So many elements, each alone.
    pub(super) fn new(count: usize) -> Self {
        Self { above: (0..count).collect() }
    }

    /// The lowest element of the set of an element.
    pub(super) fn root(&mut self, element: usize) -> usize {
        let mut at = element;
        while self.above[at] != at {
            self.above[at] = self.above[self.above[at]];
            at = self.above[at];
        }
        at
    }

    pub(super) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.above[a.max(b)] = a.min(b);
    }

    /// All sets, by their lowest elements; each in ascending order.
    pub(super) fn groups(mut self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.above.len()];
        for element in 0..groups.len() {
            let root = self.root(element);
            groups[root].push(element);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

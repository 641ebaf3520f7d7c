//! Disjoint sets (union-find with path halving).

/// Elements from 0 up, each in one set.
pub(super) struct Joined {
    /// By element: an element of its set that is not larger; the root has itself.
    parent: Vec<usize>,
}

impl Joined {
    /// `count` sets of one element.
    pub(super) fn new(count: usize) -> Self {
        Self { parent: (0..count).collect() }
    }

    /// The lowest element of the set that has `element`.
    pub(super) fn root(&mut self, element: usize) -> usize {
        let mut current = element;
        while self.parent[current] != current {
            self.parent[current] = self.parent[self.parent[current]];
            current = self.parent[current];
        }
        current
    }

    /// Makes one set of the sets of two elements.
    pub(super) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    /// All sets, sorted by their lowest elements, each ascending.
    pub(super) fn groups(mut self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); self.parent.len()];
        for element in 0..groups.len() {
            let root = self.root(element);
            groups[root].push(element);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

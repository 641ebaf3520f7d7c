//! The machine as levels of parts, each made of parts of the level below.

use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::Part;
use crate::map::search::tree::Tree;

/// Levels from the places of single ranks up to the whole machine.
pub(super) struct Machine {
    /// From the lowest.
    levels: Vec<Level>,
}

/// One level.
pub(super) struct Level {
    /// The parts of the level below that each part is made of. Index: part.
    children: Vec<Range<usize>>,
    /// The kind of each part of the level below: equal parts are of one kind. Index: part.
    kinds_below: Vec<u32>,
    /// The kinds of parts, those with the most places first.
    parts: Vec<Part>,
}

/// The children of a part that are not taken yet.
pub(super) struct Children<'a> {
    level: &'a Level,
    /// The next child of each kind.
    next: BTreeMap<u32, usize>,
    /// Positions among the parts of the level below.
    all: Range<usize>,
}

impl Machine {
    /// The machine of the bins of a tree, with `places` in each.
    pub(super) fn new(tree: &Tree, places: usize) -> Self {
        let bins = tree.bin_count();
        let mut builder =
            Builder { levels: Vec::new(), kinds: vec![0; bins * places], sizes: vec![1] };
        builder.add(&even(bins * places, places));
        // Where each part of the level built last begins.
        let mut parts: Vec<Range<usize>> = even(bins, 1);
        for level in 0..tree.level_count() {
            let above = tree.groups_within(level, 0..bins);
            builder.add(&children(&parts, &above));
            parts = above;
        }
        let parts = parts.len();
        builder.add(std::slice::from_ref(&(0..parts)));
        Self { levels: builder.levels }
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }
}

/// The range from 0 to `count` in ranges of length `each`.
fn even(count: usize, each: usize) -> Vec<Range<usize>> {
    (0..count / each).map(|index| index * each..(index + 1) * each).collect()
}

/// For every range of `above`, the positions of those of `below` in it; both are in order.
fn children(below: &[Range<usize>], above: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut next = 0;
    let mut inside = |range: &Range<usize>| {
        let first = next;
        while below.get(next).is_some_and(|child| child.end <= range.end) {
            next += 1;
        }
        first..next
    };
    above.iter().map(&mut inside).collect()
}

struct Builder {
    levels: Vec<Level>,
    /// The kind of each part of the level built last.
    kinds: Vec<u32>,
    /// How many places a part of each kind has.
    sizes: Vec<usize>,
}

impl Builder {
    /// A level of parts with these children; several levels where one arity divides. Nothing where
    /// every part has one child.
    fn add(&mut self, children: &[Range<usize>]) {
        let arity = children.first().map_or(1, Range::len);
        let even_arity = children.iter().all(|children| children.len() == arity);
        if even_arity && self.sizes.len() == 1 {
            for factor in prime_factors(arity) {
                self.add_level(even(self.kinds.len(), factor));
            }
        } else if children.iter().any(|children| children.len() > 1) {
            self.add_level(children.to_vec());
        }
    }

    fn add_level(&mut self, children: Vec<Range<usize>>) {
        let kinds_below = std::mem::take(&mut self.kinds);
        let mut kind_of: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        let mut parts: Vec<Part> = Vec::new();
        for own_children in &children {
            let mut capacity = vec![0; self.sizes.len()];
            own_children.clone().for_each(|child| capacity[kinds_below[child] as usize] += 1);
            let kind = *kind_of.entry(capacity).or_insert_with_key(|capacity| {
                let kind = parts.len() as u32;
                parts.push(Part { kind, count: 0, capacity: capacity.clone() });
                kind
            });
            parts[kind as usize].count += 1;
            self.kinds.push(kind);
        }
        let size = |part: &Part| -> usize {
            part.capacity.iter().zip(&self.sizes).map(|(count, size)| *count as usize * size).sum()
        };
        self.sizes = parts.iter().map(size).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(self.sizes[part.kind as usize]));
        self.levels.push(Level { children, kinds_below, parts });
    }
}

/// The prime factors of a number, the smallest first.
pub(super) fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut factor = 2;
    while number > 1 {
        if factor * factor > number {
            factor = number;
        }
        while number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        }
        factor += 1;
    }
    factors
}

impl Level {
    /// The kinds of parts, the largest first.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many children every part has, if all children are equal.
    pub(super) fn arity(&self) -> Option<usize> {
        match &self.parts[..] {
            [Part { capacity, .. }] if capacity.len() == 1 => usize::try_from(capacity[0]).ok(),
            _ => None,
        }
    }

    /// The children of a part, to be taken by kind.
    pub(super) fn children(&self, part: usize) -> Children<'_> {
        Children { level: self, next: BTreeMap::new(), all: self.children[part].clone() }
    }
}

impl Children<'_> {
    /// The next child of a kind.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn take(&mut self, kind: u32) -> usize {
        let next = self.next.entry(kind).or_insert(self.all.start);
        let kinds = &self.level.kinds_below;
        while kinds[*next] != kind {
            *next += 1;
        }
        assert!(*next < self.all.end, "a part takes no more of a kind than it has");
        *next += 1;
        *next - 1
    }
}

//! The machine as levels of parts, each level consisting of parts of the one below.

use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::Part;
use crate::map::search::tree::Tree;

/// Levels from the places of single ranks up to the whole machine.
pub(super) struct Machine {
    levels: Vec<Level>,
}

/// One level.
pub(super) struct Level {
    /// The parts of the level below that each part consists of.
    children: Vec<Range<usize>>,
    /// The kind of each part of the level below: parts are of one kind if they look the same.
    kinds_below: Vec<u32>,
    /// The kinds of parts, those with the most places first.
    parts: Vec<Part>,
}

/// The children of a part that are not taken yet.
pub(super) struct Children<'a> {
    level: &'a Level,
    /// Of each kind the next one.
    next: BTreeMap<u32, usize>,
    all: Range<usize>,
}

impl Machine {
    /// The machine of these bins, with so many places in each.
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

/// So many things in ranges of equal length.
fn even(count: usize, each: usize) -> Vec<Range<usize>> {
    (0..count / each).map(|index| index * each..(index + 1) * each).collect()
}

/// For every range of `above` the numbers of those of `below` that lie in it; both are in order.
fn children(below: &[Range<usize>], above: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut next = 0;
    let mut own = |range: &Range<usize>| {
        let first = next;
        while below.get(next).is_some_and(|child| child.end <= range.end) {
            next += 1;
        }
        first..next
    };
    above.iter().map(&mut own).collect()
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
        let mut known: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        let mut parts: Vec<Part> = Vec::new();
        for own in &children {
            let mut room = vec![0; self.sizes.len()];
            own.clone().for_each(|child| room[kinds_below[child] as usize] += 1);
            let kind = *known.entry(room).or_insert_with_key(|room| {
                let kind = parts.len() as u32;
                parts.push(Part { kind, count: 0, room: room.clone() });
                kind
            });
            parts[kind as usize].count += 1;
            self.kinds.push(kind);
        }
        let size = |part: &Part| -> usize {
            part.room.iter().zip(&self.sizes).map(|(room, size)| *room as usize * size).sum()
        };
        self.sizes = parts.iter().map(size).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(self.sizes[part.kind as usize]));
        self.levels.push(Level { children, kinds_below, parts });
    }
}

/// From the smallest.
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

    /// How many children every part has, if all are alike.
    pub(super) fn arity(&self) -> Option<usize> {
        match &self.parts[..] {
            [Part { room, .. }] if room.len() == 1 => usize::try_from(room[0]).ok(),
            _ => None,
        }
    }

    /// The children of a part, to be taken by kind in their order.
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

//! The places of ranks as the leaves of a tree whose inner nodes are what they share.

use std::ops::Range;

use crate::cluster::Levels;

/// Bins in the order of the tree, and for every level from the cores up the group of each bin.
/// Groups of a level are contiguous and numbered along the bins.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    levels: Vec<TreeLevel>,
}

#[derive(Debug, Clone)]
struct TreeLevel {
    distance: u64,
    group_of: Vec<u32>,
    /// The first bin of each group, and the number of bins.
    starts: Vec<usize>,
}

impl Tree {
    /// The tree over places on these cores (counted over all nodes), and which place each of its
    /// bins is.
    pub(super) fn new(levels: &Levels, cores: &[usize]) -> (Self, Vec<usize>) {
        let mut order: Vec<usize> = (0..cores.len()).collect();
        order.sort_by_cached_key(|place| {
            let core = cores[*place];
            let path: Vec<u32> = levels.as_slice().iter().rev().map(|l| l.group_of(core)).collect();
            (path, *place)
        });
        let level = |level: &crate::cluster::Level| {
            TreeLevel::new(
                level.distance(),
                order.iter().map(|place| level.group_of(cores[*place])),
            )
        };
        let levels = levels.as_slice().iter().map(level).collect();
        (Self { levels }, order)
    }

    /// A tree of one level: all bins are equally far from each other.
    pub(super) fn flat(bins: usize) -> Self {
        Self { levels: vec![TreeLevel::new(1, std::iter::repeat_n(0, bins))] }
    }

    /// A tree from, for every level from the cores up, its distance and the group of each bin.
    #[cfg(test)]
    pub(super) fn from_levels(levels: &[(u64, Vec<u32>)]) -> Self {
        let level = |(distance, groups): &(u64, Vec<u32>)| {
            TreeLevel::new(*distance, groups.iter().copied())
        };
        Self { levels: levels.iter().map(level).collect() }
    }

    pub(super) fn bin_count(&self) -> usize {
        self.levels[0].group_of.len()
    }

    pub(super) fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// How far apart two bins are; 0 within a bin.
    pub(super) fn distance(&self, a: usize, b: usize) -> u64 {
        if a == b {
            return 0;
        }
        let common = self.levels.iter().find(|level| level.group_of[a] == level.group_of[b]);
        common.map_or(0, |level| level.distance)
    }

    /// How far apart bins are whose lowest common level this is.
    pub(super) fn level_distance(&self, level: usize) -> u64 {
        self.levels[level].distance
    }

    /// The bins of the group that a bin belongs to.
    pub(super) fn group(&self, level: usize, bin: usize) -> Range<usize> {
        let level = &self.levels[level];
        let group = level.group_of[bin] as usize;
        level.starts[group]..level.starts[group + 1]
    }

    /// The groups of a level within a range of bins that borders on its groups.
    pub(super) fn groups_within(&self, level: usize, bins: Range<usize>) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut next = bins.start;
        while next < bins.end {
            let group = self.group(level, next);
            next = group.end;
            groups.push(group);
        }
        groups
    }

    /// How `bins`, a group of `level` or all bins, divide on the way down: the first level below
    /// with more than one group in them, and the groups. At the bottom every bin is its own group.
    pub(super) fn divide(&self, level: usize, bins: Range<usize>) -> (usize, Vec<Range<usize>>) {
        for below in (0..level).rev() {
            let groups = self.groups_within(below, bins.clone());
            if groups.len() > 1 {
                return (below, groups);
            }
        }
        (0, bins.map(|bin| bin..bin + 1).collect())
    }
}

/// Distances of bins, read from where their paths through a tree part.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// For each bin its path from the top, a field of bits for each level.
    code_of: Vec<u64>,
    /// By the number of bits at the top that two codes have in common.
    distance: [i64; 65],
}

impl Codes {
    /// `None` if paths need more than 64 bits, which takes hundreds of thousands of bins in a tree
    /// of very uneven arity. Distances of `2^DISTANCE_BITS` and more are scaled down to less, none to 0.
    pub(super) fn new(tree: &Tree) -> Option<Self> {
        let top = tree.levels.iter().map(|level| level.distance).max().unwrap_or(0);
        let shift = (u64::BITS - top.leading_zeros()).saturating_sub(Self::DISTANCE_BITS);
        let scaled = |distance: u64| (distance >> shift).max(distance.min(1)) as i64;
        let mut codes = Self { code_of: vec![0; tree.bin_count()], distance: [0; 65] };
        let mut used = 0;
        // The levels from the top down, each the groups within the one above; last the bins.
        let mut above: Vec<u32> = vec![0; tree.bin_count()];
        let mut distance = top;
        for level in tree.levels.iter().rev().map(Some).chain([None]) {
            let group_of = |bin: usize| level.map_or(bin as u32, |level| level.group_of[bin]);
            let mut first = 0;
            let mut most = 0;
            let mut place_of = vec![0_u32; above.len()];
            for bin in 0..above.len() {
                if bin == 0 || above[bin] != above[bin - 1] {
                    first = group_of(bin);
                }
                place_of[bin] = group_of(bin) - first;
                most = most.max(place_of[bin]);
            }
            let bits = (u32::BITS - most.leading_zeros()) as usize;
            if used + bits > 64 {
                return None;
            }
            codes.distance[used..used + bits].fill(scaled(distance));
            used += bits;
            for (bin, place) in place_of.into_iter().enumerate() {
                if bits > 0 {
                    codes.code_of[bin] |= u64::from(place) << (64 - used);
                }
                above[bin] = group_of(bin);
            }
            distance = level.map_or(0, |level| level.distance);
        }
        Some(codes)
    }

    const DISTANCE_BITS: u32 = 24;

    /// The code of a bin.
    pub(super) fn code(&self, bin: u32) -> u64 {
        self.code_of[bin as usize]
    }

    /// How far apart two bins are, by their codes.
    pub(super) fn distance(&self, a: u64, b: u64) -> i64 {
        self.distance[(a ^ b).leading_zeros() as usize]
    }
}

impl TreeLevel {
    fn new(distance: u64, groups: impl Iterator<Item = u32>) -> Self {
        let mut level = Self { distance, group_of: Vec::new(), starts: vec![0] };
        let mut number = 0;
        let mut last = None;
        for (bin, group) in groups.enumerate() {
            if last.is_some_and(|last| last != group) {
                number += 1;
                level.starts.push(bin);
            }
            last = Some(group);
            level.group_of.push(number);
        }
        level.starts.push(level.group_of.len());
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_the_distances_of_an_uneven_tree() {
        let levels =
            [(1, vec![0, 0, 0, 1, 2, 2, 2]), (10, vec![0, 0, 0, 0, 1, 1, 1]), (70, vec![0; 7])];
        let tree = Tree::from_levels(&levels);
        let codes = Codes::new(&tree).unwrap();
        for a in 0..7 {
            for b in 0..7 {
                let distance = codes.distance(codes.code(a), codes.code(b));
                assert_eq!(distance as u64, tree.distance(a as usize, b as usize), "{a} {b}");
            }
        }
    }

    #[test]
    fn codes_scale_large_distances_down() {
        let tree = Tree::from_levels(&[(1, vec![0, 0, 1]), (u64::MAX, vec![0; 3])]);
        let codes = Codes::new(&tree).unwrap();
        let distance = |a, b| codes.distance(codes.code(a), codes.code(b));
        assert_eq!((distance(0, 0), distance(0, 1), distance(0, 2)), (0, 1, (1 << 24) - 1));
    }
}

//! The cluster as strategies divide it: slots are the leaves of a tree, its inner nodes what slots
//! share.

use std::ops::Range;

use crate::cluster::{Level, Levels};

/// A bin as it is stored in assignments: a leaf of a [`Tree`], numbered in the order of the tree.
/// Loops that index with it widen it to `usize`.
pub(in crate::map) type BinId = u32;

/// Bins, and for every level from the cores up the group of each bin. Groups of a level are
/// contiguous and numbered along the bins.
#[derive(Debug, Clone)]
pub(in crate::map) struct Tree {
    /// From the cores up.
    levels: Vec<TreeLevel>,
}

#[derive(Debug, Clone)]
struct TreeLevel {
    /// The distance between bins whose lowest common level this is.
    distance: u64,
    /// Index: bin.
    group_of: Vec<u32>,
    /// The first bin of each group, then the number of bins. Index: group.
    starts: Vec<usize>,
}

impl Tree {
    /// The tree over slots on these cores (L# counted over all nodes), and for each of its bins the
    /// position of the slot in the list.
    pub(in crate::map) fn new(levels: &Levels, cores: &[usize]) -> (Self, Vec<usize>) {
        let mut order: Vec<usize> = (0..cores.len()).collect();
        order.sort_by_cached_key(|slot| {
            let core = cores[*slot];
            let path: Vec<u32> = levels.as_slice().iter().rev().map(|l| l.group_of(core)).collect();
            (path, *slot)
        });
        let level = |level: &Level| {
            let groups = order.iter().map(|slot| level.group_of(cores[*slot]));
            TreeLevel::new(level.distance(), groups)
        };
        let levels = levels.as_slice().iter().map(level).collect();
        (Self { levels }, order)
    }

    /// A tree of one level: all bins are equally far from each other.
    pub(in crate::map) fn flat(bins: usize) -> Self {
        Self { levels: vec![TreeLevel::new(1, std::iter::repeat_n(0, bins))] }
    }

    /// A tree from, for every level from the cores up, its distance and the group of each bin.
    #[cfg(test)]
    pub(in crate::map) fn from_levels(levels: &[(u64, Vec<u32>)]) -> Self {
        let level = |(distance, groups): &(u64, Vec<u32>)| {
            TreeLevel::new(*distance, groups.iter().copied())
        };
        Self { levels: levels.iter().map(level).collect() }
    }

    pub(in crate::map) fn bin_count(&self) -> usize {
        self.levels[0].group_of.len()
    }

    pub(in crate::map) fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// The distance between two bins; 0 within a bin.
    pub(in crate::map) fn distance(&self, a: usize, b: usize) -> u64 {
        if a == b {
            return 0;
        }
        let common = self.levels.iter().find(|level| level.group_of[a] == level.group_of[b]);
        common.map_or(0, |level| level.distance)
    }

    /// The distance between bins whose lowest common level this is.
    pub(in crate::map) fn level_distance(&self, level: usize) -> u64 {
        self.levels[level].distance
    }

    /// The bins of the group that a bin belongs to.
    pub(in crate::map) fn group(&self, level: usize, bin: usize) -> Range<usize> {
        let level = &self.levels[level];
        let group = level.group_of[bin] as usize;
        level.starts[group]..level.starts[group + 1]
    }

    /// The groups of a level within a range of bins, which begins and ends at borders of its groups.
    pub(in crate::map) fn groups_within(
        &self,
        level: usize,
        bins: Range<usize>,
    ) -> Vec<Range<usize>> {
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
    pub(in crate::map) fn divide(
        &self,
        level: usize,
        bins: Range<usize>,
    ) -> (usize, Vec<Range<usize>>) {
        for below in (0..level).rev() {
            let groups = self.groups_within(below, bins.clone());
            if groups.len() > 1 {
                return (below, groups);
            }
        }
        (0, bins.map(|bin| bin..bin + 1).collect())
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

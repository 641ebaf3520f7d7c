//! The capacities of groups of bins.

use std::ops::Range;

use crate::map::search::graph::CompactGraph;
use crate::map::search::tree::Tree;

/// The capacities of groups of bins.
///
/// Several bins together count as what they can take in every case, whatever the loads of the
/// vertices: each less the largest load minus 1. What the vertices leave over is spare; every level
/// on the way down to the bins takes an equal factor of it, so that each has some freedom.
#[derive(Debug)]
pub(super) struct Capacities<'a> {
    tree: &'a Tree,
    /// The load that each bin may hold. Index: bin.
    bins: &'a [u64],
    /// The sum over the bins before each of what they can take in every case. Index: bin, then one
    /// for all bins.
    before: Vec<u128>,
    /// Whether no bin can take two vertices.
    pub(super) one_each: bool,
}

impl<'a> Capacities<'a> {
    pub(super) fn new(tree: &'a Tree, bins: &'a [u64], graph: &CompactGraph) -> Self {
        let largest = graph.largest_load().max(1);
        let mut before = vec![0];
        let mut sum = 0;
        for capacity in bins {
            sum += u128::from(capacity.saturating_sub(largest - 1));
            before.push(sum);
        }
        let smallest = (0..graph.vertex_count()).map(|vertex| graph.load(vertex)).min();
        let most = bins.iter().max().copied().unwrap_or(0);
        let one_each = smallest.is_some_and(|smallest| most < smallest.saturating_mul(2));
        Self { tree, bins, before, one_each }
    }

    /// What each of some groups of `level` may hold of vertices with `load` together.
    pub(super) fn of_groups(&self, load: u64, level: usize, groups: &[Range<usize>]) -> Vec<u64> {
        let capacity = |group: &Range<usize>| match group.len() {
            1 => u128::from(self.bins[group.start]),
            _ => self.before[group.end] - self.before[group.start],
        };
        let capacities: Vec<u128> = groups.iter().map(capacity).collect();
        let spare = Spare::new(load, &capacities, self.levels_below(level, &groups[0]) as f64);
        let limited = |capacity: u128| if self.one_each { capacity } else { spare.limit(capacity) };
        capacities.into_iter().map(|capacity| clamp(limited(capacity))).collect()
    }

    /// How many divisions there are on the way from the group above `group` down to the bins.
    fn levels_below(&self, level: usize, group: &Range<usize>) -> usize {
        let (mut level, mut group, mut count) = (level, group.clone(), 1);
        while group.len() > 1 {
            let (below, groups) = self.tree.divide(level, group);
            (level, group, count) = (below, groups[0].clone(), count + 1);
        }
        count
    }

    /// What the two sides of a bisection may hold of vertices with `load` together, if they are to be
    /// bisected on to the groups `before` and `after`.
    pub(super) fn of_sides(&self, load: u64, before: &[u64], after: &[u64]) -> [u64; 2] {
        let sum = |groups: &[u64]| groups.iter().map(|group| u128::from(*group)).sum::<u128>();
        let capacities = [sum(before), sum(after)];
        if self.one_each {
            return capacities.map(clamp);
        }
        let depth = usize::BITS - (before.len() + after.len() - 1).leading_zeros();
        let spare = Spare::new(load, &capacities, f64::from(depth));
        capacities.map(|capacity| clamp(spare.limit(capacity)))
    }
}

/// Spare capacity at a division.
struct Spare {
    load: u64,
    /// The capacity of all parts.
    whole: u128,
    /// How much more than its share a part may hold.
    factor: f64,
}

impl Spare {
    /// `levels` is over how many levels the spare capacity is shared out.
    fn new(load: u64, capacities: &[u128], levels: f64) -> Self {
        let whole = capacities.iter().sum::<u128>().max(1);
        let factor = (whole as f64 / load.max(1) as f64).max(1.0).powf(1.0 / levels);
        Self { load, whole, factor }
    }

    fn limit(&self, capacity: u128) -> u128 {
        let share = (u128::from(self.load) * capacity).div_ceil(self.whole);
        capacity.min(share.max((share as f64 * self.factor) as u128))
    }
}

fn clamp(capacity: u128) -> u64 {
    u64::try_from(capacity).unwrap_or(u64::MAX)
}

/// Where to split a list so that the first part has about `percent` of the capacity.
pub(super) fn split_position(capacities: &[u64], percent: u8) -> usize {
    let whole: u128 = capacities.iter().map(|capacity| u128::from(*capacity)).sum();
    let mut before = 0;
    let mut imbalances = capacities.iter().map(|capacity| {
        before += u128::from(*capacity);
        (100 * before).abs_diff(u128::from(percent) * whole)
    });
    let mut best = (u128::MAX, 1);
    for place in 1..capacities.len() {
        best = best.min((imbalances.next().unwrap_or(u128::MAX), place));
    }
    best.1
}

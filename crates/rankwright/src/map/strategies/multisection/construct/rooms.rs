//! How the room of the bins is shared out among groups of them.

use std::ops::Range;

use crate::map::search::graph::Compact;
use crate::map::search::tree::Tree;

/// What groups of bins may hold.
#[derive(Debug)]
pub(super) struct Rooms<'a> {
    tree: &'a Tree,
    /// What each bin may hold.
    capacity: &'a [u64],
    /// What the bins before each can take whatever the sizes of the vertices.
    before: Vec<u128>,
    /// Whether no bin can take two vertices.
    pub(super) one_each: bool,
}

impl<'a> Rooms<'a> {
    pub(super) fn new(tree: &'a Tree, capacity: &'a [u64], graph: &Compact) -> Self {
        let largest = graph.largest_load().max(1);
        let mut before = vec![0];
        let mut sum = 0;
        for capacity in capacity {
            sum += u128::from(capacity.saturating_sub(largest - 1));
            before.push(sum);
        }
        let smallest = (0..graph.vertex_count()).map(|vertex| graph.load(vertex)).min();
        let most = capacity.iter().max().copied().unwrap_or(0);
        let one_each = smallest.is_some_and(|smallest| most < smallest.saturating_mul(2));
        Self { tree, capacity, before, one_each }
    }

    /// What the groups can take whatever the sizes of the vertices, with some of the room that is to
    /// spare: each level on the way down to the bins takes an equal part of it.
    pub(super) fn of_groups(&self, load: u64, level: usize, groups: &[Range<usize>]) -> Vec<u64> {
        let room = |group: &Range<usize>| match group.len() {
            1 => u128::from(self.capacity[group.start]),
            _ => self.before[group.end] - self.before[group.start],
        };
        let rooms: Vec<u128> = groups.iter().map(room).collect();
        let whole: u128 = rooms.iter().sum::<u128>().max(1);
        let spare = (whole as f64 / load.max(1) as f64).max(1.0);
        let spare = spare.powf(1.0 / self.levels_below(level, &groups[0]) as f64);
        let limited = |room: u128| {
            let share = (u128::from(load) * room).div_ceil(whole);
            if self.one_each { room } else { room.min(share.max((share as f64 * spare) as u128)) }
        };
        let clamp = |room: u128| u64::try_from(room).unwrap_or(u64::MAX);
        rooms.into_iter().map(|room| clamp(limited(room))).collect()
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

    /// What the two sides of a bisection may hold; of the room to spare each bisection takes an
    /// equal part.
    pub(super) fn sides(&self, load: u64, before: &[u64], after: &[u64]) -> [u64; 2] {
        let sum = |rooms: &[u64]| rooms.iter().map(|room| u128::from(*room)).sum::<u128>();
        let rooms = [sum(before), sum(after)];
        let clamp = |room: u128| u64::try_from(room).unwrap_or(u64::MAX);
        if self.one_each {
            return rooms.map(clamp);
        }
        let depth = usize::BITS - (before.len() + after.len() - 1).leading_zeros();
        let whole = (rooms[0] + rooms[1]).max(1);
        let spare = (whole as f64 / load.max(1) as f64).max(1.0).powf(1.0 / f64::from(depth));
        rooms.map(|room| {
            let share = (u128::from(load) * room).div_ceil(whole);
            clamp(room.min(share.max((share as f64 * spare) as u128)))
        })
    }
}

/// Where to cut a list so that the first part has about `percent` of the room.
pub(super) fn cut(rooms: &[u64], percent: u8) -> usize {
    let whole: u128 = rooms.iter().map(|room| u128::from(*room)).sum();
    let mut before = 0;
    let mut imbalances = rooms.iter().map(|room| {
        before += u128::from(*room);
        (100 * before).abs_diff(u128::from(percent) * whole)
    });
    let mut best = (u128::MAX, 1);
    for place in 1..rooms.len() {
        best = best.min((imbalances.next().unwrap_or(u128::MAX), place));
    }
    best.1
}

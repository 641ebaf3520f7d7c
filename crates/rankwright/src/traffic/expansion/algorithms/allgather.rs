//! Blocks of all members to all. `sum(first, members)` is the length of the blocks of a range of members,
//! in bytes.

use crate::traffic::expansion::schedule::Member;

/// Partners swap all that they have. For powers of two.
pub(super) async fn recursive_doubling(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let mut mask = 1;
    while mask < member.size {
        let other = member.me ^ mask;
        let [mine, theirs] = [member.me, other].map(|number| sum(number & !(mask - 1), mask));
        member.exchange((other, mine), (other, theirs)).await;
        mask <<= 1;
    }
}

/// Members send what they have to ever farther members before them (Bruck).
pub(super) async fn bruck(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let size = member.size;
    let mut distance = 1;
    while distance < size {
        let blocks = distance.min(size - distance);
        let around = |first: usize| {
            let straight = blocks.min(size - first);
            sum(first, straight).saturating_add(sum(0, blocks - straight))
        };
        let (to, from) = (member.before(distance), member.after(distance));
        member.exchange((to, around(member.me)), (from, around(from))).await;
        distance <<= 1;
    }
}

/// Blocks go around a ring.
pub(super) async fn ring(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let (next, before) = (member.after(1), member.before(1));
    for step in 0..member.size - 1 {
        let (mine, other) = (member.before(step), member.before(step + 1));
        member.exchange((next, sum(mine, 1)), (before, sum(other, 1))).await;
    }
}

/// Neighbours swap two blocks at a time, with the left and the right one in turn. For even sizes.
pub(super) async fn neighbor_exchange(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let size = member.size;
    let is_even = member.me.is_multiple_of(2);
    let (right, left) = (member.after(1), member.before(1));
    let neighbors = if is_even { [right, left] } else { [left, right] };
    let first = neighbors[0];
    member.exchange((first, sum(member.me, 1)), (first, sum(first, 1))).await;
    let start = if is_even { member.me } else { first };
    let (mut mine, mut next) = (start, [start, start]);
    for step in 1..size / 2 {
        let side = step % 2;
        let forward = (side == 0) == is_even;
        next[side] = (next[side] + if forward { 2 } else { size - 2 }) % size;
        let neighbor = neighbors[side];
        member.exchange((neighbor, sum(mine, 2)), (neighbor, sum(next[side], 2))).await;
        mine = next[side];
    }
}

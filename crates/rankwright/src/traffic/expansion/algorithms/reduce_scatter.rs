//! Reductions of which each member gets one block. `sum(first, members)` is the length of the blocks of
//! a range of members, in bytes.

use super::broadcast::pass_on;
use super::reduce::Folded;
use crate::traffic::expansion::schedule::Member;

/// Blocks go around a ring, reduced on the way.
pub(super) async fn ring(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let (next, before) = (member.after(1), member.before(1));
    for step in 1..member.size {
        let (mine, other) =
            (member.before(step), (member.before(step) + member.size - 1) % member.size);
        member.exchange((next, sum(mine, 1)), (before, sum(other, 1))).await;
    }
}

/// The even member of each pair beyond a power of two leaves its vector to the odd one.
async fn fold(member: &Member<'_>, folded: Folded, all: u64) -> Option<usize> {
    if folded.is_paired(member.me) && member.me.is_multiple_of(2) {
        member.send_now(member.me + 1, all).await;
    } else if folded.is_paired(member.me) {
        member.receive_now(member.me - 1, all).await;
    }
    folded.number(member.me, 1)
}

/// Length of the blocks of a range of numbers.
fn of_numbers(
    folded: Folded,
    first: usize,
    numbers: usize,
    sum: impl Fn(usize, usize) -> u64,
) -> u64 {
    let start = |number: usize| number + number.min(folded.rest);
    sum(start(first), start(first + numbers) - start(first))
}

/// Partners far away swap half of what they have left, then nearer ones. Empty messages are not sent.
pub(super) async fn recursive_halving(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let folded = Folded::of(member.size);
    if let Some(number) = fold(member, folded, sum(0, member.size)).await {
        let (mut first, mut mask) = (0, folded.power >> 1);
        while mask > 0 {
            let other = folded.member(number ^ mask, 1);
            let [lower, upper] =
                [first, first + mask].map(|first| of_numbers(folded, first, mask, &sum));
            let is_lower = number & mask == 0;
            let (sent, kept) = if is_lower { (upper, lower) } else { (lower, upper) };
            if kept > 0 {
                member.receive(other, kept);
            }
            if sent > 0 {
                member.send(other, sent);
            }
            member.complete().await;
            first += if is_lower { 0 } else { mask };
            mask >>= 1;
        }
    }
    if folded.is_paired(member.me) {
        let even = member.me & !1;
        let bytes = sum(even, 1);
        match member.me == even {
            _ if bytes == 0 => {}
            true => member.receive_now(even + 1, bytes).await,
            false => member.send_now(even, bytes).await,
        }
    }
}

/// Near partners swap halves first, so that results end up in mirrored order and change places.
pub(super) async fn butterfly(member: &Member<'_>, sum: impl Fn(usize, usize) -> u64) {
    let folded = Folded::of(member.size);
    let bits = folded.power.trailing_zeros();
    let mirror = |number: usize| match bits {
        0 => number,
        _ => number.reverse_bits() >> (usize::BITS - bits),
    };
    let Some(number) = fold(member, folded, sum(0, member.size)).await else {
        let from = folded.member(mirror(member.me / 2), 1);
        return member.receive_now(from, sum(member.me, 1)).await;
    };
    let (mut blocks, mut first, mut mask) = (folded.power, 0, 1);
    while mask < folded.power {
        blocks /= 2;
        let other = folded.member(number ^ mask, 1);
        let [lower, upper] =
            [first, first + blocks].map(|first| of_numbers(folded, first, blocks, &sum));
        let is_lower = number & mask == 0;
        let (sent, kept) = if is_lower { (upper, lower) } else { (lower, upper) };
        member.exchange((other, sent), (other, kept)).await;
        first += if is_lower { 0 } else { blocks };
        mask <<= 1;
    }
    // The number whose result this member has, and the members behind it.
    let owner = folded.member(mirror(number), 1);
    if folded.is_paired(owner) {
        member.send_now(owner - 1, sum(owner - 1, 1)).await;
    }
    if owner != member.me {
        member.exchange((owner, sum(owner, 1)), (owner, sum(member.me, 1))).await;
    }
}

/// For powers of two: as the butterfly, with blocks in mirrored order from the beginning.
pub(super) async fn butterfly_of_power(member: &Member<'_>, block: u64) {
    let (mut blocks, mut mask) = (member.size as u64, 1);
    while mask < member.size {
        blocks /= 2;
        member.swap(member.me ^ mask, blocks * block).await;
        mask <<= 1;
    }
}

/// Partners swap all blocks but those that they have reduced; for equal blocks.
pub(super) async fn recursive_doubling(member: &Member<'_>, block: u64) {
    let (me, size) = (member.me, member.size);
    let mut mask = 1;
    while mask < size {
        let other = me ^ mask;
        let (mine, theirs) = (me & !(mask - 1), other & !(mask - 1));
        let without = |first: usize| (size - (size.saturating_sub(first).min(mask))) as u64 * block;
        if other < size {
            member.exchange((other, without(mine)), (other, without(theirs))).await;
        }
        if theirs + mask > size {
            pass_on(member, 0, mask, without(theirs)).await;
        }
        mask <<= 1;
    }
}

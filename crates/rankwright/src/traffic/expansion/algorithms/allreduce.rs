//! Reductions to all members.

use super::reduce::{Folded, Halves, reduce_scatter};
use super::vector::Vector;
use crate::traffic::expansion::schedule::Member;

/// Partners swap the whole vector. Of each pair beyond a power of two, the odd member stands for both.
pub(super) async fn recursive_doubling(member: &Member<'_>, bytes: u64) {
    let folded = Folded::of(member.size);
    let other = member.me ^ 1;
    if folded.is_paired(member.me) && member.me.is_multiple_of(2) {
        member.send_now(other, bytes).await;
        return member.receive_now(other, bytes).await;
    }
    if folded.is_paired(member.me) {
        member.receive_now(other, bytes).await;
    }
    let number = folded.number(member.me, 1).unwrap_or_default();
    let mut mask = 1;
    while mask < folded.power {
        member.swap(folded.member(number ^ mask, 1), bytes).await;
        mask <<= 1;
    }
    if folded.is_paired(member.me) {
        member.send_now(other, bytes).await;
    }
}

/// Blocks go around a ring, reduced on the way, and once more as results. In the first round a block
/// goes in `rounds` parts, one after the other.
pub(super) async fn ring(member: &Member<'_>, vector: Vector, rounds: u64) {
    let size = member.size;
    let (next, before) = (member.after(1), member.before(1));
    let block = |number: usize| vector.share((number % size) as u64, size as u64);
    for round in 0..rounds {
        let bytes = |number| vector.bytes(vector.with(block(number)).share(round, rounds));
        for step in 0..size - 1 {
            let mine = member.me + size - step;
            member.exchange((next, bytes(mine)), (before, bytes(mine - 1))).await;
        }
    }
    for step in 0..size - 1 {
        let mine = member.me + 1 + size - step;
        let bytes = |number| vector.bytes(block(number));
        member.exchange((next, bytes(mine)), (before, bytes(mine - 1))).await;
    }
}

/// Number of rounds of Open MPI's segmented ring; one if a block is no longer than a segment.
pub(super) fn ring_rounds(vector: Vector, size: usize, segment: u64) -> u64 {
    let (per_segment, size) = (vector.per_segment(segment), size as u64);
    let at_once = size.saturating_mul(per_segment);
    let left = vector.count % at_once;
    let rounds = vector.count / at_once + u64::from(left >= size && left > at_once / 2);
    if vector.count < at_once { 1 } else { rounds.max(1) }
}

/// Recursive halving, then the parts come back by recursive doubling (Rabenseifner).
pub(super) async fn halving_doubling(member: &Member<'_>, vector: Vector, halves: Halves) {
    let folded = Folded::of(member.size);
    if let Some(steps) = reduce_scatter(member, vector, folded, halves).await {
        for halving in steps.iter().rev() {
            let (kept, sent) = (vector.bytes(halving.kept), vector.bytes(halving.sent));
            member.exchange((halving.partner, kept), (halving.partner, sent)).await;
        }
    }
    if folded.is_paired(member.me) {
        let other = member.me ^ 1;
        if member.me % 2 == halves.standing {
            member.send_now(other, vector.all()).await;
        } else {
            member.receive_now(other, vector.all()).await;
        }
    }
}

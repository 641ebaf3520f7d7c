//! One block from every member to every other. Lengths are `block(source, destination)`, in bytes.

use crate::traffic::expansion::schedule::Member;

/// All messages at once, or at most `limit` of them in each direction.
pub(super) async fn linear(
    member: &Member<'_>,
    limit: usize,
    block: impl Fn(usize, usize) -> Option<u64>,
) {
    let others = member.size - 1;
    let limit = if limit == 0 { others.max(1) } else { limit };
    for distance in 1..=others {
        let (from, to) = (member.after(distance), member.before(distance));
        if let Some(bytes) = block(from, member.me) {
            member.receive(from, bytes);
        }
        if let Some(bytes) = block(member.me, to) {
            member.send(to, bytes);
        }
        if distance.is_multiple_of(limit) || distance == others {
            member.complete().await;
        }
    }
}

/// With one partner to send to and one to receive from at a time.
pub(super) async fn pairwise(member: &Member<'_>, block: impl Fn(usize, usize) -> u64) {
    for distance in 1..member.size {
        let (to, from) = (member.after(distance), member.before(distance));
        member.exchange((to, block(member.me, to)), (from, block(from, member.me))).await;
    }
}

/// Partners swap at each distance; for powers of two by bits of the number.
pub(super) async fn pairwise_by_bits(member: &Member<'_>, block: impl Fn(usize, usize) -> u64) {
    if !member.size.is_power_of_two() {
        return pairwise(member, block).await;
    }
    for mask in 1..member.size {
        let other = member.me ^ mask;
        member.exchange((other, block(member.me, other)), (other, block(other, member.me))).await;
    }
}

/// In each step, members pass on the blocks whose distance has one bit (Bruck).
pub(super) async fn bruck(member: &Member<'_>, block: u64) {
    let mut bit = 1;
    while bit < member.size {
        let whole = member.size / (2 * bit) * bit;
        let rest = (member.size % (2 * bit)).saturating_sub(bit);
        let bytes = (whole + rest) as u64 * block;
        member.exchange((member.after(bit), bytes), (member.before(bit), bytes)).await;
        bit <<= 1;
    }
}

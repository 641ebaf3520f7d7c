//! One member's vector to all.

use super::tree::Shape;
use super::vector::{MOST_SEGMENTS, Vector};
use crate::traffic::expansion::schedule::Member;

/// The root sends the vector to each member.
pub(super) async fn linear(member: &Member<'_>, root: usize, bytes: u64) {
    if member.me == root {
        (0..member.size).for_each(|other| member.send(other, bytes));
        member.complete().await;
    } else {
        member.receive_now(root, bytes).await;
    }
}

/// Segments travel down a tree: a member receives one while it sends the one before.
pub(super) async fn tree(
    member: &Member<'_>,
    root: usize,
    vector: Vector,
    shape: Shape,
    segment: u64,
) {
    let place = shape.place(member.me, member.size, root);
    let per_segment = vector.per_segment(segment);
    let segments = vector.count.div_ceil(per_segment);
    let bytes = |number: u64| vector.bytes(vector.blocks(per_segment, number, 1));
    if let Some(parent) = place.parent {
        member.receive_now(parent, bytes(0)).await;
    }
    for number in 0..segments {
        if let Some(parent) = place.parent.filter(|_| number + 1 < segments) {
            member.receive(parent, bytes(number + 1));
        }
        place.children.iter().for_each(|child| member.send(*child, bytes(number)));
        member.complete().await;
    }
}

/// Down a tree in which the root changes numbers with member 0.
pub(super) async fn tree_of_swapped(member: &Member<'_>, root: usize, bytes: u64, shape: Shape) {
    let place = shape.place_of_swapped(member.me, member.size, root);
    if let Some(parent) = place.parent {
        member.receive_now(parent, bytes).await;
    }
    place.children.iter().for_each(|child| member.send(*child, bytes));
    member.complete().await;
}

/// One half of the vector down each subtree of a binary tree; then pairs of members swap halves.
pub(super) async fn split_binary(member: &Member<'_>, root: usize, vector: Vector, segment: u64) {
    let halves = [vector.with(vector.share(0, 2)), vector.with(vector.share(1, 2))];
    if halves[1].count == 0 || halves.iter().any(|half| segment > half.all()) {
        return tree(member, root, vector, Shape::Chains { chains: 1 }, segment).await;
    }
    let number = member.number_after(root);
    // The subtree of the first child has the odd numbers.
    let mine = halves[usize::from(number.is_multiple_of(2))];
    let place = Shape::Complete { fanout: 2 }.place(member.me, member.size, root);
    let per_segment = match segment {
        0 => halves[0].count,
        _ => (segment / vector.element).max(1).max(vector.count / MOST_SEGMENTS),
    };
    let bytes = |half: Vector, number| half.bytes(half.blocks(per_segment, number, 1));
    let Some(parent) = place.parent else {
        for number in 0..halves[0].count.div_ceil(per_segment) {
            for (child, half) in place.children.iter().zip(halves) {
                if number.saturating_mul(per_segment) < half.count {
                    member.send(*child, bytes(half, number));
                }
            }
            member.complete().await;
        }
        return swap_halves(member, root, halves).await;
    };
    member.receive_now(parent, bytes(mine, 0)).await;
    let segments = mine.count.div_ceil(per_segment);
    for number in 0..segments {
        if number + 1 < segments {
            member.receive(parent, bytes(mine, number + 1));
        }
        place.children.iter().for_each(|child| member.send(*child, bytes(mine, number)));
        member.complete().await;
    }
    swap_halves(member, root, halves).await;
}

/// With an even number of members, the last one has no partner but the root.
async fn swap_halves(member: &Member<'_>, root: usize, halves: [Vector; 2]) {
    let (number, size) = (member.number_after(root), member.size);
    let second = halves[1].all();
    let last = (root + size - 1) % size;
    if size.is_multiple_of(2) && number == 0 {
        return member.send_now(last, second).await;
    }
    if size.is_multiple_of(2) && number == size - 1 {
        return member.receive_now(root, second).await;
    }
    match (number, number.is_multiple_of(2)) {
        (0, _) => {}
        (_, true) => {
            let other = member.before(1);
            member.exchange((other, second), (other, halves[0].all())).await;
        }
        (_, false) => {
            let other = member.after(1);
            member.exchange((other, halves[0].all()), (other, second)).await;
        }
    }
}

/// A binomial scatter of one block per member, then an allgather of the blocks, around a ring or by
/// recursive doubling.
pub(super) async fn scatter_allgather(
    member: &Member<'_>,
    root: usize,
    vector: Vector,
    around_ring: bool,
) {
    let block = vector.count.div_ceil(member.size as u64);
    scatter_blocks(member, root, vector, block).await;
    if around_ring {
        let (next, before) = (member.after(1), member.before(1));
        let (number, size) = (member.number_after(root), member.size);
        for step in 0..size - 1 {
            let bytes = |number: usize| {
                vector.bytes(vector.blocks(block, ((number + size) % size) as u64, 1))
            };
            let (mine, other) = (number + size - step, number + size - step - 1);
            member.exchange((next, bytes(mine)), (before, bytes(other))).await;
        }
    } else {
        double_blocks(member, root, vector, block).await;
    }
}

/// Each member gets the blocks of its subtree; empty messages are not sent.
async fn scatter_blocks(member: &Member<'_>, root: usize, vector: Vector, block: u64) {
    let place = Shape::InOrderBinomial.place(member.me, member.size, root);
    let bytes_of = |other: usize| {
        let number = (other + member.size - root) % member.size;
        let lowest = number & number.wrapping_neg();
        vector.bytes(vector.blocks(block, number as u64, lowest as u64))
    };
    if let Some(parent) = place.parent.filter(|_| bytes_of(member.me) > 0) {
        member.receive_now(parent, bytes_of(member.me)).await;
    }
    for child in place.children.into_iter().rev().filter(|child| bytes_of(*child) > 0) {
        member.send_now(child, bytes_of(child)).await;
    }
}

/// Recursive doubling of blocks. Where a member's partner does not exist, those of its subtree that
/// have the other half pass it on, by halving.
async fn double_blocks(member: &Member<'_>, root: usize, vector: Vector, block: u64) {
    let (number, size) = (member.number_after(root), member.size);
    let place = |number: usize| (number + root) % size;
    let mut mask = 1;
    while mask < size {
        let partner = number ^ mask;
        let (mine, other) = (number & !(mask - 1), partner & !(mask - 1));
        let bytes = |first: usize| vector.bytes(vector.blocks(block, first as u64, mask as u64));
        if partner < size {
            let to = place(partner);
            member.exchange((to, bytes(mine)), (to, bytes(other))).await;
        }
        if other + mask > size {
            pass_on(member, root, mask, bytes(other)).await;
        }
        mask <<= 1;
    }
}

/// The part of recursive doubling for numbers of members that are no powers of two.
pub(super) async fn pass_on(member: &Member<'_>, root: usize, mask: usize, bytes: u64) {
    let (number, size) = (member.number_after(root), member.size);
    // Number of members of the subtree that have received from a partner.
    let Some(have) = size.checked_sub((number & !(mask - 1)) + mask) else { return };
    let mut half = mask >> 1;
    while half > 0 {
        let partner = number ^ half;
        let has = (number & !(2 * half - 1)) + have;
        if partner > number && number < has && partner >= has {
            member.send_now((partner + root) % size, bytes).await;
        } else if partner < number && partner < has && number >= has {
            member.receive_now((partner + root) % size, bytes).await;
        }
        half >>= 1;
    }
}

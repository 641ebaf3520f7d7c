//! Blocks of all members to the root, and from the root to all.

use super::tree::Shape;
use super::vector::Vector;
use crate::traffic::expansion::schedule::Member;

/// The root receives from one member after the other.
pub(super) async fn linear(member: &Member<'_>, root: usize, block: impl Fn(usize) -> u64) {
    if member.me != root {
        return member.send_now(root, block(member.me)).await;
    }
    for other in 0..member.size {
        member.receive(other, block(other));
        member.complete().await;
    }
}

/// The root receives from all members at once.
pub(super) async fn together(member: &Member<'_>, root: usize, block: impl Fn(usize) -> u64) {
    if member.me != root {
        return member.send_now(root, block(member.me)).await;
    }
    (0..member.size).for_each(|other| member.receive(other, block(other)));
    member.complete().await;
}

/// The root asks each member in turn, waits for its first segment, and receives the rest of all
/// together.
pub(super) async fn linear_sync(member: &Member<'_>, root: usize, block: Vector, segment: u64) {
    let first = block.per_segment(segment).min(block.count);
    let (first, rest) = (block.bytes(first), block.bytes(block.count - first));
    if member.me != root {
        member.receive_now(root, 0).await;
        member.send_now(root, first).await;
        return member.send_now(root, rest).await;
    }
    for other in (0..member.size).filter(|other| *other != root) {
        member.send(other, 0);
        member.receive(other, first);
        member.complete().await;
    }
    (0..member.size).for_each(|other| member.receive(other, rest));
    member.complete().await;
}

/// Up a binomial tree, in which a subtree is a range of members.
pub(super) async fn binomial(member: &Member<'_>, root: usize, block: u64) {
    let place = Shape::InOrderBinomial.place(member.me, member.size, root);
    for child in place.children {
        member.receive_now(child, block.saturating_mul(subtree(member, child, root))).await;
    }
    if let Some(parent) = place.parent {
        member.send_now(parent, block.saturating_mul(subtree(member, member.me, root))).await;
    }
}

/// The root sends to one member after the other.
pub(super) async fn scatter_linear(member: &Member<'_>, root: usize, block: impl Fn(usize) -> u64) {
    if member.me != root {
        return member.receive_now(root, block(member.me)).await;
    }
    for other in 0..member.size {
        member.send(other, block(other));
        member.complete().await;
    }
}

/// The root sends to all members at once.
pub(super) async fn scatter_together(
    member: &Member<'_>,
    root: usize,
    block: impl Fn(usize) -> u64,
) {
    if member.me != root {
        return member.receive_now(root, block(member.me)).await;
    }
    (0..member.size).for_each(|other| member.send(other, block(other)));
    member.complete().await;
}

/// Down a binomial tree, in which a subtree is a range of members.
pub(super) async fn scatter_binomial(member: &Member<'_>, root: usize, block: u64) {
    let place = Shape::InOrderBinomial.place(member.me, member.size, root);
    if let Some(parent) = place.parent {
        member.receive_now(parent, block.saturating_mul(subtree(member, member.me, root))).await;
    }
    for child in place.children.into_iter().rev() {
        member.send_now(child, block.saturating_mul(subtree(member, child, root))).await;
    }
}

/// Number of members of the subtree of a member that is not the root.
fn subtree(member: &Member<'_>, of: usize, root: usize) -> u64 {
    let number = (of + member.size - root) % member.size;
    let lowest = number & number.wrapping_neg();
    lowest.min(member.size - number) as u64
}

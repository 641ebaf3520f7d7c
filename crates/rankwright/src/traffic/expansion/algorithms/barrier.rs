//! Barriers: messages of 0 bytes.

use super::tree::Shape;
use crate::traffic::expansion::schedule::Member;

/// To member 0, and back.
pub(super) async fn linear(member: &Member<'_>) {
    if member.me > 0 {
        member.send_now(0, 0).await;
        return member.receive_now(0, 0).await;
    }
    (1..member.size).for_each(|other| member.receive(other, 0));
    member.complete().await;
    (1..member.size).for_each(|other| member.send(other, 0));
    member.complete().await;
}

/// Twice around a ring.
pub(super) async fn double_ring(member: &Member<'_>) {
    let (next, before) = (member.after(1), member.before(1));
    for _ in 0..2 {
        if member.me > 0 {
            member.receive_now(before, 0).await;
        }
        member.send_now(next, 0).await;
        if member.me == 0 {
            member.receive_now(before, 0).await;
        }
    }
}

/// Partners swap; members beyond the largest power of two stand behind a partner.
pub(super) async fn recursive_doubling(member: &Member<'_>) {
    let power = member.size.checked_ilog2().map_or(1, |log| 1 << log);
    if member.me >= power {
        return member.swap(member.me - power, 0).await;
    }
    let behind = (member.me + power < member.size).then_some(member.me + power);
    if let Some(behind) = behind {
        member.receive_now(behind, 0).await;
    }
    let mut mask = 1;
    while mask < power {
        member.swap(member.me ^ mask, 0).await;
        mask <<= 1;
    }
    if let Some(behind) = behind {
        member.send_now(behind, 0).await;
    }
}

/// Each member tells ever farther ones after it.
pub(super) async fn dissemination(member: &Member<'_>) {
    let mut distance = 1;
    while distance < member.size {
        member.exchange((member.after(distance), 0), (member.before(distance), 0)).await;
        distance <<= 1;
    }
}

/// Up a binomial tree, and down.
pub(super) async fn tree(member: &Member<'_>) {
    let place = Shape::InOrderBinomial.place(member.me, member.size, 0);
    for child in &place.children {
        member.receive_now(*child, 0).await;
    }
    if let Some(parent) = place.parent {
        member.send_now(parent, 0).await;
        member.receive_now(parent, 0).await;
    }
    for child in place.children.iter().rev() {
        member.send_now(*child, 0).await;
    }
}

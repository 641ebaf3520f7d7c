//! Prefix reductions.

use crate::traffic::expansion::schedule::Member;

/// Each member waits for the one before and tells the next.
pub(super) async fn chain(member: &Member<'_>, bytes: u64) {
    if member.me > 0 {
        member.receive_now(member.me - 1, bytes).await;
    }
    if member.me + 1 < member.size {
        member.send_now(member.me + 1, bytes).await;
    }
}

/// Partners at distances of powers of two swap what they have.
pub(super) async fn recursive_doubling(member: &Member<'_>, bytes: u64) {
    let mut mask = 1;
    while mask < member.size {
        let other = member.me ^ mask;
        if other < member.size {
            member.swap(other, bytes).await;
        }
        mask <<= 1;
    }
}

//! A member of a communicator that runs an algorithm.

use std::cell::RefCell;
use std::future::poll_fn;
use std::mem::replace;
use std::rc::Rc;
use std::task::Poll;

use super::{Group, Layout, Phase};
use crate::ids::Rank;

/// One member, in its communicator or in a part of it.
#[derive(Debug, Clone)]
pub(in super::super) struct Member<'a> {
    /// The whole communicator.
    pub(in super::super) group: &'a Group,
    /// Its number among the members of the part.
    pub(in super::super) me: usize,
    /// Number of members of the part.
    pub(in super::super) size: usize,
    /// The members of the part, as indices into the group; `None` for all of them.
    part: Option<&'a [u32]>,
    phase: Rc<RefCell<Phase>>,
}

impl<'a> Member<'a> {
    pub(super) fn new(group: &'a Group, me: usize, phase: Rc<RefCell<Phase>>) -> Self {
        Self { group, me, size: group.local, part: None, phase }
    }

    /// The member in a part of the communicator; `None` if it does not belong to it. `part` is in
    /// ascending order.
    pub(in super::super) fn within(&self, part: &'a [u32]) -> Option<Self> {
        let place = u32::try_from(self.place(self.me)).ok()?;
        let me = part.binary_search(&place).ok()?;
        Some(Self { me, size: part.len(), part: Some(part), ..self.clone() })
    }

    /// The nodes of the communicator, if they are known and this is all of it.
    pub(in super::super) fn layout(&self) -> Option<&'a Layout> {
        self.group.layout().filter(|_| self.part.is_none())
    }

    /// Index into the group of a member of the part.
    pub(in super::super) fn place(&self, member: usize) -> usize {
        self.part.map_or(member, |part| part[member] as usize)
    }

    /// World rank of a member of the part.
    pub(in super::super) fn rank(&self, member: usize) -> Option<Rank> {
        self.group.rank(self.place(member))
    }

    /// The phase that the member is in.
    pub(super) fn phase(&self) -> &RefCell<Phase> {
        &self.phase
    }

    /// Adds a message to another member; what a member sends to itself is no message.
    pub(in super::super) fn send(&self, to: usize, bytes: u64) {
        if to != self.me {
            self.phase.borrow_mut().send(self.place(to), bytes);
        }
    }

    /// Adds a message from another member.
    pub(in super::super) fn receive(&self, from: usize, bytes: u64) {
        if from != self.me {
            self.phase.borrow_mut().receive(self.place(from), bytes);
        }
    }

    /// Waits until the messages added so far are complete.
    pub(in super::super) async fn complete(&self) {
        if self.phase.borrow().is_empty() {
            return;
        }
        let mut waited = false;
        poll_fn(|_| if replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Sends and waits.
    pub(in super::super) async fn send_now(&self, to: usize, bytes: u64) {
        self.send(to, bytes);
        self.complete().await;
    }

    /// Receives and waits.
    pub(in super::super) async fn receive_now(&self, from: usize, bytes: u64) {
        self.receive(from, bytes);
        self.complete().await;
    }

    /// Sends and receives together, and waits for both.
    pub(in super::super) async fn exchange(
        &self,
        (to, sent): (usize, u64),
        (from, received): (usize, u64),
    ) {
        self.receive(from, received);
        self.send(to, sent);
        self.complete().await;
    }

    /// Swaps `bytes` with another member.
    pub(in super::super) async fn swap(&self, other: usize, bytes: u64) {
        self.exchange((other, bytes), (other, bytes)).await;
    }

    /// The member `distance` after this one, around.
    pub(in super::super) fn after(&self, distance: usize) -> usize {
        (self.me + distance) % self.size
    }

    /// The member `distance` before this one, around; at most the number of members.
    pub(in super::super) fn before(&self, distance: usize) -> usize {
        (self.me + self.size - distance) % self.size
    }

    /// Number of this member if members are counted from `root`.
    pub(in super::super) fn number_after(&self, root: usize) -> usize {
        (self.me + self.size - root) % self.size
    }
}

//! Direct messages: every contribution goes from its sender to its receiver, as in
//! [`Expansion::Linear`](crate::traffic::expansion::Expansion::Linear).

use super::{Call, Group, Member, Phase};
use crate::ids::Rank;
use crate::traffic::collectives::Operation as O;

/// Runs an operation on one member.
pub(in super::super) async fn run(call: Call<'_>, member: &Member<'_>) {
    let linear = Linear::new(call, member.group, member.me);
    for number in 0.. {
        if !linear.fill(number, &mut member.phase().borrow_mut()) {
            return;
        }
        member.complete().await;
    }
}

/// An operation from the point of view of one member.
#[derive(Debug)]
struct Linear<'a> {
    call: Call<'a>,
    group: &'a Group,
    me: usize,
    /// Number of members of the job in each group, local and remote.
    present: [usize; 2],
}

impl<'a> Linear<'a> {
    fn new(call: Call<'a>, group: &'a Group, me: usize) -> Self {
        let present = |members: &[Option<Rank>]| members.iter().flatten().count();
        let (local, remote) = group.members.split_at(group.local);
        Self { call, group, me, present: [present(local), present(remote)] }
    }

    /// Fills phase `number`; false after the last.
    fn fill(&self, number: u64, phase: &mut Phase) -> bool {
        let bytes = self.call.bytes;
        let between_groups = self.group.is_between_groups();
        match (self.call.operation, number) {
            (O::Barrier | O::Allreduce, _) if !between_groups => {
                return self.over_the_first(number, phase);
            }
            // Intercommunicators have no prefix reductions.
            (O::Scan | O::Exscan, _) => {
                return !between_groups && self.chain(number, phase);
            }
            (_, 1..) => return false,
            (O::Barrier, _) => self.pairs(|_, _| 0, phase),
            (O::Allreduce | O::Allgather, _) => self.pairs(|_, _| bytes, phase),
            (O::Bcast, _) => self.scatter_from_root(|_, _| bytes, phase),
            (O::Scatter, _) => self.scatter_from_root(|source, _| self.block(source), phase),
            (O::Scatterv, _) => self.scatter_from_root(|s, d| self.stated(s, d), phase),
            (O::Reduce | O::Gather, _) => self.gather_to_root(|_, _| bytes, phase),
            (O::Gatherv, _) => self.gather_to_root(|s, d| self.stated(s, d), phase),
            (O::Allgatherv, _) => self.pairs(|source, _| self.call.contributed(source, 1), phase),
            (O::Alltoall | O::ReduceScatterBlock, _) => {
                self.pairs(|source, _| self.block(source), phase);
            }
            // The other operations state the bytes per destination; empty messages are skipped.
            _ => self.stated_pairs(phase),
        }
        true
    }

    /// Partners of a member: the other members, or the other group.
    fn others(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (all, local) = (self.group.members.len(), self.group.local);
        let across = match (self.group.is_between_groups(), self.me < local) {
            (true, true) => local..all,
            _ => 0..local,
        };
        let (me, group) = (self.me, self.group);
        across.filter(move |other| *other != me && group.rank(*other).is_some())
    }

    /// Bytes per destination if the contribution of `source` is divided among its destinations.
    fn block(&self, source: usize) -> u64 {
        let across = self.group.is_between_groups() && source < self.group.local;
        let [local, remote] = self.present;
        self.call.bytes / (if across { remote } else { local }).max(1) as u64
    }

    fn messages(&self, source: usize, destination: usize) -> &[u64] {
        match (self.group.rank(source), self.group.rank(destination)) {
            (Some(source), Some(destination)) => self.call.amounts.stated(source, destination),
            _ => &[],
        }
    }

    fn stated(&self, source: usize, destination: usize) -> u64 {
        self.messages(source, destination).iter().copied().fold(0, u64::saturating_add)
    }

    fn pairs(&self, bytes: impl Fn(usize, usize) -> u64, phase: &mut Phase) {
        for other in self.others() {
            phase.receive(other, bytes(other, self.me));
            phase.send(other, bytes(self.me, other));
        }
    }

    /// The messages that the arguments state, without empty ones.
    fn stated_pairs(&self, phase: &mut Phase) {
        let not_empty = |bytes: &&u64| **bytes > 0;
        for other in self.others() {
            for bytes in self.messages(other, self.me).iter().filter(not_empty) {
                phase.receive(other, *bytes);
            }
            for bytes in self.messages(self.me, other).iter().filter(not_empty) {
                phase.send(other, *bytes);
            }
        }
    }

    /// The root, if this member exchanges with it.
    fn root_of_mine(&self) -> Option<usize> {
        let root = self.call.root?;
        let apart = self.group.is_between_groups();
        let local = self.group.local;
        let exchanges = if apart { (root < local) != (self.me < local) } else { root < local };
        (exchanges && self.group.rank(root).is_some()).then_some(root)
    }

    fn scatter_from_root(&self, bytes: impl Fn(usize, usize) -> u64, phase: &mut Phase) {
        if self.call.root == Some(self.me) {
            self.others().for_each(|to| phase.send(to, bytes(self.me, to)));
        } else if let Some(root) = self.root_of_mine() {
            phase.receive(root, bytes(root, self.me));
        }
    }

    fn gather_to_root(&self, bytes: impl Fn(usize, usize) -> u64, phase: &mut Phase) {
        if self.call.root == Some(self.me) {
            self.others().for_each(|from| phase.receive(from, bytes(from, self.me)));
        } else if let Some(root) = self.root_of_mine() {
            phase.send(root, bytes(self.me, root));
        }
    }

    /// Gather to the first member, then broadcast from it.
    fn over_the_first(&self, number: u64, phase: &mut Phase) -> bool {
        let bytes = if self.call.operation == O::Barrier { 0 } else { self.call.bytes };
        let first = (0..self.group.local).find(|member| self.group.rank(*member).is_some());
        match (first, number) {
            (_, 2..) => return false,
            (Some(first), 0) if first != self.me => phase.send(first, bytes),
            (Some(first), 1) if first != self.me => phase.receive(first, bytes),
            (_, 0) => self.others().for_each(|other| phase.receive(other, bytes)),
            (_, 1) => self.others().for_each(|other| phase.send(other, bytes)),
        }
        true
    }

    /// Chain: each member to the next.
    fn chain(&self, number: u64, phase: &mut Phase) -> bool {
        let in_job = |member: &usize| self.group.rank(*member).is_some();
        if number > 1 || self.me >= self.group.local {
            return false;
        }
        let next = (self.me + 1..self.group.local).find(in_job);
        let before = (0..self.me).rev().find(in_job);
        match (number, before, next) {
            (0, Some(before), _) => phase.receive(before, self.call.bytes),
            (1, _, Some(next)) => phase.send(next, self.call.bytes),
            _ => {}
        }
        true
    }
}

//! The messages of one member in one collective operation, phase by phase.
//!
//! A [`Schedule`] makes one [`Phase`] at a time from the number of the phase alone: nothing is kept of
//! earlier phases and nothing is allocated per phase, so a pairwise all-to-all of 16 384 ranks costs no
//! more memory than a barrier of two.

mod linear;

use std::collections::HashMap;

use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::communicator::Communicator;
use linear::Linear;

/// A message of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// The other member: index into [`Group`].
    pub peer: usize,
    /// Length, in bytes.
    pub bytes: u64,
}

/// Messages of one member that overlap; its next phase starts when all are complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phase {
    /// What it receives.
    pub receives: Vec<Transfer>,
    /// What it sends.
    pub sends: Vec<Transfer>,
}

impl Phase {
    fn clear(&mut self) {
        self.receives.clear();
        self.sends.clear();
    }

    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.receives.len() + self.sends.len()
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.receives.is_empty() && self.sends.is_empty()
    }

    fn send(&mut self, peer: usize, bytes: u64) {
        self.sends.push(Transfer { peer, bytes });
    }

    fn receive(&mut self, peer: usize, bytes: u64) {
        self.receives.push(Transfer { peer, bytes });
    }
}

/// A communicator as the algorithms see it. Made once per communicator.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// World rank of each member; those of the remote group of an intercommunicator follow.
    /// `None` for a process outside the job.
    members: Vec<Option<Rank>>,
    /// Number of members of the local group.
    local: usize,
    /// Index of each rank; empty if every rank is its own index.
    places: HashMap<Rank, usize>,
}

impl Group {
    /// The group of a communicator.
    #[must_use]
    pub fn new(communicator: &Communicator) -> Self {
        Self::of(&communicator.members, &communicator.remote_members)
    }

    pub(crate) fn of(members: &[Option<Rank>], remote: &[Option<Rank>]) -> Self {
        let local = members.len();
        let members = [members, remote].concat();
        let is_world = members
            .iter()
            .enumerate()
            .all(|(place, member)| member.is_some_and(|rank| rank.index() == place));
        let present = members.iter().enumerate().filter(|_| !is_world);
        let places = present.filter_map(|(place, member)| Some(((*member)?, place))).collect();
        Self { members, local, places }
    }

    /// Index of a rank; `None` if it is no member.
    #[must_use]
    pub fn place(&self, rank: Rank) -> Option<usize> {
        if self.places.is_empty() {
            return (rank.index() < self.members.len()).then_some(rank.index());
        }
        self.places.get(&rank).copied()
    }

    /// World rank of a member; `None` for a process outside the job.
    #[must_use]
    pub fn rank(&self, place: usize) -> Option<Rank> {
        self.members.get(place).copied().flatten()
    }

    /// Whether it is the group of an intercommunicator.
    #[must_use]
    pub fn is_between_groups(&self) -> bool {
        self.members.len() > self.local
    }
}

/// Amounts that may differ between the members of one call.
pub trait Amounts {
    /// Bytes that a rank contributes to an operation in which contributions differ (Allgatherv).
    fn contributed(&self, rank: Rank) -> u64;

    /// Bytes of each message from one rank to another, if the arguments state them (Alltoallv,
    /// neighbourhood collectives).
    fn stated(&self, source: Rank, destination: Rank) -> &[u64];
}

/// One call to a collective operation, merged from the arguments of all members.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The operation.
    pub operation: Operation,
    /// Root, if the operation has one: index into the [`Group`].
    pub root: Option<usize>,
    /// Largest contribution of a member, in bytes: the whole buffer of operations in which all
    /// members, or the root, contribute equally.
    pub bytes: u64,
    /// Amounts that differ.
    pub amounts: &'a dyn Amounts,
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { operation, root, bytes, .. } = self;
        write!(formatter, "{operation:?} of {bytes} B from {root:?}")
    }
}

/// The algorithm of a collective operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Every contribution goes directly from sender to receiver.
    #[default]
    Linear,
}

/// The phases of one member in one operation.
#[derive(Debug)]
pub struct Schedule<'a> {
    messages: Linear<'a>,
    /// Number of the next phase.
    phase: u64,
}

impl<'a> Schedule<'a> {
    /// The phases of member `me` (index into `group`).
    #[must_use]
    pub fn new(algorithm: Algorithm, call: Call<'a>, group: &'a Group, me: usize) -> Self {
        match algorithm {
            Algorithm::Linear => Self { messages: Linear::new(call, group, me), phase: 0 },
        }
    }

    /// Fills the next phase that has messages; false after the last.
    pub fn next(&mut self, phase: &mut Phase) -> bool {
        loop {
            phase.clear();
            if !self.messages.fill(self.phase, phase) {
                return false;
            }
            self.phase += 1;
            if !phase.is_empty() {
                return true;
            }
        }
    }
}

//! Which message a receive takes: from one sender on one channel, the first sent to the first posted.

use std::collections::{HashMap, VecDeque};

use crate::ids::{GlobalRank, JobId};
use crate::traffic::read::events::steps::Channel;

/// The messages that a receive can take are those of one such pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) receiver: GlobalRank,
    pub(super) sender: GlobalRank,
    pub(super) job: JobId,
    pub(super) channel: Channel,
}

/// A message that no receive has taken yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// On its way: its number in the network.
    Underway(usize),
    /// At its receiver.
    Arrived,
    /// To be sent when a receive is posted (rendezvous).
    Announced {
        /// Its length.
        bytes: u64,
        /// The sender's number for it.
        number: u64,
    },
}

/// Messages without a receive, and receives without a message.
#[derive(Debug, Default)]
pub(super) struct Matching {
    sent: HashMap<Pair, VecDeque<Sent>>,
    /// The receiver's numbers.
    posted: HashMap<Pair, VecDeque<u64>>,
}

impl Matching {
    /// The receive that takes a message that is sent now: the receiver's number for it.
    pub(super) fn receive_for(&mut self, pair: Pair) -> Option<u64> {
        self.posted.get_mut(&pair)?.pop_front()
    }

    /// Keeps a message for a later receive.
    pub(super) fn keep(&mut self, pair: Pair, message: Sent) {
        self.sent.entry(pair).or_default().push_back(message);
    }

    /// The message that a receive takes that is posted now. If there is none, keeps the receive;
    /// `number` is the receiver's number for it.
    pub(super) fn message_for(&mut self, pair: Pair, number: u64) -> Option<Sent> {
        let sent = self.sent.get_mut(&pair).and_then(VecDeque::pop_front);
        if sent.is_none() {
            self.posted.entry(pair).or_default().push_back(number);
        }
        sent
    }

    /// Notes that a message without a receive has arrived; `transfer` is its number in the network.
    pub(super) fn arrived(&mut self, pair: Pair, transfer: usize) {
        let mut sent = self.sent.get_mut(&pair).into_iter().flatten();
        if let Some(sent) = sent.find(|sent| **sent == Sent::Underway(transfer)) {
            *sent = Sent::Arrived;
        }
    }
}

//! Which message a receive takes: of one sender on one channel, the first sent to the first posted.

use std::collections::{HashMap, VecDeque};

use crate::traffic::read::events::steps::Channel;

/// The receiver and the sender, counted over all jobs; the job and the channel.
pub(super) type Pair = (usize, usize, (usize, Channel));

/// A message that no receive has taken yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is on its way, by its number in the network.
    Underway(usize),
    /// It is there.
    Arrived,
    /// It is sent when a receive is posted: its bytes, and the sender's number for it.
    Announced {
        /// Its bytes.
        bytes: u64,
        /// The sender's number for it.
        number: u64,
    },
}

/// Messages without a receive and receives without a message.
#[derive(Debug, Default)]
pub(super) struct Matching {
    sent: HashMap<Pair, VecDeque<Sent>>,
    posted: HashMap<Pair, VecDeque<u64>>,
}

impl Matching {
    /// The receive that takes a message that is sent now, by the receiver's number for it.
    pub(super) fn receive_for(&mut self, pair: Pair) -> Option<u64> {
        self.posted.get_mut(&pair)?.pop_front()
    }

    /// Keeps a message for a receive to come.
    pub(super) fn wait(&mut self, pair: Pair, message: Sent) {
        self.sent.entry(pair).or_default().push_back(message);
    }

    /// The message that a receive takes that is posted now; without one the receive waits.
    pub(super) fn message_for(&mut self, pair: Pair, number: u64) -> Option<Sent> {
        let sent = self.sent.get_mut(&pair).and_then(VecDeque::pop_front);
        if sent.is_none() {
            self.posted.entry(pair).or_default().push_back(number);
        }
        sent
    }

    /// Notes that a message without a receive is there.
    pub(super) fn arrived(&mut self, pair: Pair, transfer: usize) {
        let mut sent = self.sent.get_mut(&pair).into_iter().flatten();
        if let Some(sent) = sent.find(|sent| **sent == Sent::Underway(transfer)) {
            *sent = Sent::Arrived;
        }
    }
}

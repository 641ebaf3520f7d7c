//! Which message a receive takes: from one sender on one channel, the first sent to the first posted.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::ids::GlobalRank;
use crate::sim::time::Time;
use crate::traffic::read::events::steps::Channel;

/// The messages that a receive can take are those of one such pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) receiver: GlobalRank,
    pub(super) sender: GlobalRank,
    pub(super) channel: Channel,
}

/// A receive that was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receive {
    /// The receiver's number for it.
    pub(super) number: u64,
    pub(super) posted: Time,
}

/// Either messages without a receive, or receives without a message: the first, then the others.
#[derive(Debug)]
enum Waiting {
    Messages(u32, VecDeque<u32>),
    Receives(Receive, VecDeque<Receive>),
}

/// Messages without a receive, and receives without a message.
#[derive(Debug, Default)]
pub(super) struct Matching {
    waiting: FxHashMap<Pair, Waiting>,
}

impl Matching {
    /// The receive that takes a message that is sent now. If there is none, keeps the message.
    pub(super) fn send(&mut self, pair: Pair, message: u32) -> Option<Receive> {
        let mut entry = match self.waiting.entry(pair) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                entry.insert(Waiting::Messages(message, VecDeque::new()));
                return None;
            }
        };
        match entry.get_mut() {
            Waiting::Messages(_, later) => {
                later.push_back(message);
                None
            }
            Waiting::Receives(first, later) => {
                let receive = *first;
                match later.pop_front() {
                    Some(next) => *first = next,
                    None => drop(entry.remove()),
                }
                Some(receive)
            }
        }
    }

    /// Forgets messages and receives of the ranks from `first` up to `end`.
    pub(super) fn forget(&mut self, first: GlobalRank, end: GlobalRank) {
        self.waiting.retain(|pair, _| !(first..end).contains(&pair.receiver));
    }

    /// The message that a receive takes that is posted now. If there is none, keeps the receive.
    pub(super) fn receive(&mut self, pair: Pair, receive: Receive) -> Option<u32> {
        let mut entry = match self.waiting.entry(pair) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                entry.insert(Waiting::Receives(receive, VecDeque::new()));
                return None;
            }
        };
        match entry.get_mut() {
            Waiting::Receives(_, later) => {
                later.push_back(receive);
                None
            }
            Waiting::Messages(first, later) => {
                let message = *first;
                match later.pop_front() {
                    Some(next) => *first = next,
                    None => drop(entry.remove()),
                }
                Some(message)
            }
        }
    }
}

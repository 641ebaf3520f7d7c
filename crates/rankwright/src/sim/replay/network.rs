//! Messages on their way through the servers, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ids::GlobalRank;
use crate::network::{Path, ServerKind, Servers};
use crate::sim::server::Server;
use crate::units::{Bytes, Seconds};

/// Times are picoseconds from the start.
pub(super) type Time = u64;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// A rank goes on.
    Wake(usize),
    /// A message comes to a server, or to its receiver.
    Arrival(usize),
    /// A message, by its sender and the sender's number for it, has left the sender's node.
    Left(usize, u64),
}

/// What became of a message at an arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Advance {
    /// When it leaves the last server on its sender's node, where that became known.
    pub(super) left: Option<Time>,
    /// How long it took and how long of that it waited, where it is at its receiver.
    pub(super) arrived: Option<(Time, Time)>,
}

/// A message on its way.
#[derive(Debug)]
struct Transfer {
    path: Path,
    next: usize,
    /// How many servers of the path are on the sender's node.
    near: usize,
    begin: Time,
    waited: Time,
}

/// The servers, and what is to happen. What happens at the same time happens in the order in which
/// it was caused.
#[derive(Debug)]
pub(super) struct Network<'a> {
    pub(super) servers: Servers<'a>,
    pub(super) queues: Vec<Server>,
    queue: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    caused: u64,
    transfers: Vec<Option<Transfer>>,
    unused: Vec<usize>,
    /// How many messages each rank has sent: with several network devices they take turns.
    turns: Vec<usize>,
}

impl<'a> Network<'a> {
    pub(super) fn new(servers: Servers<'a>) -> Self {
        Self {
            queues: vec![Server::new(None); servers.kinds().len()],
            turns: vec![0; servers.rank_count()],
            servers,
            queue: BinaryHeap::new(),
            caused: 0,
            transfers: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// What happens next, and when.
    pub(super) fn next(&mut self) -> Option<(Time, Happening)> {
        let Reverse((time, _, happening)) = self.queue.pop()?;
        Some((time, happening))
    }

    /// How much has been caused so far.
    pub(super) fn events(&self) -> u64 {
        self.caused
    }

    /// Sends a message now; its number.
    pub(super) fn send(&mut self, now: Time, from: usize, to: usize, bytes: u64) -> usize {
        let rank = GlobalRank::from_index;
        let mut paths = self.servers.paths(rank(from), rank(to), Bytes(bytes));
        let turn = self.turns[from] % paths.len();
        self.turns[from] += 1;
        let path = paths.swap_remove(turn);
        let leaves = |kind: ServerKind| matches!(kind, ServerKind::NicOut { .. });
        let out = path.hops.iter().position(|hop| leaves(self.servers.kinds()[hop.server.index()]));
        let near = out.map_or(path.hops.len(), |position| position + 1);
        let first = now.saturating_add(picoseconds(path.latency));
        let transfer = Some(Transfer { path, next: 0, near, begin: now, waited: 0 });
        let number = match self.unused.pop() {
            Some(number) => {
                self.transfers[number] = transfer;
                number
            }
            None => {
                self.transfers.push(transfer);
                self.transfers.len() - 1
            }
        };
        self.cause(first, Happening::Arrival(number));
        number
    }

    /// Moves a message on that has come to its next server, or to its receiver.
    pub(super) fn advance(&mut self, now: Time, number: usize) -> Advance {
        let transfer = self.transfers[number].as_mut().expect("a message on its way");
        let Some(hop) = transfer.path.hops.get(transfer.next) else {
            let advance = Advance {
                left: (transfer.near == 0).then_some(now),
                arrived: Some((now - transfer.begin, transfer.waited)),
            };
            self.transfers[number] = None;
            self.unused.push(number);
            return advance;
        };
        transfer.next += 1;
        let left = transfer.next == transfer.near;
        let server = &mut self.queues[hop.server.index()];
        let (departure, waited) = server.serve(now, picoseconds(hop.service));
        transfer.waited += waited;
        let then = departure.saturating_add(picoseconds(hop.latency));
        self.cause(then, Happening::Arrival(number));
        Advance { left: left.then_some(departure), arrived: None }
    }

    /// Lets something happen at a time.
    pub(super) fn cause(&mut self, time: Time, happening: Happening) {
        self.queue.push(Reverse((time, self.caused, happening)));
        self.caused += 1;
    }
}

/// A time in picoseconds; the largest for what 64 bits do not hold.
pub(super) fn picoseconds(time: Seconds) -> Time {
    (time.0 * 1e12).round() as Time
}

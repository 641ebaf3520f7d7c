//! Messages on their way through the servers, and all other events of a replay in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::ids::GlobalRank;
use crate::network::{Path, ServerKind, Servers};
use crate::sim::server::Server;
use crate::sim::time::{self, NEVER};
use crate::units::{Bytes, Seconds};

/// Picoseconds from the start.
pub(super) type Time = u64;

/// An event of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A rank continues.
    Resume(GlobalRank),
    /// A message arrives at a server, or at its receiver: its number in the network.
    Arrival(usize),
    /// A message has left its sender's node: the sender, and the sender's number for it.
    Departed(GlobalRank, u64),
}

/// The result of an arrival of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Advance {
    /// The departure from the last server on the sender's node, if this is now known.
    pub(super) departed: Option<Time>,
    /// The latency and the waiting of the message, if it is at its receiver.
    pub(super) delivered: Option<(Time, Time)>,
}

/// A message on its way.
#[derive(Debug)]
struct Transfer {
    path: Path,
    /// The index of the next hop of the path.
    next: usize,
    /// The number of hops on the sender's node.
    near: usize,
    sent: Time,
    /// The waiting so far.
    waited: Time,
}

/// The servers and the events to come. Events at one time are processed in the order in which they
/// were scheduled.
#[derive(Debug)]
pub(super) struct Network<'a> {
    pub(super) servers: Servers<'a>,
    /// Index: [`ServerId`](crate::ids::ServerId).
    pub(super) queues: Vec<Server>,
    /// Each event with its time and the number of events scheduled before.
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    /// The number of events scheduled so far.
    scheduled: u64,
    /// The messages on their way, by number.
    transfers: Vec<Option<Transfer>>,
    /// Free numbers of messages.
    unused: Vec<usize>,
    /// The number of messages that each rank has sent: they use several network devices in turn.
    /// Index: [`GlobalRank`].
    turns: Vec<usize>,
}

impl<'a> Network<'a> {
    pub(super) fn new(servers: Servers<'a>) -> Self {
        Self {
            queues: vec![Server::new(None); servers.kinds().len()],
            turns: vec![0; servers.rank_count()],
            servers,
            events: BinaryHeap::new(),
            scheduled: 0,
            transfers: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// The next event and its time.
    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        let Reverse((time, _, event)) = self.events.pop()?;
        Some((time, event))
    }

    /// The number of events scheduled so far.
    pub(super) fn events(&self) -> u64 {
        self.scheduled
    }

    /// Sends a message at `now`. Returns its number.
    pub(super) fn send(
        &mut self,
        now: Time,
        from: GlobalRank,
        to: GlobalRank,
        bytes: u64,
    ) -> usize {
        let mut paths = self.servers.paths(from, to, Bytes(bytes));
        let turns = &mut self.turns[from.index()];
        let turn = *turns % paths.len();
        *turns += 1;
        let path = paths.swap_remove(turn);
        let leaves = |kind: ServerKind| matches!(kind, ServerKind::NicOut { .. });
        let out = path.hops.iter().position(|hop| leaves(self.servers.kinds()[hop.server.index()]));
        let near = out.map_or(path.hops.len(), |position| position + 1);
        let first = now.saturating_add(picoseconds(path.latency));
        let transfer = Some(Transfer { path, next: 0, near, sent: now, waited: 0 });
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
        self.schedule(first, Event::Arrival(number));
        number
    }

    /// Moves a message on that has arrived at its next server, or at its receiver.
    pub(super) fn advance(&mut self, now: Time, number: usize) -> Advance {
        let transfer = self.transfers[number].as_mut().expect("a message on its way");
        let Some(hop) = transfer.path.hops.get(transfer.next) else {
            let advance = Advance {
                departed: (transfer.near == 0).then_some(now),
                delivered: Some((now - transfer.sent, transfer.waited)),
            };
            self.transfers[number] = None;
            self.unused.push(number);
            return advance;
        };
        transfer.next += 1;
        let departs = transfer.next == transfer.near;
        let server = &mut self.queues[hop.server.index()];
        let (departure, waited) = server.serve(now, picoseconds(hop.service));
        transfer.waited += waited;
        let arrival = departure.saturating_add(picoseconds(hop.latency));
        self.schedule(arrival, Event::Arrival(number));
        Advance { departed: departs.then_some(departure), delivered: None }
    }

    pub(super) fn schedule(&mut self, time: Time, event: Event) {
        self.events.push(Reverse((time, self.scheduled, event)));
        self.scheduled += 1;
    }
}

/// The largest number for a time beyond 64 bits.
pub(super) fn picoseconds(time: Seconds) -> Time {
    time::picoseconds(time).unwrap_or(NEVER)
}

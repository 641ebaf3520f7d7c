//! The event loop of a replay: ranks do their steps, messages pass servers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::agenda::Agenda;
use super::background::RunningJob;
use super::matching::{Matching, Pair, Receive};
use super::nonblocking::{Nonblocking, OF_OPERATION};
use super::protocol::Protocols;
use super::rank::RankState;
use super::routes::{Part, Routes, picoseconds};
use super::script::Acts;
use super::sharing::{OF_CLASS, Sharing};
use super::{
    Discipline, MessageEnd, RankTimes, ReplayError, ReplayOptions, Replayed, ReplayedMessages,
};
use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::{GlobalRank, JobId, Rank};
use crate::network::Servers;
use crate::placement::Placement;
use crate::sim::server::Server;
use crate::sim::statistics::{Counts, JobCount, outcome};
use crate::sim::time::{Time, seconds};
use crate::sim::{OBSERVED, Progress};
use crate::traffic::read::events::SendMode;
use crate::traffic::read::events::steps::{Exchange, Step};
use crate::units::Bytes;

/// The job of a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobOfRank {
    pub(super) job: JobId,
    /// The global rank of the job's rank 0.
    pub(super) first: GlobalRank,
}

/// A message on its way. What an arrival at a server needs fits a cache line; the rest is in
/// [`Ends`].
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Message {
    /// The servers still to pass.
    pub(super) parts: [Part; 3],
    pub(super) bytes: Bytes,
    /// When its last byte leaves the servers so far.
    pub(super) tail: Time,
    /// The waiting so far.
    pub(super) waited: Time,
    /// The time between two nodes, or what the protocol adds inside one.
    pub(super) flight: Time,
    pub(super) leaves_node: bool,
    /// Whether the sender waits until it has left the node.
    pub(super) is_awaited: bool,
}

/// The two ends of a message.
#[derive(Debug, Clone, Copy)]
struct Ends {
    sender: GlobalRank,
    receiver: GlobalRank,
    /// The sender's number for it.
    number: u64,
    sent: Time,
    /// Before the first server; without servers all of its own time.
    before: Time,
    /// After the last server.
    after: Time,
    receive_overhead: Time,
    receive: Option<Receive>,
    stage: Stage,
}

/// How far a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It will be sent when a receive is posted (rendezvous).
    Announced,
    Underway,
    /// At its receiver at this time.
    Arrived(Time),
}

/// An event with this bit set continues a rank; else it moves a message on.
pub(super) const OF_RANK: u32 = 1 << 31;

/// The most steps that a rank is ahead of all others: a rank that waits for nothing would otherwise
/// put the messages of its whole run into the agenda.
const AHEAD: usize = 256;

/// The state of a replay.
pub(super) struct Replay<'a> {
    protocols: Protocols,
    pub(super) routes: Routes<'a>,
    /// Index: [`ServerId`](crate::ids::ServerId).
    pub(super) queues: Vec<Server>,
    /// Where messages share servers.
    pub(super) sharing: Option<Sharing>,
    pub(super) agenda: Agenda,
    /// Index: [`GlobalRank`].
    pub(super) ranks: Vec<RankState>,
    /// Index: [`GlobalRank`].
    pub(super) steps: Vec<Acts<'a>>,
    pub(super) nonblocking: Nonblocking,
    /// Index: [`JobId`].
    pub(super) jobs: Vec<RunningJob<'a>>,
    /// The job that is measured, while the others begin again when they end.
    pub(super) measured: Option<JobId>,
    pub(super) matching: Matching,
    pub(super) messages: Vec<Message>,
    /// Of the message at the same place.
    ends: Vec<Ends>,
    /// Free places in `messages`.
    unused: Vec<u32>,
    /// Ranks that continue now.
    runnable: Vec<GlobalRank>,
    /// Index: [`GlobalRank`].
    pub(super) job_of: Vec<JobOfRank>,
    /// Index: [`JobId`].
    pub(super) counts: Vec<JobCount>,
    /// Where messages are recorded.
    pub(super) recorded: Option<ReplayedMessages>,
}

impl<'a> Replay<'a> {
    /// A replay without jobs.
    pub(super) fn new(
        cluster: &'a Cluster,
        placement: &'a Placement,
        options: ReplayOptions,
    ) -> Self {
        let protocols = Protocols::new(&cluster.rates, options.eager_limit);
        let servers = Servers::new(cluster, placement);
        let count = servers.kinds().len();
        Self {
            routes: Routes::new(servers, protocols.know_switches()),
            protocols,
            queues: vec![Server::new(None); count],
            sharing: match options.discipline {
                Discipline::Fifo => None,
                Discipline::MaxMin => Some(Sharing::new(count)),
            },
            agenda: Agenda::default(),
            ranks: Vec::new(),
            steps: Vec::new(),
            nonblocking: Nonblocking::default(),
            jobs: Vec::new(),
            measured: None,
            matching: Matching::default(),
            messages: Vec::new(),
            ends: Vec::new(),
            unused: Vec::new(),
            runnable: Vec::new(),
            job_of: Vec::new(),
            counts: Vec::new(),
            recorded: None,
        }
    }

    /// Runs to the end, or until the observer breaks. In that case, returns the time reached.
    pub(super) fn run(
        &mut self,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, ReplayError> {
        for rank in (0..self.ranks.len()).map(GlobalRank::from_index) {
            self.advance(rank)?;
            self.advance_runnable()?;
        }
        let mut observed = OBSERVED;
        while let Some((now, event)) = self.agenda.first() {
            if self.is_over() {
                return Ok(None);
            }
            let mut next = None;
            if event & OF_RANK != 0 {
                self.advance(GlobalRank(event & !OF_RANK))?;
            } else if event & OF_CLASS != 0 {
                self.end_shares(event & !OF_CLASS, now);
            } else if self.sharing.is_some() {
                self.begin_share(event, now);
            } else {
                next = self.move_on(event, now);
            }
            self.advance_runnable()?;
            self.agenda.replace_first(next.map(|time| (time, event)));
            if self.agenda.count >= observed {
                observed = self.agenda.count + OBSERVED;
                if observer(&self.progress(now)).is_break() {
                    return Ok(Some(now));
                }
            }
        }
        if self.is_over() {
            return Ok(None);
        }
        let mut stuck = (0..self.ranks.len()).filter(|rank| !self.ranks[*rank].ended);
        let Some(waiting) = stuck.next() else { return Ok(None) };
        let JobOfRank { job, first } = self.job_of[waiting];
        Err(ReplayError::Stuck {
            stuck: 1 + stuck.count(),
            job: (self.counts.len() > 1).then_some(job.index()),
            rank: Rank::from_index(waiting - first.index()),
            messages: self.ranks[waiting].awaited,
        })
    }

    fn progress(&self, now: Time) -> Progress {
        let delivered = self.counts.iter().map(|job| job.messages).sum();
        Progress { time: seconds(now), events: self.agenda.count, delivered, messages: None }
    }

    pub(super) fn replayed<'n>(
        mut self,
        stopped: Option<Time>,
        names: impl Iterator<Item = &'n str>,
    ) -> Replayed {
        for (rank, JobOfRank { job, .. }) in self.ranks.iter().zip(&self.job_of) {
            let job = &mut self.counts[job.index()];
            let reached = if rank.ended { rank.clock } else { 0 };
            job.finish = job.finish.max(reached);
        }
        let mut left_out = BTreeMap::new();
        for (call, count) in self.steps.iter().flat_map(Acts::left_out) {
            *left_out.entry(*call).or_default() += count;
        }
        let times = |rank: &RankState| RankTimes {
            waited: seconds(rank.waited),
            end: seconds(stopped.filter(|_| !rank.ended).unwrap_or(rank.clock)),
        };
        let counts =
            Counts { servers: self.queues, jobs: self.counts, events: self.agenda.count, stopped };
        let outcome = outcome(&counts, &self.routes.servers, names);
        Replayed { outcome, ranks: self.ranks.iter().map(times).collect(), left_out }
    }

    fn advance_runnable(&mut self) -> Result<(), InputError> {
        loop {
            self.advance_nonblocking();
            let Some(rank) = self.runnable.pop() else { return Ok(()) };
            self.ranks[rank.index()].resume();
            self.advance(rank)?;
        }
    }

    /// Lets a rank do its next steps until it has to wait for something that is not known yet. Its
    /// clock may then be ahead of the agenda: what it sends is in the agenda at its own time.
    fn advance(&mut self, rank: GlobalRank) -> Result<(), InputError> {
        for _ in 0..AHEAD {
            let (state, steps) = (&mut self.ranks[rank.index()], &mut self.steps[rank.index()]);
            let Some(step) = steps.next() else { return self.end(rank) };
            let waits = match step? {
                Step::Compute(time) => {
                    state.clock = state.clock.saturating_add(picoseconds(time));
                    continue;
                }
                Step::Exchange(exchange) => {
                    let number_in_run = exchange.number;
                    let number = state.numbered(number_in_run);
                    let exchange = Exchange { number, ..exchange };
                    self.begin(rank, exchange);
                    if !exchange.blocking {
                        continue;
                    }
                    let number = std::iter::once(number_in_run);
                    self.ranks[rank.index()].has_to_wait(number)
                }
                Step::Begin(number) => {
                    let number = state.numbered(number);
                    self.begin_operation(rank, number);
                    continue;
                }
                Step::Wait(count) => steps.wait(count, state),
                // Blocking collective operations have been expanded to exchanges.
                Step::Collective(_) => continue,
            };
            if waits {
                return Ok(());
            }
            self.ranks[rank.index()].resume();
        }
        self.agenda.add(self.ranks[rank.index()].clock, OF_RANK | rank.0);
        Ok(())
    }

    pub(super) fn peer(&self, rank: GlobalRank, exchange: &Exchange) -> GlobalRank {
        exchange.peer.global(self.job_of[rank.index()].first)
    }

    fn begin(&mut self, rank: GlobalRank, exchange: Exchange) {
        let peer = self.peer(rank, &exchange);
        // Nothing waits for a buffered message: it is copied.
        let is_awaited = exchange.is_awaited && exchange.mode != SendMode::Buffered;
        let state = &mut self.ranks[rank.index()];
        state.begin(is_awaited);
        if exchange.sends {
            self.send(rank, peer, &exchange, None);
        } else {
            let posted = state.clock;
            self.receive(rank, peer, &exchange, posted);
        }
    }

    pub(super) fn receive(
        &mut self,
        rank: GlobalRank,
        peer: GlobalRank,
        exchange: &Exchange,
        posted: Time,
    ) {
        let pair = Pair { receiver: rank, sender: peer, channel: exchange.channel };
        let receive = Receive { number: exchange.number, posted };
        let Some(number) = self.matching.receive(pair, receive) else { return };
        let ends = &mut self.ends[number as usize];
        ends.receive = Some(receive);
        match ends.stage {
            Stage::Announced => self.clear_to_send(number, receive),
            Stage::Underway => {}
            Stage::Arrived(time) => {
                let overhead = ends.receive_overhead;
                self.unused.push(number);
                self.complete(rank, exchange.number, time.max(posted), overhead);
            }
        }
    }

    /// Sends a message: at the rank's own time, or at `beside` where it does not concern the rank's core.
    /// Returns when the core has sent it.
    pub(super) fn send(
        &mut self,
        rank: GlobalRank,
        peer: GlobalRank,
        exchange: &Exchange,
        beside: Option<Time>,
    ) -> Time {
        let bytes = Bytes(exchange.bytes);
        let route = self.routes.next(rank, peer, bytes);
        let protocol = *self.protocols.at(route.level);
        let state = &mut self.ranks[rank.index()];
        let clock = beside.unwrap_or(state.clock).saturating_add(protocol.send_overhead);
        let mut sent = clock;
        if beside.is_none() {
            state.clock = clock;
            sent = clock.max(state.next_send);
            state.next_send = sent.saturating_add(protocol.gap);
        }
        let rendezvous = match exchange.mode {
            SendMode::Synchronous => true,
            SendMode::Buffered => false,
            SendMode::Standard | SendMode::Ready => bytes > protocol.eager_limit,
        };
        let message = Message {
            parts: route.parts,
            bytes,
            tail: sent,
            waited: 0,
            flight: protocol.latency.unwrap_or(route.flight),
            leaves_node: route.leaves_node(),
            is_awaited: rendezvous,
        };
        let ends = Ends {
            sender: rank,
            receiver: peer,
            number: exchange.number,
            sent,
            before: route.before,
            after: route.after,
            receive_overhead: protocol.receive_overhead,
            receive: None,
            stage: if rendezvous { Stage::Announced } else { Stage::Underway },
        };
        let number = self.keep(message, ends);
        let pair = Pair { receiver: peer, sender: rank, channel: exchange.channel };
        let receive = self.matching.send(pair, number);
        self.ends[number as usize].receive = receive;
        match (rendezvous, receive) {
            (true, Some(receive)) => self.clear_to_send(number, receive),
            (true, None) => {}
            (false, _) => {
                self.complete(rank, exchange.number, clock, 0);
                self.enter(number);
            }
        }
        clock
    }

    /// A place for a message: its number.
    fn keep(&mut self, message: Message, ends: Ends) -> u32 {
        match self.unused.pop() {
            Some(number) => {
                self.messages[number as usize] = message;
                self.ends[number as usize] = ends;
                number
            }
            None => {
                self.messages.push(message);
                self.ends.push(ends);
                let number = u32::try_from(self.ends.len() - 1).unwrap_or(u32::MAX);
                assert!(number < OF_CLASS, "2^30 messages on their way");
                number
            }
        }
    }

    /// The receiver has heard of a message and has posted a receive: it answers, and the message is
    /// sent (rendezvous).
    fn clear_to_send(&mut self, number: u32, receive: Receive) {
        let message = &mut self.messages[number as usize];
        let heard = message.tail.saturating_add(message.flight);
        message.tail = heard.max(receive.posted).saturating_add(message.flight);
        self.ends[number as usize].stage = Stage::Underway;
        self.enter(number);
    }

    /// A message leaves its sender for its first server.
    fn enter(&mut self, number: u32) {
        let message = &mut self.messages[number as usize];
        message.tail = message.tail.saturating_add(self.ends[number as usize].before);
        if let Some(recorded) = &mut self.recorded {
            let Ends { sender, receiver, .. } = self.ends[number as usize];
            let (time, bytes) = (seconds(message.tail), message.bytes);
            recorded.sends.push(MessageEnd { time, bytes, rank: sender, peer: receiver });
        }
        if message.parts.iter().all(|part| part.is_over()) {
            let (tail, is_awaited) = (message.tail, message.is_awaited);
            if is_awaited {
                self.departed(number, tail);
            }
            self.arrive(number);
        } else {
            self.agenda.add(message.tail, number);
        }
    }

    /// The first byte of a message is at its next server.
    ///
    /// Between nodes a message passes on while it comes in (cut-through): the next server begins as
    /// soon as this one does, and each is busy for the length of the message by its own rate. Inside
    /// a node one copy follows the other.
    ///
    /// Returns when it is at the server after; `None`: this was the last.
    fn move_on(&mut self, number: u32, now: Time) -> Option<Time> {
        let message = &mut self.messages[number as usize];
        let place = message.parts.iter().position(|part| !part.is_over()).unwrap_or(2);
        let part = &mut message.parts[place];
        let leg = self.routes.leg(part.next);
        part.next += 1;
        let service = self.routes.service(leg, message.bytes);
        let server = &mut self.queues[leg.server as usize];
        let (departure, waited) = server.serve(now, service);
        message.waited += waited;
        let begin = if message.leaves_node { departure - service } else { departure };
        let leaves = place == 0 && part.is_over();
        let latency = if leaves && message.leaves_node { message.flight } else { leg.latency };
        let is_last = message.parts[place..].iter().all(|part| part.is_over());
        let left = message.tail.max(departure);
        message.tail = left.saturating_add(latency);
        if leaves && message.is_awaited {
            self.departed(number, left);
        }
        if is_last {
            self.arrive(number);
            return None;
        }
        Some(begin.saturating_add(latency))
    }

    /// A message for which its sender waits has left the last server of the sender's node.
    pub(super) fn departed(&mut self, number: u32, time: Time) {
        let Ends { sender, number, .. } = self.ends[number as usize];
        self.complete(sender, number, time, 0);
    }

    /// A message has passed its last server.
    pub(super) fn arrive(&mut self, number: u32) {
        let Message { leaves_node, flight, tail, waited, bytes, .. } =
            self.messages[number as usize];
        let ends = &mut self.ends[number as usize];
        let inside = if leaves_node { 0 } else { flight };
        let time = tail.saturating_add(ends.after).saturating_add(inside);
        ends.stage = Stage::Arrived(time);
        let Ends { sender, receiver, sent, receive_overhead, receive, .. } = *ends;
        if let Some(recorded) = &mut self.recorded {
            let time = seconds(time);
            recorded.receives.push(MessageEnd { time, bytes, rank: receiver, peer: sender });
        }
        let job = &mut self.counts[self.job_of[receiver.index()].job.index()];
        job.arrived(time - sent, time);
        job.waiting += u128::from(waited);
        if let Some(receive) = receive {
            self.unused.push(number);
            self.complete(receiver, receive.number, time.max(receive.posted), receive_overhead);
        }
    }

    /// A message is complete for a rank, which continues if it waits for no other.
    pub(super) fn complete(&mut self, rank: GlobalRank, number: u64, time: Time, overhead: Time) {
        if number & OF_OPERATION != 0 {
            self.nonblocking.complete(rank, number, time, overhead);
        } else if self.ranks[rank.index()].complete(number, time, overhead) {
            self.runnable.push(rank);
        }
    }
}

//! The steps of a rank in a replay: compute, exchange messages, wait. Wildcard receives name the
//! message that matched; collective operations are messages, made phase by phase ([`Schedule`]).
//!
//! Time inside MPI is dropped, because the replay computes it. Receives name the source and tag
//! that matched in the run, so that the replay repeats them. Unsuccessful tests and probes are
//! dropped; a successful test is a wait.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::matching::{Collective, Matching};
use super::store::{Recording, Stream};
use super::{Call, CallClass, Completed, Message, Peer, SendMode};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::expansion::schedule::{Algorithm, Group, Phase, Schedule};
use crate::units::Seconds;

/// One step of a rank.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// Time outside MPI.
    Compute(Seconds),
    /// Starts sending or receiving a message.
    Exchange(Exchange),
    /// Blocks until these messages are complete.
    Wait(Vec<Exchange>),
    /// A collective operation that is replayed as such, not as messages.
    Collective(&'a Collective),
}

/// One side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the exchange, unique within the rank.
    pub number: u64,
    /// True for the sending side.
    pub sends: bool,
    /// The other rank.
    pub peer: Rank,
    /// Matching key besides the pair of ranks.
    pub channel: Channel,
    /// Length, in bytes.
    pub bytes: u64,
    /// Send mode.
    pub mode: SendMode,
    /// Whether the rank blocks until it is complete.
    pub blocking: bool,
}

/// Messages match only within a channel. Communicators are indices into [`Matching`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The program's own messages: communicator and tag.
    Program(u32, i32),
    /// Messages of a communicator's collective operations.
    Collective(u32),
}

/// Iterator over the steps of one rank.
#[derive(Debug)]
pub struct Steps<'a> {
    matching: &'a Matching,
    rank: Rank,
    events: Stream<'a>,
    /// Selects blocking collective operations of all ranks that stay collective.
    keeps: fn(&Collective) -> bool,
    ready: VecDeque<Step<'a>>,
    /// The blocking collective operation that the rank is in.
    collective: Option<Underway<'a>>,
    /// Messages of its current phase.
    phase: Phase,
    /// Number of exchanges so far.
    exchanges: u64,
    /// Completions of posted receives, by request number.
    received: HashMap<u64, Completed>,
    /// Exchanges that the completion of a request waits for, by request number.
    requests: HashMap<u64, Vec<Exchange>>,
    /// Number of collective operations so far, by communicator.
    collectives: HashMap<usize, usize>,
    left_out: BTreeMap<&'static str, u64>,
}

/// A collective operation of which a rank has begun some phases.
#[derive(Debug)]
struct Underway<'a> {
    schedule: Schedule<'a>,
    group: &'a Group,
    channel: Channel,
}

impl<'a> Steps<'a> {
    /// The steps of `rank`. Blocking collective operations of all ranks for which `keeps` is true
    /// are not expanded into messages.
    ///
    /// # Errors
    /// If the events are damaged, end before `MPI_Finalize`, or come from several threads.
    pub fn new(
        recording: &'a Recording,
        matching: &'a Matching,
        rank: Rank,
        keeps: fn(&Collective) -> bool,
    ) -> Result<Self, InputError> {
        Ok(Self {
            matching,
            rank,
            events: recording.stream(rank)?,
            keeps,
            ready: VecDeque::new(),
            collective: None,
            phase: Phase::default(),
            exchanges: 0,
            received: look_ahead(recording, rank)?,
            requests: HashMap::new(),
            collectives: HashMap::new(),
            left_out: BTreeMap::new(),
        })
    }

    /// Calls that no step represents, with their number so far.
    #[must_use]
    pub fn left_out(&self) -> &BTreeMap<&'static str, u64> {
        &self.left_out
    }

    fn add_call(&mut self, call: Call) {
        match call {
            Call::Send { message, mode, request, .. } => {
                let cancelled = |request| self.received.get(&request).is_some_and(|c| c.cancelled);
                if !request.is_some_and(cancelled) {
                    // A buffered send completes as soon as the message is copied.
                    let blocking = request.is_none() && mode != SendMode::Buffered;
                    let exchange = self.resolve(message, true, mode, blocking);
                    self.add_later(exchange.into_iter().collect(), request);
                }
            }
            Call::Receive { message, .. } => {
                let exchange = self.resolve(message, false, SendMode::Standard, true);
                self.ready.extend(exchange.map(Step::Exchange));
            }
            Call::PostedReceive { message, request, .. } => {
                let exchange = self.resolve_posted(message, request);
                self.add_later(exchange.into_iter().collect(), Some(request));
            }
            Call::SendReceive { send, receive, request, .. } => {
                let receive = match request {
                    Some(request) => self.resolve_posted(receive, request),
                    None => self.resolve(receive, false, SendMode::Standard, false),
                };
                let send = self.resolve(send, true, SendMode::Standard, false);
                self.add_together(receive.into_iter().chain(send).collect(), request);
            }
            Call::Completion { completed, .. } => {
                let over = |completed: &Completed| self.requests.remove(&completed.request);
                let waits: Vec<Exchange> = completed.iter().filter_map(over).flatten().collect();
                self.wait(waits);
            }
            Call::Collective { communicator, request, .. } => {
                self.add_collective(self.matching.communicator(self.rank, communicator), request);
            }
            Call::Other(CallClass::OneSided) => self.leave_out("one-sided calls"),
            Call::Free { request } => drop(self.requests.remove(&request)),
            Call::Polls { .. } | Call::Probe(_) | Call::Creation { .. } | Call::Other(_) => {}
        }
    }

    fn add_collective(&mut self, communicator: usize, request: Option<u64>) {
        let matching = self.matching;
        let number = self.collectives.entry(communicator).or_default();
        let collective = &matching.collectives(communicator)[*number];
        *number += 1;
        if communicator == 0 && !collective.nonblocking && (self.keeps)(collective) {
            self.ready.push_back(Step::Collective(collective));
            return;
        }
        let group = matching.group(communicator);
        let Some(me) = group.place(self.rank) else { return };
        let mut underway = Underway {
            schedule: Schedule::new(Algorithm::Linear, collective.call(group), group, me),
            group,
            channel: Channel::Collective(communicator as u32),
        };
        let Some(request) = request else {
            self.collective = Some(underway);
            return;
        };
        // Phases of a nonblocking operation do not wait for each other.
        let mut later = Vec::new();
        while let Some(exchanges) = self.next_phase(&mut underway) {
            self.ready.extend(exchanges.iter().copied().map(Step::Exchange));
            later.extend(exchanges);
        }
        self.requests.insert(request, later);
    }

    /// The exchanges of the next phase, receives first.
    fn next_phase(&mut self, underway: &mut Underway<'a>) -> Option<Vec<Exchange>> {
        let mut phase = std::mem::take(&mut self.phase);
        let more = underway.schedule.next(&mut phase);
        let mut exchanges = Vec::with_capacity(phase.receives.len() + phase.sends.len());
        let directions = [(false, &phase.receives), (true, &phase.sends)];
        for (sends, message) in directions.iter().flat_map(|(s, all)| all.iter().map(|m| (*s, m))) {
            if let Some(peer) = underway.group.rank(message.peer) {
                let (channel, mode) = (underway.channel, SendMode::Standard);
                exchanges.push(self.exchange(peer, channel, message.bytes, sends, mode, false));
            }
        }
        self.phase = phase;
        more.then_some(exchanges)
    }

    /// Starts messages that `request` waits for; without a request they block.
    fn add_later(&mut self, exchanges: Vec<Exchange>, request: Option<u64>) {
        self.ready.extend(exchanges.iter().copied().map(Step::Exchange));
        if let Some(request) = request {
            self.requests.insert(request, exchanges);
        }
    }

    /// Starts messages together, and waits for them unless `request` does.
    fn add_together(&mut self, exchanges: Vec<Exchange>, request: Option<u64>) {
        self.add_later(exchanges.clone(), request);
        if request.is_none() {
            self.wait(exchanges);
        }
    }

    fn wait(&mut self, exchanges: Vec<Exchange>) {
        if !exchanges.is_empty() {
            self.ready.push_back(Step::Wait(exchanges));
        }
    }

    /// The exchange for a message, if the peer is a rank of the job.
    fn resolve(
        &mut self,
        message: Message,
        sends: bool,
        mode: SendMode,
        blocking: bool,
    ) -> Option<Exchange> {
        let communicator = self.matching.communicator(self.rank, message.communicator);
        let channel = Channel::Program(communicator as u32, message.tag);
        match message.peer {
            Peer::Rank(peer) => {
                Some(self.exchange(peer, channel, message.bytes, sends, mode, blocking))
            }
            Peer::Outside => {
                self.leave_out("messages from or to processes outside the job");
                None
            }
            Peer::None | Peer::Any => None,
        }
    }

    /// The exchange for a posted receive; `None` if it never matched.
    fn resolve_posted(&mut self, message: Message, request: u64) -> Option<Exchange> {
        let (peer, tag, bytes) = self.received.get(&request)?.received?;
        self.resolve(Message { peer, tag, bytes, ..message }, false, SendMode::Standard, false)
    }

    fn exchange(
        &mut self,
        peer: Rank,
        channel: Channel,
        bytes: u64,
        sends: bool,
        mode: SendMode,
        blocking: bool,
    ) -> Exchange {
        self.exchanges += 1;
        Exchange { number: self.exchanges, sends, peer, channel, bytes, mode, blocking }
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Result<Step<'a>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if let Some(mut underway) = self.collective.take() {
                if let Some(exchanges) = self.next_phase(&mut underway) {
                    self.collective = Some(underway);
                    self.add_together(exchanges, None);
                }
                continue;
            }
            let event = match self.events.next()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let mut outside = event.gap.0;
            if let Call::Polls { inside, .. } = event.call {
                outside += (event.duration.0 - inside.0).max(0.0);
            }
            if outside > 0.0 {
                self.ready.push_back(Step::Compute(Seconds(outside)));
            }
            self.add_call(event.call);
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Collects the completions of the whole run: a posted receive needs the message that matched it.
fn look_ahead(recording: &Recording, rank: Rank) -> Result<HashMap<u64, Completed>, InputError> {
    let mut received = HashMap::new();
    let stream = recording.stream(rank)?;
    if !stream.is_whole() {
        let found = format!("events of rank {rank} that end before MPI_Finalize");
        return Err(recording.wrong(found).with_advice("a cut run cannot be replayed"));
    }
    for event in stream {
        let event = event?;
        if event.thread > 0 {
            let found = format!("MPI calls of several threads on rank {rank}");
            let advice = "a replay supports one thread per rank";
            return Err(recording.wrong(found).with_advice(advice));
        }
        if let Call::Completion { completed, .. } = event.call {
            let finished = completed.into_iter().filter(|c| c.cancelled || c.received.is_some());
            received.extend(finished.map(|completed| (completed.request, completed)));
        }
    }
    Ok(received)
}

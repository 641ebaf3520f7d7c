//! The steps of a rank in a replay: compute, exchange messages, wait. Wildcard receives name the
//! message that matched; collective operations are messages, made phase by phase ([`Schedule`]).
//!
//! Time inside MPI is dropped, because the replay computes it. Receives name the source and tag
//! that matched in the run, so that the replay repeats them: events are read ahead up to the completion
//! of each request. Unsuccessful tests and probes are dropped; a successful test is a wait.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::matching::{Collective, Matching};
use super::requests::{End, Exchanges, Requests};
use super::store::{Recording, Stream};
use super::{Call, CallClass, Event, Message, Peer, SendMode};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::{Group, Phase, Schedule};
use crate::units::Seconds;

/// One step of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<'a> {
    /// Time outside MPI, without waiting for a PU where that was recorded.
    Compute(Seconds),
    /// Starts sending or receiving a message.
    Exchange(Exchange),
    /// Blocks until the next messages of [`Steps::awaited`], as many as this, are complete.
    Wait(usize),
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

static LINEAR: Library = Library::linear();

/// Iterator over the steps of one rank.
#[derive(Debug)]
pub struct Steps<'a> {
    matching: &'a Matching,
    /// Chooses the algorithms of collective operations.
    library: &'a Library,
    /// By communicator.
    groups: &'a [Group],
    rank: Rank,
    events: Stream<'a>,
    /// Selects blocking collective operations of all ranks that stay collective.
    keeps: fn(&Collective) -> bool,
    /// Events that were read ahead.
    ahead: VecDeque<Event>,
    requests: Requests,
    ready: VecDeque<Step<'a>>,
    /// The messages of the waits in `ready`.
    awaited: VecDeque<Exchange>,
    /// The blocking collective operation that the rank is in.
    collective: Option<Underway<'a>>,
    /// Messages of its current phase.
    phase: Phase,
    /// Number of exchanges so far.
    exchanges: u64,
    /// Number of collective operations so far, by communicator.
    collectives: FxHashMap<usize, usize>,
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
    /// If the events cannot be read.
    pub fn new(
        recording: &'a Recording,
        matching: &'a Matching,
        rank: Rank,
        keeps: fn(&Collective) -> bool,
    ) -> Result<Self, InputError> {
        Ok(Self {
            matching,
            library: &LINEAR,
            groups: matching.groups(),
            rank,
            events: recording.stream(rank)?,
            keeps,
            ahead: VecDeque::new(),
            requests: Requests::default(),
            ready: VecDeque::new(),
            awaited: VecDeque::new(),
            collective: None,
            phase: Phase::default(),
            exchanges: 0,
            collectives: FxHashMap::default(),
            left_out: BTreeMap::new(),
        })
    }

    /// Collective operations by the algorithms of a library instead of direct messages. `groups` are
    /// those of [`Matching::groups_on`] where nodes matter.
    #[must_use]
    pub fn with_library(self, library: &'a Library, groups: &'a [Group]) -> Self {
        Self { library, groups, ..self }
    }

    /// Calls that no step represents, with their number so far.
    #[must_use]
    pub fn left_out(&self) -> &BTreeMap<&'static str, u64> {
        &self.left_out
    }

    /// Takes the next messages that the rank waits for.
    pub fn awaited(&mut self, count: usize) -> impl Iterator<Item = Exchange> {
        self.awaited.drain(..count)
    }

    fn add_call(&mut self, call: Call) -> Result<(), InputError> {
        match call {
            Call::Send { message, mode, request, .. } => {
                if !self.is_cancelled(request)? {
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
                let exchange = self.resolve_posted(message, request)?;
                self.add_later(exchange.into_iter().collect(), Some(request));
            }
            Call::SendReceive { send, receive, request, .. } => {
                let receive = match request {
                    Some(request) => self.resolve_posted(receive, request)?,
                    None => self.resolve(receive, false, SendMode::Standard, false),
                };
                let send = self.resolve(send, true, SendMode::Standard, false);
                self.add_later(receive.into_iter().chain(send).collect(), request);
                self.wait_unless(request, &[receive, send]);
            }
            Call::Completion { completed, .. } => {
                let before = self.awaited.len();
                for completed in completed {
                    let exchanges = self.requests.finish(completed.request);
                    self.awaited.extend(exchanges.as_slice());
                }
                self.wait(self.awaited.len() - before);
            }
            Call::Collective { communicator, request, .. } => {
                self.add_collective(self.matching.communicator(self.rank, communicator), request);
            }
            Call::Other(CallClass::OneSided) => self.leave_out("one-sided calls"),
            Call::Free { request } => drop(self.requests.finish(request)),
            Call::Polls { .. } | Call::Probe(_) | Call::Creation { .. } | Call::Other(_) => {}
        }
        Ok(())
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
        let group = &self.groups[communicator];
        let Some(me) = group.place(self.rank) else { return };
        let mut underway = Underway {
            schedule: Schedule::new(self.library, collective.call(group), group, me),
            group,
            channel: Channel::Collective(communicator as u32),
        };
        let Some(request) = request else {
            self.collective = Some(underway);
            return;
        };
        // Phases of a nonblocking operation do not wait for each other.
        let mut later = Vec::new();
        while self.next_phase(&mut underway) {
            later.extend(self.awaited.drain(self.awaited.len() - self.phase.len()..));
        }
        if let Some(request) = self.requests.get(request) {
            request.exchanges = Exchanges::Several(later);
        }
    }

    /// Starts the messages of the next phase, receives first, and adds them to `awaited`. False after
    /// the last phase.
    fn next_phase(&mut self, underway: &mut Underway<'a>) -> bool {
        let mut phase = std::mem::take(&mut self.phase);
        let more = underway.schedule.next(&mut phase);
        for (sends, messages) in [(false, &phase.receives), (true, &phase.sends)] {
            for message in messages {
                // Every member is a rank of the job, or the call would not be complete.
                let Some(peer) = underway.group.rank(message.peer) else { continue };
                let (channel, mode) = (underway.channel, SendMode::Standard);
                let exchange = self.exchange(peer, channel, message.bytes, sends, mode, false);
                self.ready.push_back(Step::Exchange(exchange));
                self.awaited.push_back(exchange);
            }
        }
        self.phase = phase;
        more
    }

    /// Starts messages that `request` waits for, if there is one.
    fn add_later(&mut self, exchanges: Exchanges, request: Option<u64>) {
        self.ready.extend(exchanges.as_slice().iter().copied().map(Step::Exchange));
        if let Some(request) = request.and_then(|request| self.requests.get(request)) {
            request.exchanges = exchanges;
        }
    }

    fn wait_unless(&mut self, request: Option<u64>, exchanges: &[Option<Exchange>]) {
        if request.is_none() {
            let before = self.awaited.len();
            self.awaited.extend(exchanges.iter().copied().flatten());
            self.wait(self.awaited.len() - before);
        }
    }

    /// Waits for the last messages of `awaited`.
    fn wait(&mut self, count: usize) {
        if count > 0 {
            self.ready.push_back(Step::Wait(count));
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
    fn resolve_posted(
        &mut self,
        message: Message,
        request: u64,
    ) -> Result<Option<Exchange>, InputError> {
        let Some(End::Completed(completed)) = self.end_of(request)? else { return Ok(None) };
        let Some((peer, tag, bytes)) = completed.received else { return Ok(None) };
        let message = Message { peer, tag, bytes, ..message };
        Ok(self.resolve(message, false, SendMode::Standard, false))
    }

    fn is_cancelled(&mut self, request: Option<u64>) -> Result<bool, InputError> {
        let Some(request) = request else { return Ok(false) };
        let end = self.end_of(request)?;
        Ok(matches!(end, Some(End::Completed(completed)) if completed.cancelled))
    }

    /// How a request ended, from the events to come; `None` if it did not.
    fn end_of(&mut self, request: u64) -> Result<Option<End>, InputError> {
        if self.matching.never_ends(self.rank, request) {
            return Ok(None);
        }
        loop {
            let end = self.requests.get(request).and_then(|request| request.end);
            if end.is_some() {
                return Ok(end);
            }
            let Some(event) = self.events.next().transpose()? else { return Ok(None) };
            self.requests.note(&event);
            self.ahead.push_back(event);
        }
    }

    fn next_event(&mut self) -> Option<Result<Event, InputError>> {
        if let Some(event) = self.ahead.pop_front() {
            return Some(Ok(event));
        }
        let event = self.events.next()?;
        if let Ok(event) = &event {
            self.requests.note(event);
        }
        Some(event)
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
                if self.next_phase(&mut underway) {
                    self.collective = Some(underway);
                    self.wait(self.phase.len());
                }
                continue;
            }
            let event = match self.next_event()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let mut outside = event.gap.0;
            if let Call::Polls { inside, .. } = event.call {
                outside += (event.duration.0 - inside.0).max(0.0);
            }
            // The program's own time: a rank that had to wait for a PU did not compute.
            outside -= event.waited.0;
            if outside > 0.0 {
                self.ready.push_back(Step::Compute(Seconds(outside)));
            }
            if let Err(error) = self.add_call(event.call) {
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

//! The steps of a rank in a replay: compute, exchange messages, wait. Wildcard receives name the
//! message that matched; collective operations are messages, made phase by phase ([`Schedule`]).
//!
//! Time inside MPI is dropped, because the replay computes it. Receives name the source and tag
//! that matched in the run, so that the replay repeats them: [`Matching`] knows how requests end.
//! Unsuccessful tests and probes are dropped; a successful test is a wait.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::matching::{Collective, Matching};
use super::requests::{End, EndsIter, Exchanges, Requests};
use super::store::{Recording, Stream};
use super::{Call, CallClass, Message, Peer, SendMode};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::expansion::library::Library;
use crate::traffic::expansion::schedule::{Group, Phase, Schedule};
use crate::units::Seconds;

/// Calls that no step represents: what they send is known only as flows.
pub const ONE_SIDED: &str = "one-sided calls";

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
    /// Starts a nonblocking collective operation with this number, for which the rank waits as for a
    /// message. Its messages are those of [`Steps::next_of`], phase by phase, beside what the rank does.
    Begin(u64),
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
    /// Whether the rank ever waits until it is complete.
    pub is_awaited: bool,
}

/// Messages match only within a channel. Communicators are indices into [`Matching`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The program's own messages: communicator and tag.
    Program(u32, i32),
    /// Messages of a communicator's collective operations.
    Collective(u32),
    /// Messages of one nonblocking operation: the communicator, and the number of the operation among
    /// those of the communicator.
    Nonblocking(u32, u32),
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
    /// How the requests end that are still to be made.
    ends: EndsIter<'a>,
    requests: Requests,
    ready: VecDeque<Step<'a>>,
    /// The messages of the waits in `ready`.
    awaited: VecDeque<Exchange>,
    /// The blocking collective operation that the rank is in.
    collective: Option<Underway<'a>>,
    /// Messages of a phase.
    phase: Phase,
    /// Nonblocking collective operations that are not complete, by number. `None`: their messages all
    /// start at once.
    background: Option<FxHashMap<u64, Underway<'a>>>,
    /// Number of exchanges so far.
    exchanges: u64,
    /// Number of collective operations so far, by communicator.
    collectives: FxHashMap<usize, usize>,
    left_out: BTreeMap<&'static str, u64>,
    current: CurrentCall,
}

/// The call whose steps are being returned. Times are those of the run, since MPI started on the rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CurrentCall {
    /// Number of the call, from 1.
    pub number: u64,
    /// When it began.
    pub begin: Seconds,
    /// When it returned.
    pub end: Seconds,
    /// Of a collective operation: the communicator (index into [`Matching`]) and the number of the
    /// operation there.
    pub collective: Option<(usize, usize)>,
}

/// A collective operation of which a rank has begun some phases, or none.
#[derive(Debug)]
struct Underway<'a> {
    schedule: Schedule<'a>,
    group: &'a Group,
    channel: Channel,
}

impl Exchange {
    /// A nonblocking receive, still without a number.
    fn receive(peer: Rank, channel: Channel, bytes: u64) -> Self {
        let mode = SendMode::Standard;
        let (sends, blocking, is_awaited) = (false, false, true);
        Self { number: 0, sends, peer, channel, bytes, mode, blocking, is_awaited }
    }
}

impl Underway<'_> {
    /// Gives the messages of the next phase, receives first, still without numbers. False after the
    /// last phase.
    fn next_phase(&mut self, phase: &mut Phase, mut add: impl FnMut(Exchange)) -> bool {
        let more = self.schedule.next(phase);
        for (sends, messages) in [(false, &phase.receives), (true, &phase.sends)] {
            for message in messages {
                // No message to a process outside the job.
                let Some(peer) = self.group.rank(message.peer) else { continue };
                let exchange = Exchange::receive(peer, self.channel, message.bytes);
                add(Exchange { sends, ..exchange });
            }
        }
        more
    }
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
            ends: matching.ends(rank),
            requests: Requests::default(),
            ready: VecDeque::new(),
            awaited: VecDeque::new(),
            collective: None,
            phase: Phase::default(),
            background: None,
            exchanges: 0,
            collectives: FxHashMap::default(),
            left_out: BTreeMap::new(),
            current: CurrentCall::default(),
        })
    }

    /// Collective operations by the algorithms of a library instead of direct messages. `groups` are
    /// those of [`Matching::groups_on`] where nodes matter.
    #[must_use]
    pub fn with_library(self, library: &'a Library, groups: &'a [Group]) -> Self {
        Self { library, groups, ..self }
    }

    /// Nonblocking collective operations go on beside what the rank does ([`Step::Begin`]); else all
    /// their messages start at once.
    #[must_use]
    pub fn in_background(self) -> Self {
        Self { background: Some(FxHashMap::default()), ..self }
    }

    /// The messages of the next phase of a nonblocking operation, receives first; false after the last.
    pub fn next_of(&mut self, number: u64, exchanges: &mut Vec<Exchange>) -> bool {
        exchanges.clear();
        let Some(background) = &mut self.background else { return false };
        let Some(mut underway) = background.remove(&number) else { return false };
        let more = underway.next_phase(&mut self.phase, |exchange| {
            exchanges.push(Exchange { number, ..exchange });
        });
        if more {
            background.insert(number, underway);
        }
        more
    }

    /// Calls that no step represents, with their number so far.
    #[must_use]
    pub fn left_out(&self) -> &BTreeMap<&'static str, u64> {
        &self.left_out
    }

    /// The call to which the last step belongs.
    #[must_use]
    pub fn current(&self) -> CurrentCall {
        self.current
    }

    /// Takes the next messages that the rank waits for.
    pub fn awaited(&mut self, count: usize) -> impl Iterator<Item = Exchange> {
        self.awaited.drain(..count)
    }

    /// Adds the steps of a call; `end`: how the request ends that it makes.
    fn add_call(&mut self, call: Call, end: Option<End>) {
        match call {
            Call::Send { message, mode, request, .. } => {
                // A buffered send completes as soon as the message is copied.
                let blocking = request.is_none() && mode != SendMode::Buffered;
                let exchange = match end {
                    Some(End::Cancelled) => None,
                    _ => self.resolve(message, true, mode, blocking),
                };
                self.add_later(exchange.into_iter().collect(), end);
            }
            Call::Receive { message, .. } => {
                let exchange = self.resolve(message, false, SendMode::Standard, true);
                self.ready.extend(exchange.map(Step::Exchange));
            }
            Call::PostedReceive { message, .. } => {
                let exchange = self.resolve_posted(message, end);
                self.add_later(exchange.into_iter().collect(), end);
            }
            Call::SendReceive { send, receive, request, .. } => {
                let receive = self.resolve_posted(receive, end);
                let send = self.resolve(send, true, SendMode::Standard, false);
                self.add_later(receive.into_iter().chain(send).collect(), end);
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
            Call::Collective { communicator, .. } => {
                self.add_collective(self.matching.communicator(self.rank, communicator), end);
            }
            Call::Creation { .. } => self.add_later(Exchanges::None, end),
            Call::Other(CallClass::OneSided) => self.leave_out(ONE_SIDED),
            Call::Polls { .. } | Call::Probe(_) | Call::Free { .. } | Call::Other(_) => {}
        }
    }

    fn add_collective(&mut self, communicator: usize, end: Option<End>) {
        let matching = self.matching;
        let number = self.collectives.entry(communicator).or_default();
        let (collective, call) = (&matching.collectives(communicator)[*number], *number as u32);
        self.current.collective = Some((communicator, *number));
        *number += 1;
        if communicator == 0 && !collective.nonblocking && (self.keeps)(collective) {
            self.ready.push_back(Step::Collective(collective));
            return;
        }
        let group = &self.groups[communicator];
        let Some(me) = group.place(self.rank) else {
            return self.add_later(Exchanges::None, end);
        };
        let library = if group.is_whole() { self.library } else { &LINEAR };
        if !group.is_whole() {
            self.leave_out("collective calls with processes outside the job");
        }
        let communicator = communicator as u32;
        let underway = Underway {
            schedule: Schedule::new(library, collective.call(group), group, me),
            group,
            channel: match collective.nonblocking {
                true => Channel::Nonblocking(communicator, call),
                false => Channel::Collective(communicator),
            },
        };
        match end {
            None => self.collective = Some(underway),
            Some(end) => {
                let exchanges = self.begin_nonblocking(underway);
                self.requests.add(end.is_awaited().then_some(exchanges));
            }
        }
    }

    /// Starts a nonblocking operation; returns what its request waits for.
    fn begin_nonblocking(&mut self, mut underway: Underway<'a>) -> Exchanges {
        if let Some(background) = &mut self.background {
            self.exchanges += 1;
            let number = self.exchanges;
            let whole = Exchange::receive(self.rank, underway.channel, 0);
            background.insert(number, underway);
            self.ready.push_back(Step::Begin(number));
            return Exchanges::One(Exchange { number, ..whole });
        }
        let mut exchanges = Vec::new();
        let Self { phase, ready, exchanges: count, .. } = self;
        let mut start = |exchange| {
            *count += 1;
            let exchange = Exchange { number: *count, ..exchange };
            ready.push_back(Step::Exchange(exchange));
            exchanges.push(exchange);
        };
        while underway.next_phase(phase, &mut start) {}
        Exchanges::Several(exchanges)
    }

    /// Starts the messages of the next phase of the blocking operation that the rank is in, if it is in
    /// one, and waits for them. False if there is none.
    fn go_on_with_collective(&mut self) -> bool {
        let Some(mut underway) = self.collective.take() else { return false };
        let before = self.awaited.len();
        let Self { phase, ready, awaited, exchanges: count, .. } = self;
        let more = underway.next_phase(phase, &mut |exchange| {
            *count += 1;
            let exchange = Exchange { number: *count, ..exchange };
            ready.push_back(Step::Exchange(exchange));
            awaited.push_back(exchange);
        });
        if more {
            self.collective = Some(underway);
            self.wait(self.awaited.len() - before);
        }
        true
    }

    /// Starts messages. With a request, which ends like this, the rank waits for them later, if at all.
    fn add_later(&mut self, exchanges: Exchanges, end: Option<End>) {
        let is_awaited = end.is_none_or(End::is_awaited);
        let begun = exchanges.as_slice().iter();
        self.ready
            .extend(begun.map(|exchange| Step::Exchange(Exchange { is_awaited, ..*exchange })));
        if end.is_some() {
            self.requests.add(is_awaited.then_some(exchanges));
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
                self.exchanges += 1;
                let (number, bytes) = (self.exchanges, message.bytes);
                let exchange = Exchange::receive(peer, channel, bytes);
                Some(Exchange { number, sends, mode, blocking, ..exchange })
            }
            Peer::Outside => {
                self.leave_out("messages from or to processes outside the job");
                None
            }
            Peer::None | Peer::Any => None,
        }
    }

    /// The exchange for a posted receive; `None` if it got no message.
    fn resolve_posted(&mut self, message: Message, end: Option<End>) -> Option<Exchange> {
        let message = match end {
            None | Some(End::AsPosted | End::Freed) => message,
            Some(End::Received(peer, tag, bytes)) => Message { peer, tag, bytes, ..message },
            Some(End::Cancelled | End::Never) => return None,
        };
        self.resolve(message, false, SendMode::Standard, false)
    }

    fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Result<Step<'a>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if self.go_on_with_collective() {
                continue;
            }
            let event = match self.events.next()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            let begin = Seconds(self.current.end.0 + event.gap.0);
            self.current = CurrentCall {
                number: self.current.number + 1,
                begin,
                end: Seconds(begin.0 + event.duration.0),
                collective: None,
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
            let end = event.call.request().map(|_| self.ends.next());
            self.add_call(event.call, end);
        }
        self.ready.pop_front().map(Ok)
    }
}

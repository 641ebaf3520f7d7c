//! Decodes events; `tracer/src/format/events_format.h` describes the encoding.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Call, CallClass, CommunicatorIdentity, Completed, CompletingCall, Event, Message, Peer,
    SendMode, Wildcards,
};
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::read::trace_constants::{
    BUFFERED, CLASS_COLLECTIVE, CLASS_ONE_SIDED, CLASS_OTHER, CLASS_POINT_TO_POINT, CLASS_WAIT,
    COLLECTIVE_REQUEST, COLLECTIVE_ROW, DONE_CANCELLED, DONE_RECEIVED, EVENT_COLLECTIVE,
    EVENT_COMMUNICATOR, EVENT_COMPLETION, EVENT_CREATION, EVENT_FREE, EVENT_OTHER, EVENT_POLLS,
    EVENT_PROBE, EVENT_RECEIVE, EVENT_SEND, EVENT_SENDRECV, EVENT_THREAD, EVENT_WAITED,
    HOW_ANY_SOURCE, HOW_ANY_TAG, HOW_MODE, HOW_PERSISTENT, HOW_REQUEST, PEER_ANY, PEER_FIRST,
    PEER_NONE, PEER_OUTSIDE, STANDARD, SYNCHRONOUS, TEST, TESTALL, TESTANY, TESTSOME, WAIT,
    WAITALL, WAITANY, WAITSOME,
};
use crate::units::Seconds;

/// What [`Decoder::next`] finds at the end of an incomplete record.
pub(super) const CUT_SHORT: &str = "a record of events that was cut short";
/// Limit of members over all communicators of all ranks; more is a damaged file.
const MOST_MEMBERS: usize = 1 << 26;

/// The communicators of all ranks; equal ones are one object. With a copy for each rank the members of
/// `MPI_COMM_WORLD` would take memory by the square of the number of ranks.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownCommunicators(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    by_encoding: FxHashMap<Box<[u8]>, Arc<CommunicatorIdentity>>,
    distinct: FxHashSet<Arc<CommunicatorIdentity>>,
    members: usize,
}

impl KnownCommunicators {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, encoded: &[u8]) -> Option<Arc<CommunicatorIdentity>> {
        self.lock().by_encoding.get(encoded).cloned()
    }

    /// Counts members that were read.
    fn count(&self, members: usize) -> Result<(), String> {
        let known = &mut *self.lock();
        known.members = known.members.saturating_add(members);
        match known.members <= MOST_MEMBERS {
            true => Ok(()),
            false => Err(format!("a communicator of {members} members")),
        }
    }

    fn add(&self, encoded: &[u8], identity: CommunicatorIdentity) -> Arc<CommunicatorIdentity> {
        let known = &mut *self.lock();
        let identity = Arc::new(identity);
        let identity = known.distinct.get(&identity).cloned().unwrap_or(identity);
        known.distinct.insert(Arc::clone(&identity));
        known.by_encoding.insert(encoded.into(), Arc::clone(&identity));
        identity
    }
}

/// Decodes the blocks of one rank in order; numbers of threads, requests and communicators carry
/// over.
#[derive(Debug)]
pub(super) struct Decoder {
    ranks: u32,
    seconds_per_tick: f64,
    thread: u32,
    /// Of the event that comes next.
    waited: Seconds,
    requests: u64,
    known: KnownCommunicators,
    /// Communicators named so far, by index within the rank.
    pub(super) communicators: Vec<Arc<CommunicatorIdentity>>,
}

impl Decoder {
    pub(super) fn new(ranks: u32, seconds_per_tick: f64, known: KnownCommunicators) -> Self {
        Self {
            ranks,
            seconds_per_tick,
            thread: 0,
            waited: Seconds(0.0),
            requests: 0,
            known,
            communicators: Vec::new(),
        }
    }

    /// Decodes the event at `position` and advances it; `None` at the end of the payload. The error
    /// says what was found. After [`CUT_SHORT`] the same event can be decoded from more bytes.
    pub(super) fn next(
        &mut self,
        payload: &[u8],
        position: &mut usize,
    ) -> Result<Option<Event>, String> {
        let mut bytes = Varints { rest: &payload[*position..] };
        loop {
            let Some((&kind, rest)) = bytes.rest.split_first() else { return Ok(None) };
            bytes.rest = rest;
            let mut event = None;
            match kind {
                EVENT_THREAD => self.thread = bytes.small()?,
                EVENT_COMMUNICATOR => {
                    let communicator = self.communicator(&mut bytes)?;
                    self.communicators.push(communicator);
                }
                EVENT_WAITED => self.waited = self.seconds(&mut bytes)?,
                _ => event = Some(self.event(kind, &mut bytes)?),
            }
            *position = payload.len() - bytes.rest.len();
            if let Some(event) = event {
                let waited = std::mem::replace(&mut self.waited, Seconds(0.0));
                return Ok(Some(Event { waited, ..event }));
            }
        }
    }

    fn event(&mut self, kind: u8, bytes: &mut Varints<'_>) -> Result<Event, String> {
        let gap = self.seconds(bytes)?;
        let duration = self.seconds(bytes)?;
        let call = match kind {
            EVENT_SEND => self.send(bytes)?,
            EVENT_RECEIVE => self.receive(bytes)?,
            EVENT_SENDRECV => self.send_receive(bytes)?,
            EVENT_COMPLETION => self.completion(bytes)?,
            EVENT_POLLS => Call::Polls { count: bytes.number()?, inside: self.seconds(bytes)? },
            EVENT_PROBE => Call::Probe(self.message(bytes)?),
            EVENT_COLLECTIVE => self.collective(bytes)?,
            EVENT_CREATION => self.creation(bytes)?,
            EVENT_FREE => Call::Free { request: self.earlier_request(bytes.number()?)? },
            EVENT_OTHER => Call::Other(call_class(bytes.number()?)?),
            _ => return Err(format!("an event of kind {kind}")),
        };
        Ok(Event { thread: self.thread, gap, waited: Seconds(0.0), duration, call })
    }

    fn send(&mut self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let how = bytes.number()?;
        let message = self.message(bytes)?;
        Ok(Call::Send {
            message,
            mode: send_mode(how),
            request: self.new_request(how & HOW_REQUEST != 0),
            persistent: how & HOW_PERSISTENT != 0,
        })
    }

    fn receive(&mut self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let how = bytes.number()?;
        let (message, wildcards) = (self.message(bytes)?, wildcards(how));
        Ok(match self.new_request(how & HOW_REQUEST != 0) {
            None => Call::Receive { message, wildcards },
            Some(request) => {
                let persistent = how & HOW_PERSISTENT != 0;
                Call::PostedReceive { message, wildcards, request, persistent }
            }
        })
    }

    fn send_receive(&mut self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let how = bytes.number()?;
        let communicator = self.communicator_index(bytes.number()?)?;
        let mut half = || -> Result<Message, String> {
            let (peer, tag) = (self.peer(bytes)?, bytes.tag()?);
            Ok(Message { peer, tag, communicator, bytes: bytes.number()? })
        };
        let (send, receive) = (half()?, half()?);
        let request = self.new_request(how & HOW_REQUEST != 0);
        Ok(Call::SendReceive { send, receive, wildcards: wildcards(how), request })
    }

    fn completion(&self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let call = completing_call(bytes.number()?)?;
        let (active, count) = (bytes.number()?, bytes.number()?);
        let mut completed = Vec::new();
        for _ in 0..count {
            let code = bytes.number()?;
            let received = match code & DONE_RECEIVED {
                0 => None,
                _ => Some((self.peer(bytes)?, bytes.tag()?, bytes.number()?)),
            };
            let request = self.earlier_request(code >> 3)?;
            completed.push(Completed { request, cancelled: code & DONE_CANCELLED != 0, received });
        }
        Ok(Call::Completion { call, active, completed })
    }

    fn collective(&mut self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let number = bytes.number()?;
        let operation = u16::try_from(number).ok().and_then(Operation::from_number);
        let operation = operation.ok_or_else(|| format!("collective operation {number}"))?;
        let flags = bytes.number()?;
        let communicator = self.communicator_index(bytes.number()?)?;
        let root = match self.peer(bytes)? {
            Peer::Rank(root) => Some(root),
            _ => None,
        };
        let contributed = bytes.number()?;
        let row = match flags & COLLECTIVE_ROW {
            0 => None,
            _ => Some(self.row(bytes)?),
        };
        let request = self.new_request(flags & COLLECTIVE_REQUEST != 0);
        Ok(Call::Collective { operation, communicator, root, bytes: contributed, row, request })
    }

    fn row(&self, bytes: &mut Varints<'_>) -> Result<Vec<(Rank, u64)>, String> {
        let mut row = Vec::new();
        let mut latest = 0;
        for _ in 0..bytes.number()? {
            latest = bytes.signed()?.checked_add(latest).ok_or("a rank out of range")?;
            row.push((self.rank(latest)?, bytes.number()?));
        }
        Ok(row)
    }

    fn creation(&mut self, bytes: &mut Varints<'_>) -> Result<Call, String> {
        let flags = bytes.number()?;
        let mut communicator = || match bytes.number()? {
            0 => Ok(None),
            number => self.communicator_index(number - 1).map(Some),
        };
        let (old, new) = (communicator()?, communicator()?);
        Ok(Call::Creation { old, new, request: self.new_request(flags & COLLECTIVE_REQUEST != 0) })
    }

    fn message(&self, bytes: &mut Varints<'_>) -> Result<Message, String> {
        Ok(Message {
            peer: self.peer(bytes)?,
            tag: bytes.tag()?,
            communicator: self.communicator_index(bytes.number()?)?,
            bytes: bytes.number()?,
        })
    }

    fn peer(&self, bytes: &mut Varints<'_>) -> Result<Peer, String> {
        Ok(match bytes.number()? {
            PEER_NONE => Peer::None,
            PEER_OUTSIDE => Peer::Outside,
            PEER_ANY => Peer::Any,
            code => Peer::Rank(self.rank(i64::try_from(code - PEER_FIRST).unwrap_or(-1))?),
        })
    }

    fn communicator(
        &mut self,
        bytes: &mut Varints<'_>,
    ) -> Result<Arc<CommunicatorIdentity>, String> {
        let encoded = bytes.rest;
        let _intercommunicator = bytes.number()?;
        let (slot, created) = (bytes.small()?, bytes.small()?);
        bytes.skip_runs()?;
        bytes.skip_runs()?;
        let encoded = &encoded[..encoded.len() - bytes.rest.len()];
        if let Some(known) = self.known.get(encoded) {
            return Ok(known);
        }
        let mut again = Varints { rest: encoded };
        (0..3).try_for_each(|_| again.number().map(drop))?;
        let identity = CommunicatorIdentity {
            slot,
            created,
            members: self.runs(&mut again)?,
            remote_members: self.runs(&mut again)?,
        };
        Ok(self.known.add(encoded, identity))
    }

    fn runs(&self, bytes: &mut Varints<'_>) -> Result<Vec<Option<Rank>>, String> {
        let mut members = Vec::new();
        let mut of_job = 0;
        for _ in 0..bytes.number()? {
            let (mut member, stride, count) = (bytes.signed()?, bytes.signed()?, bytes.number()?);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            self.known.count(count)?;
            for _ in 0..count {
                let rank = if member == -1 { None } else { Some(self.rank(member)?) };
                of_job += u32::from(rank.is_some());
                if of_job > self.ranks {
                    return Err(format!("a communicator with more than {} ranks", self.ranks));
                }
                members.push(rank);
                member = member.saturating_add(stride);
            }
        }
        Ok(members)
    }

    fn rank(&self, number: i64) -> Result<Rank, String> {
        let rank = u32::try_from(number).ok().filter(|rank| *rank < self.ranks);
        rank.map(Rank).ok_or_else(|| format!("rank {number} of {}", self.ranks))
    }

    fn communicator_index(&self, number: u64) -> Result<u32, String> {
        let index = u32::try_from(number).ok().filter(|n| (*n as usize) < self.communicators.len());
        index.ok_or_else(|| format!("communicator {number} of {}", self.communicators.len()))
    }

    fn new_request(&mut self, wanted: bool) -> Option<u64> {
        wanted.then(|| {
            self.requests += 1;
            self.requests - 1
        })
    }

    fn earlier_request(&self, distance: u64) -> Result<u64, String> {
        let number = self.requests.checked_sub(1).and_then(|last| last.checked_sub(distance));
        number.ok_or_else(|| format!("request {distance} before the last of {}", self.requests))
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits of ticks are a month")]
    fn seconds(&self, bytes: &mut Varints<'_>) -> Result<Seconds, String> {
        Ok(Seconds(bytes.number()? as f64 * self.seconds_per_tick))
    }
}

fn wildcards(how: u64) -> Wildcards {
    Wildcards { source: how & HOW_ANY_SOURCE != 0, tag: how & HOW_ANY_TAG != 0 }
}

fn send_mode(how: u64) -> SendMode {
    match how & HOW_MODE {
        STANDARD => SendMode::Standard,
        BUFFERED => SendMode::Buffered,
        SYNCHRONOUS => SendMode::Synchronous,
        _ => SendMode::Ready,
    }
}

fn completing_call(number: u64) -> Result<CompletingCall, String> {
    Ok(match number {
        WAIT => CompletingCall::Wait,
        WAITALL => CompletingCall::Waitall,
        WAITANY => CompletingCall::Waitany,
        WAITSOME => CompletingCall::Waitsome,
        TEST => CompletingCall::Test,
        TESTALL => CompletingCall::Testall,
        TESTANY => CompletingCall::Testany,
        TESTSOME => CompletingCall::Testsome,
        _ => return Err(format!("completing call {number}")),
    })
}

fn call_class(number: u64) -> Result<CallClass, String> {
    Ok(match number {
        CLASS_POINT_TO_POINT => CallClass::PointToPoint,
        CLASS_WAIT => CallClass::Wait,
        CLASS_COLLECTIVE => CallClass::Collective,
        CLASS_ONE_SIDED => CallClass::OneSided,
        CLASS_OTHER => CallClass::Other,
        _ => return Err(format!("a call of class {number}")),
    })
}

/// Varints: seven bits per byte, least significant first.
struct Varints<'a> {
    rest: &'a [u8],
}

impl Varints<'_> {
    fn number(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(CUT_SHORT)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number of more than 64 bits".to_owned())
    }

    /// Passes over the runs of a group.
    fn skip_runs(&mut self) -> Result<(), String> {
        for _ in 0..self.number()?.saturating_mul(3) {
            self.number()?;
        }
        Ok(())
    }

    fn small(&mut self) -> Result<u32, String> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| format!("the number {number}"))
    }

    fn signed(&mut self) -> Result<i64, String> {
        let coded = self.number()?;
        Ok((coded >> 1).cast_signed() ^ -(coded & 1).cast_signed())
    }

    fn tag(&mut self) -> Result<i32, String> {
        let number = self.signed()?;
        i32::try_from(number).map_err(|_| format!("tag {number}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::read::events::sample::Payload;

    fn decode(payload: &[u8]) -> Result<Vec<Event>, String> {
        let mut decoder = Decoder::new(4, 1e-9, KnownCommunicators::default());
        let (mut position, mut events) = (0, Vec::new());
        while let Some(event) = decoder.next(payload, &mut position)? {
            events.push(event);
        }
        Ok(events)
    }

    #[test]
    fn requests_are_numbered_as_they_appear() {
        let payload = Payload::new(4)
            .event(4, &[4 | 16, 2, 0, 0, 100])
            .event(3, &[4, 3 + 1, 14, 0, 8])
            .event(6, &[1, 2, 2, 1 << 3 | 1, 3 + 2, 10, 99, 0]);
        let events = decode(&payload.bytes).unwrap();
        assert_eq!(events[0].gap, Seconds(1000.0 * 1e-9));
        let anyone = Message { peer: Peer::Any, tag: 0, communicator: 0, bytes: 100 };
        let wildcards = Wildcards { source: true, tag: false };
        let receive =
            Call::PostedReceive { message: anyone, wildcards, request: 0, persistent: false };
        assert_eq!(events[0].call, receive);
        let received = Some((Peer::Rank(Rank(2)), 5, 99));
        let completed = vec![
            Completed { request: 0, cancelled: false, received },
            Completed { request: 1, cancelled: false, received: None },
        ];
        let waitall = Call::Completion { call: CompletingCall::Waitall, active: 2, completed };
        assert_eq!(events[2].call, waitall);
    }

    #[test]
    fn waiting_for_a_pu_belongs_to_the_next_event() {
        let payload = Payload::new(4)
            .event(12, &[4])
            .record(13, &[700])
            .record(1, &[0])
            .event(12, &[4])
            .event(12, &[4]);
        let waited: Vec<f64> =
            decode(&payload.bytes).unwrap().iter().map(|event| event.waited.0 * 1e9).collect();
        assert_eq!(waited.iter().map(|ns| ns.round()).collect::<Vec<_>>(), [0.0, 700.0, 0.0]);
    }

    #[test]
    fn events_do_not_depend_on_how_they_are_read() {
        let payload = Payload::new(4)
            .event(12, &[4])
            .record(13, &[700])
            .record(2, &[0, 0, 2, 1, 0, 2, 2, 0])
            .record(1, &[0])
            .event(3, &[0, 3, 0, 1, 300]);
        let whole = decode(&payload.bytes).unwrap();
        for cut in 0..payload.bytes.len() {
            let mut decoder = Decoder::new(4, 1e-9, KnownCommunicators::default());
            let (mut position, mut events) = (0, Vec::new());
            while let Ok(Some(event)) = decoder.next(&payload.bytes[..cut], &mut position) {
                events.push(event);
            }
            while let Some(event) = decoder.next(&payload.bytes, &mut position).unwrap() {
                events.push(event);
            }
            assert_eq!(events, whole, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_an_error() {
        let world = Payload::new(4);
        for (payload, message) in [
            (world.clone().event(3, &[0, 3 + 4, 0, 0, 1]), "rank 4 of 4"),
            (world.clone().event(3, &[0, 3, 0, 1, 1]), "communicator 1 of 1"),
            (world.clone().event(11, &[0]), "request 0 before the last of 0"),
            (world.clone().event(9, &[99, 0, 0, 0, 0]), "collective operation 99"),
            (world.clone().event(77, &[]), "an event of kind 77"),
            (world.clone().record(2, &[0, 0, 1, 1, 1, 0, 1 << 40, 0]), "members"),
            // Rank 1 for ever.
            (world.clone().record(2, &[0, 0, 1, 1, 2, 0, 1 << 20, 0]), "more than 4 ranks"),
            (world.event(3, &[0, 3]), "cut short"),
        ] {
            let error = decode(&payload.bytes).unwrap_err();
            assert!(error.contains(message), "{error}, expected {message}");
        }
    }

    #[test]
    fn members_are_counted_over_all_ranks() {
        let known = KnownCommunicators::default();
        let found = (0..3).map(|slot| {
            // Processes outside the job.
            let payload =
                Payload::new(4).record(2, &[0, slot, 1, 1, 1, 0, 1 << 25, 0]).event(12, &[4]);
            let mut decoder = Decoder::new(4, 1e-9, known.clone());
            decoder.next(&payload.bytes, &mut 0).map(|event| event.is_some())
        });
        let found: Vec<_> = found.collect();
        // World has members too.
        let error = Err("a communicator of 33554432 members".to_owned());
        assert_eq!(found, [Ok(true), error.clone(), error]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let world = Payload::new(4).bytes;
            let _ = decode(&[world, bytes].concat());
        }
    }
}

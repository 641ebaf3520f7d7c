//! The requests of a rank: how each ends, and what it waits for.

use std::collections::VecDeque;

use super::steps::Exchange;
use super::{Call, Completed, Message, Peer};
use crate::ids::Rank;

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The rank waits for it; a receive gets what it was posted for.
    AsPosted,
    /// The rank waits for it; a receive gets this: sender, tag, bytes.
    Received(Peer, i32, u64),
    /// The rank waits for it, but no message belongs to it: it was cancelled.
    Cancelled,
    /// Nobody waits for it: it was freed.
    Freed,
    /// Nobody waits for it, and no message was seen that a receive got.
    Never,
}

impl End {
    pub(super) fn is_awaited(self) -> bool {
        !matches!(self, Self::Freed | Self::Never)
    }
}

const AS_POSTED: u8 = 0;
const RECEIVED: u8 = 1;
const CANCELLED: u8 = 2;
const FREED: u8 = 3;
const NEVER: u8 = 4;

/// How the requests of a rank end, in the order of their numbers: a byte for most.
#[derive(Debug, Default)]
pub(super) struct Ends(Vec<u8>);

impl Ends {
    /// From the first request on.
    pub(super) fn iter(&self) -> EndsIter<'_> {
        EndsIter(&self.0)
    }

    fn push(&mut self, end: End) {
        match end {
            End::AsPosted => self.0.push(AS_POSTED),
            End::Cancelled => self.0.push(CANCELLED),
            End::Freed => self.0.push(FREED),
            End::Never => self.0.push(NEVER),
            End::Received(peer, tag, bytes) => {
                let peer = match peer {
                    Peer::None => 0,
                    Peer::Outside => 1,
                    Peer::Any => 2,
                    Peer::Rank(rank) => u64::from(rank.0) + 3,
                };
                self.0.push(RECEIVED);
                for number in [peer, u64::from(tag.cast_unsigned()), bytes] {
                    self.push_number(number);
                }
            }
        }
    }

    fn push_number(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.0.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }
}

/// Iterator over [`Ends`].
#[derive(Debug)]
pub(super) struct EndsIter<'a>(&'a [u8]);

impl EndsIter<'_> {
    /// How the next request ends.
    ///
    /// # Panics
    /// If there are no more requests.
    pub(super) fn next(&mut self) -> End {
        match self.byte() {
            AS_POSTED => End::AsPosted,
            CANCELLED => End::Cancelled,
            FREED => End::Freed,
            NEVER => End::Never,
            _ => {
                let peer = match self.number() {
                    0 => Peer::None,
                    1 => Peer::Outside,
                    2 => Peer::Any,
                    rank => Peer::Rank(Rank((rank - 3) as u32)),
                };
                End::Received(peer, (self.number() as u32).cast_signed(), self.number())
            }
        }
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().expect("an end for each request");
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
}

/// Finds the ends of the requests of a rank while its events are read.
#[derive(Debug, Default)]
pub(super) struct EndsFinder {
    found: Ends,
    /// Number of the first request in `window`.
    first: u64,
    /// The requests from the first open one on: what a receive was posted for, how it ends.
    window: VecDeque<(Option<Message>, Option<End>)>,
}

impl EndsFinder {
    /// Notes what a call says of requests. Requests are numbered in the order in which they are made.
    pub(super) fn note(&mut self, call: &Call) {
        let posted = match call {
            Call::PostedReceive { message, .. } | Call::SendReceive { receive: message, .. } => {
                Some(*message)
            }
            _ => None,
        };
        if call.request().is_some() {
            self.window.push_back((posted, None));
        }
        match call {
            Call::Completion { completed, .. } => {
                completed.iter().for_each(|completed| self.complete(completed));
            }
            Call::Free { request } => self.end(*request, |_| End::Freed),
            _ => {}
        }
    }

    /// The ends of all requests, when all events were read.
    pub(super) fn finish(mut self) -> Ends {
        for (_, end) in self.window {
            self.found.push(end.unwrap_or(End::Never));
        }
        self.found
    }

    fn complete(&mut self, completed: &Completed) {
        self.end(completed.request, |posted| match (completed.received, posted) {
            _ if completed.cancelled => End::Cancelled,
            (Some((peer, tag, bytes)), Some(posted))
                if (peer, tag, bytes) != (posted.peer, posted.tag, posted.bytes) =>
            {
                End::Received(peer, tag, bytes)
            }
            (None, Some(posted)) if posted.peer != Peer::None => End::Cancelled,
            _ => End::AsPosted,
        });
    }

    fn end(&mut self, request: u64, how: impl Fn(Option<Message>) -> End) {
        let place = request.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some((posted, end)) = place.and_then(|place| self.window.get_mut(place)) else {
            return;
        };
        *end = end.or(Some(how(*posted)));
        while let Some((_, Some(end))) = self.window.front() {
            self.found.push(*end);
            self.window.pop_front();
            self.first += 1;
        }
    }
}

/// What the open requests of a rank wait for: those from `first` on. A request leaves when it is over
/// and all before it are.
#[derive(Debug, Default)]
pub(super) struct Requests {
    first: u64,
    window: VecDeque<Request>,
}

#[derive(Debug, Default)]
struct Request {
    exchanges: Exchanges,
    over: bool,
}

/// The messages that a request waits for: nearly always one.
#[derive(Debug, Default)]
pub(super) enum Exchanges {
    #[default]
    None,
    One(Exchange),
    Several(Vec<Exchange>),
}

impl Exchanges {
    pub(super) fn as_slice(&self) -> &[Exchange] {
        match self {
            Self::None => &[],
            Self::One(exchange) => std::slice::from_ref(exchange),
            Self::Several(exchanges) => exchanges,
        }
    }
}

impl FromIterator<Exchange> for Exchanges {
    fn from_iter<I: IntoIterator<Item = Exchange>>(exchanges: I) -> Self {
        let mut exchanges = exchanges.into_iter();
        match (exchanges.next(), exchanges.next()) {
            (None, _) => Self::None,
            (Some(only), None) => Self::One(only),
            (Some(first), Some(second)) => {
                Self::Several([first, second].into_iter().chain(exchanges).collect())
            }
        }
    }
}

impl Requests {
    /// The next request, which waits for these messages; `None` if nobody waits for it.
    pub(super) fn add(&mut self, exchanges: Option<Exchanges>) {
        let over = exchanges.is_none();
        self.window.push_back(Request { exchanges: exchanges.unwrap_or_default(), over });
        self.retire();
    }

    /// A request is over; returns what it waited for.
    pub(super) fn finish(&mut self, number: u64) -> Exchanges {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let request = place.and_then(|place| self.window.get_mut(place));
        let Some(request) = request else { return Exchanges::None };
        request.over = true;
        let exchanges = std::mem::take(&mut request.exchanges);
        self.retire();
        exchanges
    }

    fn retire(&mut self) {
        while self.window.front().is_some_and(|request| request.over) {
            self.window.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::read::events::{CompletingCall, SendMode, Wildcards};

    const ANYONE: Message = Message { peer: Peer::Any, tag: 5, communicator: 0, bytes: 100 };

    fn received(request: u64, received: Option<(Peer, i32, u64)>, cancelled: bool) -> Call {
        let completed = vec![Completed { request, cancelled, received }];
        Call::Completion { call: CompletingCall::Wait, active: 1, completed }
    }

    fn posted(request: u64, message: Message) -> Call {
        let wildcards = Wildcards::default();
        Call::PostedReceive { message, wildcards, request, persistent: false }
    }

    #[test]
    fn ends_come_back_in_the_order_of_the_requests() {
        let from = Peer::Rank(Rank(70_000));
        let known = Message { peer: from, ..ANYONE };
        let mode = SendMode::Standard;
        let sent = Call::Send { message: known, mode, request: Some(4), persistent: false };
        let mut finder = EndsFinder::default();
        for call in [
            posted(0, ANYONE),
            posted(1, known),
            posted(2, known),
            posted(3, ANYONE),
            sent,
            posted(5, Message { peer: Peer::None, ..ANYONE }),
            received(5, None, false),
            received(4, None, true),
            received(1, Some((from, 5, 100)), false),
            received(0, Some((from, -3, 1 << 40)), false),
            Call::Free { request: 2 },
        ] {
            finder.note(&call);
        }
        let ends = finder.finish();
        let mut ends = ends.iter();
        let found = [0; 6].map(|_| ends.next());
        let first = End::Received(from, -3, 1 << 40);
        let others = [End::AsPosted, End::Freed, End::Never, End::Cancelled, End::AsPosted];
        assert_eq!((found[0], &found[1..]), (first, &others[..]));
    }

    #[test]
    fn requests_that_nobody_waits_for_do_not_pile_up() {
        let mut requests = Requests::default();
        for number in 0..1000 {
            requests.add((number % 2 == 1).then_some(Exchanges::None));
            requests.finish(number);
        }
        assert_eq!((requests.window.len(), requests.first), (0, 1000));
    }
}

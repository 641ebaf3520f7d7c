//! The requests of a rank: what each waits for, and what its completion says.

use std::collections::VecDeque;

use super::steps::Exchange;
use super::{Call, Completed, Event};

/// A window over the requests of a rank: those from `first` on. A request leaves it when it is over
/// and all before it are.
#[derive(Debug, Default)]
pub(super) struct Requests {
    first: u64,
    window: VecDeque<Request>,
}

/// One request.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// What its completion says, once that has been read.
    pub(super) end: Option<End>,
    /// What it waits for.
    pub(super) exchanges: Exchanges,
    over: bool,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Completed(Completed),
    /// By `MPI_Request_free`.
    Freed,
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
    /// The request with this number; `None` if it is over.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Request> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        if self.window.len() <= place {
            self.window.resize_with(place + 1, Request::default);
        }
        Some(&mut self.window[place])
    }

    /// Notes the ends that an event has read.
    pub(super) fn note(&mut self, event: &Event) {
        match &event.call {
            Call::Completion { completed, .. } => {
                for completed in completed {
                    if let Some(request) = self.get(completed.request) {
                        request.end = Some(End::Completed(*completed));
                    }
                }
            }
            Call::Free { request } => {
                if let Some(request) = self.get(*request) {
                    request.end = Some(End::Freed);
                }
            }
            _ => {}
        }
    }

    /// A request is over; returns what it waited for.
    pub(super) fn finish(&mut self, number: u64) -> Exchanges {
        let Some(request) = self.get(number) else { return Exchanges::None };
        request.over = true;
        let exchanges = std::mem::take(&mut request.exchanges);
        while self.window.front().is_some_and(|request| request.over) {
            self.window.pop_front();
            self.first += 1;
        }
        exchanges
    }
}

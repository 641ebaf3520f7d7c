//! The state of a rank of a replay.

use std::collections::HashSet;

use super::network::Time;
use crate::traffic::read::events::steps::{Exchange, Steps};

/// A rank on its way through its steps.
#[derive(Debug)]
pub(super) struct RankState<'a> {
    pub(super) steps: Steps<'a>,
    /// Its messages that are not complete, by its numbers for them.
    open: HashSet<u64>,
    /// The messages that it waits for, by its numbers for them.
    awaited: HashSet<u64>,
    /// When it began to wait.
    since: Time,
    /// How long it has waited so far.
    pub(super) waited: Time,
    /// When it finished its last step.
    pub(super) end: Option<Time>,
}

impl<'a> RankState<'a> {
    pub(super) fn new(steps: Steps<'a>) -> Self {
        let (open, awaited) = (HashSet::new(), HashSet::new());
        Self { steps, open, awaited, since: 0, waited: 0, end: None }
    }

    /// A message begins.
    pub(super) fn begin(&mut self, exchange: &Exchange) {
        self.open.insert(exchange.number);
    }

    /// Begins to wait for these messages. Returns whether any of them is not complete.
    pub(super) fn has_to_wait(&mut self, exchanges: &[Exchange], now: Time) -> bool {
        let numbers = exchanges.iter().map(|exchange| exchange.number);
        self.awaited = numbers.filter(|number| self.open.contains(number)).collect();
        self.since = now;
        !self.awaited.is_empty()
    }

    /// A message is complete. Returns whether the rank continues now.
    pub(super) fn complete(&mut self, number: u64, now: Time) -> bool {
        self.open.remove(&number);
        if !self.awaited.remove(&number) || !self.awaited.is_empty() {
            return false;
        }
        self.waited += now - self.since;
        true
    }

    /// The number of messages that the rank waits for.
    pub(super) fn awaited(&self) -> usize {
        self.awaited.len()
    }
}

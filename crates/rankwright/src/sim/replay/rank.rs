//! What a rank of a replay is doing.

use std::collections::HashSet;

use super::network::Time;
use crate::traffic::read::events::steps::{Exchange, Steps};

/// A rank on its way through its steps.
#[derive(Debug)]
pub(super) struct RankState<'a> {
    pub(super) steps: Steps<'a>,
    /// Its messages that are not over.
    open: HashSet<u64>,
    /// Those that it waits for.
    waits: HashSet<u64>,
    /// Since when it waits.
    since: Time,
    /// How long it waited so far.
    pub(super) waited: Time,
    /// When it was through.
    pub(super) end: Option<Time>,
}

impl<'a> RankState<'a> {
    pub(super) fn new(steps: Steps<'a>) -> Self {
        Self { steps, open: HashSet::new(), waits: HashSet::new(), since: 0, waited: 0, end: None }
    }

    /// A message begins.
    pub(super) fn begin(&mut self, exchange: &Exchange) {
        self.open.insert(exchange.number);
    }

    /// Whether the rank has to wait for some of these messages from now on.
    pub(super) fn has_to_wait(&mut self, exchanges: &[Exchange], now: Time) -> bool {
        let numbers = exchanges.iter().map(|exchange| exchange.number);
        self.waits = numbers.filter(|number| self.open.contains(number)).collect();
        self.since = now;
        !self.waits.is_empty()
    }

    /// A message is over; whether the rank goes on now.
    pub(super) fn is_over(&mut self, number: u64, now: Time) -> bool {
        self.open.remove(&number);
        if !self.waits.remove(&number) || !self.waits.is_empty() {
            return false;
        }
        self.waited += now - self.since;
        true
    }

    /// How many messages the rank waits for.
    pub(super) fn waits_for(&self) -> usize {
        self.waits.len()
    }
}

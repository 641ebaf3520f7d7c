//! Recorded calls by the algorithms of an MPI library.
//!
//! A profile has sums over calls: every call is taken to have the mean length. Nodes are not known before
//! ranks are placed, so operations that the library runs in levels take the algorithm of one level.

use std::collections::BTreeMap;

use super::InRound;
use super::library::Library;
use super::schedule::{Amounts, Call, Group, Phase, Schedule};
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
use crate::traffic::communicator::Communicator;

/// Messages of the calls of all members of a communicator to one operation with one root and form; one
/// flow per pair, in the round of its first message.
pub(super) fn flows(
    library: &Library,
    operation: Operation,
    communicator: &Communicator,
    calls: &[&CollectiveCalls],
) -> Vec<InRound> {
    let times = calls.iter().map(|call| call.calls).max().unwrap_or_default().max(1);
    let group = Group::new(communicator);
    let amounts = Means::new(operation, communicator, calls, times);
    let root = calls.iter().find_map(|call| call.root);
    let call = Call {
        nonblocking: calls.iter().any(|call| call.form == Form::Nonblocking),
        ..Call::new(operation, root, amounts.largest, &group, &amounts)
    };
    let mut sent: BTreeMap<(Rank, Rank), InRound> = BTreeMap::new();
    let all = communicator.members.iter().chain(&communicator.remote_members).flatten();
    for (rank, me) in all.filter_map(|rank| Some((*rank, group.place(*rank)?))) {
        add(&mut sent, rank, &group, Schedule::new(library, call, &group, me));
    }
    let mut flows: Vec<InRound> = sent.into_values().collect();
    for (_, flow) in &mut flows {
        flow.messages = flow.messages.saturating_mul(times);
        flow.bytes = flow.bytes.saturating_mul(times);
    }
    flows
}

/// Adds the messages of one rank and call.
fn add(
    sent: &mut BTreeMap<(Rank, Rank), InRound>,
    source: Rank,
    group: &Group,
    mut schedule: Schedule<'_>,
) {
    let mut phase = Phase::default();
    for round in 0.. {
        if !schedule.next(&mut phase) {
            return;
        }
        for message in &phase.sends {
            let Some(destination) = group.rank(message.peer) else { continue };
            let (_, flow) = sent.entry((source, destination)).or_insert_with(|| {
                (round, Flow { source, destination, messages: 0, bytes: 0, largest: 0 })
            });
            flow.messages += 1;
            flow.bytes = flow.bytes.saturating_add(message.bytes);
            flow.largest = flow.largest.max(message.bytes);
        }
    }
}

/// Mean amounts of a call.
struct Means {
    largest: u64,
    before: Vec<u64>,
    /// Bytes that each rank contributes. Calls with rows are expanded as stated.
    by_source: BTreeMap<Rank, u64>,
    /// Bytes from the root to each rank of a Scatterv.
    scattered: Option<u64>,
}

impl Means {
    fn new(
        operation: Operation,
        communicator: &Communicator,
        calls: &[&CollectiveCalls],
        times: u64,
    ) -> Self {
        let mut by_rank: BTreeMap<Rank, u64> = BTreeMap::new();
        for call in calls {
            let bytes = by_rank.entry(call.rank).or_default();
            *bytes = bytes.saturating_add(call.bytes / times);
        }
        let largest = by_rank.values().copied().max().unwrap_or_default();
        let mut before = Vec::new();
        if operation == Operation::Allgatherv {
            let members = communicator.members.iter().chain(&communicator.remote_members);
            let bytes = members.map(|rank| rank.and_then(|rank| by_rank.get(&rank)).copied());
            let mut sum = 0_u64;
            before.push(0);
            before.extend(bytes.map(|bytes| {
                sum = sum.saturating_add(bytes.unwrap_or_default());
                sum
            }));
        }
        let members = communicator.members.len().max(1) as u64;
        let scattered = (operation == Operation::Scatterv).then(|| largest / members);
        Self { largest, before, by_source: by_rank, scattered }
    }
}

impl Amounts for Means {
    fn contributions(&self) -> &[u64] {
        &self.before
    }

    fn stated(&self, source: Rank, _destination: Rank) -> &[u64] {
        let bytes = self.scattered.as_ref().or_else(|| self.by_source.get(&source));
        bytes.map_or(&[], std::slice::from_ref)
    }
}

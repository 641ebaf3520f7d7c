//! Collective operations turned into messages by a stated algorithm.
//!
//! What an MPI library really sends depends on its version, the sizes and the number of ranks. The
//! default here is what libraries choose most often; [`Expansion`] offers the alternatives.

mod group;
mod rounds;

use std::collections::BTreeMap;

use serde::Serialize;

use group::Group;
pub use rounds::{ExpandedOperation, Rounds, rounds_of_each};

use super::Flow;
use super::collectives::{CollectiveCalls, Form, Operation, RowEntry};
use super::communicator::Communicator;
use crate::ids::Rank;

/// A message and the round of its algorithm in which it is sent.
type InRound = (u32, Flow);

/// How collective calls become messages. An algorithm that an operation does not know falls back
/// to the default for that operation; operations with a stated row always send it directly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Expansion {
    /// Not at all.
    None,
    /// Trees for rooted operations, recursive doubling for short and a ring for long reductions to
    /// all, a ring for gathers to all, everything else directly.
    #[default]
    Default,
    /// Every contribution directly from where it is to where it goes.
    Linear,
    /// Rooted operations along a binomial tree; reductions to all as a reduction to the first rank
    /// and a broadcast from it.
    Binomial,
    /// Operations to all around a ring.
    Ring,
}

/// The names of the expansions on the command line.
pub const EXPANSIONS: [(&str, Expansion); 5] = [
    ("none", Expansion::None),
    ("default", Expansion::Default),
    ("linear", Expansion::Linear),
    ("binomial", Expansion::Binomial),
    ("ring", Expansion::Ring),
];

/// The messages of all collective calls, in no particular order; pairs may repeat.
#[must_use]
pub fn expand(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
) -> Vec<Flow> {
    expand_each(calls, communicators, expansion).into_iter().flatten().collect()
}

/// The same, the messages of each operation of one communicator for themselves (with one root and
/// in one form; those with a stated row for each rank).
#[must_use]
pub fn expand_each(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
) -> Vec<Vec<Flow>> {
    if expansion == Expansion::None {
        return Vec::new();
    }
    let mut operations: Vec<Vec<Flow>> = Vec::new();
    for call in calls.iter().filter(|call| !call.row.is_empty()) {
        operations.push(call.row.iter().map(|entry| flow_of_row(call, entry)).collect());
    }
    for (operation, group) in groups(calls, communicators) {
        let mut sent = Vec::new();
        group.expand(operation, expansion, &mut sent);
        operations.push(sent.into_iter().map(|(_, flow)| flow).collect());
    }
    for flows in &mut operations {
        flows.retain(is_sent);
    }
    operations
}

/// The calls without stated rows: those of all members of a communicator to one operation with one
/// root and in one form together.
fn groups(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
) -> impl Iterator<Item = (Operation, Group)> {
    let mut together: BTreeMap<CallKey, Vec<&CollectiveCalls>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.row.is_empty()) {
        let key = (call.communicator, call.operation, call.root, call.form);
        together.entry(key).or_default().push(call);
    }
    together.into_iter().filter_map(|((communicator, operation, root, _), calls)| {
        Some((operation, Group::new(communicators.get(communicator)?, &calls, root)))
    })
}

/// Communicator, operation, root and form.
type CallKey = (usize, Operation, Option<Rank>, Form);

fn is_sent(flow: &Flow) -> bool {
    flow.bytes > 0 && flow.source != flow.destination
}

fn flow_of_row(call: &CollectiveCalls, entry: &RowEntry) -> Flow {
    Flow {
        source: call.rank,
        destination: entry.destination,
        messages: entry.messages,
        bytes: entry.bytes,
        largest: entry.bytes.div_ceil(entry.messages.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::group::is_rooted;
    use super::*;
    use crate::ids::Rank;
    use crate::traffic::collectives::{Form, Operation};

    pub(super) fn world(ranks: u32) -> Vec<Communicator> {
        let members = (0..ranks).map(|rank| Some(Rank(rank))).collect();
        vec![Communicator { members, created: 1, ..Communicator::default() }]
    }

    pub(super) fn calls(
        ranks: u32,
        operation: Operation,
        bytes: impl Fn(u32) -> u64,
    ) -> Vec<CollectiveCalls> {
        let call = |rank| CollectiveCalls {
            rank: Rank(rank),
            communicator: 0,
            operation,
            form: Form::Blocking,
            root: is_rooted(operation).then_some(Rank(1.min(ranks - 1))),
            calls: 1,
            bytes: bytes(rank),
            seconds: 0.0,
            first: 0.0,
            last: 0.0,
            row: Vec::new(),
        };
        (0..ranks).map(call).collect()
    }

    fn total(flows: &[Flow]) -> u64 {
        flows.iter().map(|flow| flow.bytes).sum()
    }

    #[test]
    fn a_broadcast_reaches_every_rank_once_by_tree_or_directly() {
        for ranks in [1, 2, 3, 7, 8, 13] {
            let calls = calls(ranks, Operation::Bcast, |rank| if rank == 1 { 100 } else { 0 });
            for (_, expansion) in EXPANSIONS.into_iter().filter(|(name, _)| *name != "none") {
                let flows = expand(&calls, &world(ranks), expansion);
                let mut reached: Vec<u32> = flows.iter().map(|flow| flow.destination.0).collect();
                reached.sort_unstable();
                let others: Vec<u32> = (0..ranks).filter(|rank| *rank != 1).collect();
                if ranks > 1 {
                    assert_eq!(reached, others, "{ranks} ranks, {expansion:?}");
                }
            }
        }
    }

    #[test]
    fn an_operation_that_knows_no_ring_takes_its_default() {
        for operation in [Operation::Bcast, Operation::Reduce, Operation::Gather] {
            let calls = calls(8, operation, |_| 80);
            let by_default = expand(&calls, &world(8), Expansion::Default);
            assert_eq!(expand(&calls, &world(8), Expansion::Ring), by_default, "{operation:?}");
        }
    }

    #[test]
    fn groups_outside_the_job_get_nothing_and_amounts_saturate() {
        let outside = vec![None, None];
        let apart = Communicator { remote_members: outside.clone(), ..world(4).remove(0) };
        let empty = Communicator { members: outside, ..Communicator::default() };
        for number in 0..22 {
            let operation = Operation::from_number(number).unwrap();
            for (_, expansion) in EXPANSIONS {
                let calls = calls(4, operation, |_| u64::MAX);
                assert!(expand(&calls, std::slice::from_ref(&apart), expansion).is_empty());
                assert!(expand(&calls, std::slice::from_ref(&empty), expansion).is_empty());
                let _ = expand(&calls, &world(4), expansion);
            }
        }
    }

    #[test]
    fn a_gather_by_tree_brings_every_block_to_the_root() {
        let calls = calls(8, Operation::Gather, |_| 10);
        let flows = expand(&calls, &world(8), Expansion::Default);
        let arriving: u64 =
            flows.iter().filter(|flow| flow.destination == Rank(1)).map(|flow| flow.bytes).sum();
        assert_eq!(arriving, 70);
    }

    #[test]
    fn rings_and_direct_sending_move_the_same_bytes_to_all() {
        let calls = calls(6, Operation::Allgather, |rank| u64::from(rank) + 1);
        let ring = expand(&calls, &world(6), Expansion::Ring);
        let direct = expand(&calls, &world(6), Expansion::Linear);
        assert_eq!(total(&ring), 21 * 5);
        assert_eq!(total(&direct), 21 * 5);
        assert_eq!(ring.len(), 6);
    }

    #[test]
    fn rows_are_sent_as_stated() {
        let mut calls = calls(2, Operation::Alltoallv, |_| 7);
        calls[0].row = vec![RowEntry { destination: Rank(1), messages: 2, bytes: 7 }];
        let flows = expand(&calls[..1], &world(2), Expansion::Binomial);
        assert_eq!(flows.len(), 1);
        assert_eq!((flows[0].bytes, flows[0].largest), (7, 4));
        assert!(expand(&calls, &world(2), Expansion::None).is_empty());
    }

    #[test]
    fn no_expansion_names_a_rank_outside_the_communicator() {
        for number in 0..22 {
            let operation = Operation::from_number(number).unwrap();
            assert_eq!(Operation::from_name(operation.name()), Some(operation));
            for ranks in 1..10 {
                for (_, expansion) in EXPANSIONS {
                    let calls = calls(ranks, operation, |_| 1000);
                    let flows = expand(&calls, &world(ranks), expansion);
                    assert!(flows.iter().all(|f| f.source.0.max(f.destination.0) < ranks));
                    assert!(flows.iter().all(|f| f.source != f.destination && f.messages > 0));
                }
            }
        }
    }
}

//! How a collective operation becomes messages.
//!
//! A profile records collective operations as calls: operation, communicator, root, and the bytes
//! that each rank contributed. [`expand`] turns them into point-to-point messages in three steps:
//!
//! 1. Calls whose arguments state the bytes per destination (`MPI_Alltoallv`, neighbourhood
//!    collectives: [`CollectiveCalls::row`]) become one direct message per destination.
//! 2. The other calls are grouped by communicator, operation, root and form (`groups`).
//! 3. Each group runs through the algorithm that [`Expansion`] selects (`group.rs`):
//!
//! | operation | `default` | `linear` | `binomial` | `ring` |
//! |---|---|---|---|---|
//! | Bcast, Reduce, Gather, Scatter | binomial tree | root to or from each member | as default | as default |
//! | Gatherv, Scatterv | root to or from each member | as default | as default | as default |
//! | Allreduce, mean vector < 10 kB | recursive doubling | reduce, then broadcast, both direct | reduce, then broadcast, both trees | ring |
//! | Allreduce, longer | ring | as above | as above | ring |
//! | Allgather, Allgatherv | ring | every pair directly | ring | ring |
//! | Alltoall, Reduce_scatter_block and other operations | every pair directly | as default | as default | as default |
//! | Scan, Exscan | chain: rank r to rank r + 1 | as default | as default | as default |
//! | Barrier | no message | as default | as default | as default |
//!
//! `library` is what the profile's MPI library does ([`library`], `algorithms`).
//!
//! Messages of 0 bytes and messages of a rank to itself are dropped. `rounds_of_each` keeps the
//! order: which messages leave together, and which wait for earlier rounds.
//!
//! What an MPI library really sends depends on its version, the sizes and the number of ranks.
//! `default` is what libraries choose most often. A replay takes the messages of one rank phase by
//! phase ([`schedule`]).

mod algorithms;
mod by_library;
mod group;
pub mod library;
mod rounds;
pub mod schedule;

use std::collections::BTreeMap;

use serde::Serialize;

use group::Group;
use library::Library;
pub(crate) use rounds::rounds_of_each;
pub use rounds::{ExpandedOperation, Rounds};

use super::Flow;
use super::collectives::{CollectiveCalls, Form, Operation, RowEntry};
use super::communicator::Communicator;
use crate::ids::Rank;

/// Round of the algorithm, from 0, and a message sent in it.
type InRound = (u32, Flow);

/// The algorithm by which collective calls become messages. An operation for which it is not
/// defined uses the default; operations with a row per destination always send directly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Expansion {
    /// Collective calls send nothing.
    None,
    /// Binomial trees for rooted operations; recursive doubling (short vectors) or a ring (long
    /// ones) for allreduce; a ring for allgather; direct messages for everything else.
    #[default]
    Default,
    /// Direct messages from each contributor to each receiver.
    Linear,
    /// Binomial trees for rooted operations; allreduce as a reduction to the first rank and a
    /// broadcast from it.
    Binomial,
    /// A ring for allreduce and allgather.
    Ring,
    /// What the MPI library of the profile does ([`library`]).
    Library,
}

/// Expansions by their names on the command line.
pub const EXPANSIONS: [(&str, Expansion); 6] = [
    ("none", Expansion::None),
    ("default", Expansion::Default),
    ("linear", Expansion::Linear),
    ("binomial", Expansion::Binomial),
    ("ring", Expansion::Ring),
    ("library", Expansion::Library),
];

/// Messages of all collective calls, in no particular order; a pair may occur several times.
/// [`Expansion::Library`] is `Linear` here, without a library.
#[must_use]
pub fn expand(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
) -> Vec<Flow> {
    let library = Library::linear();
    expand_each(calls, communicators, expansion, &library).into_iter().flatten().collect()
}

/// As [`expand`], with one list per operation (calls with equal communicator, root and form; for
/// calls with a row, one list per rank).
#[must_use]
pub(crate) fn expand_each(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
    library: &Library,
) -> Vec<Vec<Flow>> {
    if expansion == Expansion::None {
        return Vec::new();
    }
    let mut operations: Vec<Vec<Flow>> = Vec::new();
    for call in calls.iter().filter(|call| !call.row.is_empty()) {
        operations.push(call.row.iter().map(|entry| flow_of_row(call, entry)).collect());
    }
    for together in together(calls, communicators) {
        let sent = together.expand(expansion, library);
        operations.push(sent.into_iter().map(|(_, flow)| flow).collect());
    }
    for flows in &mut operations {
        flows.retain(is_sent);
    }
    operations
}

/// The calls of all members to one operation with one root and form.
struct Together<'a> {
    operation: Operation,
    communicator: &'a Communicator,
    calls: Vec<&'a CollectiveCalls>,
    root: Option<Rank>,
}

/// Groups the calls without a row by communicator, operation, root and form.
fn together<'a>(
    calls: &'a [CollectiveCalls],
    communicators: &'a [Communicator],
) -> impl Iterator<Item = Together<'a>> {
    let mut together: BTreeMap<CallKey, Vec<&CollectiveCalls>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.row.is_empty()) {
        let key = (call.communicator, call.operation, call.root, call.form);
        together.entry(key).or_default().push(call);
    }
    together.into_iter().filter_map(|((communicator, operation, root, _), calls)| {
        let communicator = communicators.get(communicator)?;
        Some(Together { operation, communicator, calls, root })
    })
}

impl Together<'_> {
    fn group(&self) -> Group {
        Group::new(self.communicator, &self.calls, self.root)
    }

    fn expand(&self, expansion: Expansion, library: &Library) -> Vec<InRound> {
        if expansion == Expansion::Library {
            return by_library::flows(library, self.operation, self.communicator, &self.calls);
        }
        let mut sent = Vec::new();
        self.group().expand(self.operation, expansion, &mut sent);
        sent
    }
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

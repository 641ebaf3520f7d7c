//! Rounds of collective operations: which messages of an algorithm wait for earlier ones.

use std::collections::BTreeMap;

use super::library::Library;
use super::{Expansion, flow_of_row, is_sent, together};
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
use crate::traffic::communicator::Communicator;

/// All calls to one operation with the same communicator, root and form.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedOperation {
    /// The operation.
    pub operation: Operation,
    /// Its messages, by round.
    pub rounds: Rounds,
}

/// Messages in the order of the algorithm. Each flow is the sum over all calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Rounds {
    /// Outer index: round. The messages of a round leave together; a rank may need what it received
    /// in earlier rounds.
    OneByOne(Vec<Vec<Flow>>),
    /// One round in which every member sends to every other.
    AllPairs {
        /// World rank of each member, and the bytes it sends to every other.
        members: Vec<(Rank, u64)>,
        /// Number of messages per pair.
        messages: u64,
    },
}

/// Messages of all collective calls by operation and round; in sum those of
/// [`expand`](super::expand).
#[must_use]
pub(crate) fn rounds_of_each(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
    library: &Library,
) -> Vec<ExpandedOperation> {
    if expansion == Expansion::None {
        return Vec::new();
    }
    // The rows of all ranks form one round.
    let mut rows: BTreeMap<(usize, Operation, Form), Vec<Flow>> = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.row.is_empty()) {
        let flows = call.row.iter().map(|entry| flow_of_row(call, entry)).filter(is_sent);
        rows.entry((call.communicator, call.operation, call.form)).or_default().extend(flows);
    }
    let stated = rows.into_iter().map(|((_, operation, _), flows)| {
        let rounds = Rounds::OneByOne(vec![flows]);
        ExpandedOperation { operation, rounds }
    });
    let by_algorithm = together(calls, communicators).map(|together| {
        let operation = together.operation;
        let of_all = match expansion {
            Expansion::Library => None,
            _ => together.group().sent_by_all_to_all(operation, expansion),
        };
        if let Some((members, messages)) = of_all {
            let rounds = Rounds::AllPairs { members, messages };
            return ExpandedOperation { operation, rounds };
        }
        let sent = together.expand(expansion, library);
        let mut rounds: Vec<Vec<Flow>> = Vec::new();
        for (round, flow) in sent.into_iter().filter(|(_, flow)| is_sent(flow)) {
            let round = round as usize;
            if rounds.len() <= round {
                rounds.resize(round + 1, Vec::new());
            }
            rounds[round].push(flow);
        }
        ExpandedOperation { operation, rounds: Rounds::OneByOne(rounds) }
    });
    stated.chain(by_algorithm).collect()
}

impl Rounds {
    /// All messages, in no particular order.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        match self {
            Self::OneByOne(rounds) => rounds.concat(),
            Self::AllPairs { members, messages } => {
                let pairs = members.iter().flat_map(|&(source, bytes)| {
                    let flow = move |&(destination, _): &(Rank, u64)| Flow {
                        source,
                        destination,
                        messages: *messages,
                        bytes,
                        largest: bytes.div_ceil((*messages).max(1)),
                    };
                    members.iter().map(flow)
                });
                pairs.filter(is_sent).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::add_up;
    use crate::traffic::expansion::tests::{calls, world};
    use crate::traffic::expansion::{EXPANSIONS, expand};

    #[test]
    fn rounds_hold_the_messages_of_the_expansion() {
        for operation in (0..22).filter_map(Operation::from_number) {
            for ranks in [1, 2, 3, 6, 8, 13] {
                for (name, expansion) in EXPANSIONS {
                    let calls = calls(ranks, operation, |rank| 1000 + u64::from(rank));
                    let mut flows = expand(&calls, &world(ranks), expansion);
                    let each = rounds_of_each(&calls, &world(ranks), expansion, &Library::linear());
                    let mut in_rounds: Vec<Flow> =
                        each.iter().flat_map(|expanded| expanded.rounds.flows()).collect();
                    add_up(&mut flows);
                    add_up(&mut in_rounds);
                    assert_eq!(in_rounds, flows, "{operation:?} {name} {ranks}");
                }
            }
        }
    }

    #[test]
    fn a_rank_passes_on_only_what_it_has() {
        let calls = calls(13, Operation::Bcast, |rank| if rank == 1 { 100 } else { 0 });
        let each = rounds_of_each(&calls, &world(13), Expansion::Default, &Library::linear());
        let Rounds::OneByOne(rounds) = &each[0].rounds else { panic!("a tree has rounds") };
        assert_eq!(rounds.len(), 4);
        let mut have = vec![Rank(1)];
        for round in rounds {
            assert!(round.iter().all(|flow| have.contains(&flow.source)));
            have.extend(round.iter().map(|flow| flow.destination));
        }
        assert_eq!(have.len(), 13);
    }
}

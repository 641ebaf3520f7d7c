//! Collective operations turned into messages by a stated algorithm.
//!
//! What an MPI library really sends depends on its version, the sizes and the number of ranks. The
//! default here is what libraries choose most often; [`Expansion`] offers the alternatives.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Flow;
use super::collectives::{CollectiveCalls, Operation, RowEntry};
use super::communicator::Communicator;
use crate::ids::Rank;

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

/// Mean vector length in bytes from which libraries leave recursive doubling for a ring.
const LONG_REDUCTION: u64 = 10_000;

/// The messages of all collective calls, in no particular order; pairs may repeat.
#[must_use]
pub fn expand(
    calls: &[CollectiveCalls],
    communicators: &[Communicator],
    expansion: Expansion,
) -> Vec<Flow> {
    let mut flows = Vec::new();
    if expansion == Expansion::None {
        return flows;
    }
    let mut together: BTreeMap<_, Vec<&CollectiveCalls>> = BTreeMap::new();
    for call in calls {
        if call.row.is_empty() {
            let key = (call.communicator, call.operation, call.root, call.nonblocking);
            together.entry(key).or_default().push(call);
        } else {
            flows.extend(call.row.iter().map(|entry| flow_of_row(call, entry)));
        }
    }
    for ((communicator, operation, root, _), calls) in together {
        let Some(communicator) = communicators.get(communicator) else { continue };
        let group = Group::new(communicator, &calls, root);
        group.expand(operation, expansion, &mut flows);
    }
    flows.retain(|flow| flow.bytes > 0 && flow.source != flow.destination);
    flows
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

/// The calls of all members of a communicator to one operation. Positions count the members, from
/// the root on where there is one.
struct Group {
    members: Vec<Rank>,
    remote: Vec<Rank>,
    /// Bytes contributed by each member of `members`, over all calls.
    bytes: Vec<u64>,
    /// The same for `remote`.
    remote_bytes: Vec<u64>,
    calls: u64,
    /// Where the root stands; it is in the first place of the group that it belongs to.
    root: Option<Rank>,
}

impl Group {
    fn new(communicator: &Communicator, calls: &[&CollectiveCalls], root: Option<Rank>) -> Self {
        let mut bytes_of: BTreeMap<Rank, u64> = BTreeMap::new();
        for call in calls {
            let bytes = bytes_of.entry(call.rank).or_default();
            *bytes = bytes.saturating_add(call.bytes);
        }
        let contributed = |rank: &Rank| bytes_of.get(rank).copied().unwrap_or_default();
        let from_root = |members: &[Option<Rank>]| {
            let mut members: Vec<Rank> = members.iter().copied().flatten().collect();
            if let Some(place) = members.iter().position(|member| Some(*member) == root) {
                members.rotate_left(place);
            }
            members
        };
        let members = from_root(&communicator.members);
        let remote = from_root(&communicator.remote_members);
        Self {
            bytes: members.iter().map(contributed).collect(),
            remote_bytes: remote.iter().map(contributed).collect(),
            members,
            remote,
            calls: calls.iter().map(|call| call.calls).max().unwrap_or_default(),
            root,
        }
    }

    fn expand(&self, operation: Operation, expansion: Expansion, flows: &mut Vec<Flow>) {
        use Operation as O;
        if !self.remote.is_empty() {
            return self.between_groups(operation, flows);
        }
        if self.members.is_empty() {
            // Nobody knows who they are: nothing can be said of their messages.
            return;
        }
        let tree = matches!(expansion, Expansion::Default | Expansion::Binomial);
        match operation {
            O::Barrier => {}
            O::Bcast if tree => self.tree(Direction::Down, |_| self.bytes[0], flows),
            O::Bcast => self.first_to_all(|_| self.bytes[0], flows),
            O::Reduce if tree => self.tree(Direction::Up, |_| self.largest(), flows),
            O::Reduce => self.all_to_first(flows),
            O::Gather if tree => {
                let subtree = |range: std::ops::Range<usize>| saturating_sum(&self.bytes[range]);
                self.tree(Direction::Up, subtree, flows);
            }
            O::Gather | O::Gatherv => self.all_to_first(flows),
            O::Scatter if tree => {
                let block = self.bytes[0] / self.members.len().max(1) as u64;
                self.tree(Direction::Down, |range| block * range.len() as u64, flows);
            }
            O::Scatter | O::Scatterv => {
                self.first_to_all(|_| self.bytes[0] / self.members.len().max(1) as u64, flows);
            }
            O::Allreduce => self.allreduce(expansion, flows),
            O::Allgather | O::Allgatherv if expansion == Expansion::Linear => {
                self.all_pairs(|source| self.bytes[source], flows);
            }
            O::Allgather | O::Allgatherv => self.gather_ring(flows),
            O::Scan | O::Exscan => self.chain(flows),
            // What is left divides its contribution among all members.
            _ => self.all_pairs(|s| self.bytes[s] / self.members.len().max(1) as u64, flows),
        }
    }

    fn allreduce(&self, expansion: Expansion, flows: &mut Vec<Flow>) {
        let long = self.largest() / self.calls.max(1) >= LONG_REDUCTION;
        match expansion {
            Expansion::Linear => {
                self.all_to_first(flows);
                self.first_to_all(|_| self.largest(), flows);
            }
            Expansion::Binomial => {
                self.tree(Direction::Up, |_| self.largest(), flows);
                self.tree(Direction::Down, |_| self.largest(), flows);
            }
            Expansion::Ring => self.reduce_ring(flows),
            Expansion::Default | Expansion::None if long => self.reduce_ring(flows),
            Expansion::Default | Expansion::None => self.recursive_doubling(flows),
        }
    }

    /// The vector of a reduction: the same on all members.
    fn largest(&self) -> u64 {
        self.bytes.iter().copied().max().unwrap_or_default()
    }

    fn flow(&self, source: usize, destination: usize, bytes: u64, messages: u64) -> Flow {
        let (source, destination) = (self.members[source], self.members[destination]);
        Flow { source, destination, messages, bytes, largest: bytes.div_ceil(messages.max(1)) }
    }

    fn first_to_all(&self, bytes: impl Fn(usize) -> u64, flows: &mut Vec<Flow>) {
        let others = 1..self.members.len();
        flows.extend(others.map(|member| self.flow(0, member, bytes(member), self.calls)));
    }

    fn all_to_first(&self, flows: &mut Vec<Flow>) {
        let others = 1..self.members.len();
        flows.extend(others.map(|member| self.flow(member, 0, self.bytes[member], self.calls)));
    }

    fn all_pairs(&self, bytes: impl Fn(usize) -> u64, flows: &mut Vec<Flow>) {
        let count = self.members.len();
        for source in 0..count {
            let others = (0..count).filter(|destination| *destination != source);
            flows.extend(others.map(|d| self.flow(source, d, bytes(source), self.calls)));
        }
    }

    /// Along a binomial tree from the first member: the edge to member m carries what `bytes` says
    /// for the members of m's subtree.
    fn tree(
        &self,
        direction: Direction,
        bytes: impl Fn(std::ops::Range<usize>) -> u64,
        flows: &mut Vec<Flow>,
    ) {
        let count = self.members.len();
        for child in 1..count {
            let lowest_bit = child & child.wrapping_neg();
            let parent = child - lowest_bit;
            let carried = bytes(child..(child + lowest_bit).min(count));
            flows.push(match direction {
                Direction::Down => self.flow(parent, child, carried, self.calls),
                Direction::Up => self.flow(child, parent, carried, self.calls),
            });
        }
    }

    /// Every member passes on the blocks of all others but its right neighbour.
    fn gather_ring(&self, flows: &mut Vec<Flow>) {
        let count = self.members.len();
        let total = saturating_sum(&self.bytes);
        for member in 0..count {
            let next = (member + 1) % count;
            let messages = self.calls.saturating_mul(count as u64 - 1);
            flows.push(self.flow(member, next, total - self.bytes[next], messages));
        }
    }

    /// A reduce-scatter and a gather, each of which moves (n - 1) / n of the vector per member.
    fn reduce_ring(&self, flows: &mut Vec<Flow>) {
        let count = self.members.len();
        let others = count as u64 - 1;
        let moved = self.largest().saturating_mul(2) / count as u64 * others;
        for member in 0..count {
            let messages = self.calls.saturating_mul(2 * others);
            flows.push(self.flow(member, (member + 1) % count, moved, messages));
        }
    }

    /// In round k, partners 2^k apart exchange the vector. Members beyond the largest power of two
    /// hand theirs to a partner first and get the result last.
    fn recursive_doubling(&self, flows: &mut Vec<Flow>) {
        let count = self.members.len();
        let Some(power) = count.checked_ilog2().map(|log| 1_usize << log) else { return };
        let vector = self.largest();
        for extra in power..count {
            flows.push(self.flow(extra, extra - power, vector, self.calls));
            flows.push(self.flow(extra - power, extra, vector, self.calls));
        }
        let mut distance = 1;
        while distance < power {
            let round = 0..power;
            flows.extend(round.map(|m| self.flow(m, m ^ distance, vector, self.calls)));
            distance *= 2;
        }
    }

    fn chain(&self, flows: &mut Vec<Flow>) {
        let links = 1..self.members.len();
        flows.extend(links.map(|m| self.flow(m - 1, m, self.bytes[m - 1], self.calls)));
    }

    /// Intercommunicators: directly from the one group to the other.
    fn between_groups(&self, operation: Operation, flows: &mut Vec<Flow>) {
        let sides = [
            (&self.members, &self.bytes, &self.remote),
            (&self.remote, &self.remote_bytes, &self.members),
        ];
        for (sources, bytes, destinations) in sides {
            let to_all_alike = matches!(
                operation,
                Operation::Bcast
                    | Operation::Allgather
                    | Operation::Allgatherv
                    | Operation::Allreduce
            );
            let rooted = self.root.filter(|root| destinations.contains(root));
            for (&source, &bytes) in sources.iter().zip(bytes) {
                let share = match rooted {
                    Some(_) => bytes,
                    None if to_all_alike => bytes,
                    None => bytes / destinations.len().max(1) as u64,
                };
                let to = destinations.iter().filter(|d| rooted.is_none_or(|root| root == **d));
                flows.extend(to.map(|&destination| Flow {
                    source,
                    destination,
                    messages: self.calls,
                    bytes: share,
                    largest: share.div_ceil(self.calls.max(1)),
                }));
            }
        }
    }
}

/// The sum of amounts; a damaged profile may hold more than fits.
fn saturating_sum(amounts: &[u64]) -> u64 {
    amounts.iter().copied().fold(0, u64::saturating_add)
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Job;

    fn world(ranks: u32) -> Vec<Communicator> {
        let members = (0..ranks).map(|rank| Some(Rank(rank))).collect();
        vec![Communicator { members, created: 1, ..Communicator::default() }]
    }

    fn calls(ranks: u32, operation: Operation, bytes: impl Fn(u32) -> u64) -> Vec<CollectiveCalls> {
        let call = |rank| CollectiveCalls {
            rank: Rank(rank),
            communicator: 0,
            operation,
            nonblocking: false,
            root: matches!(
                operation,
                Operation::Bcast | Operation::Gather | Operation::Scatter | Operation::Reduce
            )
            .then_some(Rank(1)),
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
            for expansion in [Expansion::Default, Expansion::Linear, Expansion::Binomial] {
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

    #[test]
    fn absurd_amounts_and_unknown_members_are_no_panic() {
        let unknown = Communicator { members: vec![None; 5], ..Communicator::default() };
        for operation in (0..22).filter_map(Operation::from_number) {
            let mut calls = calls(5, operation, |_| i64::MAX as u64);
            calls.iter_mut().for_each(|call| call.calls = i64::MAX as u64);
            for (_, expansion) in EXPANSIONS {
                let flows = expand(&calls, &world(5), expansion);
                assert!(Job::new("absurd", 5, flows).is_ok());
                assert!(expand(&calls, std::slice::from_ref(&unknown), expansion).is_empty());
            }
        }
    }
}

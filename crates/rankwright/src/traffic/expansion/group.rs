//! The algorithms: messages between the members of one communicator for one operation.

use std::collections::BTreeMap;

use super::{Expansion, InRound};
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Operation};
use crate::traffic::communicator::Communicator;

/// Mean vector length, in bytes, above which MPI libraries switch from recursive doubling to a
/// ring.
const LONG_REDUCTION: u64 = 10_000;

/// The calls of all members of a communicator to one operation. Members are indexed by rank in the
/// communicator, rotated so that the root (if any) comes first.
pub(super) struct Group {
    members: Vec<Rank>,
    /// Remote group of an intercommunicator: its processes inside the job, by index.
    remote: Vec<Rank>,
    between_groups: bool,
    /// Bytes contributed by each member of `members`, summed over all calls.
    bytes: Vec<u64>,
    /// Bytes contributed by each member of `remote`, summed over all calls.
    remote_bytes: Vec<u64>,
    /// Number of calls: the maximum over the members.
    calls: u64,
    /// World rank of the root: the first member of the group that contains it.
    root: Option<Rank>,
}

impl Group {
    pub(super) fn new(
        communicator: &Communicator,
        calls: &[&CollectiveCalls],
        root: Option<Rank>,
    ) -> Self {
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
            between_groups: !communicator.remote_members.is_empty(),
            calls: calls.iter().map(|call| call.calls).max().unwrap_or_default(),
            root,
        }
    }

    pub(super) fn expand(
        &self,
        operation: Operation,
        expansion: Expansion,
        sent: &mut Vec<InRound>,
    ) {
        use Operation as O;
        if self.between_groups {
            return self.between_groups(operation, sent);
        }
        let root_is_outside = is_rooted(operation) && self.root != self.members.first().copied();
        if self.members.len() < 2 || root_is_outside {
            return;
        }
        let tree = expansion != Expansion::Linear;
        match operation {
            O::Barrier => {}
            O::Bcast if tree => self.tree(Direction::Down, 0, |_| self.bytes[0], sent),
            O::Bcast => self.first_to_all(0, |_| self.bytes[0], sent),
            O::Reduce if tree => self.tree(Direction::Up, 0, |_| self.largest(), sent),
            O::Reduce => self.all_to_first(sent),
            O::Gather if tree => {
                self.tree(Direction::Up, 0, |range| sum(&self.bytes[range]), sent);
            }
            O::Gather | O::Gatherv => self.all_to_first(sent),
            O::Scatter if tree => {
                self.tree(Direction::Down, 0, |range| self.block(0) * range.len() as u64, sent);
            }
            O::Scatter | O::Scatterv => self.first_to_all(0, |_| self.block(0), sent),
            O::Allreduce => self.allreduce(expansion, sent),
            O::Allgather | O::Allgatherv if expansion != Expansion::Linear => {
                self.gather_ring(sent);
            }
            O::Scan | O::Exscan => self.chain(sent),
            // The other operations send from every member to every other.
            _ => self.all_pairs(|source| self.to_each(operation, source), sent),
        }
    }

    /// For an operation that is a single all-pairs round: the bytes that each member sends to every
    /// other, and the number of calls. `None` for other operations.
    pub(super) fn sent_by_all_to_all(
        &self,
        operation: Operation,
        expansion: Expansion,
    ) -> Option<(Vec<(Rank, u64)>, u64)> {
        use Operation as O;
        let other = match operation {
            O::Allgather | O::Allgatherv => expansion != Expansion::Linear,
            O::Barrier | O::Allreduce | O::Scan | O::Exscan => true,
            _ => is_rooted(operation),
        };
        if other || self.between_groups || self.members.len() < 2 {
            return None;
        }
        let member = |(place, rank): (usize, &Rank)| (*rank, self.to_each(operation, place));
        Some((self.members.iter().enumerate().map(member).collect(), self.calls))
    }

    /// Bytes that a member sends to each other member: its whole contribution, or one block.
    fn to_each(&self, operation: Operation, member: usize) -> u64 {
        match operation {
            Operation::Allgather | Operation::Allgatherv => self.bytes[member],
            _ => self.block(member),
        }
    }

    fn allreduce(&self, expansion: Expansion, sent: &mut Vec<InRound>) {
        let long = self.largest() / self.calls.max(1) >= LONG_REDUCTION;
        match expansion {
            Expansion::Linear => {
                self.all_to_first(sent);
                self.first_to_all(1, |_| self.largest(), sent);
            }
            Expansion::Binomial => {
                self.tree(Direction::Up, 0, |_| self.largest(), sent);
                self.tree(Direction::Down, self.levels(), |_| self.largest(), sent);
            }
            Expansion::Ring => self.reduce_ring(sent),
            Expansion::Default | Expansion::None | Expansion::Library if long => {
                self.reduce_ring(sent);
            }
            Expansion::Default | Expansion::None | Expansion::Library => {
                self.recursive_doubling(sent);
            }
        }
    }

    /// Bytes per destination if a member divides its contribution among all members.
    fn block(&self, member: usize) -> u64 {
        self.bytes[member] / self.members.len() as u64
    }

    /// Vector length of a reduction over all calls, in bytes; equal on all members.
    fn largest(&self) -> u64 {
        self.bytes.iter().copied().max().unwrap_or_default()
    }

    fn flow(&self, source: usize, destination: usize, bytes: u64, messages: u64) -> Flow {
        let (source, destination) = (self.members[source], self.members[destination]);
        Flow { source, destination, messages, bytes, largest: bytes.div_ceil(messages.max(1)) }
    }

    fn first_to_all(&self, round: u32, bytes: impl Fn(usize) -> u64, sent: &mut Vec<InRound>) {
        let others = 1..self.members.len();
        sent.extend(others.map(|m| (round, self.flow(0, m, bytes(m), self.calls))));
    }

    fn all_to_first(&self, sent: &mut Vec<InRound>) {
        let others = 1..self.members.len();
        sent.extend(others.map(|m| (0, self.flow(m, 0, self.bytes[m], self.calls))));
    }

    fn all_pairs(&self, bytes: impl Fn(usize) -> u64, sent: &mut Vec<InRound>) {
        let count = self.members.len();
        for source in 0..count {
            let others = (0..count).filter(|destination| *destination != source);
            sent.extend(others.map(|d| (0, self.flow(source, d, bytes(source), self.calls))));
        }
    }

    /// Binomial tree rooted at the first member. The edge to member m carries `bytes` of the index
    /// range of m's subtree. A broadcast serves the largest subtrees first; a reduction receives
    /// from them last.
    fn tree(
        &self,
        direction: Direction,
        first_round: u32,
        bytes: impl Fn(std::ops::Range<usize>) -> u64,
        sent: &mut Vec<InRound>,
    ) {
        let count = self.members.len();
        for child in 1..count {
            let lowest_bit = child & child.wrapping_neg();
            let parent = child - lowest_bit;
            let carried = bytes(child..(child + lowest_bit).min(count));
            let height = lowest_bit.trailing_zeros();
            sent.push(match direction {
                Direction::Down => {
                    let round = first_round + self.levels() - 1 - height;
                    (round, self.flow(parent, child, carried, self.calls))
                }
                Direction::Up => {
                    (first_round + height, self.flow(child, parent, carried, self.calls))
                }
            });
        }
    }

    /// Number of rounds of a binomial tree over all members.
    fn levels(&self) -> u32 {
        self.members.len().next_power_of_two().trailing_zeros()
    }

    /// Ring allgather: every member forwards all blocks except that of its right neighbour.
    fn gather_ring(&self, sent: &mut Vec<InRound>) {
        let count = self.members.len();
        let total = sum(&self.bytes);
        let messages = self.calls.saturating_mul(count as u64 - 1);
        for member in 0..count {
            let next = (member + 1) % count;
            sent.push((0, self.flow(member, next, total - self.bytes[next], messages)));
        }
    }

    /// Ring allreduce: a reduce-scatter and an allgather, each of which moves (n - 1) / n of the
    /// vector per member.
    fn reduce_ring(&self, sent: &mut Vec<InRound>) {
        let count = self.members.len();
        let others = count as u64 - 1;
        let moved = (self.largest() / count as u64).saturating_mul(2 * others);
        let messages = self.calls.saturating_mul(2 * others);
        for member in 0..count {
            sent.push((0, self.flow(member, (member + 1) % count, moved, messages)));
        }
    }

    /// Recursive doubling: in round k, partners 2^k apart exchange the vector. Members beyond the
    /// largest power of two send theirs to a partner first and receive the result last.
    fn recursive_doubling(&self, sent: &mut Vec<InRound>) {
        let count = self.members.len();
        let Some(power) = count.checked_ilog2().map(|log| 1_usize << log) else { return };
        let (vector, rounds) = (self.largest(), power.trailing_zeros());
        for extra in power..count {
            sent.push((0, self.flow(extra, extra - power, vector, self.calls)));
            sent.push((rounds + 1, self.flow(extra - power, extra, vector, self.calls)));
        }
        for round in 0..rounds {
            let flow = |m| (round + 1, self.flow(m, m ^ (1 << round), vector, self.calls));
            sent.extend((0..power).map(flow));
        }
    }

    fn chain(&self, sent: &mut Vec<InRound>) {
        let links = 1..self.members.len();
        let flow = |m: usize| self.flow(m - 1, m, self.bytes[m - 1], self.calls);
        sent.extend(links.map(|m| (m as u32 - 1, flow(m))));
    }

    /// Intercommunicators: direct messages from one group to the other.
    fn between_groups(&self, operation: Operation, sent: &mut Vec<InRound>) {
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
                let flow = |&destination| Flow {
                    source,
                    destination,
                    messages: self.calls,
                    bytes: share,
                    largest: share.div_ceil(self.calls.max(1)),
                };
                sent.extend(to.map(|destination| (0, flow(destination))));
            }
        }
    }
}

/// Whether an operation has a root.
pub(super) fn is_rooted(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Bcast | O::Gather | O::Gatherv | O::Scatter | O::Scatterv | O::Reduce)
}

fn sum(bytes: &[u64]) -> u64 {
    bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Up,
    Down,
}

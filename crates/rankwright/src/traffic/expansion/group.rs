//! The algorithms: what the members of one communicator send for the calls of one operation.

use std::collections::BTreeMap;

use super::Expansion;
use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::collectives::{CollectiveCalls, Operation};
use crate::traffic::communicator::Communicator;

/// Mean vector length in bytes from which libraries leave recursive doubling for a ring.
const LONG_REDUCTION: u64 = 10_000;

/// The calls of all members of a communicator to one operation. Positions count the members, from
/// the root on where there is one.
pub(super) struct Group {
    members: Vec<Rank>,
    /// The other group of an intercommunicator, as far as it is in the job.
    remote: Vec<Rank>,
    between_groups: bool,
    /// Bytes contributed by each member of `members`, over all calls.
    bytes: Vec<u64>,
    /// The same for `remote`.
    remote_bytes: Vec<u64>,
    calls: u64,
    /// Where the root stands; it is in the first place of the group that it belongs to.
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

    pub(super) fn expand(&self, operation: Operation, expansion: Expansion, flows: &mut Vec<Flow>) {
        use Operation as O;
        if self.between_groups {
            return self.between_groups(operation, flows);
        }
        let root_is_outside = is_rooted(operation) && self.root != self.members.first().copied();
        if self.members.len() < 2 || root_is_outside {
            return;
        }
        let tree = expansion != Expansion::Linear;
        match operation {
            O::Barrier => {}
            O::Bcast if tree => self.tree(Direction::Down, |_| self.bytes[0], flows),
            O::Bcast => self.first_to_all(|_| self.bytes[0], flows),
            O::Reduce if tree => self.tree(Direction::Up, |_| self.largest(), flows),
            O::Reduce => self.all_to_first(flows),
            O::Gather if tree => {
                self.tree(Direction::Up, |range| sum(&self.bytes[range]), flows);
            }
            O::Gather | O::Gatherv => self.all_to_first(flows),
            O::Scatter if tree => {
                self.tree(Direction::Down, |range| self.block(0) * range.len() as u64, flows);
            }
            O::Scatter | O::Scatterv => self.first_to_all(|_| self.block(0), flows),
            O::Allreduce => self.allreduce(expansion, flows),
            O::Allgather | O::Allgatherv if expansion == Expansion::Linear => {
                self.all_pairs(|source| self.bytes[source], flows);
            }
            O::Allgather | O::Allgatherv => self.gather_ring(flows),
            O::Scan | O::Exscan => self.chain(flows),
            // What is left divides its contribution among all members.
            _ => self.all_pairs(|source| self.block(source), flows),
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

    /// What a member sends to each where it divides its contribution among all.
    fn block(&self, member: usize) -> u64 {
        self.bytes[member] / self.members.len() as u64
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
        let total = sum(&self.bytes);
        let messages = self.calls.saturating_mul(count as u64 - 1);
        for member in 0..count {
            let next = (member + 1) % count;
            flows.push(self.flow(member, next, total - self.bytes[next], messages));
        }
    }

    /// A reduce-scatter and a gather, each of which moves (n - 1) / n of the vector per member.
    fn reduce_ring(&self, flows: &mut Vec<Flow>) {
        let count = self.members.len();
        let others = count as u64 - 1;
        let moved = (self.largest() / count as u64).saturating_mul(2 * others);
        let messages = self.calls.saturating_mul(2 * others);
        for member in 0..count {
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

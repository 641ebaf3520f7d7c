//! Collective operations as messages, for a replay: every contribution goes directly from sender to
//! receiver, as in [`Expansion::Linear`].
//!
//! [`Expansion::Linear`]: crate::traffic::expansion::Expansion::Linear

use super::CommunicatorIdentity;
use super::matching::Collective;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;

/// Messages of one rank that overlap; the next phase starts when all are complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Phase {
    /// Source and bytes of each message.
    pub(super) receives: Vec<(Rank, u64)>,
    /// Destination and bytes of each message.
    pub(super) sends: Vec<(Rank, u64)>,
}

/// The phases of `rank` in a collective operation on a communicator.
pub(super) fn phases(
    collective: &Collective,
    communicator: &CommunicatorIdentity,
    rank: Rank,
) -> Vec<Phase> {
    use Operation as O;
    let members: Vec<Rank> = communicator.members.iter().flatten().copied().collect();
    let remote: Vec<Rank> = communicator.remote_members.iter().flatten().copied().collect();
    let between_groups = !communicator.remote_members.is_empty();
    let group = Group { rank, collective, members, remote };
    let largest = |_, _| collective.largest;
    let stated = |source, destination| collective.stated(source, destination);
    let phases = match collective.operation {
        O::Barrier if between_groups => vec![group.pairs(|_, _| 0)],
        O::Allreduce if between_groups => vec![group.pairs(largest)],
        O::Barrier | O::Allreduce => group.over_the_first(collective.largest),
        O::Bcast => vec![group.scatter_from_root(largest)],
        O::Scatter => vec![group.scatter_from_root(|source, _| group.block(source))],
        O::Scatterv => vec![group.scatter_from_root(stated)],
        O::Reduce | O::Gather => vec![group.gather_to_root(largest)],
        O::Gatherv => vec![group.gather_to_root(stated)],
        O::Allgather => vec![group.pairs(largest)],
        O::Allgatherv => {
            let bytes = |source, _| collective.bytes.get(&source).copied().unwrap_or_default();
            vec![group.pairs(bytes)]
        }
        O::Alltoall | O::ReduceScatterBlock => vec![group.pairs(|source, _| group.block(source))],
        O::Scan | O::Exscan => group.chain(),
        // The other operations state the bytes per destination; empty messages are skipped.
        _ => vec![group.stated_pairs()],
    };
    let is_empty = |phase: &Phase| phase.receives.is_empty() && phase.sends.is_empty();
    phases.into_iter().filter(|phase| !is_empty(phase)).collect()
}

/// The ranks of an operation from the point of view of one of them.
struct Group<'a> {
    rank: Rank,
    collective: &'a Collective,
    members: Vec<Rank>,
    /// Remote group of an intercommunicator.
    remote: Vec<Rank>,
}

impl Group<'_> {
    /// Partners of `rank`: the other members, or the remote group.
    fn others(&self) -> Vec<Rank> {
        let across = match (self.remote.is_empty(), self.members.contains(&self.rank)) {
            (false, true) => &self.remote,
            _ => &self.members,
        };
        across.iter().copied().filter(|other| *other != self.rank).collect()
    }

    /// Bytes per destination if the contribution of `source` is divided among its destinations.
    fn block(&self, source: Rank) -> u64 {
        let across = !self.remote.is_empty() && self.members.contains(&source);
        let parts = if across { self.remote.len() } else { self.members.len() };
        self.collective.largest / parts.max(1) as u64
    }

    fn pairs(&self, bytes: impl Fn(Rank, Rank) -> u64) -> Phase {
        let others = self.others();
        Phase {
            receives: others.iter().map(|other| (*other, bytes(*other, self.rank))).collect(),
            sends: others.iter().map(|other| (*other, bytes(self.rank, *other))).collect(),
        }
    }

    /// The messages that the arguments state, without empty ones.
    fn stated_pairs(&self) -> Phase {
        let others = self.others();
        let messages = |other: Rank, (source, destination): (Rank, Rank)| {
            let bytes = self.collective.messages(source, destination).iter().copied();
            bytes.filter(|bytes| *bytes > 0).map(move |bytes| (other, bytes))
        };
        let received = others.iter().flat_map(|other| messages(*other, (*other, self.rank)));
        let sent = others.iter().flat_map(|other| messages(*other, (self.rank, *other)));
        Phase { receives: received.collect(), sends: sent.collect() }
    }

    /// Whether the rank is the root, and the root if the rank exchanges with it.
    fn root_and_mine(&self) -> (bool, Option<Rank>) {
        let root = self.collective.root;
        (root == Some(self.rank), root.filter(|root| self.others().contains(root)))
    }

    fn scatter_from_root(&self, bytes: impl Fn(Rank, Rank) -> u64) -> Phase {
        match self.root_and_mine() {
            (true, _) => {
                let sends = self.others().into_iter().map(|to| (to, bytes(self.rank, to)));
                Phase { sends: sends.collect(), ..Phase::default() }
            }
            (false, root) => {
                let receives = root.into_iter().map(|root| (root, bytes(root, self.rank)));
                Phase { receives: receives.collect(), ..Phase::default() }
            }
        }
    }

    fn gather_to_root(&self, bytes: impl Fn(Rank, Rank) -> u64) -> Phase {
        match self.root_and_mine() {
            (true, _) => {
                let receives = self.others().into_iter().map(|from| (from, bytes(from, self.rank)));
                Phase { receives: receives.collect(), ..Phase::default() }
            }
            (false, root) => {
                let sends = root.into_iter().map(|root| (root, bytes(self.rank, root)));
                Phase { sends: sends.collect(), ..Phase::default() }
            }
        }
    }

    /// Gather to the first member, then broadcast from it.
    fn over_the_first(&self, bytes: u64) -> Vec<Phase> {
        let to = |other: Rank| Phase { sends: vec![(other, bytes)], ..Phase::default() };
        let from = |other: Rank| Phase { receives: vec![(other, bytes)], ..Phase::default() };
        match self.members.first() {
            Some(first) if *first != self.rank => vec![to(*first), from(*first)],
            _ => {
                let all: Vec<(Rank, u64)> = self.others().into_iter().map(|o| (o, bytes)).collect();
                let gather = Phase { receives: all.clone(), ..Phase::default() };
                vec![gather, Phase { sends: all, ..Phase::default() }]
            }
        }
    }

    /// Chain: each member to the next.
    fn chain(&self) -> Vec<Phase> {
        let bytes = self.collective.largest;
        let Some(place) = self.members.iter().position(|member| *member == self.rank) else {
            return Vec::new();
        };
        let before = place.checked_sub(1).map(|before| (self.members[before], bytes));
        let next = self.members.get(place + 1).map(|next| (*next, bytes));
        vec![
            Phase { receives: before.into_iter().collect(), ..Phase::default() },
            Phase { sends: next.into_iter().collect(), ..Phase::default() },
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::traffic::collectives::{CollectiveCalls, Form};
    use crate::traffic::expansion::{Expansion, expand};

    fn identity(members: &[u32], remote: &[u32]) -> CommunicatorIdentity {
        let ranks = |numbers: &[u32]| numbers.iter().map(|number| Some(Rank(*number))).collect();
        CommunicatorIdentity {
            members: ranks(members),
            remote_members: ranks(remote),
            slot: 0,
            created: 1,
        }
    }

    fn operations() -> impl Iterator<Item = Operation> {
        (0..).map_while(Operation::from_number)
    }

    /// (source, destination) -> bytes of all messages, from the senders' and the receivers' side.
    type Flows = BTreeMap<(Rank, Rank), Vec<u64>>;

    fn flows(collective: &Collective, communicator: &CommunicatorIdentity) -> (Flows, Flows) {
        let (mut sent, mut received) = (Flows::new(), Flows::new());
        let members = communicator.members.iter().chain(&communicator.remote_members);
        for &rank in members.flatten() {
            for phase in phases(collective, communicator, rank) {
                for (peer, bytes) in phase.sends {
                    sent.entry((rank, peer)).or_default().push(bytes);
                }
                for (peer, bytes) in phase.receives {
                    received.entry((peer, rank)).or_default().push(bytes);
                }
            }
        }
        (sent, received)
    }

    #[test]
    fn what_is_sent_is_received() {
        for communicator in
            [identity(&[4, 1, 3, 0], &[]), identity(&[2], &[]), identity(&[0, 1], &[3, 2, 5])]
        {
            for operation in operations() {
                let collective = Collective::sample(operation, Rank(1), 240);
                let (sent, received) = flows(&collective, &communicator);
                assert_eq!(sent, received, "{operation:?} {communicator:?}");
            }
        }
    }

    #[test]
    fn a_neighbour_that_is_listed_twice_gets_two_messages() {
        let communicator = identity(&[0, 1], &[]);
        let mut collective = Collective::sample(Operation::NeighborAlltoall, Rank(0), 240);
        collective.rows = [(0, 1, vec![8, 16]), (1, 0, vec![8, 0])]
            .map(|(from, to, bytes)| (Rank(from), BTreeMap::from([(Rank(to), bytes)])))
            .into();
        let (sent, received) = flows(&collective, &communicator);
        assert_eq!(sent, received);
        assert_eq!(
            (&sent[&(Rank(0), Rank(1))], &sent[&(Rank(1), Rank(0))]),
            (&vec![8, 16], &vec![8])
        );
        assert_eq!(collective.stated(Rank(0), Rank(1)), 24);
    }

    #[test]
    fn the_messages_are_those_of_the_linear_expansion() {
        let members = [4, 1, 3, 0];
        let communicator = identity(&members, &[]);
        let no_row =
            |operation: &Operation| Collective::sample(*operation, Rank(1), 240).rows.is_empty();
        for operation in operations().filter(no_row) {
            let collective = Collective::sample(operation, Rank(1), 240);
            let call = |rank: &u32| CollectiveCalls {
                rank: Rank(*rank),
                communicator: 0,
                operation,
                form: Form::Blocking,
                root: collective.root,
                calls: 1,
                bytes: 240,
                seconds: 0.0,
                first: 0.0,
                last: 0.0,
                row: Vec::new(),
            };
            let calls: Vec<CollectiveCalls> = members.iter().map(call).collect();
            let linear = expand(&calls, &[communicator.communicator()], Expansion::Linear);
            let mut expected = Flows::new();
            for flow in linear {
                expected.entry((flow.source, flow.destination)).or_default().push(flow.bytes);
            }
            let (mut sent, _) = flows(&collective, &communicator);
            sent.values_mut().for_each(|bytes| bytes.retain(|bytes| *bytes > 0));
            sent.retain(|_, bytes| !bytes.is_empty());
            assert_eq!(sent, expected, "{operation:?}");
        }
    }
}

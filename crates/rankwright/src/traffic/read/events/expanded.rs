//! Collective operations of events as calls that a [`Schedule`] turns into messages.
//!
//! [`Schedule`]: crate::traffic::expansion::schedule::Schedule

use super::matching::Collective;
use crate::ids::Rank;
use crate::traffic::expansion::schedule::{Amounts, Call, Group};

impl Collective {
    /// The call on its communicator.
    #[must_use]
    pub fn call(&self, group: &Group) -> Call<'_> {
        let call = Call::new(self.operation, self.root, self.largest, group, self);
        Call { nonblocking: self.nonblocking, ..call }
    }
}

impl Amounts for Collective {
    fn contributions(&self) -> &[u64] {
        self.before()
    }

    fn stated(&self, source: Rank, destination: Rank) -> &[u64] {
        self.messages(source, destination)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
    use crate::traffic::communicator::Communicator;
    use crate::traffic::expansion::library::Library;
    use crate::traffic::expansion::schedule::{Phase, Schedule};
    use crate::traffic::expansion::{Expansion, expand};

    fn communicator(members: &[u32], remote: &[u32]) -> Communicator {
        let ranks = |numbers: &[u32]| numbers.iter().map(|number| Some(Rank(*number))).collect();
        Communicator {
            members: ranks(members),
            remote_members: ranks(remote),
            ..Communicator::default()
        }
    }

    fn operations() -> impl Iterator<Item = Operation> {
        (0..).map_while(Operation::from_number)
    }

    /// (source, destination) -> bytes of all messages, from the senders' and the receivers' side.
    type Flows = BTreeMap<(Rank, Rank), Vec<u64>>;

    fn flows(collective: &Collective, communicator: &Communicator) -> (Flows, Flows) {
        let (mut sent, mut received) = (Flows::new(), Flows::new());
        let group = Group::new(communicator);
        let (call, library) = (collective.call(&group), &Library::linear());
        let mut phase = Phase::default();
        for rank in communicator.members.iter().chain(&communicator.remote_members).flatten() {
            let me = group.place(*rank).unwrap();
            let mut schedule = Schedule::new(library, call, &group, me);
            while schedule.next(&mut phase) {
                for message in &phase.sends {
                    let pair = (*rank, group.rank(message.peer).unwrap());
                    sent.entry(pair).or_default().push(message.bytes);
                }
                for message in &phase.receives {
                    let pair = (group.rank(message.peer).unwrap(), *rank);
                    received.entry(pair).or_default().push(message.bytes);
                }
            }
        }
        (sent, received)
    }

    #[test]
    fn what_is_sent_is_received() {
        for communicator in [
            communicator(&[4, 1, 3, 0], &[]),
            communicator(&[2], &[]),
            communicator(&[0, 1], &[3, 2, 5]),
        ] {
            for operation in operations() {
                let collective = Collective::sample(operation, Rank(1), 240);
                let (sent, received) = flows(&collective, &communicator);
                assert_eq!(sent, received, "{operation:?} {communicator:?}");
            }
        }
    }

    #[test]
    fn a_neighbour_that_is_listed_twice_gets_two_messages() {
        let communicator = communicator(&[0, 1], &[]);
        let mut collective = Collective::sample(Operation::NeighborAlltoall, Rank(0), 240);
        collective = collective.without_arguments();
        collective.state(Rank(0), vec![(Rank(1), 8), (Rank(1), 16)]);
        collective.state(Rank(1), vec![(Rank(0), 8), (Rank(0), 0)]);
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
        let communicator = communicator(&members, &[]);
        let no_row =
            |operation: &Operation| !Collective::sample(*operation, Rank(1), 240).states_messages();
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
            let linear = expand(&calls, std::slice::from_ref(&communicator), Expansion::Linear);
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

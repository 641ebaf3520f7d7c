//! Matches events across ranks: communicators, and the calls that form one collective operation.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::requests::{Ends, EndsFinder, EndsIter};
use super::store::Recording;
use super::{Call, CommunicatorIdentity, Peer};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::expansion::schedule::Group;

/// After how many events of a rank it is asked whether to go on.
const ASKED: u64 = 1 << 14;

/// The communicators of a run and their collective operations.
#[derive(Debug, Default)]
pub struct Matching {
    /// Communicators in order of first appearance, rank by rank; the first is `MPI_COMM_WORLD`.
    pub communicators: Vec<Arc<CommunicatorIdentity>>,
    /// The communicators as the algorithms of collective operations see them.
    groups: Vec<Group>,
    /// By rank, then by index within the rank: index into `communicators`.
    numbers: Vec<Vec<usize>>,
    /// By communicator: its collective operations in order.
    collectives: Vec<Vec<Collective>>,
    /// How requests end, by rank.
    ends: Vec<Ends>,
    /// Equal rows are one object: programs repeat their calls.
    rows: FxHashSet<Arc<Row>>,
    /// Tags in use: (index of the communicator, tag).
    pub tags: BTreeSet<(usize, i32)>,
}

/// One collective operation, merged from the calls of all members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// Root, if the operation has one.
    pub root: Option<Rank>,
    /// Largest contribution of a rank, in bytes. This is the whole buffer for operations in which
    /// all ranks, or the root, contribute equally.
    pub largest: u64,
    /// What the arguments say of single ranks, for operations in which these differ.
    arguments: Option<Box<Arguments>>,
    /// Whether any rank called the nonblocking form.
    pub nonblocking: bool,
    /// Number of ranks that have called it, and the first of them.
    callers: usize,
    first: Rank,
}

/// What the arguments of a collective operation say of single ranks. Ranks ascend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Arguments {
    /// Bytes contributed by each rank, for operations where they may differ and calls have no row.
    bytes: Vec<(Rank, u64)>,
    /// Bytes contributed by all members before each, then by all, where `bytes` has them.
    before: Vec<u64>,
    /// The messages of each rank, for operations that state them.
    rows: Vec<(Rank, Arc<Row>)>,
}

/// The messages of a rank by destination, ascending; a neighbour that is listed twice gets two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Row {
    destinations: Vec<Rank>,
    /// Of each message, at the place of its destination.
    bytes: Vec<u64>,
}

impl Row {
    fn new(mut messages: Vec<(Rank, u64)>) -> Self {
        // Stable: messages to one destination stay in order.
        messages.sort_by_key(|(destination, _)| *destination);
        let (destinations, bytes) = messages.into_iter().unzip();
        Self { destinations, bytes }
    }
}

impl Matching {
    /// Matches the calls of all ranks.
    ///
    /// # Errors
    /// If the profile is damaged, events end before `MPI_Finalize`, several threads of a rank call MPI,
    /// or the ranks disagree about an operation.
    pub fn new(recording: &Recording) -> Result<Self, InputError> {
        let matching = Self::new_while(recording, &mut || true)?;
        Ok(matching.expect("nothing ends it"))
    }

    /// As [`new`](Self::new) while `keeps_on` says so, which is asked all the time; `None` if it ended
    /// before.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_while(
        recording: &Recording,
        keeps_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, InputError> {
        let mut matching = Self::default();
        // Equal communicators of one recording are one object.
        let mut by_identity = FxHashMap::default();
        for rank in 0..recording.ranks() {
            if !matching.add_rank(recording, Rank(rank), &mut by_identity, keeps_on)? {
                return Ok(None);
            }
        }
        matching.check().map_err(|found| recording.wrong(found))?;
        let group = |identity: &Arc<CommunicatorIdentity>| {
            Group::of(&identity.members, &identity.remote_members)
        };
        matching.groups = matching.communicators.iter().map(group).collect();
        for (identity, collectives) in matching.communicators.iter().zip(&mut matching.collectives)
        {
            collectives.iter_mut().for_each(|collective| collective.add_up(identity));
            collectives.shrink_to_fit();
        }
        matching.rows = FxHashSet::default();
        Ok(Some(matching))
    }

    /// Index into `communicators` of a rank's communicator `number`.
    ///
    /// # Panics
    /// If `number` is out of range for the rank.
    #[must_use]
    pub fn communicator(&self, rank: Rank, number: u32) -> usize {
        self.numbers[rank.index()][number as usize]
    }

    /// The communicators as the algorithms of collective operations see them.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// As `groups`, with the node of each rank, by which libraries choose algorithms.
    #[must_use]
    pub fn groups_on(&self, node: &dyn Fn(Rank) -> u32) -> Vec<Group> {
        self.groups.iter().map(|group| group.clone().on(node)).collect()
    }

    /// The collective operations of a communicator, in order.
    #[must_use]
    pub fn collectives(&self, communicator: usize) -> &[Collective] {
        &self.collectives[communicator]
    }

    /// How the requests of a rank end.
    pub(super) fn ends(&self, rank: Rank) -> EndsIter<'_> {
        self.ends[rank.index()].iter()
    }

    /// False if `keeps_on` ended it.
    fn add_rank(
        &mut self,
        recording: &Recording,
        rank: Rank,
        by_identity: &mut FxHashMap<*const CommunicatorIdentity, usize>,
        keeps_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool, InputError> {
        let mut stream = recording.stream(rank)?;
        if !stream.is_whole() {
            let found = format!("events of rank {rank} that end before MPI_Finalize");
            return Err(recording.wrong(found).with_advice("a cut run cannot be replayed"));
        }
        let mut calls: FxHashMap<usize, usize> = FxHashMap::default();
        let (mut ends, mut tags) = (EndsFinder::default(), FxHashSet::default());
        self.numbers.push(Vec::new());
        for count in 0_u64.. {
            let Some(event) = stream.next() else { break };
            let event = event?;
            if count.is_multiple_of(ASKED) && !keeps_on() {
                return Ok(false);
            }
            if event.thread > 0 {
                let found = format!("MPI calls of several threads on rank {rank}");
                let advice = "a replay supports one thread per rank";
                return Err(recording.wrong(found).with_advice(advice));
            }
            ends.note(&event.call);
            let named = self.numbers[rank.index()].len();
            for identity in &stream.communicators()[named..] {
                let number = self.number_of(identity, by_identity);
                self.numbers[rank.index()].push(number);
            }
            match event.call {
                Call::Send { message, .. } | Call::SendReceive { send: message, .. } => {
                    if matches!(message.peer, Peer::Rank(_)) {
                        tags.insert((message.communicator, message.tag));
                    }
                }
                Call::Collective { communicator, .. } => {
                    let communicator = self.communicator(rank, communicator);
                    let call = calls.entry(communicator).or_default();
                    self.add_call(rank, communicator, *call, event.call)
                        .map_err(|found| recording.wrong(found))?;
                    *call += 1;
                }
                _ => {}
            }
        }
        let numbers = &self.numbers[rank.index()];
        self.tags.extend(tags.into_iter().map(|(number, tag)| (numbers[number as usize], tag)));
        self.ends.push(ends.finish());
        Ok(true)
    }

    fn number_of(
        &mut self,
        identity: &Arc<CommunicatorIdentity>,
        by_identity: &mut FxHashMap<*const CommunicatorIdentity, usize>,
    ) -> usize {
        if let Some(&number) = by_identity.get(&Arc::as_ptr(identity)) {
            return number;
        }
        let number = self.communicators.len();
        by_identity.insert(Arc::as_ptr(identity), number);
        self.communicators.push(Arc::clone(identity));
        self.collectives.push(Vec::new());
        number
    }

    fn add_call(
        &mut self,
        rank: Rank,
        communicator: usize,
        number: usize,
        call: Call,
    ) -> Result<(), String> {
        let Call::Collective { operation, root, bytes, row, request, .. } = call else {
            return Ok(());
        };
        let collectives = &mut self.collectives[communicator];
        if collectives.len() == number {
            collectives.push(Collective::new(operation, rank));
        }
        let collective = &mut collectives[number];
        let name = |operation: Operation| format!("MPI_{}", operation.name());
        if collective.operation != operation {
            return Err(format!(
                "collective call {number} of one communicator as {} on rank {} and {} on rank {rank}",
                name(collective.operation),
                collective.first,
                name(operation),
            ));
        }
        collective.root = collective.root.or(root);
        collective.largest = collective.largest.max(bytes);
        collective.nonblocking |= request.is_some();
        collective.callers += 1;
        if operation == Operation::Allgatherv {
            collective.arguments.get_or_insert_default().bytes.push((rank, bytes));
        }
        if let Some(row) = row.filter(|row| !row.is_empty()) {
            let row = Arc::new(Row::new(row));
            let row = self.rows.get(&row).cloned().unwrap_or(row);
            self.rows.insert(Arc::clone(&row));
            collective.arguments.get_or_insert_default().rows.push((rank, row));
        }
        Ok(())
    }

    /// Checks that every member called every operation.
    fn check(&self) -> Result<(), String> {
        for (identity, collectives) in self.communicators.iter().zip(&self.collectives) {
            let groups = identity.members.iter().chain(&identity.remote_members);
            let members = groups.flatten().count();
            let odd = collectives.iter().find(|collective| collective.callers != members);
            if let Some(collective) = odd {
                let (operation, callers) = (collective.operation.name(), collective.callers);
                return Err(format!("MPI_{operation} on {callers} of its {members} ranks"));
            }
        }
        Ok(())
    }
}

impl Collective {
    fn new(operation: Operation, first: Rank) -> Self {
        Self {
            operation,
            root: None,
            largest: 0,
            arguments: None,
            nonblocking: false,
            callers: 0,
            first,
        }
    }

    /// Adds up the contributions of the members, those of a remote group last.
    fn add_up(&mut self, identity: &CommunicatorIdentity) {
        let Some(arguments) = self.arguments.as_mut().filter(|all| !all.bytes.is_empty()) else {
            return;
        };
        let bytes: FxHashMap<Rank, u64> = arguments.bytes.iter().copied().collect();
        let mut sum = 0_u64;
        arguments.before.push(0);
        for rank in identity.members.iter().chain(&identity.remote_members) {
            let own = rank.and_then(|rank| bytes.get(&rank)).copied();
            sum = sum.saturating_add(own.unwrap_or_default());
            arguments.before.push(sum);
        }
    }

    /// Bytes contributed by a rank, for operations where they may differ and calls have no row.
    #[must_use]
    pub(super) fn contributed(&self, rank: Rank) -> u64 {
        let bytes = self.arguments.as_ref().map_or(&[][..], |arguments| &arguments.bytes);
        let place = bytes.binary_search_by_key(&rank, |(rank, _)| *rank);
        place.map_or(0, |place| bytes[place].1)
    }

    /// Bytes contributed by all members before each, then by all, where ranks differ.
    #[must_use]
    pub(super) fn before(&self) -> &[u64] {
        self.arguments.as_ref().map_or(&[], |arguments| &arguments.before)
    }

    /// Bytes from one rank to another, as stated by the arguments.
    #[must_use]
    pub(crate) fn stated(&self, source: Rank, destination: Rank) -> u64 {
        self.messages(source, destination).iter().copied().fold(0, u64::saturating_add)
    }

    /// Bytes of each message from one rank to another, as stated by the arguments.
    #[must_use]
    pub(crate) fn messages(&self, source: Rank, destination: Rank) -> &[u64] {
        let rows = self.arguments.as_ref().map_or(&[][..], |arguments| &arguments.rows);
        let Ok(place) = rows.binary_search_by_key(&source, |(rank, _)| *rank) else { return &[] };
        let Row { destinations, bytes } = &*rows[place].1;
        let begin = destinations.partition_point(|other| *other < destination);
        let count = destinations[begin..].partition_point(|other| *other == destination);
        &bytes[begin..begin + count]
    }
}

#[cfg(test)]
impl Collective {
    /// A call to which every rank of 0 to 5 contributes the same; root stated where there is one,
    /// rows to the members 0 to 3 of operations that state them.
    pub(super) fn sample(operation: Operation, root: Rank, bytes: u64) -> Self {
        use Operation as O;
        let rooted = matches!(
            operation,
            O::Bcast | O::Gather | O::Gatherv | O::Scatter | O::Scatterv | O::Reduce
        );
        let largest = if operation == O::Barrier { 0 } else { bytes };
        let mut collective = Self { largest, ..Self::new(operation, Rank(0)) };
        collective.root = rooted.then_some(root);
        let arguments = collective.arguments.get_or_insert_default();
        arguments.bytes = (0..6).map(|rank| (Rank(rank), bytes)).collect();
        let states_rows = operation.name().starts_with("Neighbor")
            || matches!(
                operation,
                O::Gatherv | O::Scatterv | O::Alltoallv | O::Alltoallw | O::ReduceScatter
            );
        for rank in (0..6).filter(|_| states_rows) {
            let row = (0..4).map(|other| (Rank(other), u64::from(other * 8 + rank)));
            collective.state(Rank(rank), row.collect());
        }
        collective
    }

    /// Whether the arguments state the messages to each rank.
    pub(super) fn states_messages(&self) -> bool {
        self.arguments.as_ref().is_some_and(|arguments| !arguments.rows.is_empty())
    }

    /// The arguments of a rank state these messages; ranks ascend.
    pub(super) fn state(&mut self, rank: Rank, messages: Vec<(Rank, u64)>) {
        let arguments = self.arguments.get_or_insert_default();
        arguments.rows.push((rank, Arc::new(Row::new(messages))));
    }

    /// Nothing is stated of single ranks.
    pub(super) fn without_arguments(mut self) -> Self {
        self.arguments = None;
        self
    }
}

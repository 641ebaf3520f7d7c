//! Matches events across ranks: communicators, and the calls that form one collective operation.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::store::Recording;
use super::{Call, CommunicatorIdentity, Peer};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::collectives::Operation;
use crate::traffic::expansion::schedule::Group;

/// The communicators of a run and their collective operations.
#[derive(Debug, Default)]
pub struct Matching {
    /// Communicators in order of first appearance, rank by rank; the first is `MPI_COMM_WORLD`.
    pub communicators: Vec<Rc<CommunicatorIdentity>>,
    /// The communicators as the algorithms of collective operations see them.
    groups: Vec<Group>,
    /// By rank, then by index within the rank: index into `communicators`.
    numbers: Vec<Vec<usize>>,
    /// By communicator: its collective operations in order.
    collectives: Vec<Vec<Collective>>,
    /// Requests that never end: by rank, then by number.
    endless: Vec<FxHashSet<u64>>,
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
    /// Bytes contributed by each rank, for operations where they may differ and calls have no row.
    pub bytes: BTreeMap<Rank, u64>,
    /// Bytes contributed by all members before each, then by all, where `bytes` has them.
    pub(super) before: Vec<u64>,
    /// Bytes of each message from source to destination, for operations that state them. A neighbour
    /// that is listed twice gets two messages.
    pub rows: BTreeMap<Rank, BTreeMap<Rank, Vec<u64>>>,
    /// Whether any rank called the nonblocking form.
    pub nonblocking: bool,
    /// Number of ranks that have called it, and the first of them.
    callers: usize,
    first: Rank,
}

impl Matching {
    /// Matches the calls of all ranks.
    ///
    /// # Errors
    /// If the profile is damaged, events end before `MPI_Finalize`, several threads of a rank call MPI,
    /// or the ranks disagree about an operation.
    pub fn new(recording: &Recording) -> Result<Self, InputError> {
        let mut matching = Self::default();
        // Equal communicators of one recording are one object.
        let mut by_identity = FxHashMap::default();
        for rank in 0..recording.ranks() {
            matching.add_rank(recording, Rank(rank), &mut by_identity)?;
        }
        matching.check().map_err(|found| recording.wrong(found))?;
        let group = |identity: &Rc<CommunicatorIdentity>| {
            Group::of(&identity.members, &identity.remote_members)
        };
        matching.groups = matching.communicators.iter().map(group).collect();
        for (identity, collectives) in matching.communicators.iter().zip(&mut matching.collectives)
        {
            collectives.iter_mut().for_each(|collective| collective.add_up(identity));
        }
        Ok(matching)
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

    /// Whether a request is neither completed nor freed.
    pub(super) fn never_ends(&self, rank: Rank, request: u64) -> bool {
        let endless = &self.endless[rank.index()];
        !endless.is_empty() && endless.contains(&request)
    }

    fn add_rank(
        &mut self,
        recording: &Recording,
        rank: Rank,
        by_identity: &mut FxHashMap<*const CommunicatorIdentity, usize>,
    ) -> Result<(), InputError> {
        let mut stream = recording.stream(rank)?;
        if !stream.is_whole() {
            let found = format!("events of rank {rank} that end before MPI_Finalize");
            return Err(recording.wrong(found).with_advice("a cut run cannot be replayed"));
        }
        let mut calls: FxHashMap<usize, usize> = FxHashMap::default();
        let (mut open, mut tags) = (FxHashSet::default(), FxHashSet::default());
        self.numbers.push(Vec::new());
        while let Some(event) = stream.next() {
            let event = event?;
            if event.thread > 0 {
                let found = format!("MPI calls of several threads on rank {rank}");
                let advice = "a replay supports one thread per rank";
                return Err(recording.wrong(found).with_advice(advice));
            }
            open.extend(event.call.request());
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
                Call::Completion { completed, .. } => {
                    for completed in completed {
                        open.remove(&completed.request);
                    }
                }
                Call::Free { request } => {
                    open.remove(&request);
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
        self.endless.push(open);
        Ok(())
    }

    fn number_of(
        &mut self,
        identity: &Rc<CommunicatorIdentity>,
        by_identity: &mut FxHashMap<*const CommunicatorIdentity, usize>,
    ) -> usize {
        if let Some(&number) = by_identity.get(&Rc::as_ptr(identity)) {
            return number;
        }
        let number = self.communicators.len();
        by_identity.insert(Rc::as_ptr(identity), number);
        self.communicators.push(Rc::clone(identity));
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
            collective.bytes.insert(rank, bytes);
        }
        for (destination, bytes) in row.into_iter().flatten() {
            let row = collective.rows.entry(rank).or_default();
            row.entry(destination).or_default().push(bytes);
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
            bytes: BTreeMap::new(),
            before: Vec::new(),
            rows: BTreeMap::new(),
            nonblocking: false,
            callers: 0,
            first,
        }
    }

    /// Adds up the contributions of the members, those of a remote group last.
    fn add_up(&mut self, identity: &CommunicatorIdentity) {
        if self.bytes.is_empty() {
            return;
        }
        let members = identity.members.iter().chain(&identity.remote_members);
        let bytes = |rank: &Option<Rank>| rank.and_then(|rank| self.bytes.get(&rank)).copied();
        let mut sum = 0_u64;
        let mut before = vec![0];
        before.extend(members.map(|rank| {
            sum = sum.saturating_add(bytes(rank).unwrap_or_default());
            sum
        }));
        self.before = before;
    }

    /// Bytes from one rank to another, as stated by the arguments.
    #[must_use]
    pub(crate) fn stated(&self, source: Rank, destination: Rank) -> u64 {
        self.messages(source, destination).iter().copied().fold(0, u64::saturating_add)
    }

    /// Bytes of each message from one rank to another, as stated by the arguments.
    #[must_use]
    pub(crate) fn messages(&self, source: Rank, destination: Rank) -> &[u64] {
        let row = self.rows.get(&source);
        row.and_then(|row| row.get(&destination)).map_or(&[], Vec::as_slice)
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
        collective.bytes = (0..6).map(|rank| (Rank(rank), bytes)).collect();
        let states_rows = operation.name().starts_with("Neighbor")
            || matches!(
                operation,
                O::Gatherv | O::Scatterv | O::Alltoallv | O::Alltoallw | O::ReduceScatter
            );
        for rank in (0..6).filter(|_| states_rows) {
            let row = (0..4).map(|other| (Rank(other), vec![u64::from(other * 8 + rank)]));
            collective.rows.insert(Rank(rank), row.collect());
        }
        collective
    }
}

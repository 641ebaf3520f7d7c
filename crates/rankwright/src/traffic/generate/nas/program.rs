//! What the ranks of one run send: the clocks of a benchmark while it is put together.

use std::collections::BTreeMap;

use crate::ids::Rank;
use crate::traffic::collectives::{CollectiveCalls, Collectives, Form, Operation};
use crate::traffic::communicator::Communicator;
use crate::traffic::expansion::{Expansion, expand};
use crate::traffic::{Send, Source};
use crate::units::{Bytes, PerSecond, Seconds};

/// The clocks of one run.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// How many ranks it has.
    pub(super) ranks: u32,
    /// How often the benchmark's outer loop is passed in the part of the run that it times.
    pub(super) iterations: u64,
    clocks: Vec<Clock>,
    called: Vec<Called>,
}

/// What one rank sends again and again.
#[derive(Debug, Clone)]
struct Clock {
    rank: Rank,
    per_iteration: u64,
    rounds: u64,
    in_step: bool,
    sends: Vec<Send>,
}

/// Collective calls that are alike.
#[derive(Debug, Clone)]
struct Called {
    members: Vec<Rank>,
    operation: Operation,
    bytes: u64,
    times: u64,
}

impl Program {
    pub(super) fn new(ranks: u32, iterations: u64) -> Self {
        Self { ranks, iterations, clocks: Vec::new(), called: Vec::new() }
    }

    /// All ranks.
    pub(super) fn all(&self) -> Vec<Rank> {
        (0..self.ranks).map(Rank).collect()
    }

    /// A clock that ticks `per_iteration` times in every iteration, and `rounds` times in the whole
    /// run, the untimed start included. Messages without a byte are left out. All ranks pass the
    /// phases of these programs together, so the first such clocks of all ranks tick in step, the
    /// second ones, and so on.
    pub(super) fn clock(&mut self, rank: Rank, per_iteration: u64, rounds: u64, sends: Vec<Send>) {
        self.add(Clock { rank, per_iteration, rounds, in_step: true, sends });
    }

    /// The same for a phase that ranks pass one after the other.
    pub(super) fn pipelined(
        &mut self,
        rank: Rank,
        per_iteration: u64,
        rounds: u64,
        sends: Vec<Send>,
    ) {
        self.add(Clock { rank, per_iteration, rounds, in_step: false, sends });
    }

    fn add(&mut self, mut clock: Clock) {
        clock.sends.retain(|send| send.length.0 > 0);
        if clock.rounds > 0 && !clock.sends.is_empty() {
            self.clocks.push(clock);
        }
    }

    /// Collective calls of all ranks, one after the other at each tick: `(operation, bytes)` with the
    /// bytes that each rank puts in. Rank 0 is the root.
    pub(super) fn collectives(
        &mut self,
        per_iteration: u64,
        rounds: u64,
        calls: &[(Operation, u64)],
    ) {
        let members = self.all();
        let mut sends = vec![Vec::new(); members.len()];
        for (operation, bytes) in calls {
            self.called(&members, *operation, *bytes, rounds);
            for (rank, send) in collective(&members, *operation, *bytes) {
                sends[rank.index()].push(send);
            }
        }
        for (rank, sends) in members.into_iter().zip(sends) {
            self.clock(rank, per_iteration, rounds, sends);
        }
    }

    /// Collective calls that are made once in the run.
    pub(super) fn once(&mut self, calls: &[(Operation, u64)]) {
        self.collectives(1, 1, calls);
    }

    /// Notes that these ranks called an operation so often, putting in so many bytes each time. The
    /// first is the root. Its messages are among those of clocks.
    pub(super) fn called(
        &mut self,
        members: &[Rank],
        operation: Operation,
        bytes: u64,
        times: u64,
    ) {
        let same = |known: &&mut Called| {
            (known.operation, known.bytes) == (operation, bytes) && known.members == members
        };
        match self.called.iter_mut().find(same) {
            Some(known) => known.times += times,
            None => {
                self.called.push(Called { members: members.to_vec(), operation, bytes, times });
            }
        }
    }

    /// The collective operations that were called; their messages are among those of the clocks.
    /// Calls of different lengths have communicators of their own, so that none is taken for a
    /// longer or a shorter one.
    pub(super) fn collective_calls(&self) -> Collectives {
        let mut collectives = Collectives::default();
        for (position, called) in self.called.iter().enumerate() {
            let Called { members, operation, bytes, times } = called;
            let of_all = |call: CollectiveCalls| CollectiveCalls {
                communicator: position,
                calls: *times,
                bytes: bytes.saturating_mul(*times),
                ..call
            };
            collectives.calls.extend(calls(members, *operation, *bytes).into_iter().map(of_all));
            collectives.communicators.push(communicator(members));
        }
        collectives
    }

    /// The clocks as sources, of a run whose iterations take `run_time` together.
    pub(super) fn into_sources(self, run_time: Seconds, cv: f64) -> Vec<Source> {
        let iterations_per_second = self.iterations as f64 / run_time.0;
        let mut before: BTreeMap<(Rank, u64, u64), u32> = BTreeMap::new();
        let mut phases: BTreeMap<(u64, u64, u32), u32> = BTreeMap::new();
        let source = |clock: Clock| {
            let (rank, per_iteration, rounds) = (clock.rank, clock.per_iteration, clock.rounds);
            let count = before.entry((rank, per_iteration, rounds)).or_default();
            let phase = (per_iteration, rounds, *count);
            *count += 1;
            let next = phases.len() as u32;
            let number = *phases.entry(phase).or_insert(next);
            Source {
                rank,
                rate: PerSecond(per_iteration as f64 * iterations_per_second),
                cv,
                in_step: clock.in_step.then_some(number),
                rounds,
                sends: clock.sends,
            }
        };
        self.clocks.into_iter().map(source).collect()
    }
}

/// A message of that many numbers of 8 bytes.
pub(super) fn doubles(destination: Rank, count: u64) -> Send {
    Send { destination, length: Bytes(8 * count) }
}

/// The messages of one collective call by the default expansion, each with its sender. Every member
/// puts in `bytes`; the first is the root.
pub(super) fn collective(members: &[Rank], operation: Operation, bytes: u64) -> Vec<(Rank, Send)> {
    let calls = calls(members, operation, bytes);
    let mut sends = Vec::new();
    for flow in expand(&calls, &[communicator(members)], Expansion::Default) {
        let length = Bytes(flow.bytes / flow.messages);
        let send = Send { destination: flow.destination, length };
        sends.extend((0..flow.messages).map(|_| (flow.source, send)));
    }
    sends
}

fn communicator(members: &[Rank]) -> Communicator {
    let members = members.iter().copied().map(Some).collect();
    Communicator { members, created: 1, ..Communicator::default() }
}

fn calls(members: &[Rank], operation: Operation, bytes: u64) -> Vec<CollectiveCalls> {
    let rooted = matches!(operation, Operation::Bcast | Operation::Reduce);
    let call = |rank: &Rank| CollectiveCalls {
        rank: *rank,
        communicator: 0,
        operation,
        form: Form::Blocking,
        root: members.first().copied().filter(|_| rooted),
        calls: 1,
        bytes,
        seconds: 0.0,
        first: 0.0,
        last: 0.0,
        row: Vec::new(),
    };
    members.iter().map(call).collect()
}

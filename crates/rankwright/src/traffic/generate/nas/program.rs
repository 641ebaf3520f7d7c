//! The clocks of a benchmark run, collected while its model runs.

use std::collections::BTreeMap;

use crate::ids::Rank;
use crate::traffic::collectives::{CollectiveCalls, Collectives, Form, Operation};
use crate::traffic::communicator::Communicator;
use crate::traffic::expansion::{Expansion, expand};
use crate::traffic::{Send, Source};
use crate::units::{Bytes, PerSecond, Seconds};

/// Clocks and collective calls of one run.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// Number of ranks.
    pub(super) ranks: u32,
    /// Number of timed iterations of the outer loop.
    pub(super) iterations: u64,
    clocks: Vec<Clock>,
    called: Vec<Called>,
}

/// A repeated batch of messages of one rank.
#[derive(Debug, Clone)]
struct Clock {
    rank: Rank,
    per_iteration: u64,
    rounds: u64,
    in_step: bool,
    sends: Vec<Send>,
}

/// Collective calls with equal members, operation and bytes.
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

    /// Adds a clock that ticks `per_iteration` times per iteration and `rounds` times in the whole
    /// run, the untimed start included. Empty messages are dropped. All ranks pass the phases of
    /// these programs together: the first such clocks of all ranks tick in step, the second ones,
    /// and so on.
    pub(super) fn clock(&mut self, rank: Rank, per_iteration: u64, rounds: u64, sends: Vec<Send>) {
        self.add(Clock { rank, per_iteration, rounds, in_step: true, sends });
    }

    /// As [`Self::clock`], for a phase that the ranks pass one after the other.
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

    /// Adds collective calls of all ranks, in this order at each tick: operation and bytes
    /// contributed by each rank. Rank 0 is the root.
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

    /// Adds collective calls that occur once in the run.
    pub(super) fn once(&mut self, calls: &[(Operation, u64)]) {
        self.collectives(1, 1, calls);
    }

    /// Records `times` calls of an operation by `members`, each contributing `bytes`. The first
    /// member is the root. The messages are among those of the clocks.
    pub(super) fn called(
        &mut self,
        members: &[Rank],
        operation: Operation,
        bytes: u64,
        times: u64,
    ) {
        let same = |earlier: &&mut Called| {
            (earlier.operation, earlier.bytes) == (operation, bytes) && earlier.members == members
        };
        match self.called.iter_mut().find(same) {
            Some(earlier) => earlier.times += times,
            None => {
                self.called.push(Called { members: members.to_vec(), operation, bytes, times });
            }
        }
    }

    /// The recorded collective operations; their messages are among those of the clocks. Each call
    /// length has a communicator of its own, so that calls are not averaged.
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

    /// The clocks as sources, for a run whose iterations take `run_time` in total.
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

/// A message of `count` numbers of 8 bytes.
pub(super) fn doubles(destination: Rank, count: u64) -> Send {
    Send { destination, length: Bytes(8 * count) }
}

/// Messages of one collective call by the default expansion, with their senders. Every member
/// contributes `bytes`; the first is the root.
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

//! The messages of a recorded run at both ends, with their times.
//!
//! The calls tell when a message was handed to the MPI library, not when it went to the network. Of a
//! collective operation they tell less: its messages are those of the algorithm that the library chooses,
//! and its phases share the time from the moment when the last member has called it (or from the rank's own
//! call, if the rank returned before) to the return of the call.

use rustc_hash::{FxHashMap, FxHashSet};

use super::clocks::Clocks;
use super::occupation::Transfer;
use crate::files::InputError;
use crate::ids::Rank;
use crate::sim::replay::{MessageEnd, ReplayedMessages};
use crate::traffic::read::events::Call;
use crate::traffic::read::events::matching::Matching;
use crate::traffic::read::events::steps::{Channel, CurrentCall, Exchange, Step, Steps};
use crate::traffic::read::events::store::Recording;
use crate::traffic::read::transport::Passage;
use crate::units::Seconds;

/// All messages of a run between its ranks. Times count from when MPI started on the first rank.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Messages {
    /// The number of ranks.
    pub ranks: u32,
    /// When the last rank ended its last call, in seconds.
    pub span: f64,
    /// By the time when they were handed over; `process` is the sender.
    pub sends: Vec<Transfer>,
    /// By the time when they were completely received; `process` is the receiver.
    pub receives: Vec<Transfer>,
    /// How often calls were left out, by what they are.
    pub left_out: std::collections::BTreeMap<&'static str, u64>,
}

/// When the members of a collective operation were in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gathering {
    pub(super) last_begin: f64,
    pub(super) last_to_come: Rank,
    pub(super) first_end: f64,
    pub(super) first_to_leave: Rank,
}

/// The collective operations of each communicator, in order.
pub(super) type Gatherings = FxHashMap<usize, Vec<Gathering>>;

impl Messages {
    /// The messages that the recorded calls hand over.
    ///
    /// # Errors
    /// If the profile is damaged, or the clocks of its hosts disagree.
    pub(super) fn of_calls(
        recording: &Recording,
        matching: &Matching,
        clocks: &Clocks,
        node_of: &dyn Fn(Rank) -> u32,
        most: usize,
    ) -> Result<Option<Self>, InputError> {
        let gatherings = gatherings(recording, matching, clocks)?;
        clocks.check(recording, matching, &gatherings)?;
        let library = recording.library()?;
        let groups = matching.groups_on(node_of);
        let mut messages = Self { ranks: recording.ranks(), ..Self::default() };
        for rank in (0..recording.ranks()).map(Rank) {
            let steps = Steps::new(recording, matching, rank, |_| false)?;
            let steps = steps.with_library(&library, &groups);
            let origin = clocks.origin(rank);
            let reader = Reader {
                rank,
                origin,
                gatherings: &gatherings,
                messages: &mut messages,
                call: Vec::new(),
            };
            if !reader.read(steps, most)? {
                return Ok(None);
            }
        }
        // Those of a rank are in order, so there are as many runs as ranks.
        messages.sends.sort_by(|a, b| a.time.total_cmp(&b.time));
        messages.receives.sort_by(|a, b| a.time.total_cmp(&b.time));
        Ok(Some(messages))
    }
}

impl Messages {
    /// The messages of a replay of `ranks` ranks in all, which ended at `span`; ranks are
    /// [global](crate::ids::GlobalRank).
    #[must_use]
    pub fn of_replay(ranks: u32, span: Seconds, replayed: &ReplayedMessages) -> Self {
        let in_order = |ends: &[MessageEnd]| {
            let transfer = |end: &MessageEnd| Transfer {
                time: end.time.0,
                bytes: end.bytes.0,
                process: end.rank.0,
                peer: end.peer.0,
            };
            let mut transfers: Vec<Transfer> = ends.iter().map(transfer).collect();
            transfers.sort_by(|a, b| a.time.total_cmp(&b.time));
            transfers
        };
        let (sends, receives) = (in_order(&replayed.sends), in_order(&replayed.receives));
        Self { ranks, span: span.0, sends, receives, ..Self::default() }
    }
}

/// What went to the network and came from it. Times as in [`Messages`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Passed {
    /// By the time when the bytes were handed to the kernel, to UCX or to Open MPI's PML.
    pub sends: Vec<Transfer>,
    /// By the time when they were taken from the kernel.
    pub receives: Vec<Transfer>,
    /// The pairs of sender and receiver of which only the sends are known.
    pub told_by_sender: FxHashSet<(u32, u32)>,
}

impl Passed {
    /// What passed over connections until `end`, when the last rank ended its last call. After that the
    /// tracer gathers its records.
    pub(super) fn of(passages: &[(Rank, Vec<Passage>)], clocks: &Clocks, end: f64) -> Self {
        let mut passed = Self::default();
        for (rank, passages) in passages {
            let origin = clocks.origin(*rank);
            for Passage { time, peer, received, bytes } in passages.iter().copied() {
                let time = origin + time as f64 * 1e-9;
                if peer == *rank || time > end {
                    continue;
                }
                let transfer = Transfer { time, bytes, process: rank.0, peer: peer.0 };
                let list = if received { &mut passed.receives } else { &mut passed.sends };
                list.push(transfer);
            }
        }
        passed.sends.sort_by(|a, b| a.time.total_cmp(&b.time));
        passed.receives.sort_by(|a, b| a.time.total_cmp(&b.time));
        passed.told_by_sender = passed.sends.iter().map(|sent| (sent.process, sent.peer)).collect();
        for received in &passed.receives {
            passed.told_by_sender.remove(&(received.peer, received.process));
        }
        passed
    }
}

fn gatherings(
    recording: &Recording,
    matching: &Matching,
    clocks: &Clocks,
) -> Result<Gatherings, InputError> {
    let mut gatherings = Gatherings::default();
    for rank in (0..recording.ranks()).map(Rank) {
        let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
        let mut now = clocks.origin(rank);
        for event in recording.stream(rank)? {
            let event = event?;
            let begin = now + event.gap.0;
            now = begin + event.duration.0;
            let Call::Collective { communicator, .. } = event.call else { continue };
            let communicator = matching.communicator(rank, communicator);
            let number = counts.entry(communicator).or_default();
            let known = gatherings.entry(communicator).or_default();
            let own = Gathering {
                last_begin: begin,
                last_to_come: rank,
                first_end: now,
                first_to_leave: rank,
            };
            match known.get_mut(*number) {
                None => known.push(own),
                Some(others) => others.join(own),
            }
            *number += 1;
        }
    }
    Ok(gatherings)
}

impl Gathering {
    fn join(&mut self, other: Self) {
        if other.last_begin > self.last_begin {
            (self.last_begin, self.last_to_come) = (other.last_begin, other.last_to_come);
        }
        if other.first_end < self.first_end {
            (self.first_end, self.first_to_leave) = (other.first_end, other.first_to_leave);
        }
    }
}

/// Reads the steps of one rank.
struct Reader<'a> {
    rank: Rank,
    origin: f64,
    gatherings: &'a Gatherings,
    messages: &'a mut Messages,
    /// Of the current call: the messages that begin or end, with their phase.
    call: Vec<(u32, Exchange)>,
}

impl Reader<'_> {
    /// False if there are more than `most` messages.
    fn read(mut self, mut steps: Steps<'_>, most: usize) -> Result<bool, InputError> {
        let (mut current, mut phase) = (CurrentCall::default(), 0);
        loop {
            let step = steps.next().transpose()?;
            if step.is_none() || steps.current().number != current.number {
                self.end_call(current, phase);
                if self.messages.sends.len() > most {
                    return Ok(false);
                }
                (current, phase) = (steps.current(), 0);
            }
            match step {
                None => break,
                Some(Step::Exchange(exchange)) if exchange.sends || exchange.blocking => {
                    self.call.push((phase, exchange));
                }
                Some(Step::Wait(count)) => {
                    let awaited = steps.awaited(count).filter(|awaited| !awaited.sends);
                    self.call.extend(awaited.map(|awaited| (phase, awaited)));
                    phase += 1;
                }
                // Messages of nonblocking operations start with the call.
                Some(
                    Step::Exchange(_) | Step::Compute(_) | Step::Collective(_) | Step::Begin(_),
                ) => {}
            }
        }
        for (what, count) in steps.left_out() {
            *self.messages.left_out.entry(what).or_default() += count;
        }
        self.messages.span = self.messages.span.max(self.origin + current.end.0);
        Ok(true)
    }

    /// The messages of a call get their times.
    fn end_call(&mut self, call: CurrentCall, phases: u32) {
        let (called, end) = (self.origin + call.begin.0, self.origin + call.end.0);
        let gathered = call.collective.and_then(|(communicator, number)| {
            let last = self.gatherings.get(&communicator)?.get(number)?.last_begin;
            (last <= end).then_some(last)
        });
        let begin = gathered.map_or(called, |last| called.max(last));
        let at = |phase: u32| begin + (end - begin) * f64::from(phase) / f64::from(phases.max(1));
        for (phase, exchange) in self.call.drain(..) {
            let is_phase = matches!(exchange.channel, Channel::Collective(_)) && phases > 1;
            let (peer, bytes, process) = (exchange.peer.0, exchange.bytes, self.rank.0);
            if exchange.peer == self.rank {
                continue;
            }
            let time = match (exchange.sends, is_phase) {
                (true, true) => at(phase),
                (false, true) => at(phase + 1),
                (true, false) => begin,
                (false, false) => end,
            };
            let transfer = Transfer { time, bytes, process, peer };
            let list =
                if exchange.sends { &mut self.messages.sends } else { &mut self.messages.receives };
            list.push(transfer);
        }
    }
}

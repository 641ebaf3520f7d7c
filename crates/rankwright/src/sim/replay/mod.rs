//! Replay of recorded runs: every rank repeats its recorded calls, and its messages pass the servers of
//! another placement.
//!
//! A rank computes as long as it did between its MPI calls, sends and receives what it did, and waits
//! for what it waited for: a closed loop, in which a late message delays what depends on it. A message
//! up to the eager limit is sent at once and its sender continues; a longer or synchronous one is sent
//! when its receive is posted, and the sender continues when the message has left the last server on
//! the sender's node. Collective operations are messages of the linear algorithm. Time inside MPI that
//! is not waiting for messages is not replayed.

mod matching;
mod network;
mod rank;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::{GlobalRank, JobId, Rank};
use crate::network::Servers;
use crate::placement::Placement;
use crate::traffic::read::events::SendMode;
use crate::traffic::read::events::matching as recorded;
use crate::traffic::read::events::steps::{Exchange, Step, Steps};
use crate::traffic::read::events::store::Recording;
use crate::units::{Bytes, Seconds, counted};
use matching::{Matching, Pair, Sent};
use network::{Event, Network, Time, picoseconds};
use rank::RankState;

use super::statistics::{Counts, JobCount, Outcome, outcome};
use super::time::seconds;
use super::{OBSERVED, Progress};

/// How messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayOptions {
    /// The longest message that is sent before its receive is posted.
    pub eager_limit: Bytes,
}

impl Default for ReplayOptions {
    /// 16 KiB.
    fn default() -> Self {
        Self { eager_limit: Bytes(16 * 1024) }
    }
}

/// Why a replay is not possible.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The events are damaged or cannot be replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The placement belongs to other jobs.
    #[error("the placement has jobs of {found:?} ranks, expected {expected:?} as recorded")]
    RanksDiffer {
        /// The ranks of each job of the placement.
        found: Vec<usize>,
        /// The ranks of each recorded run.
        expected: Vec<usize>,
    },
    /// Ranks wait for messages that are never sent.
    #[error(
        "rank {rank}{} waits forever for {}{}: the events are not those of one complete run",
        job.map_or(String::new(), |job| format!(" of job {job}")),
        counted(*messages, "message"),
        if *stuck > 1 { format!(", {} more too", stuck - 1) } else { String::new() }
    )]
    Stuck {
        /// The number of ranks that wait.
        stuck: usize,
        /// The index of the job of the first of them; `None` if there is one job.
        job: Option<usize>,
        /// The first of them, in its job.
        rank: Rank,
        /// The number of messages that it waits for.
        messages: usize,
    },
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Waiting and service as in a simulation; a job's finish is the end of its last rank.
    pub outcome: Outcome,
    /// Index: [`GlobalRank`].
    pub ranks: Vec<RankTimes>,
    /// The calls that were not replayed, and how often each was left out.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// The times of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTimes {
    /// The time that it waited for messages.
    pub waited: Seconds,
    /// When it finished its last step.
    pub end: Seconds,
}

/// Replays recorded runs, one for each job of a placement, in the order of jobs.
///
/// The observer is called about every hundred thousand events; if it breaks, the replay stops, and the
/// outcome has the numbers so far.
///
/// # Errors
/// If the jobs of the placement have other numbers of ranks, if events are damaged or incomplete, if
/// several threads of a rank call MPI, or if ranks wait for messages that are never sent.
pub fn replay(
    cluster: &Cluster,
    placement: &Placement,
    recordings: &[Recording],
    options: ReplayOptions,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Replayed, ReplayError> {
    let placed: Vec<usize> = placement.jobs().iter().map(|job| job.ranks.len()).collect();
    let expected: Vec<usize> = recordings.iter().map(|run| run.ranks() as usize).collect();
    if placed != expected {
        return Err(ReplayError::RanksDiffer { found: placed, expected });
    }
    let matchings: Result<Vec<_>, InputError> =
        recordings.iter().map(recorded::Matching::new).collect();
    let matchings = matchings?;
    let mut replay = Replay {
        options,
        network: Network::new(Servers::new(cluster, placement)),
        ranks: Vec::new(),
        matching: Matching::default(),
        ends: Vec::new(),
        job_of: Vec::new(),
        counts: Vec::new(),
    };
    for (job, (recording, matching)) in recordings.iter().zip(&matchings).enumerate() {
        let job = JobOfRank {
            job: JobId::from_index(job),
            first: GlobalRank::from_index(replay.ranks.len()),
        };
        replay.counts.push(JobCount::new());
        for rank in (0..recording.ranks()).map(Rank) {
            let steps = Steps::new(recording, matching, rank, |_| false)?;
            replay.ranks.push(RankState::new(steps));
            replay.job_of.push(job);
        }
    }
    let stopped = replay.run(observer)?;
    let names = placement.jobs().iter().map(|job| job.name.as_str());
    Ok(replay.replayed(stopped, names))
}

/// The two ends of a message on its way.
#[derive(Debug, Clone, Copy)]
struct Ends {
    pair: Pair,
    /// The sender's number for it, if the sender waits for its departure.
    sender: Option<u64>,
    /// The receiver's number for it, once a receive has taken it.
    receiver: Option<u64>,
}

/// The job of a rank.
#[derive(Debug, Clone, Copy)]
struct JobOfRank {
    job: JobId,
    /// The global rank of the job's rank 0.
    first: GlobalRank,
}

/// The state of a replay.
struct Replay<'a> {
    options: ReplayOptions,
    network: Network<'a>,
    /// Index: [`GlobalRank`].
    ranks: Vec<RankState<'a>>,
    matching: Matching,
    /// Index: number of the message in the network.
    ends: Vec<Option<Ends>>,
    /// Index: [`GlobalRank`].
    job_of: Vec<JobOfRank>,
    /// Index: [`JobId`].
    counts: Vec<JobCount>,
}

impl Replay<'_> {
    /// Runs to the end, or until the observer breaks. In that case, returns the time reached.
    fn run(
        &mut self,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, ReplayError> {
        for rank in (0..self.ranks.len()).map(GlobalRank::from_index) {
            self.network.schedule(0, Event::Resume(rank));
        }
        let mut observed = OBSERVED;
        while let Some((now, event)) = self.network.next() {
            match event {
                Event::Resume(rank) => self.resume(rank, now)?,
                Event::Arrival(transfer) => self.arrival(transfer, now),
                Event::Departed(rank, number) => self.complete(rank, number, now),
            }
            if self.network.events() >= observed {
                observed = self.network.events() + OBSERVED;
                if observer(&self.progress(now)).is_break() {
                    return Ok(Some(now));
                }
            }
        }
        let mut stuck = (0..self.ranks.len()).filter(|rank| self.ranks[*rank].end.is_none());
        let Some(waiting) = stuck.next() else { return Ok(None) };
        let JobOfRank { job, first } = self.job_of[waiting];
        Err(ReplayError::Stuck {
            stuck: 1 + stuck.count(),
            job: (self.counts.len() > 1).then_some(job.index()),
            rank: Rank::from_index(waiting - first.index()),
            messages: self.ranks[waiting].awaited(),
        })
    }

    fn progress(&self, now: Time) -> Progress {
        let delivered = self.counts.iter().map(|job| job.messages).sum();
        Progress { time: seconds(now), events: self.network.events(), delivered, messages: None }
    }

    fn replayed<'n>(
        mut self,
        stopped: Option<Time>,
        names: impl Iterator<Item = &'n str>,
    ) -> Replayed {
        for (rank, JobOfRank { job, .. }) in self.ranks.iter().zip(&self.job_of) {
            let job = &mut self.counts[job.index()];
            job.finish = job.finish.max(rank.end.unwrap_or(0));
        }
        let mut left_out = BTreeMap::new();
        for (call, count) in self.ranks.iter().flat_map(|rank| rank.steps.left_out()) {
            *left_out.entry(*call).or_default() += count;
        }
        let times = |rank: &RankState| RankTimes {
            waited: seconds(rank.waited),
            end: seconds(rank.end.or(stopped).unwrap_or(0)),
        };
        let events = self.network.events();
        let Network { servers, queues, .. } = self.network;
        let counts = Counts { servers: queues, jobs: self.counts, events, stopped };
        let outcome = outcome(&counts, &servers, names);
        Replayed { outcome, ranks: self.ranks.iter().map(times).collect(), left_out }
    }

    /// Lets a rank do its next steps until it computes or waits.
    fn resume(&mut self, rank: GlobalRank, now: Time) -> Result<(), InputError> {
        loop {
            let state = &mut self.ranks[rank.index()];
            let Some(step) = state.steps.next() else {
                state.end = Some(now);
                return Ok(());
            };
            match step? {
                Step::Compute(time) => {
                    let end = now.saturating_add(picoseconds(time));
                    self.network.schedule(end, Event::Resume(rank));
                    return Ok(());
                }
                Step::Exchange(exchange) => {
                    self.begin(rank, exchange, now);
                    let state = &mut self.ranks[rank.index()];
                    if exchange.blocking && state.has_to_wait(&[exchange], now) {
                        return Ok(());
                    }
                }
                Step::Wait(exchanges) => {
                    if state.has_to_wait(&exchanges, now) {
                        return Ok(());
                    }
                }
                // Collective operations have been expanded to exchanges.
                Step::Collective(_) => {}
            }
        }
    }

    fn begin(&mut self, rank: GlobalRank, exchange: Exchange, now: Time) {
        let JobOfRank { job, first } = self.job_of[rank.index()];
        let (peer, channel) = (exchange.peer.global(first), exchange.channel);
        self.ranks[rank.index()].begin(&exchange);
        let number = exchange.number;
        if !exchange.sends {
            let pair = Pair { receiver: rank, sender: peer, job, channel };
            match self.matching.message_for(pair, number) {
                None => {}
                Some(Sent::Arrived) => self.complete(rank, number, now),
                Some(Sent::Underway(transfer)) => {
                    if let Some(ends) = &mut self.ends[transfer] {
                        ends.receiver = Some(number);
                    }
                }
                Some(Sent::Announced { bytes, number: sender }) => {
                    self.send(pair, bytes, Some(sender), Some(number), now);
                }
            }
            return;
        }
        let pair = Pair { receiver: peer, sender: rank, job, channel };
        let rendezvous = exchange.mode == SendMode::Synchronous
            || (exchange.bytes > self.options.eager_limit.0 && exchange.mode != SendMode::Buffered);
        let bytes = exchange.bytes;
        match (self.matching.receive_for(pair), rendezvous) {
            (Some(receiver), true) => {
                self.send(pair, bytes, Some(number), Some(receiver), now);
            }
            (None, true) => self.matching.keep(pair, Sent::Announced { bytes, number }),
            (receiver, false) => {
                let transfer = self.send(pair, bytes, None, receiver, now);
                if receiver.is_none() {
                    self.matching.keep(pair, Sent::Underway(transfer));
                }
                self.complete(rank, number, now);
            }
        }
    }

    /// Sends a message. Returns its number in the network.
    fn send(
        &mut self,
        pair: Pair,
        bytes: u64,
        sender: Option<u64>,
        receiver: Option<u64>,
        now: Time,
    ) -> usize {
        let transfer = self.network.send(now, pair.sender, pair.receiver, bytes);
        if self.ends.len() <= transfer {
            self.ends.resize(transfer + 1, None);
        }
        self.ends[transfer] = Some(Ends { pair, sender, receiver });
        transfer
    }

    fn arrival(&mut self, transfer: usize, now: Time) {
        let advance = self.network.advance(now, transfer);
        let Some(ends) = self.ends[transfer] else { return };
        let Pair { receiver, sender, job, .. } = ends.pair;
        if let (Some(departed), Some(number)) = (advance.departed, ends.sender) {
            self.network.schedule(departed, Event::Departed(sender, number));
        }
        if let Some((latency, waited)) = advance.delivered {
            let job = &mut self.counts[job.index()];
            job.arrived(latency, now);
            job.waiting += u128::from(waited);
            self.ends[transfer] = None;
            match ends.receiver {
                Some(number) => self.complete(receiver, number, now),
                None => self.matching.arrived(ends.pair, transfer),
            }
        }
    }

    /// A message is complete for a rank, which continues if it waits for no other.
    fn complete(&mut self, rank: GlobalRank, number: u64, now: Time) {
        if self.ranks[rank.index()].complete(number, now) {
            self.network.schedule(now, Event::Resume(rank));
        }
    }
}

#[cfg(test)]
mod tests;

//! Replay of recorded runs: every rank does what it did, and what it waits for takes as long as the
//! servers of another placement make it.
//!
//! A rank computes as long as it did between its MPI calls, sends and receives what it did, and waits
//! for what it waited for: a closed loop, in which a message that comes late delays what depends on it.
//! A message up to the eager limit is sent at once and its sender goes on; a longer or synchronous one
//! is sent when its receive is posted, and the sender goes on when the message has left the last
//! server on the sender's node. Collective operations are messages of the linear algorithm. Time
//! inside MPI that is not waiting for messages is not replayed.

mod matching;
mod network;
mod rank;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::Rank;
use crate::network::Servers;
use crate::placement::Placement;
use crate::traffic::read::events::SendMode;
use crate::traffic::read::events::matching as recorded;
use crate::traffic::read::events::steps::{Exchange, Step, Steps};
use crate::traffic::read::events::store::Recording;
use crate::units::{Bytes, Seconds, counted};
use matching::{Matching, Pair, Sent};
use network::{Happening, Network, Time, picoseconds};
use rank::RankState;

use super::statistics::{Counts, JobCount, Outcome, outcome};
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

/// Why there is no replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The events are damaged, or not such that they can be replayed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The placement is one of other jobs.
    #[error("the placement has jobs of {found:?} ranks, expected {expected:?} as were recorded")]
    RanksDiffer {
        /// The ranks of each job of the placement.
        found: Vec<usize>,
        /// The ranks of each recorded run.
        expected: Vec<usize>,
    },
    /// Ranks wait for what never comes.
    #[error(
        "rank {rank}{} waits for ever for {}{}: the events are not those of one whole run",
        job.map_or(String::new(), |job| format!(" of job {job}")),
        counted(*messages, "message"),
        if *stuck > 1 { format!(", {} more too", stuck - 1) } else { String::new() }
    )]
    Stuck {
        /// How many ranks.
        stuck: usize,
        /// The position of the first one's job, where there are several.
        job: Option<usize>,
        /// The first one.
        rank: Rank,
        /// How many messages it waits for.
        messages: usize,
    },
}

/// What a replay finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Waiting and service as in any simulation; a job's finish is the end of its last rank.
    pub outcome: Outcome,
    /// Of each rank, counted over all jobs.
    pub ranks: Vec<RankTimes>,
    /// What was not replayed, and how often it was left out.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// The times of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTimes {
    /// How long it waited for messages.
    pub waited: Seconds,
    /// When it was through.
    pub end: Seconds,
}

/// Replays recorded runs, one for each job of a placement, in their order.
///
/// The observer is called about every hundred thousand events; if it breaks, the replay stops and
/// the outcome says what was reached.
///
/// # Errors
/// If the placement has other numbers of ranks, events are damaged or incomplete, several threads of
/// a rank call MPI, or ranks wait for messages that are never sent.
pub fn replay(
    cluster: &Cluster,
    placement: &Placement,
    recordings: &[Recording],
    options: ReplayOptions,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Replayed, ReplayError> {
    let found: Vec<usize> = placement.jobs().iter().map(|job| job.ranks.len()).collect();
    let expected: Vec<usize> = recordings.iter().map(|one| one.ranks() as usize).collect();
    if found != expected {
        return Err(ReplayError::RanksDiffer { found, expected });
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
        jobs: Vec::new(),
        counts: Vec::new(),
    };
    for (job, (recording, matching)) in recordings.iter().zip(&matchings).enumerate() {
        let first = replay.ranks.len();
        replay.counts.push(JobCount::new());
        for rank in (0..recording.ranks()).map(Rank) {
            let steps = Steps::new(recording, matching, rank, |_| false)?;
            replay.ranks.push(RankState::new(steps));
            replay.jobs.push((job, first));
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
    /// The sender's number for it, if the sender is told when it has left.
    sender: Option<u64>,
    /// The receiver's number for it, once a receive has taken it.
    receiver: Option<u64>,
}

/// A replay under way.
struct Replay<'a> {
    options: ReplayOptions,
    network: Network<'a>,
    ranks: Vec<RankState<'a>>,
    matching: Matching,
    /// Per message on its way, by its number in the network.
    ends: Vec<Option<Ends>>,
    /// Position of each rank's job, and of the job's rank 0.
    jobs: Vec<(usize, usize)>,
    /// Per job.
    counts: Vec<JobCount>,
}

impl Replay<'_> {
    /// Runs to the end, or until the observer breaks: then the time reached.
    fn run(
        &mut self,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Option<Time>, ReplayError> {
        for rank in 0..self.ranks.len() {
            self.network.cause(0, Happening::Wake(rank));
        }
        let mut observed = OBSERVED;
        while let Some((now, happening)) = self.network.next() {
            match happening {
                Happening::Wake(rank) => self.go_on(rank, now)?,
                Happening::Arrival(transfer) => self.arrival(transfer, now),
                Happening::Left(rank, number) => self.over(rank, number, now),
            }
            if self.network.events() >= observed {
                observed = self.network.events() + OBSERVED;
                if observer(&self.progress(now)).is_break() {
                    return Ok(Some(now));
                }
            }
        }
        let mut stuck = (0..self.ranks.len()).filter(|rank| self.ranks[*rank].end.is_none());
        let Some(first) = stuck.next() else { return Ok(None) };
        let (job, first_of_job) = self.jobs[first];
        let several = self.jobs.last().is_some_and(|(last, _)| *last > 0);
        let job = several.then_some(job);
        let (rank, messages) =
            (Rank::from_index(first - first_of_job), self.ranks[first].waits_for());
        Err(ReplayError::Stuck { stuck: 1 + stuck.count(), job, rank, messages })
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
        for (rank, (job, _)) in self.ranks.iter().zip(&self.jobs) {
            let job = &mut self.counts[*job];
            job.finish = job.finish.max(rank.end.unwrap_or(0));
        }
        let mut left_out = BTreeMap::new();
        for (what, count) in self.ranks.iter().flat_map(|rank| rank.steps.left_out()) {
            *left_out.entry(*what).or_default() += count;
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

    /// Lets a rank do what it does until it computes or waits.
    fn go_on(&mut self, rank: usize, now: Time) -> Result<(), InputError> {
        loop {
            let Some(step) = self.ranks[rank].steps.next() else {
                self.ranks[rank].end = Some(now);
                return Ok(());
            };
            match step? {
                Step::Compute(time) => {
                    let then = now.saturating_add(picoseconds(time));
                    self.network.cause(then, Happening::Wake(rank));
                    return Ok(());
                }
                Step::Exchange(exchange) => {
                    self.begin(rank, exchange, now);
                    if exchange.blocking && self.ranks[rank].has_to_wait(&[exchange], now) {
                        return Ok(());
                    }
                }
                Step::Wait(exchanges) => {
                    if self.ranks[rank].has_to_wait(&exchanges, now) {
                        return Ok(());
                    }
                }
                // All of them became messages.
                Step::Collective(_) => {}
            }
        }
    }

    fn begin(&mut self, rank: usize, exchange: Exchange, now: Time) {
        let (job, first) = self.jobs[rank];
        let peer = first + exchange.peer.index();
        self.ranks[rank].begin(&exchange);
        let number = exchange.number;
        if !exchange.sends {
            let pair = (rank, peer, (job, exchange.channel));
            match self.matching.message_for(pair, number) {
                None => {}
                Some(Sent::Arrived) => self.over(rank, number, now),
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
        let pair = (peer, rank, (job, exchange.channel));
        let waits = exchange.mode == SendMode::Synchronous
            || (exchange.bytes > self.options.eager_limit.0 && exchange.mode != SendMode::Buffered);
        let bytes = exchange.bytes;
        match (self.matching.receive_for(pair), waits) {
            (Some(receiver), true) => {
                self.send(pair, bytes, Some(number), Some(receiver), now);
            }
            (None, true) => self.matching.wait(pair, Sent::Announced { bytes, number }),
            (receiver, false) => {
                let transfer = self.send(pair, bytes, None, receiver, now);
                if receiver.is_none() {
                    self.matching.wait(pair, Sent::Underway(transfer));
                }
                self.over(rank, number, now);
            }
        }
    }

    fn send(
        &mut self,
        pair: Pair,
        bytes: u64,
        sender: Option<u64>,
        receiver: Option<u64>,
        now: Time,
    ) -> usize {
        let (to, from, _) = pair;
        let transfer = self.network.send(now, from, to, bytes);
        if self.ends.len() <= transfer {
            self.ends.resize(transfer + 1, None);
        }
        self.ends[transfer] = Some(Ends { pair, sender, receiver });
        transfer
    }

    fn arrival(&mut self, transfer: usize, now: Time) {
        let advance = self.network.advance(now, transfer);
        let Some(ends) = self.ends[transfer] else { return };
        let (to, from, _) = ends.pair;
        if let (Some(left), Some(number)) = (advance.left, ends.sender) {
            self.network.cause(left, Happening::Left(from, number));
        }
        if let Some((latency, waited)) = advance.arrived {
            let job = &mut self.counts[self.jobs[to].0];
            job.arrived(latency, now);
            job.waiting += u128::from(waited);
            self.ends[transfer] = None;
            match ends.receiver {
                Some(number) => self.over(to, number, now),
                None => self.matching.arrived(ends.pair, transfer),
            }
        }
    }

    /// A message is over for a rank, which goes on if that was what it waited for.
    fn over(&mut self, rank: usize, number: u64, now: Time) {
        if self.ranks[rank].is_over(number, now) {
            self.network.cause(now, Happening::Wake(rank));
        }
    }
}

fn seconds(time: Time) -> Seconds {
    Seconds(time as f64 / 1e12)
}

#[cfg(test)]
mod tests;

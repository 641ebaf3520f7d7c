//! Programs made of clocks: what a job whose calls were not recorded does between its ticks.

use std::collections::VecDeque;

use crate::ids::Rank;
use crate::random::{share, split_mix};
use crate::traffic::read::events::SendMode;
use crate::traffic::read::events::steps::{Channel, Exchange, Step};
use crate::traffic::{Job, OUTSIDE, Source};
use crate::units::Seconds;

/// What the ranks of a job do: at each tick of their clocks they compute since the last, receive what
/// was sent to them, send, and wait for all of it. So communication comes on top of computing, and a
/// message that is late delays its receiver.
#[derive(Debug, Clone)]
pub struct Program {
    /// By rank.
    steps: Vec<Vec<Do>>,
}

/// A step of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Do {
    Compute(Seconds),
    Send(Rank, u64),
    Receive(Rank, u64),
    /// For everything since the last wait.
    Wait,
}

/// A tick of a rank in the time of the clocks.
#[derive(Debug, Clone, Copy)]
struct Tick {
    time: f64,
    /// The position of its source in the job.
    source: usize,
}

/// How long a rank of a job computes: as recorded on average, else as long as its clocks tick.
pub(super) fn computing(job: &Job) -> Seconds {
    if job.compute.is_empty() {
        let end = job.sources.iter().map(|source| source.rounds as f64 / source.rate.0);
        return Seconds(end.fold(0.0, f64::max));
    }
    Seconds(job.compute.iter().map(|time| time.0).sum::<f64>() / job.compute.len() as f64)
}

impl Program {
    /// The program of a job with message timing. Its ranks compute `computing` in all. Gaps between ticks
    /// vary by half of their mean, for all ranks alike, so that two programs do not fall into step; clocks
    /// that are not in step begin at a random part of a gap. If there are more than `most` messages, the
    /// program is that much shorter.
    #[must_use]
    pub fn of_clocks(job: &Job, computing: Seconds, most: u64, seed: u64) -> Self {
        // A tick without messages takes as long.
        let of_source =
            |source: &Source| source.rounds.saturating_mul(source.sends.len().max(1) as u64);
        let messages = job.sources.iter().map(of_source).fold(0, u64::saturating_add);
        let part = (most as f64 / messages.max(1) as f64).min(1.0);
        let rounds = |source: &Source| ((source.rounds as f64 * part).round() as u64).max(1);
        let end = |source: &Source| rounds(source) as f64 / source.rate.0;
        let end = job.sources.iter().map(end).fold(0.0, f64::max);
        let fastest = job.sources.iter().map(|source| source.rate.0).fold(0.0, f64::max);
        let pace = Pace::new(computing.0 * part, end, end * fastest, seed);
        let mut ticks: Vec<Vec<Tick>> = vec![Vec::new(); job.ranks as usize];
        for (position, source) in job.sources.iter().enumerate() {
            let phase = match source.in_step {
                Some(_) => 0.5,
                None => share(split_mix(seed, position as u64)),
            };
            let tick = |round: u64| Tick {
                time: (round as f64 + phase) / source.rate.0,
                source: position,
            };
            ticks[source.rank.index()].extend((0..rounds(source)).map(tick));
        }
        for ticks in &mut ticks {
            ticks.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.source.cmp(&b.source)));
        }
        let arrivals = arrivals(job, &ticks);
        let program = |(rank, ticks): (usize, &Vec<Tick>)| {
            steps(job, Rank::from_index(rank), ticks, &arrivals[rank], &pace)
        };
        Self { steps: ticks.iter().enumerate().map(program).collect() }
    }

    /// The number of its ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.steps.len()
    }

    /// The steps of a rank.
    pub(super) fn play(&self, rank: Rank) -> Play<'_> {
        Play {
            steps: self.steps[rank.index()].iter(),
            begun: VecDeque::new(),
            exchanges: 0,
            pending: 0,
        }
    }
}

/// A message on its way to a rank.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// When it is sent, in the time of the clocks.
    time: f64,
    source: Rank,
    bytes: u64,
}

/// By rank: what is sent to it, in the order of sending.
fn arrivals(job: &Job, ticks: &[Vec<Tick>]) -> Vec<Vec<Arrival>> {
    let mut arrivals: Vec<Vec<Arrival>> = vec![Vec::new(); ticks.len()];
    for (rank, ticks) in ticks.iter().enumerate() {
        let source = Rank::from_index(rank);
        for Tick { time, source: position } in ticks {
            for send in sends(job, *position, rank) {
                let arrival = Arrival { time: *time, source, bytes: send.1 };
                arrivals[send.0.index()].push(arrival);
            }
        }
    }
    // Of one sender in the order in which it sends: the sort is stable.
    arrivals.iter_mut().for_each(|to| to.sort_by(|a, b| a.time.total_cmp(&b.time)));
    arrivals
}

/// The messages of a tick to other ranks, the next rank first: else all would send to rank 0 at once.
fn sends(job: &Job, source: usize, rank: usize) -> impl Iterator<Item = (Rank, u64)> {
    let sends = &job.sources[source].sends;
    let is_message = move |to: Rank| to != OUTSIDE && to.index() != rank && to.0 < job.ranks;
    let (later, earlier): (Vec<_>, Vec<_>) = sends
        .iter()
        .filter(|send| is_message(send.destination))
        .map(|send| (send.destination, send.length.0))
        .partition(|(to, _)| to.index() > rank);
    later.into_iter().chain(earlier)
}

/// From the time of the clocks to the computing that is done by then.
#[derive(Debug)]
struct Pace {
    /// The number of equal parts of the time of the clocks, per unit of it.
    parts: f64,
    /// The computing up to the begin of each part, and in all.
    done: Vec<f64>,
}

/// The most parts of different speed.
const MOST_PARTS: f64 = 1e6;

impl Pace {
    /// `computing` in all within the time `end`, in about `parts` parts of random speed.
    fn new(computing: f64, end: f64, parts: f64, seed: u64) -> Self {
        let count = parts.clamp(1.0, MOST_PARTS).round();
        let mut done = vec![0.0];
        for part in 0..count as u64 {
            done.push(done[part as usize] + 0.5 + share(split_mix(!seed, part)));
        }
        let sum = done[count as usize];
        done.iter_mut().for_each(|done| *done *= computing / sum);
        // Clocks without messages have no time of their own.
        Self { parts: if end > 0.0 { count / end } else { 0.0 }, done }
    }

    /// The computing that is done by this time.
    fn done(&self, time: f64) -> f64 {
        let at = (time * self.parts).clamp(0.0, (self.done.len() - 1) as f64);
        let part = (at as usize).min(self.done.len() - 2);
        self.done[part] + (self.done[part + 1] - self.done[part]) * (at - part as f64)
    }

    fn whole(&self) -> f64 {
        self.done.last().copied().unwrap_or_default()
    }
}

/// The steps of a rank.
fn steps(job: &Job, rank: Rank, ticks: &[Tick], arrivals: &[Arrival], pace: &Pace) -> Vec<Do> {
    let mut steps = Vec::new();
    let mut arrivals = arrivals.iter().peekable();
    let mut done = 0.0;
    for same in ticks.chunk_by(|a, b| a.time == b.time) {
        let time = same[0].time;
        let by_then = pace.done(time);
        steps.push(Do::Compute(Seconds(by_then - done)));
        done = by_then;
        while let Some(arrival) = arrivals.next_if(|arrival| arrival.time <= time) {
            steps.push(Do::Receive(arrival.source, arrival.bytes));
        }
        for tick in same {
            let messages = sends(job, tick.source, rank.index());
            steps.extend(messages.map(|(to, bytes)| Do::Send(to, bytes)));
        }
        steps.push(Do::Wait);
    }
    steps.push(Do::Compute(Seconds(pace.whole() - done)));
    steps.extend(arrivals.map(|arrival| Do::Receive(arrival.source, arrival.bytes)));
    steps.push(Do::Wait);
    steps
}

/// A rank on its way through a program.
#[derive(Debug)]
pub(super) struct Play<'a> {
    steps: std::slice::Iter<'a, Do>,
    /// Exchanges that it will wait for, by number.
    begun: VecDeque<u64>,
    exchanges: u64,
    pending: usize,
}

impl<'a> Play<'a> {
    /// Takes the next messages that the rank waits for.
    pub(super) fn awaited(&mut self, count: usize) -> impl Iterator<Item = u64> {
        self.begun.drain(..count)
    }

    pub(super) fn next(&mut self) -> Option<Step<'a>> {
        let (peer, bytes, sends) = match *self.steps.next()? {
            Do::Compute(time) => return Some(Step::Compute(time)),
            Do::Wait => return Some(Step::Wait(std::mem::take(&mut self.pending))),
            Do::Send(to, bytes) => (to, bytes, true),
            Do::Receive(from, bytes) => (from, bytes, false),
        };
        self.exchanges += 1;
        self.pending += 1;
        self.begun.push_back(self.exchanges);
        Some(Step::Exchange(Exchange {
            number: self.exchanges,
            sends,
            peer,
            channel: Channel::Program(0, 0),
            bytes,
            mode: SendMode::Standard,
            blocking: false,
            is_awaited: true,
        }))
    }
}

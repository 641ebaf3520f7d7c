//! How well ranks work together, window by window, in the figures of the POP centre of excellence
//! (Rosas, Giménez, Labarta: "Scalability prediction for fundamental performance factors", 2014):
//!
//! - load balance: mean over maximum of the ranks' time outside MPI;
//! - serialisation: the maximum of that time over the time that the window would take on a network without
//!   latency and with infinite bandwidth, because ranks wait for each other;
//! - transfer: that time over the time of the window.
//!
//! Their product is the parallel efficiency. The time on the ideal network is the longest path through what
//! the ranks computed and whom they waited for; like a trace that is cut to the window, each begins with all
//! ranks ready, and what was sent before it is there.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::clocks::Clocks;
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::read::events::matching::Matching;
use crate::traffic::read::events::steps::{Channel, Exchange, Step, Steps};
use crate::traffic::read::events::store::Recording;

/// The figures of a window of time; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Efficiency {
    /// Begin, in seconds.
    pub begin_s: f64,
    /// End, in seconds.
    pub end_s: f64,
    /// Load balance; `None` if no rank computed.
    pub load_balance: Option<f64>,
    /// Serialisation; `None` if no rank computed.
    pub serialisation: Option<f64>,
    /// Transfer.
    pub transfer: f64,
}

/// The figures of windows of equal length.
///
/// # Errors
/// If the profile is damaged.
pub(super) fn efficiencies(
    recording: &Recording,
    matching: &Matching,
    clocks: &Clocks,
    span: f64,
    windows: usize,
) -> Result<Vec<Efficiency>, InputError> {
    let width = span / windows.max(1) as f64;
    if windows == 0 || width <= 0.0 {
        return Ok(Vec::new());
    }
    let mut run = Ideal {
        ranks: Vec::new(),
        posts: FxHashMap::default(),
        width,
        windows: vec![Window::default(); windows],
        ready: (0..recording.ranks()).collect(),
    };
    for rank in (0..recording.ranks()).map(Rank) {
        let steps = Steps::new(recording, matching, rank, |_| false)?;
        run.ranks.push(Walker::new(steps, clocks.origin(rank)));
    }
    while let Some(rank) = run.ready.pop_front() {
        run.walk(rank)?;
    }
    let ranks = f64::from(recording.ranks());
    let figures = |(number, window): (usize, &Window)| {
        let longest = window.longest;
        let computes = longest > 0.0;
        Efficiency {
            begin_s: width * number as f64,
            end_s: width * (number + 1) as f64,
            load_balance: computes.then(|| window.useful / ranks / longest),
            serialisation: computes.then(|| (longest / window.ideal.max(longest)).min(1.0)),
            transfer: (window.ideal.max(longest) / width).min(1.0),
        }
    };
    Ok(run.windows.iter().enumerate().map(figures).collect())
}

/// Seconds of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// Outside MPI, over all ranks, and of the rank with most.
    useful: f64,
    longest: f64,
    /// On the ideal network.
    ideal: f64,
}

/// A moment on the ideal network: the window, and the time since its begin.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment {
    window: usize,
    time: f64,
}

/// Matches the messages of a pair: source, destination, channel.
type Key = (u32, u32, Channel);

/// What was sent and not received yet, and which receive comes next.
#[derive(Debug, Default)]
struct Posts {
    sent: VecDeque<Moment>,
    /// The number of the first of `sent`, of the next receive.
    first: u64,
    received: u64,
    /// A rank that waits for a message of this key.
    waits: bool,
}

struct Walker<'a> {
    steps: Steps<'a>,
    /// When MPI started, and the end of the last call, on the clock of the run.
    origin: f64,
    /// The time of the run that it has reached.
    recorded: f64,
    now: Moment,
    /// Useful time in the window so far.
    useful: f64,
    /// Receives that are posted: by number of the exchange its key and place.
    posted: FxHashMap<u64, (Key, u64)>,
    /// What it waits for before it goes on.
    awaited: Vec<(Key, u64)>,
}

impl<'a> Walker<'a> {
    fn new(steps: Steps<'a>, origin: f64) -> Self {
        Self {
            steps,
            origin,
            recorded: 0.0,
            now: Moment { window: 0, time: 0.0 },
            useful: 0.0,
            posted: FxHashMap::default(),
            awaited: Vec::new(),
        }
    }
}

struct Ideal<'a> {
    ranks: Vec<Walker<'a>>,
    posts: FxHashMap<Key, Posts>,
    width: f64,
    windows: Vec<Window>,
    /// Ranks that can go on.
    ready: VecDeque<u32>,
}

impl Ideal<'_> {
    /// Follows a rank until it waits for a message that was not sent yet.
    fn walk(&mut self, rank: u32) -> Result<(), InputError> {
        if !self.wait(rank) {
            return Ok(());
        }
        let mut compute = 0.0;
        while let Some(step) = self.ranks[rank as usize].steps.next().transpose()? {
            if let Step::Compute(time) = step {
                compute += time.0;
                continue;
            }
            self.reach_call(rank, std::mem::take(&mut compute));
            match step {
                Step::Exchange(exchange) if exchange.sends => self.send(rank, &exchange),
                Step::Exchange(exchange) => {
                    let place = self.post(rank, &exchange);
                    if exchange.blocking {
                        self.ranks[rank as usize].awaited.push(place);
                        if !self.wait(rank) {
                            return Ok(());
                        }
                    }
                }
                Step::Wait(count) => {
                    let walker = &mut self.ranks[rank as usize];
                    let Walker { steps, posted, awaited, .. } = walker;
                    let receives = steps.awaited(count).filter(|exchange| !exchange.sends);
                    awaited.extend(receives.filter_map(|exchange| posted.remove(&exchange.number)));
                    if !self.wait(rank) {
                        return Ok(());
                    }
                }
                // Messages of nonblocking operations start with the call.
                Step::Compute(_) | Step::Collective(_) | Step::Begin(_) => {}
            }
        }
        self.reach_call(rank, compute);
        self.end_window(rank);
        Ok(())
    }

    /// The rank computes up to the begin of its current call.
    fn reach_call(&mut self, rank: u32, compute: f64) {
        let walker = &self.ranks[rank as usize];
        let begin = walker.origin + walker.steps.current().begin.0;
        let gap = begin - walker.recorded;
        if gap <= 0.0 {
            return;
        }
        // The gap may have waiting for a PU in it, which is not computing: the same share of each window.
        let share = (compute / gap).clamp(0.0, 1.0);
        self.pass(rank, begin, share);
    }

    /// Time of the run passes on a rank, of which it computes a share.
    fn pass(&mut self, rank: u32, until: f64, share: f64) {
        loop {
            let walker = &mut self.ranks[rank as usize];
            let end = self.width * (walker.now.window + 1) as f64;
            let is_last = walker.now.window + 1 == self.windows.len();
            let stop = if is_last { until } else { until.min(end) };
            let useful = (stop - walker.recorded).max(0.0) * share;
            walker.useful += useful;
            walker.now.time += useful;
            walker.recorded = walker.recorded.max(stop);
            if is_last || until < end {
                return;
            }
            self.end_window(rank);
            let walker = &mut self.ranks[rank as usize];
            walker.now = Moment { window: walker.now.window + 1, time: 0.0 };
        }
    }

    fn end_window(&mut self, rank: u32) {
        let walker = &mut self.ranks[rank as usize];
        let window = &mut self.windows[walker.now.window];
        window.useful += walker.useful;
        window.longest = window.longest.max(walker.useful);
        window.ideal = window.ideal.max(walker.now.time);
        walker.useful = 0.0;
    }

    fn send(&mut self, rank: u32, exchange: &Exchange) {
        let key = (rank, exchange.peer.0, exchange.channel);
        let posts = self.posts.entry(key).or_default();
        posts.sent.push_back(self.ranks[rank as usize].now);
        if std::mem::take(&mut posts.waits) {
            self.ready.push_back(exchange.peer.0);
        }
    }

    /// A receive takes the next message of its key.
    fn post(&mut self, rank: u32, exchange: &Exchange) -> (Key, u64) {
        let key = (exchange.peer.0, rank, exchange.channel);
        let posts = self.posts.entry(key).or_default();
        let place = (key, posts.received);
        posts.received += 1;
        if !exchange.blocking {
            self.ranks[rank as usize].posted.insert(exchange.number, place);
        }
        place
    }

    /// Whether all that the rank waits for is there; then it goes on, at the end of its call.
    fn wait(&mut self, rank: u32) -> bool {
        let walker = &mut self.ranks[rank as usize];
        if walker.awaited.is_empty() {
            return true;
        }
        let missing = walker.awaited.iter().find(|(key, place)| {
            let posts = self.posts.get(key);
            posts.is_none_or(|posts| posts.first + posts.sent.len() as u64 <= *place)
        });
        if let Some((key, _)) = missing {
            self.posts.entry(*key).or_default().waits = true;
            return false;
        }
        let end = walker.origin + walker.steps.current().end.0;
        let awaited = std::mem::take(&mut walker.awaited);
        self.pass(rank, end, 0.0);
        let now = &mut self.ranks[rank as usize].now;
        for (key, place) in awaited {
            let posts = self.posts.entry(key).or_default();
            let sent = posts.sent.get((place - posts.first) as usize);
            if let Some(sent) = sent.filter(|sent| sent.window == now.window) {
                now.time = now.time.max(sent.time);
            }
            posts.retire(place);
            if posts.is_over() {
                self.posts.remove(&key);
            }
        }
        true
    }
}

impl Posts {
    /// Whether all that was sent is received and nobody waits: counting can begin anew.
    fn is_over(&self) -> bool {
        self.sent.is_empty() && self.first == self.received && !self.waits
    }

    /// A message was received. Those before it have been too, or are kept for a little longer.
    fn retire(&mut self, place: u64) {
        if let Some(sent) = self.sent.get_mut((place - self.first) as usize) {
            // What was received keeps its place until all before it are received.
            sent.time = f64::NAN;
        }
        while self.sent.front().is_some_and(|sent| sent.time.is_nan()) {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}

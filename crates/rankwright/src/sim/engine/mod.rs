//! The event loop.
//!
//! One event is one message coming to one server; when it leaves is known at once, so there are no
//! departure events. What leaves a server waits in the queue of its stream, in order, so only the
//! head of each stream takes part in the search for the next event: the cost does not depend on how
//! many messages wait.
//!
//! Exports of all zones are merged in the order of time, but for those to servers that have no other
//! messages: these go straight on. What happens inside a zone is only done when its exports have run
//! out, or when too much has piled up in it, and then in long runs: as far as nothing can come from
//! outside, the messages of a tick as one train, arrivals that end at a server when the next other
//! one comes.

mod message;
mod ticks;
mod zone;

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;

use crate::sim::clock::{Clock, RandomStream};
use crate::sim::network::{NONE, Network, Zone};
use crate::sim::queue::{Entry, NEVER, Queue, Train};
use crate::sim::server::Server;
use crate::sim::statistics::{Counts, JobCount};
use crate::sim::winner_tree::WinnerTree;
use crate::sim::{OBSERVED, Options, Pacing, Progress, Service, SimulationError};
use crate::units::Seconds;
use ticks::Ticks;

/// Whenever so many messages more wait in a final stream, its zone is brought up to date. A power
/// of two.
const CROWD: usize = 1024;
/// A zone does at most about so many events at a stretch.
const STRETCH: u64 = 1 << 14;
/// About so many exports are made at a time.
const BATCH: u64 = 256;

/// Told of the progress.
type Observer<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// A simulation. `PLAIN` is one in an open loop with deterministic service: then senders and random
/// numbers need not be looked at for every message.
pub(super) struct Engine<'a, const PLAIN: bool> {
    network: &'a Network,
    servers: Vec<Server>,
    /// Per stream; those of outbound streams are empty.
    queues: Vec<Queue<Entry>>,
    /// Per stream; only those of outbound streams are used.
    trains: Vec<Queue<Train>>,
    zones: Vec<ZoneState>,
    /// The zones by the time of their next export, or of what must be done before that is known.
    order: WinnerTree,
    jobs: Vec<JobCount>,
    sources: Vec<SourceState>,
    closed: bool,
    /// Whether messages release sources of other zones when they arrive.
    remote_release: bool,
    /// One for each server, where services are random.
    random: Option<Vec<ChaCha8Rng>>,
    /// The zone that is brought up to date.
    active: usize,
    /// Whether a queue other than that which is being worked off has got a first message.
    interrupted: bool,
    /// Whether the last tick sent one message.
    single: bool,
    /// Servers for which too much has piled up, with their zones.
    crowded: Vec<(usize, usize)>,
    now: u64,
    ticks: u64,
    /// About as many as events, and when to ask the observer next.
    work: u64,
    observed: u64,
}

struct ZoneState {
    /// The prompt streams, then the ticks.
    prompt: WinnerTree,
    outbound: WinnerTree,
    /// In an open loop the ticks; in a closed one, where messages decide too, the next of each
    /// source.
    ticks: Ticks,
    rounds: WinnerTree,
}

struct SourceState {
    /// In a closed loop.
    clock: Option<Clock>,
    round: u64,
    /// In a closed loop, the messages of this round that the source waits for, and when the last
    /// of those it does not wait for any more has gone.
    outstanding: u32,
    ready: u64,
}

const NO_ZONE: usize = usize::MAX;

impl<'a, const PLAIN: bool> Engine<'a, PLAIN> {
    pub(super) fn new(
        network: &'a Network,
        clocks: Vec<Clock>,
        jobs: usize,
        options: &Options,
    ) -> Self {
        let closed = options.pacing != Pacing::Open;
        let mut clocks: Vec<Option<Clock>> = clocks.into_iter().map(Some).collect();
        let mut open_clocks = |zone: &Zone| match closed {
            true => Vec::new(),
            false => zone.sources.iter().filter_map(|source| clocks[*source].take()).collect(),
        };
        let zones: Vec<ZoneState> = (network.zones.iter())
            .map(|zone| ZoneState {
                prompt: WinnerTree::new(zone.prompt.len() + 1),
                outbound: WinnerTree::new(zone.outbound.len()),
                ticks: Ticks::new(open_clocks(zone)),
                rounds: WinnerTree::new(zone.sources.len()),
            })
            .collect();
        let sources = clocks.into_iter().map(|clock| SourceState {
            clock,
            round: 0,
            outstanding: 0,
            ready: 0,
        });
        // No job has this number, so no clock has these streams.
        let stream = |server| RandomStream {
            seed: options.seed,
            job: usize::MAX,
            source: server,
            send: None,
        };
        let servers = network.finals.len();
        let random = (options.service == Service::Exponential)
            .then(|| (0..servers).map(|server| stream(server).random()).collect());
        Self {
            network,
            servers: network.services.iter().map(|service| Server::new(*service)).collect(),
            queues: vec![Queue::new(); network.streams.len()],
            trains: vec![Queue::new(); network.streams.len()],
            zones,
            order: WinnerTree::new(network.zones.len()),
            jobs: (0..jobs).map(|_| JobCount::new()).collect(),
            sources: sources.collect(),
            closed,
            remote_release: options.pacing == Pacing::AfterArrival,
            random,
            active: NO_ZONE,
            interrupted: false,
            single: false,
            crowded: Vec::new(),
            now: 0,
            ticks: 0,
            work: 0,
            observed: OBSERVED,
        }
    }

    /// Runs to the end, or until the observer breaks.
    pub(super) fn run(mut self, observer: Observer) -> Result<Counts, SimulationError> {
        if self.closed {
            (0..self.sources.len()).for_each(|source| self.schedule(source));
        } else {
            (0..self.zones.len()).for_each(|zone| self.await_tick(zone));
        }
        (0..self.zones.len()).for_each(|zone| self.refresh(zone));
        let stopped = self.run_exports(observer) || self.run_out(observer);
        // What is later than 64 bits hold never happens.
        let whole = self.delivered() == self.network.messages;
        if !stopped && !whole {
            return Err(SimulationError::TooLong);
        }
        Ok(Counts {
            events: self.events(),
            stopped: stopped.then_some(self.now),
            servers: self.servers,
            jobs: self.jobs,
        })
    }

    /// Until there is no export any more.
    fn run_exports(&mut self, observer: Observer) -> bool {
        loop {
            let (time, zone) = self.order.first();
            if time == NEVER {
                return false;
            }
            self.now = self.now.max(time);
            self.step(zone);
            if self.stops(observer) {
                return true;
            }
        }
    }

    /// Until nothing is left to do in any zone.
    fn run_out(&mut self, observer: Observer) -> bool {
        for zone in 0..self.zones.len() {
            loop {
                let (time, _) = self.zones[zone].prompt.first();
                if time == NEVER {
                    break;
                }
                self.now = self.now.max(time);
                self.advance(zone, NEVER, false);
                if self.stops(observer) {
                    return true;
                }
            }
            for &server in &self.network.zones[zone].finals {
                self.flush(server, NEVER, NONE);
            }
        }
        false
    }

    /// Asks the observer, now and then.
    #[inline]
    fn stops(&mut self, observer: Observer) -> bool {
        if self.work < self.observed {
            return false;
        }
        self.observed = self.work + OBSERVED;
        observer(&self.progress()).is_break()
    }

    /// Departures from servers and ticks.
    fn events(&self) -> u64 {
        self.ticks + self.servers.iter().map(|server| server.messages).sum::<u64>()
    }

    /// Messages that have arrived.
    fn delivered(&self) -> u64 {
        self.jobs.iter().map(|job| job.messages).sum()
    }

    fn progress(&self) -> Progress {
        Progress {
            time: Seconds(self.now as f64 / 1e12),
            events: self.events(),
            delivered: self.delivered(),
            messages: Some(self.network.messages),
        }
    }

    /// The next exports of a zone, or what must be done before they are known.
    #[inline]
    fn step(&mut self, zone: usize) {
        // The way of most: the zone has one export, and that is known.
        if let Some(export) = self.network.zones[zone].only_export
            && PLAIN
            && self.queues[export].len() > 0
        {
            self.export(zone, export, self.order.first_beside(zone));
        } else {
            self.step_of_several(zone);
        }
        while let Some((zone, server)) = self.crowded.pop() {
            let horizon = self.horizon(zone);
            self.advance(zone, horizon, false);
            let done = horizon.min(self.zones[zone].prompt.first().0);
            self.flush(server, done, NONE);
        }
    }

    #[inline(never)]
    fn step_of_several(&mut self, zone: usize) {
        let (export, head, next) = self.heads(zone);
        let due = self.due(zone);
        if due <= head {
            self.advance(zone, self.horizon(zone), true);
        } else {
            let bound = self.order.first_beside(zone).min(next).min(due);
            self.export(zone, export, bound);
        }
    }

    /// The export with the earliest head, its time, and that of the next one.
    #[inline]
    fn heads(&self, zone: usize) -> (usize, u64, u64) {
        let mut best = (0, NEVER, NEVER);
        for &export in &self.network.zones[zone].exports {
            let head = self.queues[export].first();
            best = if head < best.1 {
                (export, head, best.1)
            } else {
                (best.0, best.1, best.2.min(head))
            };
        }
        best
    }

    /// Whether the next export of a zone is known.
    #[inline]
    fn is_known(&self, zone: usize) -> bool {
        let zone = &self.network.zones[zone];
        zone.passed.is_empty() && zone.exports.iter().all(|export| self.queues[*export].len() > 0)
    }

    /// What comes into a zone from now on has left its first server there after this time.
    fn horizon(&self, zone: usize) -> u64 {
        if self.remote_release {
            return self.now;
        }
        let zone = &self.network.zones[zone];
        let coming = match &zone.feeders {
            Some(feeders) => feeders.iter().map(|feeder| self.order.time(*feeder)).min(),
            None => Some(self.now),
        };
        let entered = zone.entries.iter().map(|server| self.servers[*server as usize].free()).min();
        coming.unwrap_or(NEVER).max(entered.unwrap_or(0))
    }

    /// The time of what must be done in a zone before its exports go on.
    #[inline]
    fn due(&self, zone: usize) -> u64 {
        let state = &self.zones[zone];
        if self.is_known(zone) && !self.remote_release {
            NEVER
        } else {
            state.prompt.first().0.min(state.outbound.first().0)
        }
    }

    /// Puts a zone where it belongs in the order.
    #[inline(never)]
    fn refresh(&mut self, zone: usize) {
        let head = self.heads(zone).1;
        let due = self.due(zone);
        let passed = self.network.zones[zone].passed.iter();
        let time = match passed.map(|server| self.servers[*server as usize].free()).min() {
            // The next message that passes comes no earlier, and until then nothing hurries.
            Some(free) if due != NEVER => due.max(free),
            _ => head.min(due),
        };
        self.order.set(zone, time);
    }

    /// Takes messages out of an export before others have their turn.
    #[inline]
    fn export(&mut self, zone: usize, stream: usize, bound: u64) {
        self.interrupted = false;
        loop {
            let entry = self.queues[stream].pop();
            self.now = entry.time;
            self.arrive(entry);
            self.work += 1;
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        let head = self.queues[stream].first();
        if PLAIN && head != NEVER && self.network.zones[zone].only_export.is_some() {
            self.order.set(zone, head);
        } else {
            self.refresh(zone);
        }
    }
}

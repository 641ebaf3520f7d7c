//! The event loop.
//!
//! One event is one message coming to one server; when it leaves is known at once, so there are no
//! departure events. What leaves a server waits in the queue of its stream, in order, so only the
//! head of each stream takes part in the search for the next event: the cost does not depend on how
//! many messages wait.
//!
//! Exports of all zones are merged in the order of time. A zone is only brought up to date
//! ([`Engine::advance`]) when its exports are used up and its own next event may be the next export,
//! or when too much has piled up in it. Then its ticks and messages are worked off in long runs.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

use super::clock::{Clock, RandomStream};
use super::network::{End, Hop, Lane, NONE, Network, SendTable};
use super::queue::{Entry, NEVER, Queue};
use super::server::Server;
use super::statistics::{Counted, JobCount};
use super::winner_tree::WinnerTree;
use super::{OBSERVED, Options, Pacing, Progress, Service, SimulationError};
use crate::units::Seconds;

/// Whenever so many messages more wait in a lazy stream, its zone is brought up to date. A power of
/// two.
const CROWD: usize = 1 << 20;
/// A zone does at most about so many events at a stretch.
const STRETCH: u64 = 1 << 14;

pub(super) struct Engine<'a> {
    network: &'a Network,
    servers: Vec<Server>,
    /// Per stream.
    queues: Vec<Queue>,
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
    /// A zone in which too much has piled up.
    crowded: Option<usize>,
    now: u64,
    ticks: u64,
    departures: u64,
    delivered: u64,
    too_long: bool,
}

struct ZoneState {
    /// The prompt streams, then the ticks.
    prompt: WinnerTree,
    lazy: WinnerTree,
    /// The next tick of each source.
    ticks: WinnerTree,
}

struct SourceState {
    clock: Clock,
    round: u64,
    /// In a closed loop, the messages of this round that the source waits for, and when the last
    /// of those it does not wait for any more has gone.
    outstanding: u32,
    ready: u64,
}

const NO_ZONE: usize = usize::MAX;

impl<'a> Engine<'a> {
    pub(super) fn new(network: &'a Network, jobs: usize, options: &Options) -> Self {
        let zones = network.zones.iter().map(|zone| ZoneState {
            prompt: WinnerTree::new(zone.prompt.len() + 1),
            lazy: WinnerTree::new(zone.lazy.len()),
            ticks: WinnerTree::new(zone.sources.len()),
        });
        let sources = network.sources.iter().map(|source| SourceState {
            clock: source.clock.clone(),
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
        let servers = network.fed_lazily.len();
        let random = (options.service == Service::Exponential)
            .then(|| (0..servers).map(|server| stream(server).random()).collect());
        Self {
            network,
            servers: vec![Server::new(); servers],
            queues: vec![Queue::new(); network.streams.len()],
            zones: zones.collect(),
            order: WinnerTree::new(network.zones.len()),
            jobs: (0..jobs).map(|_| JobCount::new()).collect(),
            sources: sources.collect(),
            closed: options.pacing != Pacing::Open,
            remote_release: options.pacing == Pacing::AfterArrival,
            random,
            active: NO_ZONE,
            interrupted: false,
            crowded: None,
            now: 0,
            ticks: 0,
            departures: 0,
            delivered: 0,
            too_long: false,
        }
    }

    /// Runs to the end, or until the observer breaks. Returns whether it did.
    pub(super) fn run(
        &mut self,
        observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<bool, SimulationError> {
        for source in 0..self.sources.len() {
            self.schedule(source);
        }
        (0..self.zones.len()).for_each(|zone| self.refresh(zone));
        let mut observed = OBSERVED;
        let mut stopped = false;
        // The zones behind this one are at their end.
        let mut unfinished = self.zones.len();
        while unfinished > 0 {
            let (time, zone) = self.order.first();
            if time == NEVER {
                self.advance(unfinished - 1, NEVER);
                // What it released may have to be exported first.
                let idle = self.order.first().0 == NEVER;
                unfinished -= usize::from(idle && self.is_idle(unfinished - 1));
            } else {
                self.now = self.now.max(time);
                self.step(zone);
            }
            if self.departures >= observed && !stopped {
                observed = self.departures + OBSERVED;
                if self.too_long {
                    break;
                }
                if observer(&self.progress()).is_break() {
                    stopped = true;
                    break;
                }
            }
        }
        if self.too_long { Err(SimulationError::TooLong) } else { Ok(stopped) }
    }

    /// What was counted; `stopped` if that is not all.
    pub(super) fn counted(&self, stopped: bool) -> Counted<'_> {
        Counted {
            servers: &self.servers,
            jobs: &self.jobs,
            events: self.departures + self.ticks,
            stopped: stopped.then_some(self.now),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            time: Seconds(self.now as f64 / 1e12),
            events: self.departures + self.ticks,
            delivered: self.delivered,
            messages: self.network.messages,
        }
    }

    fn is_idle(&self, zone: usize) -> bool {
        let state = &self.zones[zone];
        state.prompt.first().0 == NEVER && state.lazy.first().0 == NEVER
    }

    /// The next export of a zone, or bringing it up to date if that is not known.
    fn step(&mut self, zone: usize) {
        let (export, head, next) = self.heads(zone);
        let due = self.due(zone);
        if due <= head {
            self.advance(zone, self.now);
        } else {
            let bound = self.order.first_beside(zone).min(next).min(due);
            self.export(zone, export, bound);
        }
        while let Some(zone) = self.crowded.take() {
            self.advance(zone, self.now);
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

    /// The time to which a zone must be up to date before its exports go on.
    #[inline]
    fn due(&self, zone: usize) -> u64 {
        let exports = &self.network.zones[zone].exports;
        let unknown = exports.iter().any(|export| self.queues[*export].len() == 0);
        if unknown || self.remote_release { self.zones[zone].prompt.first().0 } else { NEVER }
    }

    /// Puts a zone where it belongs in the order.
    fn refresh(&mut self, zone: usize) {
        let head = self.heads(zone).1;
        let due = self.due(zone);
        self.order.set(zone, head.min(due));
    }

    /// Takes messages out of an export before others have their turn.
    fn export(&mut self, zone: usize, stream: usize, bound: u64) {
        self.interrupted = false;
        loop {
            let entry = self.queues[stream].pop();
            self.now = entry.time;
            self.arrive(entry);
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        self.refresh(zone);
    }

    /// Does what happens in a zone up to a time, or a stretch of it.
    fn advance(&mut self, zone: usize, until: u64) {
        self.active = zone;
        let ticks = self.network.zones[zone].prompt.len();
        let enough = self.departures + STRETCH;
        loop {
            let (time, slot) = self.zones[zone].prompt.first();
            if time > until || time == NEVER {
                self.flush(zone, until, NONE);
                break;
            }
            if until == NEVER {
                self.now = self.now.max(time);
            }
            if slot == ticks {
                self.flush(zone, time, NONE);
                self.tick(zone, time);
            } else {
                self.follow(zone, slot, until);
            }
            if self.departures > enough {
                break;
            }
        }
        self.active = NO_ZONE;
        self.refresh(zone);
    }

    /// Takes messages out of a prompt stream before others have their turn.
    fn follow(&mut self, zone: usize, slot: usize, until: u64) {
        let network = self.network;
        let stream = network.zones[zone].prompt[slot];
        let from = network.streams[stream].server;
        let bound = self.zones[zone].prompt.first_beside(slot).min(until.saturating_add(1));
        self.interrupted = false;
        loop {
            let entry = self.queues[stream].pop();
            let hop = &network.hops[entry.hop as usize];
            if network.fed_lazily[hop.server as usize] {
                self.flush(zone, entry.time, from);
                self.interrupted = true;
            }
            self.arrive(entry);
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        let head = self.queues[stream].first();
        self.zones[zone].prompt.set(slot, head);
    }

    /// Does what waits in the lazy streams of a zone up to a time; at that time only what comes
    /// from servers below `server`.
    fn flush(&mut self, zone: usize, until: u64, server: u32) {
        loop {
            let (time, slot) = self.zones[zone].lazy.first();
            if time > until || time == NEVER {
                return;
            }
            let stream = self.network.zones[zone].lazy[slot];
            if time == until && self.network.streams[stream].server >= server {
                return;
            }
            let bound = self.zones[zone].lazy.first_beside(slot).min(until);
            self.interrupted = false;
            loop {
                let entry = self.queues[stream].pop();
                self.arrive(entry);
                if self.queues[stream].first() >= bound || self.interrupted {
                    break;
                }
            }
            let head = self.queues[stream].first();
            self.zones[zone].lazy.set(slot, head);
        }
    }

    /// A source sends.
    fn tick(&mut self, zone: usize, time: u64) {
        let network = self.network;
        let slot = self.zones[zone].ticks.first().1;
        let number = network.zones[zone].sources[slot];
        let table = &network.sources[number];
        self.ticks += 1;
        let round = self.sources[number].round;
        self.sources[number].round += 1;
        if self.closed {
            self.sources[number].outstanding = table.sends.len() as u32;
            self.sources[number].ready = time;
            self.set_tick(zone, slot, NEVER);
        }
        for send in &table.sends {
            let hop = match send {
                SendTable::Single(hop) => *hop,
                SendTable::InTurn(hops) => hops[(round % hops.len() as u64) as usize],
                SendTable::Direct(end) => {
                    let end = &network.ends[*end as usize];
                    self.deliver(end, time, time);
                    continue;
                }
            };
            self.arrive(Entry { time, birth: time, hop });
        }
        if !self.closed {
            self.schedule(number);
        }
    }

    /// Sets the next tick of a source.
    fn schedule(&mut self, source: usize) {
        let state = &mut self.sources[source];
        let time = match state.clock.next() {
            Some(time) => {
                self.too_long |= time == NEVER;
                time.max(state.ready)
            }
            None => NEVER,
        };
        let table = &self.network.sources[source];
        self.set_tick(table.zone, table.slot, time);
        if self.closed && self.active != table.zone {
            self.refresh(table.zone);
        }
    }

    fn set_tick(&mut self, zone: usize, slot: usize, time: u64) {
        let state = &mut self.zones[zone];
        state.ticks.set(slot, time);
        state.prompt.set(self.network.zones[zone].prompt.len(), state.ticks.first().0);
    }

    /// A message comes to a server.
    #[inline(always)]
    fn arrive(&mut self, entry: Entry) {
        let network = self.network;
        let hop = &network.hops[entry.hop as usize];
        let service = match &mut self.random {
            None => hop.service,
            Some(random) => exponential(hop.service, &mut random[hop.server as usize]),
        };
        let (departure, wait) = self.servers[hop.server as usize].serve(entry.time, service);
        self.departures += 1;
        if self.random.is_some() {
            self.jobs[network.hop_jobs[entry.hop as usize] as usize].waiting += u128::from(wait);
        }
        if self.closed {
            self.release(network.hop_releases[entry.hop as usize], departure);
        }
        if hop.next == NONE {
            self.deliver(&network.ends[hop.stream as usize], entry.birth, departure);
        } else {
            self.forward(hop, departure, entry.birth);
        }
    }

    #[inline(always)]
    fn forward(&mut self, hop: &Hop, departure: u64, birth: u64) {
        let stream = &self.network.streams[hop.stream as usize];
        let queue = &mut self.queues[hop.stream as usize];
        let time = departure.saturating_add(stream.latency);
        self.too_long |= time == NEVER;
        let length = queue.len();
        queue.push(Entry { time, birth, hop: hop.next });
        if length & (CROWD - 1) == 0 {
            self.notice(hop.stream as usize, length, time);
        }
    }

    /// A queue that was empty has its first message, or one more crowd.
    #[inline(never)]
    fn notice(&mut self, stream: usize, length: usize, time: u64) {
        let stream = &self.network.streams[stream];
        let zone = stream.zone;
        if length > 0 {
            if matches!(stream.lane, Lane::Lazy { .. }) && zone != self.active {
                self.crowded = Some(zone);
                self.interrupted = true;
            }
            return;
        }
        match stream.lane {
            Lane::Lazy { slot } => {
                self.zones[zone].lazy.set(slot, time);
                self.interrupted |= zone == self.active;
            }
            Lane::Prompt { slot } => {
                self.zones[zone].prompt.set(slot, time);
                self.interrupted = true;
                if zone != self.active {
                    self.refresh(zone);
                }
            }
            Lane::Export => {
                if zone != self.active {
                    self.interrupted = true;
                    self.refresh(zone);
                }
            }
        }
    }

    /// A message leaves its last server, or its sender if it passes none.
    #[inline(always)]
    fn deliver(&mut self, end: &End, birth: u64, departure: u64) {
        let time = departure.saturating_add(end.latency);
        self.too_long |= time == NEVER;
        let latency = time - birth;
        let job = &mut self.jobs[end.job as usize];
        job.arrived(latency, time);
        if self.random.is_none() {
            job.waiting += u128::from(latency - end.base);
        }
        self.delivered += 1;
        if self.closed {
            self.release(end.releases, time);
        }
    }

    /// A source waits for one message less.
    fn release(&mut self, source: u32, time: u64) {
        if source == NONE {
            return;
        }
        let state = &mut self.sources[source as usize];
        state.ready = state.ready.max(time);
        state.outstanding -= 1;
        if state.outstanding == 0 {
            self.interrupted = true;
            self.schedule(source as usize);
        }
    }
}

/// At least one picosecond, as all services.
fn exponential(mean: u64, random: &mut ChaCha8Rng) -> u64 {
    let part: f64 = Exp1.sample(random);
    ((mean as f64 * part).round() as u64).max(1)
}

//! The event loop. `docs/src/design/0003-simulator.md` explains it, with figures, and defines the
//! terms that are used here.
//!
//! The only event is the arrival of a message at a server. A server is first in, first out, so the
//! departure is known at once, and the arrivals of a stream come in order: only the heads of the
//! streams take part in the search for the next event. Streams are merged where their order matters,
//! which their lane says:
//!
//! ```text
//!            zone: one node                                     other zones
//!   ticks ──────┐
//!   local ──────┴─> memory ──outbound──> NIC out ──export───┐
//!                     ^ ^                                   │  merged over all zones
//!                     │ └──final── NIC in <─────────────────┘  by their output times
//!                     └──final── (own memory)
//! ```
//!
//! The export loop takes the zone with the earliest output time. If its next export is known, it runs
//! exports; if not, it advances the zone, up to its safe time, until some exports are known.

mod message;
mod ticks;
mod zone;

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;

use crate::sim::clock::{Clock, RandomStream};
use crate::sim::network::{NONE, Network, Zone};
use crate::sim::queue::{Arrival, Queue, Train};
use crate::sim::server::Server;
use crate::sim::statistics::{Counts, JobCount};
use crate::sim::time::{NEVER, seconds};
use crate::sim::winner_tree::WinnerTree;
use crate::sim::{OBSERVED, Options, Pacing, Progress, Service, SimulationError};
use ticks::Ticks;

/// A server is crowded when the length of one of its final streams reaches a multiple of this. A power
/// of two.
const CROWD: usize = 1024;
/// About the most events of one advance of a zone.
const STRETCH: u64 = 1 << 14;
/// About the number of events that make a zone's next exports known.
const BATCH: u64 = 256;

/// Called with the progress.
type Observer<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// A simulation. `PLAIN` is an open loop with deterministic service: then neither senders nor random
/// numbers need a look for every message.
pub(super) struct Engine<'a, const PLAIN: bool> {
    network: &'a Network,
    /// Index: [`ServerId`](crate::ids::ServerId).
    servers: Vec<Server>,
    /// Index: stream; unused for outbound streams.
    queues: Vec<Queue<Arrival>>,
    /// Index: stream; used for outbound streams only.
    trains: Vec<Queue<Train>>,
    /// Index: zone.
    zones: Vec<ZoneState>,
    /// The output time of each zone.
    output_times: WinnerTree,
    /// Index: job.
    jobs: Vec<JobCount>,
    /// Index: source.
    sources: Vec<SourceState>,
    /// Whether senders wait for their messages.
    closed: bool,
    /// Whether the arrival of a message in one zone can start a round in another.
    remote_release: bool,
    /// If services are random. Index: [`ServerId`](crate::ids::ServerId).
    random: Option<Vec<ChaCha8Rng>>,
    /// The zone that is being advanced, or [`NO_ZONE`].
    advancing: usize,
    /// Whether a stream other than that of the present run has got a head: the run's bound is stale.
    interrupted: bool,
    /// Whether the last tick sent one message.
    one_message_tick: bool,
    /// Crowded servers with their zones.
    crowded: Vec<(usize, usize)>,
    /// The latest time that the export loop has reached, picoseconds.
    now: u64,
    ticks: u64,
    /// Arrivals and ticks so far; a train counts once where it is served.
    work: u64,
    /// The `work` at which the observer is called next.
    observe_at: u64,
}

struct ZoneState {
    /// The heads of the local streams, then in the last slot the next tick.
    local: WinnerTree,
    /// The heads of the outbound streams.
    outbound: WinnerTree,
    /// In an open loop: the ticks of the zone's clocks.
    ticks: Ticks,
    /// In a closed loop: the next round of each source of the zone.
    rounds: WinnerTree,
}

struct SourceState {
    /// In a closed loop; in an open one the clocks are in [`ZoneState::ticks`].
    clock: Option<Clock>,
    /// The number of rounds so far.
    round: u64,
    /// In a closed loop: the messages of this round that the source waits for.
    outstanding: u32,
    /// In a closed loop: when this round began, picoseconds.
    begun: u64,
    /// In a closed loop: the latest time at which a message of this round was released, picoseconds.
    ready: u64,
    /// In a closed loop: how long the clock has stood still while messages were on their way, picoseconds. Services
    /// that real networks do at the same time count once.
    stood: u64,
    /// In a closed loop: the same with this round, as far as its messages were released.
    stands: u64,
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
                local: WinnerTree::new(zone.local.len() + 1),
                outbound: WinnerTree::new(zone.outbound.len()),
                ticks: Ticks::new(open_clocks(zone)),
                rounds: WinnerTree::new(zone.sources.len()),
            })
            .collect();
        let sources = clocks.into_iter().map(|clock| SourceState {
            clock,
            round: 0,
            outstanding: 0,
            begun: 0,
            ready: 0,
            stood: 0,
            stands: 0,
        });
        // No job has this number, so no clock has these random numbers.
        let stream = |server| RandomStream {
            seed: options.seed,
            job: usize::MAX,
            source: server,
            send: None,
        };
        let servers = network.final_streams.len();
        let random = (options.service == Service::Exponential)
            .then(|| (0..servers).map(|server| stream(server).random()).collect());
        Self {
            network,
            servers: network.equal_services.iter().map(|service| Server::new(*service)).collect(),
            queues: vec![Queue::new(); network.streams.len()],
            trains: vec![Queue::new(); network.streams.len()],
            zones,
            output_times: WinnerTree::new(network.zones.len()),
            jobs: (0..jobs).map(|_| JobCount::new()).collect(),
            sources: sources.collect(),
            closed,
            remote_release: options.pacing == Pacing::AfterArrival,
            random,
            advancing: NO_ZONE,
            interrupted: false,
            one_message_tick: false,
            crowded: Vec::new(),
            now: 0,
            ticks: 0,
            work: 0,
            observe_at: OBSERVED,
        }
    }

    /// Runs to the end, or until the observer breaks.
    pub(super) fn run(mut self, observer: Observer) -> Result<Counts, SimulationError> {
        if self.closed {
            (0..self.sources.len()).for_each(|source| self.schedule_round(source));
        } else {
            (0..self.zones.len()).for_each(|zone| self.schedule_tick(zone));
        }
        (0..self.zones.len()).for_each(|zone| self.refresh(zone));
        let stopped = self.run_exports(observer) || self.run_rest(observer);
        // Events later than 64 bits can hold never happen.
        let complete = self.delivered() == self.network.messages;
        if !stopped && !complete {
            return Err(SimulationError::TooLong);
        }
        Ok(Counts {
            events: self.events(),
            stopped: stopped.then_some(self.now),
            servers: self.servers,
            jobs: self.jobs,
        })
    }

    /// The export loop: until no zone has another export. Returns whether the observer broke.
    fn run_exports(&mut self, observer: Observer) -> bool {
        loop {
            let (time, zone) = self.output_times.first();
            if time == NEVER {
                return false;
            }
            self.now = self.now.max(time);
            self.turn(zone);
            if self.stops(observer) {
                return true;
            }
        }
    }

    /// After the last export: what is left inside each zone. Returns whether the observer broke.
    fn run_rest(&mut self, observer: Observer) -> bool {
        for zone in 0..self.zones.len() {
            loop {
                let (time, _) = self.zones[zone].local.first();
                if time == NEVER {
                    break;
                }
                self.now = self.now.max(time);
                self.advance(zone, NEVER, false);
                if self.stops(observer) {
                    return true;
                }
            }
            for &server in &self.network.zones[zone].final_servers {
                self.run_final(server, NEVER, NONE);
            }
        }
        false
    }

    /// Calls the observer from time to time. Returns whether it broke.
    #[inline]
    fn stops(&mut self, observer: Observer) -> bool {
        if self.work < self.observe_at {
            return false;
        }
        self.observe_at = self.work + OBSERVED;
        observer(&self.progress()).is_break()
    }

    /// Departures from servers and ticks.
    fn events(&self) -> u64 {
        self.ticks + self.servers.iter().map(|server| server.messages).sum::<u64>()
    }

    /// Messages that have arrived at their receivers.
    fn delivered(&self) -> u64 {
        self.jobs.iter().map(|job| job.messages).sum()
    }

    fn progress(&self) -> Progress {
        Progress {
            time: seconds(self.now),
            events: self.events(),
            delivered: self.delivered(),
            messages: Some(self.network.messages),
        }
    }

    /// The turn of the zone with the earliest output time: runs its next exports, or advances it until
    /// they are known.
    #[inline]
    fn turn(&mut self, zone: usize) {
        // Fast path: the zone has exactly one export stream, and its head is known.
        if let Some(export) = self.network.zones[zone].only_export
            && PLAIN
            && self.queues[export].len() > 0
        {
            self.run_export(zone, export, self.output_times.first_beside(zone));
        } else {
            self.turn_of_any(zone);
        }
        while let Some((zone, server)) = self.crowded.pop() {
            let safe = self.safe_time(zone);
            self.advance(zone, safe, false);
            let done = safe.min(self.zones[zone].local.first().0);
            self.run_final(server, done, NONE);
        }
    }

    #[inline(never)]
    fn turn_of_any(&mut self, zone: usize) {
        let (export, head, next) = self.export_heads(zone);
        let pending = self.pending_time(zone);
        if pending <= head {
            self.advance(zone, self.safe_time(zone), true);
        } else {
            let bound = self.output_times.first_beside(zone).min(next).min(pending);
            self.run_export(zone, export, bound);
        }
    }

    /// The export stream with the earliest head, the time of that head, and that of the next stream's
    /// head.
    #[inline]
    fn export_heads(&self, zone: usize) -> (usize, u64, u64) {
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

    /// Whether the next export of a zone is known: all its export streams have heads, and nothing
    /// leaves it in a through stream.
    #[inline]
    fn exports_known(&self, zone: usize) -> bool {
        let zone = &self.network.zones[zone];
        zone.through_servers.is_empty()
            && zone.exports.iter().all(|export| self.queues[*export].len() > 0)
    }

    /// The safe time of a zone: what enters it from now on has left its first server there after this
    /// time, picoseconds.
    fn safe_time(&self, zone: usize) -> u64 {
        if self.remote_release {
            return self.now;
        }
        let zone = &self.network.zones[zone];
        let entering = match &zone.feeders {
            Some(feeders) => feeders.iter().map(|feeder| self.output_times.time(*feeder)).min(),
            None => Some(self.now),
        };
        let servers = zone.entry_servers.iter();
        let served = servers.map(|server| self.servers[*server as usize].free()).min();
        entering.unwrap_or(NEVER).max(served.unwrap_or(0))
    }

    /// The time of the first event inside a zone that may bring an export before the known ones;
    /// [`NEVER`] if the next export is known.
    #[inline]
    fn pending_time(&self, zone: usize) -> u64 {
        let state = &self.zones[zone];
        if self.exports_known(zone) && !self.remote_release {
            NEVER
        } else {
            state.local.first().0.min(state.outbound.first().0)
        }
    }

    /// Computes the output time of a zone.
    #[inline(never)]
    fn refresh(&mut self, zone: usize) {
        let head = self.export_heads(zone).1;
        let pending = self.pending_time(zone);
        let through = self.network.zones[zone].through_servers.iter();
        let time = match through.map(|server| self.servers[*server as usize].free()).min() {
            // The next message in a through stream leaves no earlier than its server is free.
            Some(free) if pending != NEVER => pending.max(free),
            _ => head.min(pending),
        };
        self.output_times.set(zone, time);
    }

    /// A run of an export stream: takes its arrivals before `bound`, at least one.
    #[inline]
    fn run_export(&mut self, zone: usize, stream: usize, bound: u64) {
        self.interrupted = false;
        loop {
            let arrival = self.queues[stream].pop();
            self.now = arrival.time;
            self.arrive(arrival);
            self.work += 1;
            if self.queues[stream].first() >= bound || self.interrupted {
                break;
            }
        }
        let head = self.queues[stream].first();
        if PLAIN && head != NEVER && self.network.zones[zone].only_export.is_some() {
            self.output_times.set(zone, head);
        } else {
            self.refresh(zone);
        }
    }
}

//! The servers, paths and clocks of a workload under a placement, as flat tables for the engine.
//!
//! Messages from one server to another form a *stream*: they come in the order in which they leave.
//! Servers of one node form a *zone*, every link one of its own. Within a zone only the order among
//! its own streams and clocks matters, so zones run ahead or behind as suits; only *exports*, the
//! streams that cross from one zone to others, are merged over all zones.

mod lanes;

use std::collections::{BTreeMap, HashMap};

use crate::placement::{Path, ServerKind, Servers};
use crate::sim::clock::{Clock, RandomStream};
use crate::sim::queue::NEVER;
use crate::sim::{Arrivals, Options, Pacing, SimulationError};
use crate::traffic::Workload;
use crate::traffic::source::OUTSIDE;
use crate::units::Seconds;

/// No such position.
pub(super) const NONE: u32 = u32::MAX;

/// All tables.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// What can happen to a message; equal continuations are shared.
    pub(super) hops: Vec<Hop>,
    /// The job of each hop.
    pub(super) hop_jobs: Vec<u32>,
    /// In a closed loop the source that waits for a message to have passed this hop, else [`NONE`].
    pub(super) hop_releases: Vec<u32>,
    /// How paths end.
    pub(super) ends: Vec<End>,
    pub(super) streams: Vec<Stream>,
    pub(super) zones: Vec<Zone>,
    pub(super) sources: Vec<SourceTable>,
    /// Per server how long its services take, if they are all equal.
    pub(super) services: Vec<Option<u64>>,
    /// Per server the [`Lane::Final`] streams that lead to it, by the servers that they come from.
    pub(super) finals: Vec<Vec<usize>>,
    /// All hops, so that position h holds h; then the hops of trains.
    pub(super) trains: Vec<u32>,
    /// The clock of each source, until the engine takes them.
    pub(super) clocks: Vec<Clock>,
    /// How many messages there will be.
    pub(super) messages: u64,
}

/// A message's stay at a server and what comes after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Hop {
    /// In picoseconds, at least one.
    pub(super) service: u64,
    pub(super) server: u32,
    /// The stream into which the message leaves; after the last hop a position in `ends`.
    pub(super) stream: u32,
    /// The hop after that, [`NONE`] after the last.
    pub(super) next: u32,
}

/// What is counted where a path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct End {
    pub(super) job: u32,
    /// In a closed loop the source that waits for the arrival, else [`NONE`].
    pub(super) releases: u32,
    /// From the last server to the receiver.
    pub(super) latency: u64,
    /// What the path takes without any waiting.
    pub(super) base: u64,
}

/// Where a stream is merged with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// With the exports of all zones.
    Export,
    /// Nowhere: an export to servers to which no other stream leads, from a zone without others.
    Through,
    /// In the zone, when an export runs out: it leads to servers that only feed exports.
    Outbound {
        /// Its number among them.
        slot: usize,
    },
    /// In the zone, with the ticks.
    Prompt {
        /// Its number among them.
        slot: usize,
    },
    /// At its server, when convenient: there its messages end, and nobody waits for them.
    Final,
}

/// The messages from one server to another, or to any in other zones; or those that come to their
/// first server later than their tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub(super) zone: usize,
    /// [`NONE`] from ticks.
    pub(super) from: u32,
    /// [`NONE`] for exports.
    pub(super) to: u32,
    pub(super) latency: u64,
    pub(super) lane: Lane,
}

/// A node or a link; the streams are ordered by the servers that they come from.
#[derive(Debug, Default)]
pub(super) struct Zone {
    pub(super) exports: Vec<usize>,
    /// If there is one.
    pub(super) only_export: Option<usize>,
    /// The servers from which [`Lane::Through`] streams come.
    pub(super) passed: Vec<u32>,
    /// The zones that messages pass before they come here, if they are few.
    pub(super) feeders: Option<Vec<usize>>,
    /// The servers to which they come first, if nothing else comes there.
    pub(super) entries: Vec<u32>,
    pub(super) outbound: Vec<usize>,
    pub(super) prompt: Vec<usize>,
    pub(super) sources: Vec<usize>,
    /// Servers to which [`Lane::Final`] streams lead.
    pub(super) finals: Vec<usize>,
}

/// What each tick of a clock sends.
#[derive(Debug)]
pub(super) struct SourceTable {
    pub(super) zone: usize,
    /// Its number in the zone.
    pub(super) slot: usize,
    pub(super) sends: Vec<SendTable>,
    /// How many messages each tick sends.
    pub(super) messages: u32,
}

/// One message of each tick, or a train of them.
#[derive(Debug, Clone)]
pub(super) enum SendTable {
    /// Several that begin with equal hops into an outbound stream.
    Train {
        /// The first hop of the first.
        hop: u32,
        /// Where the second hops begin in `Network::trains`.
        first: u32,
        /// How many messages.
        count: u32,
    },
    /// The first hop, at once.
    Single(u32),
    /// The same later.
    Late(First),
    /// Several paths: one message of the rank after the other takes them in turn.
    /// In the first round it is the turn of `first`, in each one after it `step` turns later.
    InTurn {
        /// How each begins.
        paths: Vec<First>,
        /// Ranks begin at different ones.
        first: u64,
        /// The messages of a round.
        step: u64,
    },
    /// No server: how it ends.
    Direct(u32),
}

/// How a path begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    /// The first hop.
    pub(super) hop: u32,
    /// The stream in which messages come to it, [`NONE`] if they do at once.
    pub(super) late: u32,
}

impl Network {
    /// # Errors
    /// If a job has messages but no sources, or something takes longer than 64 bits can hold.
    pub(super) fn new(
        servers: &Servers,
        workload: &Workload,
        options: &Options,
    ) -> Result<Self, SimulationError> {
        let mut builder = Builder::new(servers, options);
        for (number, (job, offset)) in workload.jobs.iter().zip(workload.rank_offsets()).enumerate()
        {
            if job.sources.is_empty()
                && job.flows.iter().any(|flow| flow.source != flow.destination)
            {
                return Err(SimulationError::NoSources { job: job.name.clone() });
            }
            builder.add_job(number, job, offset)?;
        }
        Ok(builder.finish())
    }
}

struct Builder<'a> {
    servers: &'a Servers<'a>,
    options: &'a Options,
    network: Network,
    /// The zone of each server.
    zones: Vec<usize>,
    known_hops: HashMap<(Hop, u32, u32), u32>,
    known_ends: HashMap<End, u32>,
    /// By the servers from and to, and the latency.
    known_streams: BTreeMap<(u32, u32, u64), usize>,
}

/// Who a path is for.
#[derive(Clone, Copy)]
struct Owner {
    job: u32,
    source: u32,
}

impl<'a> Builder<'a> {
    fn new(servers: &'a Servers<'a>, options: &'a Options) -> Self {
        // Nodes first, then links: exports of equal time are then in the order of their servers.
        let nodes = |kind: &ServerKind| match kind {
            ServerKind::Memory { node, .. }
            | ServerKind::NicOut { node, .. }
            | ServerKind::NicIn { node, .. } => Some(node.index()),
            _ => None,
        };
        let mut count =
            servers.kinds().iter().filter_map(nodes).map(|node| node + 1).max().unwrap_or(0);
        let mut zone = |kind: &ServerKind| match kind {
            ServerKind::Memory { node, .. }
            | ServerKind::NicOut { node, .. }
            | ServerKind::NicIn { node, .. } => node.index(),
            ServerKind::QueuePairOut { rank }
            | ServerKind::QueuePairIn { rank }
            | ServerKind::ProcessingOut { rank }
            | ServerKind::ProcessingIn { rank } => servers.node(*rank as usize).index(),
            ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. } => {
                count += 1;
                count - 1
            }
        };
        let zones: Vec<usize> = servers.kinds().iter().map(&mut zone).collect();
        let mut network = Network::default();
        network.zones.resize_with(count, Zone::default);
        network.finals = vec![Vec::new(); zones.len()];
        Self {
            servers,
            options,
            network,
            zones,
            known_hops: HashMap::new(),
            known_ends: HashMap::new(),
            known_streams: BTreeMap::new(),
        }
    }

    fn add_job(
        &mut self,
        number: usize,
        job: &crate::traffic::Job,
        offset: usize,
    ) -> Result<(), SimulationError> {
        let mut in_step = HashMap::new();
        for (position, source) in job.sources.iter().enumerate() {
            // Whoever ticks in step with others has the random numbers of the first of them.
            let stream = match (self.options.arrivals, source.in_step) {
                (Arrivals::PerSource, Some(step)) => *in_step.entry(step).or_insert(position),
                _ => position,
            };
            let from = offset + source.rank.index();
            let all: Vec<usize> = (0..source.sends.len())
                .filter(|send| source.sends[*send].destination != source.rank)
                .collect();
            let per_clock = match self.options.arrivals {
                Arrivals::PerSource => all.len().max(1),
                Arrivals::PerPair => 1,
            };
            for (clock, sends) in all.chunks(per_clock).enumerate() {
                let send = (self.options.arrivals == Arrivals::PerPair).then(|| sends[0]);
                let stream =
                    RandomStream { seed: self.options.seed, job: number, source: stream, send };
                let zone = self.servers.node(from).index();
                let owner = Owner { job: number as u32, source: self.network.sources.len() as u32 };
                let mut tables = Vec::with_capacity(sends.len());
                for (send, place) in sends.iter().map(|send| &source.sends[*send]).zip(0..) {
                    let paths = match send.destination {
                        OUTSIDE => self.servers.paths_outside(from, send.length),
                        rank => self.servers.paths(from, offset + rank.index(), send.length),
                    };
                    let turn = (from + clock * per_clock + place, sends.len());
                    let table = self.add_send(&paths, owner, turn);
                    tables.push(table.ok_or(SimulationError::TooLong)?);
                }
                let count = source.rounds.saturating_mul(sends.len() as u64);
                self.network.messages = self.network.messages.saturating_add(count);
                let slot = self.network.zones[zone].sources.len();
                self.network.zones[zone].sources.push(self.network.sources.len());
                self.network.clocks.push(Clock::new(source, stream));
                let messages = tables.len() as u32;
                self.network.sources.push(SourceTable { zone, slot, sends: tables, messages });
            }
        }
        Ok(())
    }

    fn add_send(
        &mut self,
        paths: &[Path],
        owner: Owner,
        (first_turn, step): (usize, usize),
    ) -> Option<SendTable> {
        let first: Option<Vec<Result<First, u32>>> =
            paths.iter().map(|path| self.add_path(path, owner)).collect();
        Some(match first?[..] {
            [Ok(First { hop, late: NONE })] => SendTable::Single(hop),
            [Ok(first)] => SendTable::Late(first),
            [Err(end), ..] => SendTable::Direct(end),
            ref several => SendTable::InTurn {
                paths: several.iter().filter_map(|first| first.ok()).collect(),
                first: first_turn as u64,
                step: step as u64,
            },
        })
    }

    /// How a path begins, or its end if it has no hop; nothing if it takes too long.
    fn add_path(&mut self, path: &Path, owner: Owner) -> Option<Result<First, u32>> {
        let late = picoseconds(path.latency)?;
        let mut base = late;
        for hop in &path.hops {
            base = base.checked_add(service(hop.service)?)?;
            base = base.checked_add(picoseconds(hop.latency)?)?;
        }
        let pacing = self.options.pacing;
        let releases = |when: bool| if when { owner.source } else { NONE };
        let last_latency = path.hops.last().map_or(path.latency, |hop| hop.latency);
        let end = End {
            job: owner.job,
            releases: releases(
                pacing == Pacing::AfterArrival
                    || (pacing == Pacing::AfterDeparture && path.hops.is_empty()),
            ),
            latency: picoseconds(last_latency)?,
            base,
        };
        let end = self.end(end);
        let Some(first) = path.hops.first() else {
            return Some(Err(end));
        };
        let side = self.zone(first);
        let late = if late > 0 { self.stream(side, (NONE, first.server.0), late) } else { NONE };
        let on_side = path.hops.iter().take_while(|hop| self.zone(hop) == side).count();
        // A message inside a node leaves the sender's side at its last memory.
        let leaves = on_side - 1;
        let mut next = NONE;
        for (position, hop) in path.hops.iter().enumerate().rev() {
            let stream = match path.hops.get(position + 1) {
                None => end,
                Some(after) => {
                    let zone = self.zone(hop);
                    let to = if zone == self.zone(after) { after.server.0 } else { NONE };
                    self.stream(zone, (hop.server.0, to), picoseconds(hop.latency)?)
                }
            };
            let hop = Hop { service: service(hop.service)?, server: hop.server.0, stream, next };
            let leaving = pacing == Pacing::AfterDeparture && position == leaves;
            next = self.hop(hop, owner.job, releases(leaving));
        }
        Some(Ok(First { hop: next, late }))
    }

    fn zone(&self, hop: &crate::placement::Hop) -> usize {
        self.zones[hop.server.index()]
    }

    fn hop(&mut self, hop: Hop, job: u32, releases: u32) -> u32 {
        let network = &mut self.network;
        *self.known_hops.entry((hop, job, releases)).or_insert_with(|| {
            network.hops.push(hop);
            network.hop_jobs.push(job);
            network.hop_releases.push(releases);
            network.hops.len() as u32 - 1
        })
    }

    fn end(&mut self, end: End) -> u32 {
        let ends = &mut self.network.ends;
        *self.known_ends.entry(end).or_insert_with(|| {
            ends.push(end);
            ends.len() as u32 - 1
        })
    }

    fn stream(&mut self, zone: usize, (from, to): (u32, u32), latency: u64) -> u32 {
        let streams = &mut self.network.streams;
        *self.known_streams.entry((from, to, latency)).or_insert_with(|| {
            let lane = if to == NONE { Lane::Export } else { Lane::Prompt { slot: 0 } };
            streams.push(Stream { zone, from, to, latency, lane });
            streams.len() - 1
        }) as u32
    }
}

/// Rounded; nothing beyond 64 bits.
fn picoseconds(time: Seconds) -> Option<u64> {
    let time = (time.0 * 1e12).round();
    (time < NEVER as f64).then_some(time as u64)
}

/// At least one picosecond, so that nothing ends when it begins.
fn service(time: Seconds) -> Option<u64> {
    picoseconds(time).map(|time| time.max(1))
}

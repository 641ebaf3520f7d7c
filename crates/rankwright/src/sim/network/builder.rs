//! Builds the tables of the network: the zone of each server, and the hops, streams and end of each
//! message of a tick. Equal ones are stored once.

use std::collections::{BTreeMap, HashMap};

use super::{Hop, Lane, NONE, Network, PathEnd, PathStart, SendTable, SourceTable, Stream, Zone};
use crate::ids::GlobalRank;
use crate::network::{Path, ServerKind, Servers};
use crate::sim::clock::{Clock, RandomStream};
use crate::sim::time::picoseconds;
use crate::sim::{Arrivals, Options, Pacing, SimulationError};
use crate::traffic::Job;
use crate::traffic::OUTSIDE;
use crate::units::Seconds;

/// The tables while they are built.
pub(super) struct Builder<'a> {
    servers: &'a Servers<'a>,
    pub(super) options: &'a Options,
    pub(super) network: Network,
    /// The zone of each server. Index: [`ServerId`](crate::ids::ServerId).
    pub(super) zones: Vec<usize>,
    /// By hop, job and the source that it releases.
    known_hops: HashMap<(Hop, u32, u32), u32>,
    known_ends: HashMap<PathEnd, u32>,
    /// By [`Stream::from`], [`Stream::to`] and [`Stream::latency`]: the order in which arrivals at one
    /// time are processed.
    pub(super) known_streams: BTreeMap<(u32, u32, u64), usize>,
}

/// The sender of the messages on a path.
#[derive(Clone, Copy)]
struct Owner {
    /// Index in [`Workload::jobs`](crate::traffic::Workload::jobs).
    job: u32,
    /// Index in [`Network::sources`].
    source: u32,
}

impl<'a> Builder<'a> {
    pub(super) fn new(servers: &'a Servers<'a>, options: &'a Options) -> Self {
        // Nodes before links: exports at one time are then in the order of their servers' numbers.
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
            | ServerKind::ProcessingIn { rank } => servers.node(*rank).index(),
            ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. } => {
                count += 1;
                count - 1
            }
        };
        let zones: Vec<usize> = servers.kinds().iter().map(&mut zone).collect();
        let mut network = Network::default();
        network.zones.resize_with(count, Zone::default);
        network.final_streams = vec![Vec::new(); zones.len()];
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

    /// `number`: index in [`Workload::jobs`](crate::traffic::Workload::jobs); `first`: the
    /// global rank of the job's rank 0. Returns whether it was added: false if `stops` says so.
    pub(super) fn add_job(
        &mut self,
        number: usize,
        job: &Job,
        first: GlobalRank,
        stops: &mut dyn FnMut(usize) -> bool,
    ) -> Result<bool, SimulationError> {
        let mut in_step = HashMap::new();
        let share = job.computing_share();
        for (position, source) in job.sources.iter().enumerate() {
            // Sources in step share the random numbers of the first of them.
            let stream = match (self.options.arrivals, source.in_step) {
                (Arrivals::PerSource, Some(step)) => *in_step.entry(step).or_insert(position),
                _ => position,
            };
            if stops(source.sends.len()) {
                return Ok(false);
            }
            let from = source.rank.global(first);
            let others: Vec<usize> = (0..source.sends.len())
                .filter(|send| source.sends[*send].destination != source.rank)
                .collect();
            let per_clock = match self.options.arrivals {
                Arrivals::PerSource => others.len().max(1),
                Arrivals::PerPair => 1,
            };
            for (clock, sends) in others.chunks(per_clock).enumerate() {
                let send = (self.options.arrivals == Arrivals::PerPair).then(|| sends[0]);
                let stream =
                    RandomStream { seed: self.options.seed, job: number, source: stream, send };
                let zone = self.servers.node(from).index();
                let owner = Owner { job: number as u32, source: self.network.sources.len() as u32 };
                let mut tables = Vec::with_capacity(sends.len());
                for (send, place) in sends.iter().map(|send| &source.sends[*send]).zip(0..) {
                    let paths = match send.destination {
                        OUTSIDE => self.servers.paths_outside(from, send.length),
                        rank => self.servers.paths(from, rank.global(first), send.length),
                    };
                    let turn = (from.index() + clock * per_clock + place, sends.len());
                    let table = self.add_send(&paths, owner, turn);
                    tables.push(table.ok_or(SimulationError::TooLong)?);
                }
                let count = source.rounds.saturating_mul(sends.len() as u64);
                self.network.messages = self.network.messages.saturating_add(count);
                let slot = self.network.zones[zone].sources.len();
                self.network.zones[zone].sources.push(self.network.sources.len());
                let clock = Clock::new(source, stream);
                self.network.clocks.push(match self.options.pacing {
                    Pacing::Open => clock,
                    Pacing::AfterDeparture | Pacing::AfterArrival => {
                        clock.of_computing(share).within_its_run()
                    }
                });
                let messages = tables.len() as u32;
                self.network.sources.push(SourceTable { zone, slot, sends: tables, messages });
            }
        }
        Ok(true)
    }

    fn add_send(
        &mut self,
        paths: &[Path],
        owner: Owner,
        (first_turn, step): (usize, usize),
    ) -> Option<SendTable> {
        let starts: Option<Vec<Result<PathStart, u32>>> =
            paths.iter().map(|path| self.add_path(path, owner)).collect();
        Some(match starts?[..] {
            [Ok(PathStart { hop, delayed: NONE })] => SendTable::Single(hop),
            [Ok(start)] => SendTable::Delayed(start),
            [Err(end), ..] => SendTable::WithoutServer(end),
            ref several => SendTable::InTurn {
                paths: several.iter().filter_map(|start| start.ok()).collect(),
                first_turn: first_turn as u64,
                step: step as u64,
            },
        })
    }

    /// The start of a path, or the index of its end if it has no hop; `None` if it takes longer than 64
    /// bits can hold.
    fn add_path(&mut self, path: &Path, owner: Owner) -> Option<Result<PathStart, u32>> {
        let delay = picoseconds(path.latency)?;
        let (mut unloaded, mut services, mut longest) = (delay, 0, 0);
        for hop in &path.hops {
            let service = service(hop.service)?;
            unloaded = unloaded.checked_add(service)?;
            (services, longest) = (services + service, longest.max(service));
            unloaded = unloaded.checked_add(picoseconds(hop.latency)?)?;
        }
        let pacing = self.options.pacing;
        let releases = |when: bool| if when { owner.source } else { NONE };
        let last_latency = path.hops.last().map_or(path.latency, |hop| hop.latency);
        let end = PathEnd {
            job: owner.job,
            releases: releases(
                pacing == Pacing::AfterArrival
                    || (pacing == Pacing::AfterDeparture && path.hops.is_empty()),
            ),
            latency: picoseconds(last_latency)?,
            unloaded,
            overlap: services - longest,
        };
        let end = self.end(end);
        let Some(first) = path.hops.first() else {
            return Some(Err(end));
        };
        let side = self.zone(first);
        let delayed =
            if delay > 0 { self.stream(side, (NONE, first.server.0), delay) } else { NONE };
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
        Some(Ok(PathStart { hop: next, delayed }))
    }

    fn zone(&self, hop: &crate::network::Hop) -> usize {
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

    fn end(&mut self, end: PathEnd) -> u32 {
        let ends = &mut self.network.ends;
        *self.known_ends.entry(end).or_insert_with(|| {
            ends.push(end);
            ends.len() as u32 - 1
        })
    }

    fn stream(&mut self, zone: usize, (from, to): (u32, u32), latency: u64) -> u32 {
        let streams = &mut self.network.streams;
        *self.known_streams.entry((from, to, latency)).or_insert_with(|| {
            let lane = if to == NONE { Lane::Export } else { Lane::Local { slot: 0 } };
            streams.push(Stream { zone, from, to, latency, lane });
            streams.len() - 1
        }) as u32
    }
}

/// Picoseconds, at least one: an arrival then never has an effect at its own time.
fn service(time: Seconds) -> Option<u64> {
    picoseconds(time).map(|time| time.max(1))
}

//! The servers, paths and clocks of a workload under a placement, as flat tables for the engine.
//!
//! Messages from one server to another form a *stream*: they come in the order in which they leave.
//! Servers of one node form a *zone*, every link one of its own. Within a zone only the order among
//! its own streams and clocks matters, so zones run ahead or behind as suits; only *exports*, the
//! streams that cross from one zone to others, are merged over all zones.

mod builder;
mod lanes;

use crate::network::Servers;
use crate::sim::clock::Clock;
use crate::sim::{Options, SimulationError};
use crate::traffic::Workload;
use builder::Builder;

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

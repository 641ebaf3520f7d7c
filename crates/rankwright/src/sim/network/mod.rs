//! The servers, paths and clocks of a workload under a placement, as flat tables for the engine.
//! `docs/src/design/0003-simulator.md` defines stream, zone, lane, train and the other terms.

mod builder;
mod lanes;

use crate::network::Servers;
use crate::sim::clock::Clock;
use crate::sim::{Options, SimulationError};
use crate::traffic::Workload;
use builder::Builder;

/// No such index.
pub(super) const NONE: u32 = u32::MAX;

/// All tables. Times are picoseconds.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Equal continuations of paths are shared: a hop is followed by one with a lower index.
    pub(super) hops: Vec<Hop>,
    /// The job of each hop. Index: hop.
    pub(super) hop_jobs: Vec<u32>,
    /// In a closed loop the source that waits until a message has passed this hop, else [`NONE`].
    /// Index: hop.
    pub(super) hop_releases: Vec<u32>,
    pub(super) ends: Vec<PathEnd>,
    pub(super) streams: Vec<Stream>,
    pub(super) zones: Vec<Zone>,
    pub(super) sources: Vec<SourceTable>,
    /// The service time of each server at which all messages have the same. Index:
    /// [`ServerId`](crate::ids::ServerId).
    pub(super) equal_services: Vec<Option<u64>>,
    /// The [`Lane::Final`] streams that lead to each server, by the number of the server that they
    /// come from. Index: [`ServerId`](crate::ids::ServerId).
    pub(super) final_streams: Vec<Vec<usize>>,
    /// The hops of the messages in trains: indices in `hops`. It begins with all hops in ascending
    /// order, so that hop h alone is the train of one message at h.
    pub(super) train_hops: Vec<u32>,
    /// The clock of each source, until the engine takes them.
    pub(super) clocks: Vec<Clock>,
    /// The number of messages of the whole run.
    pub(super) messages: u64,
}

/// A server on a path, and what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Hop {
    /// Picoseconds, at least one.
    pub(super) service: u64,
    /// [`ServerId`](crate::ids::ServerId).
    pub(super) server: u32,
    /// The stream that the message leaves in; for the last hop an index in [`Network::ends`].
    pub(super) stream: u32,
    /// The next hop, [`NONE`] for the last.
    pub(super) next: u32,
}

/// The end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PathEnd {
    /// Index in [`Workload::jobs`].
    pub(super) job: u32,
    /// In a closed loop the source that waits for the arrival, else [`NONE`].
    pub(super) releases: u32,
    /// The time from the last server to the receiver, picoseconds.
    pub(super) latency: u64,
    /// The time of the whole path without any waiting, picoseconds.
    pub(super) unloaded: u64,
    /// The services of the path but for the longest, picoseconds: real networks do them at the same time.
    pub(super) overlap: u64,
}

/// Where the arrivals of a stream are merged with others. `slot`: position among the zone's streams of
/// this lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// To other zones: merged over all zones.
    Export,
    /// To a server in another zone that nothing else arrives at: not merged at all.
    Through,
    /// Inside the zone, to a server whose messages all leave the zone: merged with the other outbound
    /// streams of the zone, when an export runs out.
    Outbound {
        /// Index in [`Zone::outbound`].
        slot: usize,
    },
    /// Inside the zone: merged with the ticks and the other local streams of the zone.
    Local {
        /// Index in [`Zone::local`].
        slot: usize,
    },
    /// Inside the zone, to the last server of its messages, for which no source waits: merged at that
    /// server, before its next other arrival.
    Final,
}

/// The messages from one server to another of its zone, or to all servers in other zones; or those
/// that come to their first server with a delay after their tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// The zone that the messages come from.
    pub(super) zone: usize,
    /// [`ServerId`](crate::ids::ServerId); [`NONE`] for a delay after ticks.
    pub(super) from: u32,
    /// [`ServerId`](crate::ids::ServerId); [`NONE`] for other zones.
    pub(super) to: u32,
    /// From the end of service, or from the tick, to the arrival: picoseconds.
    pub(super) latency: u64,
    pub(super) lane: Lane,
}

/// The servers of one node, or one link. Lists of streams are in the order of the servers that these
/// come from, which decides between arrivals at one time.
#[derive(Debug, Default)]
pub(super) struct Zone {
    pub(super) exports: Vec<usize>,
    /// The export stream, if there is exactly one.
    pub(super) only_export: Option<usize>,
    /// The servers that [`Lane::Through`] streams come from. If there are any, no stream of the zone
    /// is an export.
    pub(super) through_servers: Vec<u32>,
    /// The zones whose next exports bound what can enter this zone; `None` if they are too many to
    /// look at each.
    pub(super) feeders: Option<Vec<usize>>,
    /// The servers at which messages from other zones arrive first; empty if anything else arrives at
    /// one of them.
    pub(super) entry_servers: Vec<u32>,
    pub(super) outbound: Vec<usize>,
    pub(super) local: Vec<usize>,
    /// The sources whose ranks are on the node, by job and position.
    pub(super) sources: Vec<usize>,
    /// The servers to which [`Lane::Final`] streams lead.
    pub(super) final_servers: Vec<usize>,
}

/// The messages of each tick of a clock.
#[derive(Debug)]
pub(super) struct SourceTable {
    pub(super) zone: usize,
    /// Index in [`Zone::sources`].
    pub(super) slot: usize,
    pub(super) sends: Vec<SendTable>,
    /// The number of messages of each tick.
    pub(super) messages: u32,
}

/// One message of each tick, or a train.
#[derive(Debug, Clone)]
pub(super) enum SendTable {
    /// Several messages whose first hops are equal and lead into an outbound stream.
    Train {
        /// Their first hop; that of the first message.
        hop: u32,
        /// Index in [`Network::train_hops`] of the second hop of the first message; those of the
        /// others follow.
        first: u32,
        /// The number of messages.
        count: u32,
    },
    /// A message that arrives at its first hop at once.
    Single(u32),
    /// A message that arrives at its first hop after a delay.
    Delayed(PathStart),
    /// A message with several paths, which the messages of a rank use in turn.
    InTurn {
        /// The starts of the paths.
        paths: Vec<PathStart>,
        /// The turn in the first round; ranks begin with different ones.
        first_turn: u64,
        /// The turns from one round to the next: the messages of a round.
        step: u64,
    },
    /// A message that passes no server. Index in [`Network::ends`].
    WithoutServer(u32),
}

/// The start of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathStart {
    /// The first hop.
    pub(super) hop: u32,
    /// The stream in which messages come to it, [`NONE`] without a delay.
    pub(super) delayed: u32,
}

impl Network {
    /// `stops` gets the number of messages of a tick that were added since it was last called; if it says
    /// so, there is no network.
    ///
    /// # Errors
    /// If a job has messages but no sources, or something takes longer than 64 bits can hold.
    pub(super) fn new(
        servers: &Servers,
        workload: &Workload,
        options: &Options,
        stops: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Self>, SimulationError> {
        let mut builder = Builder::new(servers, options);
        for (number, (job, first)) in workload.jobs.iter().zip(workload.rank_offsets()).enumerate()
        {
            if job.sources.is_empty()
                && job.flows.iter().any(|flow| flow.source != flow.destination)
            {
                return Err(SimulationError::NoSources { job: job.name.clone() });
            }
            if !builder.add_job(number, job, first, stops)? {
                return Ok(None);
            }
        }
        Ok(Some(builder.finish()))
    }
}

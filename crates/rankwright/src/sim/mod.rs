//! An exact discrete-event simulation of the queueing network: every message passes every server.
//!
//! Servers and paths are those of [`Servers`]: memories, network devices, links. Each server takes
//! messages in the order in which they come and serves one at a time (Soryani et al. 2013, section
//! 4): a message leaves at max(arrival, end of the service before) + service. Clocks are the
//! [`Source`]s of the jobs. The network is open, queues are infinite, and the simulation runs until
//! the last message has arrived.
//!
//! Times are whole picoseconds; a service takes at least one. Of messages that come to a server at
//! the same picosecond those from other servers are first, by the number of that server; then those
//! that are sent just then, by job, source and send. So results do not depend on how the events are
//! kept in order.
//!
//! [`Source`]: crate::traffic::Source

mod clock;
mod engine;
mod histogram;
mod longest;
mod network;
mod queue;
pub mod replay;
mod replications;
mod server;
mod statistics;
mod winner_tree;

use std::ops::ControlFlow;

pub use clock::{Clock, RandomStream};
pub use replications::{Replications, replicate};
pub use statistics::{JobStatistics, Outcome, ServerStatistics};

use crate::cluster::Cluster;
use crate::network::Servers;
use crate::placement::Placement;
use crate::traffic::Workload;
use crate::units::Seconds;
use engine::Engine;
use network::Network;

/// Observers are called after about so many events.
const OBSERVED: u64 = 1 << 17;

/// What is simulated beside the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Which messages share a clock.
    pub arrivals: Arrivals,
    /// Whether senders wait.
    pub pacing: Pacing,
    /// How long a service takes.
    pub service: Service,
    /// Of all random numbers.
    pub seed: u64,
}

/// Which messages share a clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Each source has one: at a tick it sends one message of each of its sends.
    #[default]
    PerSource,
    /// Each send of a source has one of its own, of the same rate and variation.
    PerPair,
}

/// Whether senders wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pacing {
    /// They do not: an open loop, as in the papers.
    #[default]
    Open,
    /// A closed loop: the next round begins when its clock says, but not before all messages of the
    /// last have left the sender's side: the network device out, or the memory inside a node.
    AfterDeparture,
    /// A closed loop: not before all messages of the last round have arrived.
    AfterArrival,
}

/// How long a service takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    /// What the length and the rate of the server say.
    #[default]
    Deterministic,
    /// Exponentially distributed with that mean, for comparison with theory.
    Exponential,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::default(),
            pacing: Pacing::default(),
            service: Service::default(),
            seed: 1,
        }
    }
}

/// How far a simulation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What the clocks in the simulation show.
    pub time: Seconds,
    /// Departures and ticks so far.
    pub events: u64,
    /// Messages that have arrived.
    pub delivered: u64,
    /// Messages in all, where that is known.
    pub messages: Option<u64>,
}

/// Why there is no simulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// Messages without a clock.
    #[error(
        "job `{job}`: nothing says when it sends: found messages without a rate, expected a rate, like `rate = \"100 /s\"`, or a profile with times"
    )]
    NoSources {
        /// The job.
        job: String,
    },
    /// The placement is not one of this workload.
    #[error("the placement has {found} ranks, expected the {expected} of the workload")]
    OtherRanks {
        /// Ranks of the placement.
        found: usize,
        /// Ranks of the workload.
        expected: usize,
    },
    /// Beyond 64 bits.
    #[error(
        "the workload takes longer than 200 days, which is more than can be simulated; expected higher rates, fewer messages or shorter ones"
    )]
    TooLong,
}

/// Simulates a workload under a placement until the last message has arrived.
///
/// The observer is called about every hundred thousand events; if it breaks, the simulation stops
/// and the outcome says what was reached.
///
/// # Errors
/// If a job has messages but no sources, the placement has another number of ranks, or the workload
/// takes longer than about 200 days.
pub fn simulate(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    options: &Options,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Outcome, SimulationError> {
    let servers = Servers::new(cluster, placement);
    if servers.rank_count() != workload.rank_count() {
        let (found, expected) = (servers.rank_count(), workload.rank_count());
        return Err(SimulationError::OtherRanks { found, expected });
    }
    let mut network = Network::new(&servers, workload, options)?;
    let clocks = std::mem::take(&mut network.clocks);
    let jobs = workload.jobs.len();
    let plain = options.pacing == Pacing::Open && options.service == Service::Deterministic;
    let counts = if plain {
        Engine::<true>::new(&network, clocks, jobs, options).run(observer)?
    } else {
        Engine::<false>::new(&network, clocks, jobs, options).run(observer)?
    };
    let names = workload.jobs.iter().map(|job| job.name.as_str());
    Ok(statistics::outcome(&counts, &servers, names))
}

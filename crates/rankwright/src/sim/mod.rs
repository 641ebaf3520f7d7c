//! An exact discrete-event simulation of the queueing network: every message passes every server.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use rankwright::sim::{Options, simulate};
//! use rankwright::placement::{Granularity, JobShape, Placement, slots};
//! use rankwright::{cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2013")?, traffic::open("nas:cg.A.16")?);
//! let slots = slots(&cluster, Granularity::Cores(1), 16)?;
//! let in_order: Vec<usize> = (0..16).collect();
//! let shapes = JobShape::of(&workload);
//! let placement = Placement::from_slots(&cluster, &shapes, "in order", &slots, &in_order)?;
//! let go_on = &mut |_: &_| ControlFlow::Continue(());
//! let outcome = simulate(&cluster, &workload, &placement, &Options::default(), go_on)?;
//! assert_eq!(outcome.stopped, None);
//! assert!(outcome.total_waiting.0 > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Servers and paths are those of `network`: memories, network devices, links. Each server takes
//! messages in the order of arrival and serves one at a time (Soryani et al. 2013, section 4): a
//! message leaves at max(arrival, end of the previous service) + service. Clocks are the [`Source`]s
//! of the jobs. Queues are unlimited, and the simulation runs until the last message has arrived.
//!
//! Times are whole picoseconds; a service takes at least one. Of messages that arrive at a server in
//! the same picosecond, those from other servers come first, by server number; then those that are
//! sent at that moment, by job, source and send. So results do not depend on the order in which the
//! engine processes events.
//!
//! `docs/src/simulation.md` says what is simulated, `docs/src/design/0003-simulator.md` how.
//!
//! [`Source`]: crate::traffic::Source

mod clock;
mod engine;
mod histogram;
mod longest_queue;
mod network;
mod queue;
mod replications;
mod server;
mod statistics;
mod time;
mod winner_tree;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod replay;

use std::ops::ControlFlow;

pub use replications::{Replications, replicate};
pub use statistics::{JobStatistics, Outcome, ServerStatistics};

// For tests and measurements; may change in any version.
#[doc(hidden)]
pub use clock::{Clock, RandomStream};

use crate::cluster::Cluster;
use crate::network::Servers;
use crate::placement::Placement;
use crate::traffic::Workload;
use crate::units::Seconds;
use engine::Engine;
use network::Network;

/// The number of events between two calls of the observer, about.
const OBSERVED: u64 = 1 << 17;

/// The number of messages of a tick after which the observer is called while the network is built.
const OBSERVED_WHILE_BUILT: usize = 10_000;

/// How a workload is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Which messages share a clock.
    pub arrivals: Arrivals,
    /// Whether senders wait.
    pub pacing: Pacing,
    /// How long a service takes.
    pub service: Service,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// Which messages share a clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Each source has one clock: at a tick it sends one message for each of its sends.
    #[default]
    PerSource,
    /// Each send has a clock of its own, with the rate and variation of its source.
    PerPair,
}

/// Whether senders wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pacing {
    /// An open loop, as in the papers: senders do not wait.
    #[default]
    Open,
    /// A closed loop: a clock stands still until the messages of its round have left the sender's side: the network
    /// device out, or the memory inside a node.
    AfterDeparture,
    /// A closed loop: until they have arrived. Of the services of a path, which real networks do at the same time, the
    /// clock stands still for the longest only; but its next round never begins before the arrival.
    AfterArrival,
}

/// How long a service takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    /// By the length of the message and the rate of the server.
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

/// The progress of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The simulated time.
    pub time: Seconds,
    /// Departures and ticks so far.
    pub events: u64,
    /// Messages that have arrived.
    pub delivered: u64,
    /// The number of all messages, if it is known in advance.
    pub messages: Option<u64>,
}

/// Why a simulation is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A job has messages but no message timing.
    #[error(
        "job `{job}`: no message timing: found messages without a rate, expected a rate, like `rate = \"100 /s\"`, or a profile with message timing"
    )]
    NoSources {
        /// The job.
        job: String,
    },
    /// The placement belongs to another workload.
    #[error("the placement has {found} ranks, expected the {expected} of the workload")]
    OtherRanks {
        /// Ranks of the placement.
        found: usize,
        /// Ranks of the workload.
        expected: usize,
    },
    /// Times exceed 64 bits.
    #[error(
        "the workload takes longer than 200 days, which is more than can be simulated; expected higher rates, fewer messages or shorter ones"
    )]
    TooLong,
}

/// Simulates a workload under a placement until the last message has arrived.
///
/// The observer is called about every hundred thousand events, and before the first one while the
/// network is built; if it breaks, the simulation stops, and the outcome has the numbers so far.
///
/// # Errors
/// If a job has messages but no sources, if the placement has another number of ranks, or if the
/// workload takes longer than about 200 days.
pub fn simulate(
    cluster: &Cluster,
    workload: &Workload,
    placement: &Placement,
    options: &Options,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Outcome, SimulationError> {
    let servers = Servers::new(cluster, placement);
    if servers.rank_count() != workload.rank_count() {
        let expected = workload.rank_count();
        return Err(SimulationError::OtherRanks { found: servers.rank_count(), expected });
    }
    let jobs = workload.jobs.len();
    let names = workload.jobs.iter().map(|job| job.name.as_str());
    let mut added = 0;
    let mut stops = |messages: usize| {
        added += messages;
        let asks = added >= OBSERVED_WHILE_BUILT;
        added = if asks { 0 } else { added };
        asks && observer(&Progress::default()).is_break()
    };
    let Some(mut network) = Network::new(&servers, workload, options, &mut stops)? else {
        return Ok(statistics::outcome(
            &statistics::Counts::none(servers.kinds().len(), jobs),
            &servers,
            names,
        ));
    };
    let clocks = std::mem::take(&mut network.clocks);
    let plain = options.pacing == Pacing::Open && options.service == Service::Deterministic;
    let counts = if plain {
        Engine::<true>::new(&network, clocks, jobs, options).run(observer)?
    } else {
        Engine::<false>::new(&network, clocks, jobs, options).run(observer)?
    };
    Ok(statistics::outcome(&counts, &servers, names))
}

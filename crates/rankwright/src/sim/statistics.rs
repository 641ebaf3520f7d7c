//! The statistics of a simulation.

use super::histogram::Histogram;
use super::server::Server;
use super::time::{PER_SECOND, seconds};
use crate::ids::ServerId;
use crate::network::{ServerKind, ServerPart, Servers};
use crate::ranking::{Score, Waiting};
use crate::units::Seconds;

/// The result of a simulation. Waiting is the time from the arrival at a server to the start of
/// service there, summed over messages.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// At all servers.
    pub total_waiting: Seconds,
    /// At the ports of network devices, out and in.
    pub nic_waiting: Seconds,
    /// At the memories.
    pub memory_waiting: Seconds,
    /// At links between switches.
    pub link_waiting: Seconds,
    /// At queue pairs and their processing hardware.
    pub other_waiting: Seconds,
    /// When the last message arrived.
    pub workload_finish: Seconds,
    /// The sum over all jobs of when their last message arrived.
    pub total_finish: Seconds,
    /// The number of messages that have arrived.
    pub messages: u64,
    /// Departures from servers and ticks of clocks.
    pub events: u64,
    /// The time reached, if the observer stopped the simulation. The other numbers are then those so
    /// far: of servers for all messages that have come to them, of jobs for those that have arrived.
    pub stopped: Option<Seconds>,
    /// Every server. Index: [`ServerId`].
    pub servers: Vec<ServerStatistics>,
    /// Every job, in the order of the workload.
    pub jobs: Vec<JobStatistics>,
}

impl From<&Outcome> for Score {
    /// A simulation that was stopped before its end is excluded.
    fn from(outcome: &Outcome) -> Self {
        let waiting = Waiting {
            total: outcome.total_waiting,
            nics: outcome.nic_waiting,
            memories: outcome.memory_waiting,
            links: outcome.link_waiting,
            queue_pairs: outcome.other_waiting,
        };
        Self {
            waiting: Some(waiting),
            finish: Some(outcome.workload_finish),
            total_finish: Some(outcome.total_finish),
            excluded: outcome.stopped.is_some(),
            ..Self::default()
        }
    }
}

/// One server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerStatistics {
    /// Its kind.
    pub kind: ServerKind,
    /// Its name in output.
    pub name: String,
    /// The number of messages that have arrived.
    pub messages: u64,
    /// The waiting of all messages.
    pub waiting: Seconds,
    /// The mean waiting of a message; 0 without messages.
    pub mean_waiting: Seconds,
    /// The longest waiting of a message.
    pub longest_waiting: Seconds,
    /// The sum of all service times.
    pub service: Seconds,
    /// The share of the time until the workload's finish in which it served, from 0 to 1.
    pub utilisation: f64,
    /// The mean number of waiting messages until the workload's finish (Little's law: waiting over
    /// time).
    pub mean_queue: f64,
    /// The largest number of messages that waited at once.
    pub longest_queue: u64,
}

/// One job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobStatistics {
    /// Its name.
    pub name: String,
    /// The number of its messages that have arrived.
    pub messages: u64,
    /// The waiting of these messages at all servers.
    pub waiting: Seconds,
    /// When the last of these messages arrived.
    pub finish: Seconds,
    /// The mean time from tick to arrival.
    pub mean_latency: Seconds,
    /// The median latency, within 0.8 % as all percentiles.
    pub latency_p50: Seconds,
    /// The 90th percentile of the latency.
    pub latency_p90: Seconds,
    /// The 99th percentile of the latency.
    pub latency_p99: Seconds,
    /// The longest latency, exact.
    pub longest_latency: Seconds,
}

/// A quotient; 0 for a divisor of 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The counts of a simulation.
pub(super) struct Counts {
    /// Index: [`ServerId`].
    pub(super) servers: Vec<Server>,
    pub(super) jobs: Vec<JobCount>,
    pub(super) events: u64,
    /// The time reached, picoseconds, if the observer has stopped the simulation.
    pub(super) stopped: Option<u64>,
}

impl Counts {
    /// Those of a simulation that was stopped before its begin.
    pub(super) fn none(servers: usize, jobs: usize) -> Self {
        Self {
            servers: (0..servers).map(|_| Server::new(None)).collect(),
            jobs: (0..jobs).map(|_| JobCount::new()).collect(),
            events: 0,
            stopped: Some(0),
        }
    }
}

/// The counts of a job. Times are picoseconds.
#[derive(Debug)]
pub(super) struct JobCount {
    /// Messages that have arrived.
    pub(super) messages: u64,
    pub(super) waiting: u128,
    /// The sum of all latencies.
    pub(super) latency: u128,
    /// The longest latency.
    pub(super) longest: u64,
    /// The last arrival so far.
    pub(super) finish: u64,
    pub(super) latencies: Histogram,
}

impl JobCount {
    pub(super) fn new() -> Self {
        Self {
            messages: 0,
            waiting: 0,
            latency: 0,
            longest: 0,
            finish: 0,
            latencies: Histogram::new(),
        }
    }

    /// A message arrives at its receiver.
    #[inline(always)]
    pub(super) fn arrived(&mut self, latency: u64, time: u64) {
        self.messages += 1;
        self.latency += u128::from(latency);
        self.longest = self.longest.max(latency);
        self.finish = self.finish.max(time);
        self.latencies.add(latency);
    }
}

/// The outcome for jobs of these names, in the given order.
pub(super) fn outcome<'a>(
    counts: &Counts,
    servers: &Servers,
    names: impl IntoIterator<Item = &'a str>,
) -> Outcome {
    let finish = counts.jobs.iter().map(|job| job.finish).max().unwrap_or(0);
    // In a stopped simulation zones have reached different times, and messages are still under way.
    let last = counts.servers.iter().map(Server::free).max().unwrap_or(0);
    let duration = match counts.stopped {
        Some(now) => seconds(now.max(finish).max(last)),
        None => seconds(finish),
    };
    let waiting_at = |part: ServerPart| {
        let counted = counts.servers.iter().zip(servers.kinds());
        let at_part = counted.filter(|(_, kind)| kind.part() == part);
        seconds(at_part.map(|(server, _)| server.waiting).sum::<u128>())
    };
    let total_waiting: u128 = counts.servers.iter().map(|server| server.waiting).sum();
    let server = |(number, counted): (usize, &Server)| {
        server(counted, servers, ServerId::from_index(number), duration)
    };
    let jobs = counts.jobs.iter().zip(names);
    Outcome {
        total_waiting: seconds(total_waiting),
        nic_waiting: waiting_at(ServerPart::Nic),
        memory_waiting: waiting_at(ServerPart::Memory),
        link_waiting: waiting_at(ServerPart::Link),
        other_waiting: waiting_at(ServerPart::QueuePair),
        workload_finish: seconds(finish),
        total_finish: seconds(counts.jobs.iter().map(|job| u128::from(job.finish)).sum::<u128>()),
        messages: counts.jobs.iter().map(|job| job.messages).sum(),
        events: counts.events,
        stopped: counts.stopped.map(seconds),
        servers: counts.servers.iter().enumerate().map(server).collect(),
        jobs: jobs.map(|(counted, name)| job(counted, name)).collect(),
    }
}

fn server(
    counted: &Server,
    servers: &Servers,
    id: ServerId,
    duration: Seconds,
) -> ServerStatistics {
    let waiting = seconds(counted.waiting);
    let service = seconds(counted.busy);
    ServerStatistics {
        kind: servers.kinds()[id.index()],
        name: servers.name(id),
        messages: counted.messages,
        waiting,
        mean_waiting: Seconds(ratio(waiting.0, counted.messages as f64)),
        longest_waiting: seconds(counted.longest),
        service,
        utilisation: ratio(service.0, duration.0),
        mean_queue: ratio(waiting.0, duration.0),
        longest_queue: counted.longest_queue(),
    }
}

fn job(counted: &JobCount, name: &str) -> JobStatistics {
    // The midpoint of a bucket may be above the longest time in it.
    let longest = counted.longest as f64;
    let percentile = |part| Seconds(counted.latencies.quantile(part).min(longest) / PER_SECOND);
    JobStatistics {
        name: name.to_owned(),
        messages: counted.messages,
        waiting: seconds(counted.waiting),
        finish: seconds(counted.finish),
        mean_latency: Seconds(ratio(seconds(counted.latency).0, counted.messages as f64)),
        latency_p50: percentile(0.5),
        latency_p90: percentile(0.9),
        latency_p99: percentile(0.99),
        longest_latency: seconds(counted.longest),
    }
}

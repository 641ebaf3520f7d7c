//! What a simulation has counted.

use super::histogram::Histogram;
use super::server::Server;
use crate::ids::ServerId;
use crate::network::{ServerKind, Servers};
use crate::ranking::{Score, Waiting};
use crate::units::Seconds;

/// The result of a simulation. Waiting is the time from the arrival at a server to the begin of
/// service there, summed over messages.
#[derive(Debug, Clone, PartialEq)]
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
    /// How many messages have arrived.
    pub messages: u64,
    /// Departures from servers and ticks of clocks.
    pub events: u64,
    /// The time reached, if the observer stopped the simulation: then all else is what was counted
    /// so far, of servers what is still to leave them too, of jobs what has arrived.
    pub stopped: Option<Seconds>,
    /// Every server; position is its id.
    pub servers: Vec<ServerStatistics>,
    /// Every job, in the order of the workload.
    pub jobs: Vec<JobStatistics>,
}

impl From<&Outcome> for Score {
    /// What was stopped before its end is excluded.
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
pub struct ServerStatistics {
    /// What it is.
    pub kind: ServerKind,
    /// What people call it.
    pub name: String,
    /// How many messages came.
    pub messages: u64,
    /// The sum of their waiting.
    pub waiting: Seconds,
    /// The mean of their waiting; 0 without messages.
    pub mean_waiting: Seconds,
    /// The longest of their waiting.
    pub longest_waiting: Seconds,
    /// The sum of their service times.
    pub service: Seconds,
    /// The part of the time until the workload's finish in which it served.
    pub utilisation: f64,
    /// The mean number of messages that waited, over the same time (Little's law: the sum of the
    /// waiting over the time).
    pub mean_queue: f64,
    /// The most messages that waited at once.
    pub longest_queue: u64,
}

/// One job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStatistics {
    /// Its name.
    pub name: String,
    /// How many of its messages have arrived.
    pub messages: u64,
    /// The sum of their waiting at all servers.
    pub waiting: Seconds,
    /// When the last of them arrived.
    pub finish: Seconds,
    /// From the tick to the arrival, mean.
    pub mean_latency: Seconds,
    /// The latency that half of the messages do not exceed, within 0.8 %, as all percentiles.
    pub latency_p50: Seconds,
    /// That 90 % do not exceed.
    pub latency_p90: Seconds,
    /// That 99 % do not exceed.
    pub latency_p99: Seconds,
    /// The longest, exact.
    pub longest_latency: Seconds,
}

fn seconds(picoseconds: u128) -> Seconds {
    Seconds(picoseconds as f64 / 1e12)
}

/// A quotient; 0 where there is nothing to divide.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What is counted.
pub(super) struct Counts {
    /// Position is id.
    pub(super) servers: Vec<Server>,
    pub(super) jobs: Vec<JobCount>,
    pub(super) events: u64,
    /// The time reached, in picoseconds, if the observer has stopped the simulation.
    pub(super) stopped: Option<u64>,
}

/// What is counted of a job. Times are picoseconds.
#[derive(Debug)]
pub(super) struct JobCount {
    pub(super) messages: u64,
    pub(super) waiting: u128,
    pub(super) latency: u128,
    pub(super) longest: u64,
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

    /// A message is at its receiver.
    #[inline(always)]
    pub(super) fn arrived(&mut self, latency: u64, time: u64) {
        self.messages += 1;
        self.latency += u128::from(latency);
        self.longest = self.longest.max(latency);
        self.finish = self.finish.max(time);
        self.latencies.add(latency);
    }
}

/// The outcome for jobs of these names, in their order.
pub(super) fn outcome<'a>(
    counts: &Counts,
    servers: &Servers,
    names: impl IntoIterator<Item = &'a str>,
) -> Outcome {
    let finish = counts.jobs.iter().map(|job| job.finish).max().unwrap_or(0);
    // What was stopped has servers that are further than others, and messages on their way.
    let last = counts.servers.iter().map(Server::last_departure).max().unwrap_or(0);
    let duration = match counts.stopped {
        Some(now) => seconds(u128::from(now.max(finish).max(last))),
        None => seconds(u128::from(finish)),
    };
    let waiting = |wanted: &dyn Fn(&ServerKind) -> bool| {
        let counted = counts.servers.iter().zip(servers.kinds());
        seconds(counted.filter(|(_, kind)| wanted(kind)).map(|(server, _)| server.waiting).sum())
    };
    let nic =
        |kind: &ServerKind| matches!(kind, ServerKind::NicOut { .. } | ServerKind::NicIn { .. });
    let memory = |kind: &ServerKind| matches!(kind, ServerKind::Memory { .. });
    let link =
        |kind: &ServerKind| matches!(kind, ServerKind::LinkUp { .. } | ServerKind::LinkDown { .. });
    let server = |(number, counted): (usize, &Server)| {
        server(counted, servers, ServerId::from_index(number), duration)
    };
    let jobs = counts.jobs.iter().zip(names);
    Outcome {
        total_waiting: waiting(&|_| true),
        nic_waiting: waiting(&nic),
        memory_waiting: waiting(&memory),
        link_waiting: waiting(&link),
        other_waiting: waiting(&|kind| !nic(kind) && !memory(kind) && !link(kind)),
        workload_finish: seconds(u128::from(finish)),
        total_finish: seconds(counts.jobs.iter().map(|job| u128::from(job.finish)).sum()),
        messages: counts.jobs.iter().map(|job| job.messages).sum(),
        events: counts.events,
        stopped: counts.stopped.map(|now| seconds(u128::from(now))),
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
    let service = seconds(u128::from(counted.busy));
    ServerStatistics {
        kind: servers.kinds()[id.index()],
        name: servers.name(id),
        messages: counted.messages,
        waiting,
        mean_waiting: Seconds(ratio(waiting.0, counted.messages as f64)),
        longest_waiting: seconds(u128::from(counted.longest)),
        service,
        utilisation: ratio(service.0, duration.0),
        mean_queue: ratio(waiting.0, duration.0),
        longest_queue: counted.longest_queue(),
    }
}

fn job(counted: &JobCount, name: &str) -> JobStatistics {
    // The middle of a bucket may lie behind the longest time in it.
    let longest = counted.longest as f64;
    let percentile = |part| Seconds(counted.latencies.quantile(part).min(longest) / 1e12);
    JobStatistics {
        name: name.to_owned(),
        messages: counted.messages,
        waiting: seconds(counted.waiting),
        finish: seconds(u128::from(counted.finish)),
        mean_latency: Seconds(ratio(seconds(counted.latency).0, counted.messages as f64)),
        latency_p50: percentile(0.5),
        latency_p90: percentile(0.9),
        latency_p99: percentile(0.99),
        longest_latency: seconds(u128::from(counted.longest)),
    }
}

//! The prediction of the queueing model for a workload under a placement.

use std::cmp::Ordering;

use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::{ServerKind, Servers};
use crate::placement::Placement;
use crate::traffic::{Job, Workload};
use crate::units::{PerSecond, Seconds};

use super::message_time::{MessageTime, MessageWaiting, message_time};
use super::server_loads::{ServerLoad, ServerLoads, classes};

/// The steady state of a workload under a placement, by the queueing model of Soryani et al. 2013:
/// while all clocks tick, no matter for how long.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The servers with a load, in the order of [`Servers`].
    pub servers: Vec<ServerPrediction>,
    /// The jobs, in the order of the workload.
    pub jobs: Vec<JobPrediction>,
    /// Messages sent per second.
    pub messages: PerSecond,
    /// The mean time of all messages; `None` without messages, or if some pass a saturated server.
    pub time: Option<MessageTime>,
    /// The waiting of all messages sent in one second; by Little's law this is the mean number of
    /// messages that wait. Saturated servers are left out: their waiting is unbounded.
    pub waiting: MessageWaiting,
}

/// A server with a load.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerPrediction {
    /// Its number.
    pub server: ServerId,
    /// Its kind.
    pub kind: ServerKind,
    /// Its name in output.
    pub name: String,
    /// λ: arrivals of messages per second.
    pub messages: PerSecond,
    /// ρ; from 1 on the server is saturated.
    pub utilisation: f64,
    /// The mean over all arrivals; `None` if the server is saturated.
    pub waiting: Option<Seconds>,
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct JobPrediction {
    /// Its name.
    pub name: String,
    /// Messages sent per second.
    pub messages: PerSecond,
    /// The part of them that passes a saturated server, per second.
    pub saturated: PerSecond,
    /// Their mean time; `None` without messages, or if some pass a saturated server.
    pub time: Option<MessageTime>,
}

/// Why a prediction is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A job has messages but no message timing.
    #[error(
        "job `{job}`: found traffic without message timing, expected clocks. The queueing model needs \
         to know how often messages are sent: give the pattern a rate (like \
         `pattern:ring:8:rate=100`), or use a profile with message timing"
    )]
    NoSources {
        /// The job.
        job: String,
    },
}

impl Prediction {
    /// The prediction for a placement of this workload. Takes time linear in the number of sends of
    /// all clocks.
    ///
    /// # Errors
    /// If a job sends messages but has no clocks.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        placement: &Placement,
    ) -> Result<Self, ModelError> {
        let sends = |job: &Job| job.flows.iter().any(|flow| flow.source != flow.destination);
        let without_timing = |job: &&Job| job.sources.is_empty() && sends(job);
        if let Some(job) = workload.jobs.iter().find(without_timing) {
            return Err(ModelError::NoSources { job: job.name.clone() });
        }
        let servers = Servers::new(cluster, placement);
        let loads = ServerLoads::new(cluster, &servers, workload, placement);
        let sums = Sums::new(&servers, &loads, workload);
        let mut all = JobSum::default();
        for sum in &sums.jobs {
            all.messages += sum.messages;
            all.saturated += sum.saturated;
            all.time.add_share(&sum.time, 1.0);
        }
        let jobs = workload.jobs.iter().zip(&sums.jobs);
        Ok(Self {
            servers: server_predictions(&servers, &loads, &sums.waiting),
            jobs: jobs
                .map(|(job, sum)| JobPrediction {
                    name: job.name.clone(),
                    messages: PerSecond(sum.messages),
                    saturated: PerSecond(sum.saturated),
                    time: sum.mean(),
                })
                .collect(),
            messages: PerSecond(all.messages),
            time: all.mean(),
            waiting: waiting_by_part(&servers, &sums.waiting),
        })
    }

    /// The saturated servers.
    pub fn saturated(&self) -> impl Iterator<Item = &ServerPrediction> {
        self.servers.iter().filter(|server| server.utilisation >= 1.0)
    }

    /// The server with the largest ρ, the first of equals; `None` without messages.
    #[must_use]
    pub fn busiest(&self) -> Option<&ServerPrediction> {
        self.servers.iter().reduce(|a, b| if b.utilisation > a.utilisation { b } else { a })
    }

    /// The largest ρ of any server; 0 without messages.
    #[must_use]
    pub fn highest_utilisation(&self) -> f64 {
        self.busiest().map_or(0.0, |server| server.utilisation)
    }

    /// The sum of ρ - 1 over all saturated servers: how fast their backlogs grow, in seconds of
    /// service per second.
    #[must_use]
    pub fn overload(&self) -> f64 {
        self.saturated().map(|server| server.utilisation - 1.0).sum()
    }

    /// Orders placements of one workload, the better first, also where servers are saturated.
    ///
    /// The first key is the highest utilisation, if it is 1 or more: with a finite number of messages
    /// the most overloaded server decides when all is done. Placements below 1 are equal in this. The
    /// second key is the [overload](Self::overload) of all servers, the third the
    /// [waiting](Self::waiting) at those that are not saturated.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let keys = |prediction: &Self| {
            let highest = prediction.highest_utilisation().max(1.0);
            [highest, prediction.overload(), prediction.waiting.total().0]
        };
        let pairs = keys(self).into_iter().zip(keys(other));
        pairs.map(|(a, b)| a.total_cmp(&b)).fold(Ordering::Equal, Ordering::then)
    }
}

/// Sums over all message classes.
struct Sums {
    jobs: Vec<JobSum>,
    /// Waiting per second at servers that are not saturated. Index: [`ServerId`].
    waiting: Vec<f64>,
}

#[derive(Default, Clone)]
struct JobSum {
    /// Per second.
    messages: f64,
    /// The part of them that passes a saturated server, per second.
    saturated: f64,
    /// The sum of rate × time over messages that pass no saturated server.
    time: MessageTime,
}

impl Sums {
    fn new(servers: &Servers, loads: &ServerLoads, workload: &Workload) -> Self {
        let mut sums = Self {
            jobs: vec![JobSum::default(); workload.jobs.len()],
            waiting: vec![0.0; servers.kinds().len()],
        };
        for class in classes(workload) {
            let paths = class.paths(servers);
            let share = class.rate.0 / paths.len() as f64;
            let job = &mut sums.jobs[class.job];
            for path in &paths {
                job.messages += share;
                match message_time(servers, loads, path, class.cv) {
                    Some(time) => job.time.add_share(&time, share),
                    None => job.saturated += share,
                }
                for hop in &path.hops {
                    let waiting = loads.waiting_time(hop, class.cv);
                    sums.waiting[hop.server.index()] += share * waiting.map_or(0.0, |w| w.0);
                }
            }
        }
        sums
    }
}

impl JobSum {
    fn mean(&self) -> Option<MessageTime> {
        let all = self.messages > 0.0 && self.saturated == 0.0;
        all.then(|| {
            let mut mean = MessageTime::default();
            mean.add_share(&self.time, 1.0 / self.messages);
            mean
        })
    }
}

fn server_predictions(
    servers: &Servers,
    loads: &ServerLoads,
    waiting: &[f64],
) -> Vec<ServerPrediction> {
    let all = servers.kinds().iter().zip(loads.as_slice()).zip(waiting).enumerate();
    let used = all.filter(|(_, ((_, load), _))| load.messages.0 > 0.0 || load.utilisation > 0.0);
    let prediction = |(index, ((kind, load), waiting)): (usize, ((_, &ServerLoad), &f64))| {
        let kind: &ServerKind = kind;
        let server = ServerId::from_index(index);
        let mean = if load.messages.0 > 0.0 { waiting / load.messages.0 } else { 0.0 };
        ServerPrediction {
            server,
            kind: *kind,
            name: servers.name(server),
            messages: load.messages,
            utilisation: load.utilisation,
            waiting: (!load.is_saturated()).then_some(Seconds(mean)),
        }
    };
    used.map(prediction).collect()
}

fn waiting_by_part(servers: &Servers, waiting: &[f64]) -> MessageWaiting {
    let mut sum = MessageWaiting::default();
    for (kind, seconds) in servers.kinds().iter().zip(waiting) {
        sum.add(*kind, *seconds);
    }
    sum
}

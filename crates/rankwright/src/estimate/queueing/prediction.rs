//! How long the messages of a workload wait under a placement, by the queueing model.

use std::cmp::Ordering;

use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::{ServerKind, Servers};
use crate::placement::Placement;
use crate::traffic::{Job, Workload};
use crate::units::{PerSecond, Seconds};

use super::message_time::{MessageTime, Waiting, message_time};
use super::server_loads::{ServerLoad, ServerLoads, classes};

/// What the queueing model of Soryani et al. 2013 says of a workload under a placement, while all
/// its clocks tick. For how long they tick makes no difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The servers that something is asked of, in the order of [`Servers`].
    pub servers: Vec<ServerPrediction>,
    /// The jobs, in the order of the workload.
    pub jobs: Vec<JobPrediction>,
    /// How many messages are sent per second.
    pub messages: PerSecond,
    /// The mean time of all messages; `None` if nothing is sent or some pass a saturated server.
    pub time: Option<MessageTime>,
    /// The waiting of all messages that are sent in one second, which by Little's law is how many
    /// wait at a time on average. At servers that are not saturated: at the others the sum has no
    /// end.
    pub waiting: Waiting,
}

/// A server that something is asked of.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerPrediction {
    /// Which.
    pub server: ServerId,
    /// What it is.
    pub kind: ServerKind,
    /// What people call it.
    pub name: String,
    /// λ: messages that come, per second.
    pub messages: PerSecond,
    /// ρ; 1 and more is saturated.
    pub utilisation: f64,
    /// The mean over all messages that come; `None` if the server is saturated.
    pub waiting: Option<Seconds>,
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPrediction {
    /// Its name.
    pub name: String,
    /// How many messages it sends per second.
    pub messages: PerSecond,
    /// How many of these pass a saturated server.
    pub saturated: PerSecond,
    /// Their mean time; `None` if nothing is sent or some pass a saturated server.
    pub time: Option<MessageTime>,
}

/// Why there is no prediction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Messages, and nobody says when they are sent.
    #[error(
        "job `{job}`: found traffic without times, expected clocks that send it. The queueing model \
         needs to know how often messages are sent: give the pattern a rate (like \
         `pattern:ring:8:rate=100`), or take a profile of a run that says when it sent"
    )]
    NoSources {
        /// The job.
        job: String,
    },
}

impl Prediction {
    /// What the model says of a placement of this workload. Takes time linear in the number of
    /// sends of all clocks.
    ///
    /// # Errors
    /// If a job sends messages, but has no clocks that say when.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        placement: &Placement,
    ) -> Result<Self, ModelError> {
        let others = |job: &Job| job.flows.iter().any(|flow| flow.source != flow.destination);
        let silent = |job: &&Job| job.sources.is_empty() && others(job);
        if let Some(job) = workload.jobs.iter().find(silent) {
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

    /// The servers that more is asked of than they can do.
    pub fn saturated(&self) -> impl Iterator<Item = &ServerPrediction> {
        self.servers.iter().filter(|server| server.utilisation >= 1.0)
    }

    /// The server with the largest ρ, the first of equals; `None` if nothing is sent.
    #[must_use]
    pub fn busiest(&self) -> Option<&ServerPrediction> {
        self.servers.iter().reduce(|a, b| if b.utilisation > a.utilisation { b } else { a })
    }

    /// The largest ρ of any server; 0 if nothing is sent.
    #[must_use]
    pub fn highest_utilisation(&self) -> f64 {
        self.busiest().map_or(0.0, |server| server.utilisation)
    }

    /// How many seconds of service per second are asked beyond what servers can do, over all: how
    /// fast the work grows that they leave undone.
    #[must_use]
    pub fn overload(&self) -> f64 {
        self.saturated().map(|server| server.utilisation - 1.0).sum()
    }

    /// Orders placements of the same workload, the better first, also where servers are saturated.
    ///
    /// First comes the highest utilisation, if it is 1 or more: with a finite number of messages the
    /// most overloaded server decides when all is done. Placements below 1 are equal in this. Then
    /// comes the [overload](Self::overload) of all servers, then the [waiting](Self::waiting) at
    /// those that are not saturated.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let keys = |prediction: &Self| {
            let highest = prediction.highest_utilisation().max(1.0);
            [highest, prediction.overload(), prediction.waiting.total().0]
        };
        let (own, others) = (keys(self), keys(other));
        let pairs = own.iter().zip(&others);
        pairs.map(|(own, other)| own.total_cmp(other)).fold(Ordering::Equal, Ordering::then)
    }
}

/// Sums over all message classes.
struct Sums {
    jobs: Vec<JobSum>,
    /// Per server, waiting per second at those that are not saturated.
    waiting: Vec<f64>,
}

#[derive(Default, Clone)]
struct JobSum {
    messages: f64,
    saturated: f64,
    /// Rate times time, of messages that pass no saturated server.
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

fn waiting_by_part(servers: &Servers, waiting: &[f64]) -> Waiting {
    let mut sum = Waiting::default();
    for (kind, seconds) in servers.kinds().iter().zip(waiting) {
        sum.add(*kind, *seconds);
    }
    sum
}

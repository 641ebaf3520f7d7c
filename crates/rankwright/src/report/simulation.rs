//! The result of a simulation.

use serde::Serialize;

use super::waiting::times;
use crate::cluster::Cluster;
use crate::ranking::Score;
use crate::sim::replay::RankTimes;
use crate::sim::{JobStatistics, Outcome, Replications, ServerStatistics};
use crate::statistics::Estimate;
use crate::units::Seconds;

/// A simulation in a form for people and programs. Times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulationReport {
    /// The strategy, or the placement file.
    pub strategy: String,
    /// The name of the rates.
    pub rates: String,
    /// Whether the rates were measured on this cluster.
    pub calibrated: bool,
    /// The main numbers.
    #[serde(flatten)]
    pub totals: SimulationTotals,
    /// How long the simulation took.
    pub wall_s: f64,
    /// Means and confidence intervals over several seeds; all other numbers are those of the first
    /// seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replications: Option<ReplicationsReport>,
    /// The servers at which messages arrived.
    pub per_server: Vec<ServerRow>,
    /// The jobs.
    pub per_job: Vec<JobRow>,
    /// The ranks of a replay, by global rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_rank: Vec<RankRow>,
}

/// The main numbers of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SimulationTotals {
    /// Waiting and finish.
    #[serde(flatten, serialize_with = "times")]
    pub score: Score,
    /// Number of messages that arrived.
    pub messages: u64,
    /// Number of departures from servers and ticks of clocks.
    pub events: u64,
    /// The simulated time when the simulation was stopped; `null` if it reached its end.
    pub stopped_at_s: Option<f64>,
}

/// Several simulations with different seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReplicationsReport {
    /// Number of simulations that reached their end.
    pub count: usize,
    /// Total waiting.
    pub total_waiting_s: EstimateRow,
    /// Waiting at network devices.
    pub nic_waiting_s: EstimateRow,
    /// Waiting at memories.
    pub memory_waiting_s: EstimateRow,
    /// Arrival of the last message.
    pub workload_finish_s: EstimateRow,
    /// Sum over jobs of the arrival of their last message.
    pub total_finish_s: EstimateRow,
}

/// A mean with half the width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EstimateRow {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; `null` if it is not finite.
    pub half_width: f64,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerRow {
    /// Its name, such as `node0 nic0 out` or `node0 NUMA L#0`.
    pub name: String,
    /// Number of messages that arrived at it.
    pub messages: u64,
    /// Sum of their waiting.
    pub waiting_s: f64,
    /// Mean waiting of a message.
    pub mean_waiting_s: f64,
    /// Longest waiting of a message.
    pub longest_waiting_s: f64,
    /// Sum of the service times.
    pub service_s: f64,
    /// Share of the time until the last arrival in which it was busy, 0 to 1.
    pub utilisation: f64,
    /// Mean number of waiting messages until the last arrival.
    pub mean_queue: f64,
    /// Largest number of messages that waited at once.
    pub longest_queue: u64,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobRow {
    /// Its name.
    pub name: String,
    /// Number of its messages that arrived.
    pub messages: u64,
    /// Sum of their waiting.
    pub waiting_s: f64,
    /// Arrival of its last message.
    pub finish_s: f64,
    /// Mean latency: time from the sending of a message to its arrival.
    pub mean_latency_s: f64,
    /// Median of the latency.
    pub latency_p50_s: f64,
    /// 90th percentile of the latency.
    pub latency_p90_s: f64,
    /// 99th percentile of the latency.
    pub latency_p99_s: f64,
    /// Longest latency.
    pub longest_latency_s: f64,
}

/// A rank of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankRow {
    /// Time that it waited for messages.
    pub waited_s: f64,
    /// End of its last step.
    pub end_s: f64,
}

impl SimulationReport {
    /// The report of an outcome; `wall` is how long it took to simulate.
    #[must_use]
    pub fn new(cluster: &Cluster, strategy: &str, outcome: &Outcome, wall: Seconds) -> Self {
        let used = outcome.servers.iter().filter(|server| server.messages > 0);
        Self {
            strategy: strategy.to_owned(),
            rates: cluster.rates.name.clone(),
            calibrated: cluster.rates.calibrated,
            totals: SimulationTotals::new(outcome),
            wall_s: wall.0,
            replications: None,
            per_server: used.map(ServerRow::new).collect(),
            per_job: outcome.jobs.iter().map(JobRow::new).collect(),
            per_rank: Vec::new(),
        }
    }

    /// Adds means and confidence intervals over several seeds.
    #[must_use]
    pub fn with_replications(self, replications: &Replications) -> Self {
        let row = |estimate: Estimate| EstimateRow {
            mean: estimate.mean,
            half_width: estimate.half_width,
        };
        let report = ReplicationsReport {
            count: replications.outcomes.iter().filter(|run| run.stopped.is_none()).count(),
            total_waiting_s: row(replications.total_waiting),
            nic_waiting_s: row(replications.nic_waiting),
            memory_waiting_s: row(replications.memory_waiting),
            workload_finish_s: row(replications.workload_finish),
            total_finish_s: row(replications.total_finish),
        };
        Self { replications: Some(report), ..self }
    }

    /// Adds the times of the ranks of a replay.
    #[must_use]
    pub fn with_ranks(self, ranks: &[RankTimes]) -> Self {
        let row = |rank: &RankTimes| RankRow { waited_s: rank.waited.0, end_s: rank.end.0 };
        Self { per_rank: ranks.iter().map(row).collect(), ..self }
    }

    /// The main numbers for people: name, value, and confidence interval with several seeds.
    #[must_use]
    pub fn totals_table(&self) -> Vec<Vec<String>> {
        let score = &self.totals.score;
        let waiting = score.waiting.unwrap_or_default();
        let interval = |field: fn(&ReplicationsReport) -> EstimateRow| {
            self.replications.as_ref().map_or_else(String::new, |replications| {
                let EstimateRow { mean, half_width } = field(replications);
                format!("{:.4} ± {:.4} (95 %)", Seconds(mean), Seconds(half_width))
            })
        };
        let row = |name: &str, time: Seconds, interval: String| {
            vec![name.to_owned(), format!("{time:.4}"), interval]
        };
        let mut rows = vec![
            row("waiting, all", waiting.total, interval(|r| r.total_waiting_s)),
            row("  network devices", waiting.nics, interval(|r| r.nic_waiting_s)),
            row("  memories", waiting.memories, interval(|r| r.memory_waiting_s)),
        ];
        if waiting.links.0 > 0.0 {
            rows.push(row("  links", waiting.links, String::new()));
        }
        if waiting.queue_pairs.0 > 0.0 {
            rows.push(row("  queue pairs", waiting.queue_pairs, String::new()));
        }
        let finish = interval(|r| r.workload_finish_s);
        rows.push(row("workload finish", score.last_arrival(), finish));
        let finish = interval(|r| r.total_finish_s);
        rows.push(row("total finish", score.total_finish.unwrap_or_default(), finish));
        if !self.per_rank.is_empty() {
            let waited: f64 = self.per_rank.iter().map(|rank| rank.waited_s).sum();
            let mean = waited / self.per_rank.len() as f64;
            rows.push(row("ranks waited, mean", Seconds(mean), String::new()));
        }
        rows
    }

    /// The jobs for people: header and rows.
    #[must_use]
    pub fn job_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec!["job", "messages", "waiting", "finish", "latency", "p50", "p99", "max"];
        let row = |job: &JobRow| {
            let times = job.times().map(|time| format!("{:.3}", Seconds(time)));
            [job.name.clone(), job.messages.to_string()].into_iter().chain(times).collect()
        };
        (header, self.per_job.iter().map(row).collect())
    }

    /// The `most` servers with the most waiting, for people: header and rows.
    #[must_use]
    pub fn server_table(&self, most: usize) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header =
            vec!["server", "messages", "busy", "waiting", "mean", "longest", "queue", "max"];
        let mut servers: Vec<&ServerRow> = self.per_server.iter().collect();
        servers.sort_by(|a, b| b.waiting_s.total_cmp(&a.waiting_s));
        let row = |server: &&ServerRow| {
            vec![
                server.name.clone(),
                server.messages.to_string(),
                format!("{:.1} %", 100.0 * server.utilisation),
                format!("{:.3}", Seconds(server.waiting_s)),
                format!("{:.3}", Seconds(server.mean_waiting_s)),
                format!("{:.3}", Seconds(server.longest_waiting_s)),
                format!("{:.1}", server.mean_queue),
                server.longest_queue.to_string(),
            ]
        };
        (header, servers.iter().take(most).map(row).collect())
    }

    /// All servers in plain units: header and rows.
    #[must_use]
    pub fn csv(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "server",
            "messages",
            "waiting_s",
            "mean_waiting_s",
            "longest_waiting_s",
            "service_s",
            "utilisation",
            "mean_queue",
            "longest_queue",
        ];
        let row = |server: &ServerRow| {
            vec![
                server.name.clone(),
                server.messages.to_string(),
                server.waiting_s.to_string(),
                server.mean_waiting_s.to_string(),
                server.longest_waiting_s.to_string(),
                server.service_s.to_string(),
                server.utilisation.to_string(),
                server.mean_queue.to_string(),
                server.longest_queue.to_string(),
            ]
        };
        (header, self.per_server.iter().map(row).collect())
    }

    /// The report as JSON, with a line end.
    ///
    /// # Panics
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

impl SimulationTotals {
    /// The main numbers of an outcome.
    #[must_use]
    pub fn new(outcome: &Outcome) -> Self {
        Self {
            score: Score::from(outcome),
            messages: outcome.messages,
            events: outcome.events,
            stopped_at_s: outcome.stopped.map(|time| time.0),
        }
    }
}

impl ServerRow {
    fn new(server: &ServerStatistics) -> Self {
        Self {
            name: server.name.clone(),
            messages: server.messages,
            waiting_s: server.waiting.0,
            mean_waiting_s: server.mean_waiting.0,
            longest_waiting_s: server.longest_waiting.0,
            service_s: server.service.0,
            utilisation: server.utilisation,
            mean_queue: server.mean_queue,
            longest_queue: server.longest_queue,
        }
    }
}

impl JobRow {
    /// Waiting, the last arrival, and the latency: mean, median, 99th percentile, longest.
    pub(super) fn times(&self) -> [f64; 6] {
        [
            self.waiting_s,
            self.finish_s,
            self.mean_latency_s,
            self.latency_p50_s,
            self.latency_p99_s,
            self.longest_latency_s,
        ]
    }

    fn new(job: &JobStatistics) -> Self {
        Self {
            name: job.name.clone(),
            messages: job.messages,
            waiting_s: job.waiting.0,
            finish_s: job.finish.0,
            mean_latency_s: job.mean_latency.0,
            latency_p50_s: job.latency_p50.0,
            latency_p90_s: job.latency_p90.0,
            latency_p99_s: job.latency_p99.0,
            longest_latency_s: job.longest_latency.0,
        }
    }
}

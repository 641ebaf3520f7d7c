//! Strategies side by side by how long messages wait, simulated or predicted.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::choose::Candidate;
use crate::cluster::Cluster;
use crate::model::{FluidOutcome, Prediction};
use crate::sim::Outcome;
use crate::units::Seconds;

/// A comparison as it is shown. Its JSON form is described in `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingComparison {
    /// By what the strategies were judged: `simulation` or `model`.
    pub by: &'static str,
    /// The name of the winner, with options: messages wait least in all.
    pub best: String,
    /// Where the rates come from.
    pub rates: String,
    /// Whether they were measured on this cluster.
    pub calibrated: bool,
    /// One entry per strategy, in the order in which they were named.
    pub strategies: Vec<WaitingRow>,
}

/// How long messages wait, and when all is over, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WaitingTimes {
    /// Waiting at all servers, summed over messages.
    pub total_waiting_s: f64,
    /// At network devices.
    pub nic_waiting_s: f64,
    /// At memories.
    pub memory_waiting_s: f64,
    /// At links between switches.
    pub link_waiting_s: f64,
    /// When the last message arrives.
    pub workload_finish_s: f64,
    /// The sum over jobs of when their last message arrives.
    pub total_finish_s: f64,
}

/// A strategy. Times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingRow {
    /// Its name, with options.
    pub name: String,
    /// How many nodes hold ranks.
    pub nodes: usize,
    /// How long messages wait, and when all is over.
    #[serde(flatten)]
    pub times: WaitingTimes,
    /// How many messages there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The time reached, where a simulation was stopped before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at_s: Option<f64>,
    /// The largest ρ of any server, while all clocks tick; above 1 its queue grows all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_utilisation: Option<f64>,
    /// How many servers have a ρ of 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturated_servers: Option<usize>,
    /// How long it took to judge it.
    pub wall_s: f64,
}

impl From<&Outcome> for WaitingTimes {
    fn from(outcome: &Outcome) -> Self {
        Self {
            total_waiting_s: outcome.total_waiting.0,
            nic_waiting_s: outcome.nic_waiting.0,
            memory_waiting_s: outcome.memory_waiting.0,
            link_waiting_s: outcome.link_waiting.0,
            workload_finish_s: outcome.workload_finish.0,
            total_finish_s: outcome.total_finish.0,
        }
    }
}

impl From<&FluidOutcome> for WaitingTimes {
    fn from(fluid: &FluidOutcome) -> Self {
        Self {
            total_waiting_s: fluid.total_waiting.0,
            nic_waiting_s: fluid.nic_waiting.0,
            memory_waiting_s: fluid.memory_waiting.0,
            link_waiting_s: fluid.link_waiting.0,
            workload_finish_s: fluid.workload_finish.0,
            total_finish_s: fluid.total_finish.0,
        }
    }
}

impl WaitingRow {
    /// What a simulation found of a candidate.
    #[must_use]
    pub fn simulated(candidate: &Candidate, outcome: &Outcome, wall: Seconds) -> Self {
        Self {
            name: candidate.strategy.clone(),
            nodes: nodes(candidate),
            times: WaitingTimes::from(outcome),
            messages: Some(outcome.messages),
            stopped_at_s: outcome.stopped.map(|time| time.0),
            highest_utilisation: None,
            saturated_servers: None,
            wall_s: wall.0,
        }
    }

    /// What the model says of a candidate: the fluid of the whole run, the queueing model of the time
    /// in which all clocks tick.
    #[must_use]
    pub fn predicted(
        candidate: &Candidate,
        fluid: &FluidOutcome,
        steady: &Prediction,
        wall: Seconds,
    ) -> Self {
        Self {
            name: candidate.strategy.clone(),
            nodes: nodes(candidate),
            times: WaitingTimes::from(fluid),
            messages: None,
            stopped_at_s: None,
            highest_utilisation: Some(steady.highest_utilisation()),
            saturated_servers: Some(steady.saturated().count()),
            wall_s: wall.0,
        }
    }
}

fn nodes(candidate: &Candidate) -> usize {
    candidate.placement.ranks().map(|rank| rank.node).collect::<BTreeSet<_>>().len()
}

impl WaitingComparison {
    /// The comparison of some rows. The winner is the one under which messages wait least in all; of
    /// equals the first.
    ///
    /// # Panics
    /// If there is no row.
    #[must_use]
    pub fn new(cluster: &Cluster, by: &'static str, strategies: Vec<WaitingRow>) -> Self {
        let waiting = |row: &WaitingRow| row.times.total_waiting_s;
        let best = strategies.iter().min_by(|a, b| waiting(a).total_cmp(&waiting(b)));
        Self {
            by,
            best: best.expect("a strategy").name.clone(),
            rates: cluster.rates.name.clone(),
            calibrated: cluster.rates.calibrated,
            strategies,
        }
    }

    /// What must be said with every result.
    #[must_use]
    pub fn caveat(&self) -> String {
        let known = if self.calibrated { "calibrated" } else { "assumed" };
        format!("{}, rates {known}: {}", self.by, self.rates)
    }

    /// The numbers for people: header and rows. The winner has a star.
    #[must_use]
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "strategy",
            "nodes",
            "waiting",
            "at NICs",
            "at memories",
            "over best",
            "workload finish",
            "total finish",
            "busiest",
        ];
        let best = self.strategies.iter().find(|row| row.name == self.best);
        let least = best.map_or(0.0, |best| best.times.total_waiting_s);
        let time = |seconds: f64| format!("{:.3}", Seconds(seconds));
        let row = |row: &WaitingRow| {
            let star = if row.name == self.best { "*" } else { "" };
            let over = if least > 0.0 { row.times.total_waiting_s / least } else { 1.0 };
            vec![
                format!("{}{star}", row.name),
                row.nodes.to_string(),
                time(row.times.total_waiting_s),
                time(row.times.nic_waiting_s),
                time(row.times.memory_waiting_s),
                if row.name == self.best { String::new() } else { format!("{over:.2} x") },
                time(row.times.workload_finish_s),
                time(row.times.total_finish_s),
                row.highest_utilisation
                    .map_or_else(String::new, |busy| format!("{:.1} %", 100.0 * busy)),
            ]
        };
        // Only the model knows how busy the busiest server is.
        let known = self.strategies.iter().any(|row| row.highest_utilisation.is_some());
        let columns = if known { header.len() } else { header.len() - 1 };
        let shortened = |mut cells: Vec<String>| {
            cells.truncate(columns);
            cells
        };
        let rows = self.strategies.iter().map(row).map(shortened).collect();
        (header[..columns].to_vec(), rows)
    }

    /// All numbers in plain units: header and rows.
    #[must_use]
    pub fn csv(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "strategy",
            "best",
            "nodes",
            "total_waiting_s",
            "nic_waiting_s",
            "memory_waiting_s",
            "link_waiting_s",
            "workload_finish_s",
            "total_finish_s",
            "messages",
            "wall_s",
        ];
        let row = |row: &WaitingRow| {
            vec![
                row.name.clone(),
                (row.name == self.best).to_string(),
                row.nodes.to_string(),
                row.times.total_waiting_s.to_string(),
                row.times.nic_waiting_s.to_string(),
                row.times.memory_waiting_s.to_string(),
                row.times.link_waiting_s.to_string(),
                row.times.workload_finish_s.to_string(),
                row.times.total_finish_s.to_string(),
                row.messages.map_or_else(String::new, |messages| messages.to_string()),
                row.wall_s.to_string(),
            ]
        };
        (header, self.strategies.iter().map(row).collect())
    }

    /// The comparison as JSON, with a line end.
    ///
    /// # Panics
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data has a JSON form") + "\n"
    }
}

//! Strategies side by side by how long messages wait, simulated or predicted.

use std::collections::BTreeSet;

use serde::Serialize;

use super::simulation::SimulationTotals;
use crate::choose::Candidate;
use crate::cluster::Cluster;
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

/// A strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingRow {
    /// Its name, with options.
    pub name: String,
    /// How many nodes hold ranks.
    pub nodes: usize,
    /// The main numbers.
    #[serde(flatten)]
    pub totals: SimulationTotals,
    /// How long it took to judge it, in seconds.
    pub wall_s: f64,
}

impl WaitingRow {
    /// The row of a candidate.
    #[must_use]
    pub fn new(candidate: &Candidate, totals: SimulationTotals, wall: Seconds) -> Self {
        let nodes: BTreeSet<_> = candidate.placement.ranks().map(|rank| rank.node).collect();
        Self { name: candidate.strategy.clone(), nodes: nodes.len(), totals, wall_s: wall.0 }
    }
}

impl WaitingComparison {
    /// The comparison of some rows. The winner is the one under which messages wait least in all; of
    /// equals the first.
    ///
    /// # Panics
    /// If there is no row.
    #[must_use]
    pub fn new(cluster: &Cluster, by: &'static str, strategies: Vec<WaitingRow>) -> Self {
        let waiting = |row: &WaitingRow| row.totals.total_waiting_s;
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
        ];
        let best = self.strategies.iter().find(|row| row.name == self.best);
        let least = best.map_or(0.0, |best| best.totals.total_waiting_s);
        let time = |seconds: f64| format!("{:.3}", Seconds(seconds));
        let row = |row: &WaitingRow| {
            let star = if row.name == self.best { "*" } else { "" };
            let totals = &row.totals;
            let over = if least > 0.0 { totals.total_waiting_s / least } else { 1.0 };
            vec![
                format!("{}{star}", row.name),
                row.nodes.to_string(),
                time(totals.total_waiting_s),
                time(totals.nic_waiting_s),
                time(totals.memory_waiting_s),
                if row.name == self.best { String::new() } else { format!("{over:.2} x") },
                time(totals.workload_finish_s),
                time(totals.total_finish_s),
            ]
        };
        (header, self.strategies.iter().map(row).collect())
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
            let totals = &row.totals;
            vec![
                row.name.clone(),
                (row.name == self.best).to_string(),
                row.nodes.to_string(),
                totals.total_waiting_s.to_string(),
                totals.nic_waiting_s.to_string(),
                totals.memory_waiting_s.to_string(),
                totals.link_waiting_s.to_string(),
                totals.workload_finish_s.to_string(),
                totals.total_finish_s.to_string(),
                totals.messages.to_string(),
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

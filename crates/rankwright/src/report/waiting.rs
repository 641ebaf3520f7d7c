//! Strategies side by side by how long messages wait, simulated or predicted.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::choose::Candidate;
use crate::cluster::Cluster;
use crate::estimate::{FluidOutcome, Prediction};
use crate::map::StrategyId;
use crate::sim::Outcome;
use crate::units::Seconds;

/// A comparison as it is shown. Its JSON form is described in `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingComparison {
    /// By what the strategies were judged: `simulation` or `model`.
    pub by: &'static str,
    /// The name of the winner, with options: messages wait least in all.
    pub best: StrategyId,
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
    /// At queue pairs and their processing hardware; the fluid leaves them out.
    pub queue_pair_waiting_s: f64,
    /// When the last message arrives.
    pub workload_finish_s: f64,
    /// The sum over jobs of when their last message arrives.
    pub total_finish_s: f64,
}

/// A strategy. Times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingRow {
    /// Its name, with options.
    pub name: StrategyId,
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
    /// The server that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_server: Option<String>,
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
            queue_pair_waiting_s: outcome.other_waiting.0,
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
            queue_pair_waiting_s: 0.0,
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
            busiest_server: None,
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
            busiest_server: steady.busiest().map(|server| server.name.clone()),
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
    /// equals the first. What was stopped wins only where all were.
    ///
    /// # Panics
    /// If there is no row.
    #[must_use]
    pub fn new(cluster: &Cluster, by: &'static str, strategies: Vec<WaitingRow>) -> Self {
        let order = |a: &&WaitingRow, b: &&WaitingRow| {
            let whole = a.stopped_at_s.is_some().cmp(&b.stopped_at_s.is_some());
            whole.then(a.times.total_waiting_s.total_cmp(&b.times.total_waiting_s))
        };
        let best = strategies.iter().min_by(order);
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
        let time = |seconds: f64| format!("{:.3}", Seconds(seconds));
        let best = self.strategies.iter().find(|row| row.name == self.best);
        let least = best.map_or(0.0, |best| best.times.total_waiting_s);
        let over = |row: &WaitingRow| match (&row.stopped_at_s, row.times.total_waiting_s / least) {
            (Some(time), _) => format!("stopped at {:.1}", Seconds(*time)),
            (None, over) if over.is_finite() && row.name != self.best => format!("{over:.2} x"),
            _ => String::new(),
        };
        type Column<'a> = (&'static str, Box<dyn Fn(&WaitingRow) -> String + 'a>);
        let star = |row: &WaitingRow| if row.name == self.best { "*" } else { "" };
        let mut columns: Vec<Column> = vec![
            ("strategy", Box::new(move |row| format!("{}{}", row.name, star(row)))),
            ("nodes", Box::new(|row| row.nodes.to_string())),
            ("waiting", Box::new(move |row| time(row.times.total_waiting_s))),
            ("at NICs", Box::new(move |row| time(row.times.nic_waiting_s))),
            ("at memories", Box::new(move |row| time(row.times.memory_waiting_s))),
        ];
        if self.strategies.iter().any(|row| row.times.link_waiting_s > 0.0) {
            columns.push(("at links", Box::new(move |row| time(row.times.link_waiting_s))));
        }
        if self.strategies.iter().any(|row| row.times.queue_pair_waiting_s > 0.0) {
            let cell = move |row: &WaitingRow| time(row.times.queue_pair_waiting_s);
            columns.push(("at queue pairs", Box::new(cell)));
        }
        columns.push(("over best", Box::new(over)));
        columns.push(("workload finish", Box::new(move |row| time(row.times.workload_finish_s))));
        columns.push(("total finish", Box::new(move |row| time(row.times.total_finish_s))));
        // Only the model knows how busy the busiest server is while all clocks tick.
        if self.strategies.iter().any(|row| row.highest_utilisation.is_some()) {
            let busiest = |row: &WaitingRow| {
                let busy = 100.0 * row.highest_utilisation.unwrap_or_default();
                format!("{busy:.1} % {}", row.busiest_server.as_deref().unwrap_or_default())
            };
            columns.push(("busiest", Box::new(busiest)));
        }
        let cells = |row: &WaitingRow| columns.iter().map(|(_, cell)| cell(row)).collect();
        let rows = self.strategies.iter().map(cells).collect();
        (columns.iter().map(|(name, _)| *name).collect(), rows)
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
            "queue_pair_waiting_s",
            "workload_finish_s",
            "total_finish_s",
            "messages",
            "stopped_at_s",
            "highest_utilisation",
            "busiest_server",
            "saturated_servers",
            "wall_s",
        ];
        fn optional<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(String::new, |value| value.to_string())
        }
        let row = |row: &WaitingRow| {
            vec![
                row.name.to_string(),
                (row.name == self.best).to_string(),
                row.nodes.to_string(),
                row.times.total_waiting_s.to_string(),
                row.times.nic_waiting_s.to_string(),
                row.times.memory_waiting_s.to_string(),
                row.times.link_waiting_s.to_string(),
                row.times.queue_pair_waiting_s.to_string(),
                row.times.workload_finish_s.to_string(),
                row.times.total_finish_s.to_string(),
                optional(row.messages),
                optional(row.stopped_at_s),
                optional(row.highest_utilisation),
                optional(row.busiest_server.as_ref()),
                optional(row.saturated_servers),
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

//! The comparison of strategies by waiting, simulated or predicted.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::choose::{Basis, Candidate};
use crate::cluster::Cluster;
use crate::estimate::{FluidOutcome, Prediction};
use crate::map::StrategyId;
use crate::ranking::{Ranking, Score, Waiting};
use crate::sim::Outcome;
use crate::units::Seconds;

/// A comparison of strategies by waiting. Its JSON form is described in `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingComparison {
    /// The evaluation by which the strategies are ranked: `simulation` or `model`.
    pub by: Basis,
    /// The name of the best by the objective, with options.
    pub best: StrategyId,
    /// The name of the rates.
    pub rates: String,
    /// Whether the rates were measured on this cluster.
    pub calibrated: bool,
    /// One entry per strategy, in the order in which they were named.
    pub strategies: Vec<WaitingRow>,
}

/// The times of a score in seconds, under the names of `docs/src/formats.md`; 0 if unknown.
pub(super) fn times<S: Serializer>(score: &Score, serializer: S) -> Result<S::Ok, S::Error> {
    let waiting = score.waiting.unwrap_or_default();
    let times = [
        ("total_waiting_s", waiting.total),
        ("nic_waiting_s", waiting.nics),
        ("memory_waiting_s", waiting.memories),
        ("link_waiting_s", waiting.links),
        ("queue_pair_waiting_s", waiting.queue_pairs),
        ("workload_finish_s", score.last_arrival()),
        ("total_finish_s", score.total_finish.unwrap_or_default()),
    ];
    let mut map = serializer.serialize_map(Some(times.len()))?;
    for (name, Seconds(time)) in times {
        map.serialize_entry(name, &time)?;
    }
    map.end()
}

/// A strategy. Times are seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingRow {
    /// Its name, with options.
    pub name: StrategyId,
    /// Whether it places as the launcher does by default.
    pub default: bool,
    /// Number of nodes with ranks.
    pub nodes: usize,
    /// Waiting and finish.
    #[serde(flatten, serialize_with = "times")]
    pub score: Score,
    /// Number of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The simulated time at which the simulation was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at_s: Option<f64>,
    /// The largest ρ of any server while all clocks tick; from 1 on its queue keeps growing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_utilisation: Option<f64>,
    /// The name of that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_server: Option<String>,
    /// Number of servers with a ρ of 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturated_servers: Option<usize>,
    /// How long the evaluation took.
    pub wall_s: f64,
}

impl WaitingRow {
    /// A row with the outcome of a simulation.
    #[must_use]
    pub fn simulated(candidate: &Candidate, outcome: &Outcome, wall: Seconds) -> Self {
        Self {
            name: candidate.strategy.clone(),
            default: candidate.score.launcher_default,
            nodes: candidate.score.nodes.unwrap_or_default(),
            score: of_candidate(Score::from(outcome), candidate),
            messages: Some(outcome.messages),
            stopped_at_s: outcome.stopped.map(|time| time.0),
            highest_utilisation: None,
            busiest_server: None,
            saturated_servers: None,
            wall_s: wall.0,
        }
    }

    /// A row with the prediction of the model: the fluid for the whole run, the queueing model for the
    /// time in which all clocks tick.
    #[must_use]
    pub fn predicted(
        candidate: &Candidate,
        fluid: &FluidOutcome,
        steady: &Prediction,
        wall: Seconds,
    ) -> Self {
        Self {
            name: candidate.strategy.clone(),
            default: candidate.score.launcher_default,
            nodes: candidate.score.nodes.unwrap_or_default(),
            score: of_candidate(Score::from(fluid), candidate),
            messages: None,
            stopped_at_s: None,
            highest_utilisation: Some(steady.highest_utilisation()),
            busiest_server: steady.busiest().map(|server| server.name.clone()),
            saturated_servers: Some(steady.saturated().count()),
            wall_s: wall.0,
        }
    }

    fn waiting(&self) -> Waiting {
        self.score.waiting.unwrap_or_default()
    }
}

/// The score, excluded if the candidate is.
fn of_candidate(score: Score, candidate: &Candidate) -> Score {
    Score { excluded: score.excluded || candidate.score.excluded, ..score }
}

impl WaitingComparison {
    /// The comparison of some rows, which were ranked by their scores.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        by: Basis,
        strategies: Vec<WaitingRow>,
        ranking: &Ranking,
    ) -> Self {
        Self {
            by,
            best: strategies[ranking.best()].name.clone(),
            rates: cluster.rates.name.clone(),
            calibrated: cluster.rates.calibrated,
            strategies,
        }
    }

    /// The best strategy in a sentence: how long messages wait, and when the last one arrives.
    #[must_use]
    pub fn reason(&self) -> String {
        let best = self.strategies.iter().find(|row| row.name == self.best);
        let times = best.map(|row| (row.waiting().total, row.score.last_arrival()));
        let (waiting, end) = times.unwrap_or_default();
        format!(
            "{} is best: messages wait {waiting:.2} in all, and the last one arrives after {end:.2}.",
            self.best
        )
    }

    /// The basis of the numbers: how they were computed, and by which rates.
    #[must_use]
    pub fn caveat(&self) -> String {
        let origin = if self.calibrated { "calibrated" } else { "assumed" };
        let by = match self.by {
            Basis::Static => "static estimate",
            Basis::Model => "model",
            Basis::Simulation => "simulation",
            Basis::Replay => "replay",
        };
        format!("{by}, rates {origin}: {}", self.rates)
    }

    /// The numbers for people: header and rows. The winner has a star.
    #[must_use]
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let time = |time: Seconds| format!("{time:.3}");
        let least = self.least_waiting();
        let over = |row: &WaitingRow| match (row.stopped_at_s, row.waiting().total.0 / least) {
            (Some(time), _) => format!("stopped at {:.1}", Seconds(time)),
            (None, over) if over.is_finite() && (row.name != self.best || over > 1.0) => {
                format!("{over:.2} x")
            }
            _ => String::new(),
        };
        type Column<'a> = (&'static str, Box<dyn Fn(&WaitingRow) -> String + 'a>);
        let star = |row: &WaitingRow| if row.name == self.best { "*" } else { "" };
        let mut columns: Vec<Column> = vec![
            ("strategy", Box::new(move |row| format!("{}{}", row.name, star(row)))),
            ("nodes", Box::new(|row| row.nodes.to_string())),
            ("waiting", Box::new(move |row| time(row.waiting().total))),
            ("at NICs", Box::new(move |row| time(row.waiting().nics))),
            ("at memories", Box::new(move |row| time(row.waiting().memories))),
        ];
        if self.strategies.iter().any(|row| row.waiting().links.0 > 0.0) {
            columns.push(("at links", Box::new(move |row| time(row.waiting().links))));
        }
        if self.strategies.iter().any(|row| row.waiting().queue_pairs.0 > 0.0) {
            let cell = move |row: &WaitingRow| time(row.waiting().queue_pairs);
            columns.push(("at queue pairs", Box::new(cell)));
        }
        columns.push(("over least", Box::new(over)));
        columns.push(("workload finish", Box::new(move |row| time(row.score.last_arrival()))));
        columns.push((
            "total finish",
            Box::new(move |row| time(row.score.total_finish.unwrap_or_default())),
        ));
        // Only the model gives the utilisation while all clocks tick.
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

    /// The least total waiting of the strategies whose simulation reached its end; of all strategies if
    /// none did.
    fn least_waiting(&self) -> f64 {
        let of_those = |stopped: bool| {
            let rows = self.strategies.iter().filter(|row| row.stopped_at_s.is_some() == stopped);
            rows.map(|row| row.waiting().total.0).reduce(f64::min)
        };
        of_those(false).or_else(|| of_those(true)).unwrap_or_default()
    }

    /// All numbers in plain units: header and rows.
    #[must_use]
    pub fn csv(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "strategy",
            "best",
            "default",
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
                row.default.to_string(),
                row.nodes.to_string(),
                row.waiting().total.0.to_string(),
                row.waiting().nics.0.to_string(),
                row.waiting().memories.0.to_string(),
                row.waiting().links.0.to_string(),
                row.waiting().queue_pairs.0.to_string(),
                row.score.last_arrival().0.to_string(),
                row.score.total_finish.unwrap_or_default().0.to_string(),
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
        super::to_json(self)
    }
}

//! The times of strategies by model or simulation, as `place` shows them.

use serde::Serialize;

use super::{Comparison, StrategyRow};
use crate::choose::{Basis, Candidate, Evaluation, MappingEvaluation};
use crate::units::{Bytes, Seconds};

/// How the strategies were evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRow {
    /// The objective: `waiting`, `finish` or `balanced`.
    pub objective: String,
    /// The share of the messages in the simulations: 1 for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_share: Option<f64>,
    /// Number of simulated messages, over all strategies and seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated_messages: Option<u64>,
}

/// The times of a strategy, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EvaluatedRow {
    /// Waiting at all servers, summed over messages.
    pub total_waiting_s: f64,
    /// At network devices.
    pub nic_waiting_s: f64,
    /// At memories.
    pub memory_waiting_s: f64,
    /// Arrival of the last message.
    pub workload_finish_s: f64,
    /// Ratio to the best strategy by the objective; 1 for the best.
    pub loss: f64,
    /// Number of seeds of its longest simulations; clearly worse strategies have fewer than others, or
    /// none.
    pub seeds: usize,
    /// Waiting by the model; only for open loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_waiting_s: Option<f64>,
    /// Finish by the model; only for open loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_finish_s: Option<f64>,
}

impl EvaluationRow {
    pub(super) fn new(evaluation: &Evaluation) -> Self {
        let simulated = matches!(evaluation.basis(), Basis::Simulation | Basis::Replay);
        Self {
            objective: evaluation.rule.objective.to_string(),
            simulated_share: simulated.then_some(evaluation.share),
            simulated_messages: simulated.then_some(evaluation.simulated_messages),
        }
    }
}

impl EvaluatedRow {
    pub(super) fn new(candidate: &Candidate) -> Option<Self> {
        let MappingEvaluation { score, loss, runs, fluid } = candidate.evaluation.as_ref()?;
        let waiting = score.waiting?;
        Some(Self {
            total_waiting_s: waiting.total.0,
            nic_waiting_s: waiting.nics.0,
            memory_waiting_s: waiting.memories.0,
            workload_finish_s: score.finish?.0,
            loss: *loss,
            seeds: runs.iter().flatten().count(),
            predicted_waiting_s: fluid.map(|fluid| fluid.total_waiting().0),
            predicted_finish_s: fluid.map(|fluid| fluid.last_arrival().0),
        })
    }

    fn csv(row: Option<&Self>) -> Vec<String> {
        let number = |field: fn(&Self) -> Option<f64>| {
            row.and_then(field).map_or_else(String::new, |number| number.to_string())
        };
        vec![
            number(|row| Some(row.total_waiting_s)),
            number(|row| Some(row.nic_waiting_s)),
            number(|row| Some(row.memory_waiting_s)),
            number(|row| Some(row.workload_finish_s)),
            number(|row| Some(row.loss)),
            row.map_or_else(String::new, |row| row.seeds.to_string()),
            number(|row| row.predicted_waiting_s),
            number(|row| row.predicted_finish_s),
        ]
    }
}

/// The columns that [`Comparison::evaluated_csv`] adds.
const EVALUATED: [&str; 8] = [
    "total_waiting_s",
    "nic_waiting_s",
    "memory_waiting_s",
    "workload_finish_s",
    "loss",
    "seeds",
    "predicted_waiting_s",
    "predicted_finish_s",
];

/// Those that it adds where run times or gains are known.
const RUN_TIMES: [&str; 3] = ["run_time_s", "gain", "gain_error"];

impl Comparison {
    /// The times and the main loads, for people: header and rows. The winner has a star.
    #[must_use]
    pub fn evaluated_table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        type Column<'a> = (&'static str, Box<dyn Fn(&StrategyRow) -> String + 'a>);
        let time = |seconds: f64| format!("{:.3}", Seconds(seconds));
        let cell = move |row: &StrategyRow, field: fn(&EvaluatedRow) -> Option<f64>| {
            row.evaluated.as_ref().and_then(field).map_or_else(|| "-".to_owned(), time)
        };
        let mut columns: Vec<Column> = vec![
            ("strategy", Box::new(|row| self.label(row))),
            ("nodes", Box::new(|row| row.nodes.to_string())),
            ("waiting", Box::new(move |row| cell(row, |row| Some(row.total_waiting_s)))),
            ("finish", Box::new(move |row| cell(row, |row| Some(row.workload_finish_s)))),
        ];
        if self.strategies.iter().any(|row| row.makespan_s.is_some()) {
            columns.push(("compute", Box::new(StrategyRow::computing)));
        }
        if self.by == Basis::Simulation {
            let seeds = |row: &StrategyRow| match row.evaluated.map_or(0, |row| row.seeds) {
                0 => "-".to_owned(),
                seeds => seeds.to_string(),
            };
            columns.push(("seeds", Box::new(seeds)));
            let predicted = |row: &EvaluatedRow| row.predicted_waiting_s;
            if self
                .strategies
                .iter()
                .any(|row| row.evaluated.as_ref().and_then(predicted).is_some())
            {
                columns.push(("model: waiting", Box::new(move |row| cell(row, predicted))));
            }
        }
        if self.by == Basis::Replay {
            let replayed = |row: &StrategyRow| match row.evaluated.map_or(0, |row| row.seeds) {
                0 => "no, estimated".to_owned(),
                _ => "yes".to_owned(),
            };
            columns.push(("replayed", Box::new(replayed)));
        }
        let bytes = |row: &StrategyRow| format!("{:.1}", Bytes(row.inter_node_bytes));
        columns.push(("between nodes", Box::new(bytes)));
        columns.push((
            "busiest NIC",
            Box::new(|row| format!("{:.2}", Seconds(row.busiest_nic_time_s))),
        ));
        columns.push(("hops/byte", Box::new(|row| format!("{:.2}", self.hops_per_byte(row)))));
        let cells = |row: &StrategyRow| columns.iter().map(|(_, cell)| cell(row)).collect();
        let rows = self.strategies.iter().map(cells).collect();
        (columns.iter().map(|(name, _)| *name).collect(), rows)
    }

    /// [`Comparison::csv`] with the times; with run times and gains, if they are known.
    #[must_use]
    pub fn evaluated_csv(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let (mut header, mut rows) = self.csv();
        header.extend(EVALUATED.map(str::to_owned));
        let has_run_times = self.strategies.iter().any(|row| row.run_time_s.or(row.gain).is_some());
        header.extend(RUN_TIMES.map(str::to_owned).into_iter().filter(|_| has_run_times));
        for (cells, row) in rows.iter_mut().zip(&self.strategies) {
            cells.extend(EvaluatedRow::csv(row.evaluated.as_ref()));
            let of_run = [row.run_time_s, row.gain, row.gain_error].into_iter();
            let of_run = of_run.map(|number| number.map_or_else(String::new, |it| it.to_string()));
            cells.extend(of_run.filter(|_| has_run_times));
        }
        (header, rows)
    }
}

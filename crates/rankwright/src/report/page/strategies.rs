//! The strategies that were compared.

use serde::Serialize;

use super::placements::PlacementRole;
use crate::choose::{Basis, Plan};
use crate::ranking::Score;
use crate::report::answer::Role;
use crate::report::comparison::{Comparison, StrategyRow as Compared};
use crate::report::waiting::{WaitingComparison, WaitingRow};
use crate::statistics::Estimate;

/// Strategies with what their placements are expected to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyTable {
    /// How they were evaluated.
    pub by: Basis,
    /// The name of the best, with options.
    pub best: String,
    /// The name of the launcher's default, if it is among them.
    pub default: Option<String>,
    /// Why the best is the best.
    pub reason: String,
    /// The strategies, the best first where they were ranked.
    pub rows: Vec<StrategyRow>,
}

/// Of fewer seeds an interval is too wide to say anything.
const FEWEST_SEEDS: usize = 3;

/// A strategy. Times are seconds; errors are half the width of a 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyRow {
    /// Its name, with options.
    pub name: String,
    /// Its name without options.
    pub strategy_name: String,
    /// Its options that were set: `seed=3,effort=best`.
    pub strategy_options: String,
    /// Its role in the answer.
    pub role: Option<StrategyRole>,
    /// The expected run time.
    pub run_time_s: Option<f64>,
    /// The share of the run time that it saves against the launcher's default.
    pub gain: Option<f64>,
    /// The error of `gain`.
    pub gain_error: Option<f64>,
    /// Waiting summed over all messages.
    pub waiting_s: Option<f64>,
    /// The error of `waiting_s`, over seeds.
    pub waiting_error_s: Option<f64>,
    /// Arrival of the last message.
    pub finish_s: Option<f64>,
    /// The error of `finish_s`, over seeds.
    pub finish_error_s: Option<f64>,
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
    /// Share of the bytes between nodes.
    pub inter_node_share: f64,
    /// Time that the busiest network device needs for its bytes.
    pub busiest_nic_time_s: Option<f64>,
    /// Bytes times hops.
    pub hop_bytes: Option<f64>,
    /// Number of nodes with ranks.
    pub nodes: usize,
    /// Why it was not evaluated further, if it was eliminated; or whose mapping it is.
    pub note: Option<String>,
}

/// The role of a strategy in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StrategyRole {
    /// The launcher's default.
    Default,
    /// The best.
    Best,
    /// The next best.
    Next,
}

impl StrategyRole {
    fn words(self) -> &'static str {
        match self {
            Self::Default => PlacementRole::Default.words(),
            Self::Best => PlacementRole::Best.words(),
            Self::Next => PlacementRole::Next.words(),
        }
    }
}

impl StrategyTable {
    /// The role of a row in words: the launcher's default may be the best.
    pub(super) fn role_of(&self, row: &StrategyRow) -> String {
        let is_default = self.default.as_ref() == Some(&row.name);
        match row.role {
            Some(StrategyRole::Best) if is_default => {
                let [best, default] = [StrategyRole::Best, StrategyRole::Default];
                format!("{}, {}", best.words(), default.words())
            }
            role => role.map_or("", StrategyRole::words).to_owned(),
        }
    }

    /// The strategies of a plan, with run times and intervals.
    #[must_use]
    pub fn of_plan(plan: &Plan, comparison: &Comparison) -> Self {
        let mut table = Self::of_comparison(comparison);
        let default = plan.candidates.iter().position(|it| it.score.launcher_default);
        table.default = default.map(|at| plan.candidates[at].strategy.to_string());
        for (at, row) in table.rows.iter_mut().enumerate() {
            row.add_errors(plan, at);
            if default == Some(at) && row.role.is_none() {
                row.role = Some(StrategyRole::Default);
            }
        }
        let mut rows: Vec<Option<StrategyRow>> = table.rows.into_iter().map(Some).collect();
        let order = plan.ranking.order().iter();
        table.rows = order.filter_map(|at| rows[*at].take()).collect();
        // Those that cannot win are not ranked.
        table.rows.extend(rows.into_iter().flatten());
        table
    }

    /// The strategies of a comparison.
    #[must_use]
    pub fn of_comparison(comparison: &Comparison) -> Self {
        let best = comparison.best.to_string();
        let role = |row: &Compared| {
            let answer = comparison.answer.as_ref();
            let shown = answer.and_then(|it| it.rows.iter().find(|a| a.strategy == row.name));
            match shown.map(|shown| shown.role) {
                Some(Role::Default) => Some(StrategyRole::Default),
                Some(Role::Next) => Some(StrategyRole::Next),
                Some(Role::Best | Role::DefaultAndBest) => Some(StrategyRole::Best),
                None => (row.name == comparison.best).then_some(StrategyRole::Best),
            }
        };
        let rows = comparison.strategies.iter().map(|row| StrategyRow::new(row, role(row)));
        Self {
            by: comparison.by,
            best,
            default: None,
            reason: comparison.reason.clone(),
            rows: rows.collect(),
        }
    }

    /// The strategies of a comparison by waiting; bytes are those of `static_rows`, the comparison of the
    /// same strategies by bytes.
    #[must_use]
    pub fn of_waiting(waiting: &WaitingComparison, static_rows: &Comparison) -> Self {
        let mut table = Self::of_comparison(static_rows);
        for (row, waiting_row) in table.rows.iter_mut().zip(&waiting.strategies) {
            let WaitingRow { score, .. } = waiting_row;
            row.waiting_s = Some(score.total_waiting().0);
            row.finish_s = Some(score.last_arrival().0);
            row.role = (waiting_row.name == waiting.best).then_some(StrategyRole::Best);
        }
        let default = static_rows.strategies.iter().position(|row| row.default);
        if let Some(row) = default.and_then(|at| table.rows.get_mut(at)) {
            table.default = Some(row.name.clone());
            row.role = row.role.or(Some(StrategyRole::Default));
        }
        Self { by: waiting.by, best: waiting.best.to_string(), reason: waiting.reason(), ..table }
    }
}

impl StrategyRow {
    fn new(row: &Compared, role: Option<StrategyRole>) -> Self {
        let options =
            row.parts.strategy_options.iter().map(|(name, value)| format!("{name}={value}"));
        Self {
            name: row.name.to_string(),
            strategy_name: row.parts.strategy_name.clone(),
            strategy_options: options.collect::<Vec<_>>().join(","),
            role,
            run_time_s: row.run_time_s,
            gain: row.gain,
            gain_error: row.gain_error,
            waiting_s: row.evaluated.map(|times| times.total_waiting_s),
            waiting_error_s: None,
            finish_s: row.evaluated.map(|times| times.workload_finish_s),
            finish_error_s: None,
            inter_node_bytes: row.inter_node_bytes,
            inter_node_share: row.inter_node_share,
            busiest_nic_time_s: Some(row.busiest_nic_time_s),
            hop_bytes: Some(row.hop_bytes as f64),
            nodes: row.nodes,
            note: row.made_by.as_ref().map(|other| format!("the mapping of {other}")),
        }
    }

    /// Adds intervals over seeds, and whether it was eliminated.
    fn add_errors(&mut self, plan: &Plan, at: usize) {
        let Some(evaluation) = &plan.candidates[at].evaluation else { return };
        let runs: Vec<Score> = evaluation.runs.iter().copied().flatten().collect();
        let all = evaluation.runs.len();
        if plan.evaluation.as_ref().is_some_and(|evaluation| evaluation.replayed) {
            if runs.is_empty() {
                self.note = Some("not replayed: estimated from its simulation".to_owned());
            }
            return;
        }
        if runs.len() < all {
            let (seeds, loss) = (runs.len(), evaluation.loss);
            let note = match seeds {
                0 => {
                    format!("eliminated in the first, short simulations: {loss:.2} times the best")
                }
                _ => format!("eliminated after {seeds} of {all} seeds: {loss:.2} times the best"),
            };
            self.note = Some(note);
            return;
        }
        let error = |time: fn(&Score) -> f64| {
            let width = Estimate::of(&runs.iter().map(time).collect::<Vec<_>>()).half_width;
            (runs.len() >= FEWEST_SEEDS).then_some(width)
        };
        self.waiting_error_s = error(|score| score.total_waiting().0);
        self.finish_error_s = error(|score| score.last_arrival().0);
    }
}

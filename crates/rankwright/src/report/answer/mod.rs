//! The answer of `place` on one screen: whether a placement pays, by how much, and what weakens the
//! answer.

mod launcher_default;
mod sentence;
mod table;
mod weakness;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{PermutationReport, StrategyParts};
use crate::choose::{Candidate, Gain, Plan, RunTimes};
use crate::cluster::Cluster;
use crate::ids::NodeId;
use crate::launch::Launcher;
use crate::map::StrategyId;
use crate::traffic::Workload;
use crate::units::Seconds;
pub use launcher_default::LauncherDefault;
pub(in crate::report) use weakness::RATES_ASSUMED;
pub use weakness::Weakness;

/// What a placement gains against the launcher's default. Its JSON form is described in
/// `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Whether the placement pays.
    pub verdict: Verdict,
    /// The answer in a sentence.
    pub text: String,
    /// The launcher whose default the placement is compared with.
    pub launcher: &'static str,
    /// The launcher's default, the best, and the next best; where they differ.
    pub rows: Vec<AnswerRow>,
    /// All other candidates, the best first.
    #[serde(skip)]
    others: Vec<AnswerRow>,
    /// What weakens the answer.
    pub weaknesses: Vec<Weakness>,
}

/// Whether a placement pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The run is shorter by more than the error of the prediction.
    ShorterRun,
    /// The run is expected to be shorter, but by less than the error.
    NotProven,
    /// Unknown: libraries beside MPI carry traffic, or the launcher's default has no placement here.
    Unknown,
    /// Messages wait less, or fewer bytes take busy devices; the run time is unknown.
    LessTraffic,
    /// Messages wait less, but the run is as long.
    LessWaiting,
    /// Nothing is gained: the launcher's default is as good as any placement.
    NoGain,
}

/// A placement in the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerRow {
    /// Its role.
    pub role: Role,
    /// The strategy, with options.
    pub strategy: StrategyId,
    /// Its name and its options.
    #[serde(flatten)]
    pub parts: StrategyParts,
    /// Whether its times are estimates, because only better placements were replayed; absent if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The expected run time, seconds; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time_s: Option<f64>,
    /// The share of the run time that it saves against the launcher's default; negative for a longer
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Half the width of the 95 % interval of `gain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_error: Option<f64>,
    /// The time in communication of the rank that computes longest, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communication_s: Option<f64>,
    /// Waiting summed over all messages, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_waiting_s: Option<f64>,
    /// Arrival of the last message in the simulation, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_finish_s: Option<f64>,
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
    /// Share of the bytes between nodes, 0 to 1.
    pub inter_node_share: f64,
    /// Time that the busiest network device needs for its bytes, seconds.
    pub busiest_nic_time_s: f64,
    /// The share of the run in which the busiest network device is busy, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_nic_busy: Option<f64>,
    /// Mean number of hops of a byte.
    pub hops_per_byte: f64,
    /// Number of nodes with ranks.
    pub nodes: usize,
    /// The smallest and the largest number of ranks on a node.
    pub ranks_per_node: [usize; 2],
}

/// The role of a placement in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The launcher's default, and the best: no other is better.
    DefaultAndBest,
    /// The launcher's default.
    Default,
    /// The best, which is written.
    Best,
    /// The next best.
    Next,
}

/// What the parts of an answer are made from.
struct Facts<'a> {
    cluster: &'a Cluster,
    workload: &'a Workload,
    plan: &'a Plan,
    launcher: &'static Launcher,
    /// The side effects of the best placement, if known.
    effects: Option<&'a PermutationReport>,
    /// Position of the launcher's default among the candidates.
    default: Option<usize>,
}

impl Answer {
    /// The expected run time of the best placement, seconds; `None` if it is not known in seconds.
    #[must_use]
    pub fn run_time_s(&self) -> Option<f64> {
        let is_best = |row: &&AnswerRow| matches!(row.role, Role::Best | Role::DefaultAndBest);
        self.rows.iter().find(is_best)?.run_time_s
    }

    /// The answer with the user's name of the cluster in the commands that it advises, and with the prefix of
    /// commands that must run on its nodes: `rankwright lab exec --name x head -- `, or nothing.
    #[must_use]
    pub fn with_cluster_name(mut self, name: &str, entry: &str) -> Self {
        let rates = self.weaknesses.iter_mut().filter(|it| it.code == RATES_ASSUMED);
        rates.for_each(|weakness| weakness.remedy = weakness::remedy_for_rates(name, entry));
        self
    }

    /// The answer for a plan, compared with the default of `launcher`. `effects` are those of the best
    /// placement.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        plan: &Plan,
        launcher: &'static Launcher,
        effects: Option<&PermutationReport>,
    ) -> Self {
        let is_default = |candidate: &Candidate| candidate.score.launcher_default;
        let default = plan.candidates.iter().position(is_default);
        let facts = Facts { cluster, workload, plan, launcher, effects, default };
        let (verdict, text) = facts.answer();
        let rows = facts.rows();
        Self {
            verdict,
            text,
            launcher: launcher.name,
            others: facts.others(&rows),
            rows,
            weaknesses: weakness::all(&facts),
        }
    }
}

impl Facts<'_> {
    fn best(&self) -> usize {
        self.plan.ranking.best()
    }

    /// The gain of a candidate against the launcher's default.
    fn gain(&self, at: usize) -> Option<Gain> {
        let (times, evaluation) = (self.plan.run_times.as_ref()?, self.plan.evaluation.as_ref()?);
        Some(times.gain(self.cluster, evaluation, (at, self.default?)))
    }

    fn rows(&self) -> Vec<AnswerRow> {
        let best = self.best();
        let best_is_default = self.default.is_some_and(|default| self.is_same(default, best));
        let mut rows = Vec::new();
        match self.default {
            Some(default) if best_is_default => {
                rows.push(self.row(Role::DefaultAndBest, default));
            }
            Some(default) => {
                rows.extend([self.row(Role::Default, default), self.row(Role::Best, best)]);
            }
            None => rows.push(self.row(Role::Best, best)),
        }
        let shown = |at: &usize| {
            self.is_same(*at, best)
                || self.default.is_some_and(|default| self.is_same(*at, default))
        };
        let others = self.plan.ranking.order().iter().copied().filter(|at| !shown(at));
        let best = self.row(Role::Best, best);
        let mut others = others.map(|at| self.row(Role::Next, at));
        rows.extend(others.find(|row| !table::look_alike(row, &best)));
        rows
    }

    /// The candidates without a row, the best first.
    fn others(&self, rows: &[AnswerRow]) -> Vec<AnswerRow> {
        let has_row = |row: &AnswerRow| rows.iter().any(|shown| shown.strategy == row.strategy);
        let all = self.plan.ranking.order().iter().map(|at| self.row(Role::Next, *at));
        all.filter(|row| !has_row(row)).collect()
    }

    /// Whether two candidates have the same mapping.
    fn is_same(&self, first: usize, second: usize) -> bool {
        self.plan.candidates[first].number == self.plan.candidates[second].number
    }

    fn row(&self, role: Role, at: usize) -> AnswerRow {
        let candidate = &self.plan.candidates[at];
        let (load, score) = (&candidate.load, &candidate.score);
        let times = self.plan.run_times.as_ref();
        let real = times.filter(|times| times.only_ratios.is_none());
        let run_time = real.map(|times| times.times[at]);
        // A time that is but the computing has been raised to it: how long ranks wait is not known then.
        let communication = |times: &RunTimes| {
            Some(times.times[at].0 - times.computing?.0).filter(|seconds| *seconds > 0.0)
        };
        let gain = self.gain(at).filter(|_| !matches!(role, Role::Default | Role::DefaultAndBest));
        let busiest = load.busiest_nic_time().0;
        let end = run_time.or(score.finish).filter(|end| end.0 > 0.0);
        AnswerRow {
            role,
            strategy: candidate.strategy.clone(),
            parts: StrategyParts::from(&candidate.strategy),
            estimated: self
                .plan
                .evaluation
                .as_ref()
                .is_some_and(|evaluation| evaluation.is_estimated(candidate.number)),
            run_time_s: run_time.map(|time| time.0),
            gain: gain.map(|gain| gain.share),
            gain_error: gain.map(|gain| gain.error),
            communication_s: real.and_then(communication),
            total_waiting_s: score.waiting.map(|waiting| waiting.total.0),
            workload_finish_s: score.finish.map(|finish| finish.0),
            inter_node_bytes: load.inter_node.0,
            inter_node_share: load.inter_node_share(),
            busiest_nic_time_s: busiest,
            busiest_nic_busy: end.map(|Seconds(end)| (busiest / end).min(1.0)),
            hops_per_byte: load.mean_hops(),
            nodes: score.nodes.unwrap_or_default(),
            ranks_per_node: ranks_per_node(candidate),
        }
    }
}

fn ranks_per_node(candidate: &Candidate) -> [usize; 2] {
    let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
    for rank in candidate.placement.ranks() {
        *counts.entry(rank.node).or_default() += 1;
    }
    let least = counts.values().copied().min().unwrap_or_default();
    [least, counts.values().copied().max().unwrap_or_default()]
}

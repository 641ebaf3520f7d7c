//! The comparison of strategies.

mod evaluated;
mod explain;
mod strategy_parts;

use serde::Serialize;

use super::{Answer, PermutationReport};
use crate::choose::{Basis, Candidate, Evaluation, Plan, RankedCandidates};
use crate::cluster::Cluster;
use crate::estimate::{Direction, LevelCut};
use crate::map::StrategyId;
use crate::units::Seconds;
pub use evaluated::{EvaluatedRow, EvaluationRow};
pub use strategy_parts::StrategyParts;

/// A comparison of strategies. Its JSON form is described in `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the best placement gains against the launcher's default, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// The evaluation by which the strategies are ranked: `static`, `model` or `simulation`.
    pub by: Basis,
    /// Details of a ranking by model or simulation.
    #[serde(flatten)]
    pub evaluation: Option<EvaluationRow>,
    /// The name of the winner, with options.
    pub best: StrategyId,
    /// Whether the choice makes a difference.
    pub matters: bool,
    /// Why the best strategy is the best.
    pub reason: String,
    /// Bytes of all messages between different ranks.
    pub total_bytes: u64,
    /// The name of the rates.
    pub rates: String,
    /// Whether the rates were measured on this cluster.
    pub calibrated: bool,
    /// Side effects of the best placement, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permutation: Option<PermutationReport>,
    /// One entry per strategy, in the order in which they were named.
    pub strategies: Vec<StrategyRow>,
}

/// The metrics of one strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrategyRow {
    /// Its name, with options.
    pub name: StrategyId,
    /// Its name and its options.
    #[serde(flatten)]
    pub parts: StrategyParts,
    /// Whether it places as the launcher does by default.
    pub default: bool,
    /// The strategy that proposed its mapping, if that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<StrategyId>,
    /// Its times by model or simulation.
    #[serde(flatten)]
    pub evaluated: Option<EvaluatedRow>,
    /// Its expected run time, seconds, if a run was recorded and it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_time_s: Option<f64>,
    /// Share of the run time that it saves against the launcher's default, negative for a longer run;
    /// `None` for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Half the width of the 95 % interval of `gain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_error: Option<f64>,
    /// The longest computing time of any rank, seconds, if nodes differ in speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub makespan_s: Option<f64>,
    /// Number of nodes with ranks.
    pub nodes: usize,
    /// Bytes between nodes.
    pub inter_node_bytes: u64,
    /// Share of the bytes between nodes, 0 to 1.
    pub inter_node_share: f64,
    /// Messages between nodes.
    pub inter_node_messages: u64,
    /// The busiest network device; `null` if nothing passes between nodes.
    pub busiest_nic: Option<NicRow>,
    /// Time that the busiest network device needs, seconds; 0 without traffic between nodes.
    pub busiest_nic_time_s: f64,
    /// Bytes times hops.
    pub hop_bytes: u128,
    /// Bytes between the groups of each level, from the core up.
    pub cut: Vec<LevelCutRow>,
    /// Bytes through each network device.
    pub nics: Vec<NicLoadRow>,
    /// Bytes through each memory.
    pub memories: Vec<MemoryRow>,
}

/// A network device in one direction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NicRow {
    /// The node's name.
    pub node: String,
    /// The device's name; `null` for all of the node.
    pub nic: Option<String>,
    /// `out` or `in`.
    pub direction: Direction,
    /// Bytes in this direction.
    pub bytes: u64,
    /// Time that the device needs for these bytes, seconds.
    pub time_s: f64,
}

/// The bytes between the groups of a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelCutRow {
    /// The level.
    pub level: String,
    /// The bytes.
    pub bytes: u64,
}

/// A network device in both directions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NicLoadRow {
    /// The node's name.
    pub node: String,
    /// The device's name; `null` for all of the node.
    pub nic: Option<String>,
    /// Bytes out of the node.
    pub out_bytes: u64,
    /// Bytes into the node.
    pub in_bytes: u64,
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryRow {
    /// The node's name.
    pub node: String,
    /// L# within the node.
    pub numa: u32,
    /// Bytes sent and received by its ranks.
    pub bytes: u64,
}

impl Comparison {
    /// The comparison of candidates for a cluster, which were ranked by `evaluation` or by bytes.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        candidates: &[Candidate],
        ranked: &RankedCandidates,
        evaluation: Option<&Evaluation>,
    ) -> Self {
        let best = &candidates[ranked.best()];
        Self {
            answer: None,
            by: evaluation.map_or(Basis::Static, Evaluation::basis),
            evaluation: evaluation.map(EvaluationRow::new),
            best: best.strategy.clone(),
            matters: ranked.ranking.matters(),
            reason: explain::reason(cluster, candidates, ranked, evaluation),
            total_bytes: best.load.total.0,
            rates: cluster.rates.name.clone(),
            calibrated: cluster.rates.calibrated,
            permutation: None,
            strategies: candidates
                .iter()
                .map(|candidate| StrategyRow::new(cluster, candidate, evaluation.is_some()))
                .collect(),
        }
    }

    /// The comparison of the candidates of a plan for a cluster, with run times where these can be told.
    #[must_use]
    pub fn of_plan(cluster: &Cluster, plan: &Plan) -> Self {
        let evaluation = plan.evaluation.as_ref();
        let mut comparison = Self::new(cluster, &plan.candidates, &plan.ranking, evaluation);
        comparison.add_run_times(cluster, plan);
        comparison
    }

    fn add_run_times(&mut self, cluster: &Cluster, plan: &Plan) {
        let (Some(times), Some(evaluation)) = (&plan.run_times, &plan.evaluation) else { return };
        let default = plan.candidates.iter().position(|it| it.score.launcher_default);
        for (at, row) in self.strategies.iter_mut().enumerate() {
            row.run_time_s = times.only_ratios.is_none().then_some(times.times[at].0);
            let gain = default.filter(|default| *default != at);
            let gain = gain.map(|default| times.gain(cluster, evaluation, (at, default)));
            (row.gain, row.gain_error) = (gain.map(|it| it.share), gain.map(|it| it.error));
        }
    }

    /// The comparison if the ranks of a node are kept together. The launcher's default is then not
    /// advised, because it may not keep them together.
    #[must_use]
    pub fn with_kept_node_groups(mut self) -> Self {
        if !self.matters && self.strategies.len() > 1 {
            self.reason = explain::equal_with_kept_node_groups();
        }
        self
    }

    /// The basis of the numbers: how they were computed, and by which rates.
    #[must_use]
    pub fn caveat(&self) -> String {
        let part = self.evaluation.as_ref().and_then(|evaluation| evaluation.simulated_share);
        let how = match (self.by, part) {
            (Basis::Simulation, Some(part)) if part < 1.0 => {
                format!("simulation of {:.2} % of the messages", 100.0 * part)
            }
            (Basis::Simulation, _) => "simulation".to_owned(),
            (Basis::Replay, _) => "replay of the recorded calls".to_owned(),
            (Basis::Model, _) => "model".to_owned(),
            (Basis::Static, _) => "static estimate".to_owned(),
        };
        let origin = if self.calibrated { "calibrated" } else { "assumed" };
        format!("{how}, rates {origin}: {}", self.rates)
    }

    /// A strategy's name, that of the winner with a star, and the strategy that proposed its mapping.
    pub(super) fn label(&self, row: &StrategyRow) -> String {
        let star = if row.name == self.best { "*" } else { "" };
        match &row.made_by {
            Some(other) => format!("{}{star} ({other})", row.name),
            None => format!("{}{star}", row.name),
        }
    }

    pub(super) fn hops_per_byte(&self, row: &StrategyRow) -> f64 {
        // Without bytes the numerator is 0 too.
        row.hop_bytes as f64 / self.total_bytes.max(1) as f64
    }

    /// The main metrics for people: header and rows. The winner has a star.
    #[must_use]
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let mut header = vec![
            "strategy",
            "nodes",
            "between nodes",
            "share",
            "messages",
            "busiest NIC",
            "out",
            "in",
            "time",
            "hops/byte",
            "NUMA max",
        ];
        let mut rows: Vec<Vec<String>> =
            self.strategies.iter().map(|row| self.table_row(row)).collect();
        if self.strategies.iter().any(|row| row.makespan_s.is_some()) {
            header.push("compute");
            for (cells, row) in rows.iter_mut().zip(&self.strategies) {
                cells.push(row.computing());
            }
        }
        (header, rows)
    }

    fn table_row(&self, row: &StrategyRow) -> Vec<String> {
        let amount = |bytes: u64| format!("{:.1}", crate::units::Bytes(bytes));
        let nothing = || "-".to_owned();
        let nic = row.busiest_nic.as_ref();
        let load = nic.and_then(|nic| {
            row.nics.iter().find(|load| load.node == nic.node && load.nic == nic.nic)
        });
        let memory = row.memories.iter().map(|memory| memory.bytes).max();
        vec![
            self.label(row),
            row.nodes.to_string(),
            amount(row.inter_node_bytes),
            format!("{:.1} %", 100.0 * row.inter_node_share),
            row.inter_node_messages.to_string(),
            nic.map_or_else(nothing, NicRow::label),
            load.map_or_else(nothing, |load| amount(load.out_bytes)),
            load.map_or_else(nothing, |load| amount(load.in_bytes)),
            nic.map_or_else(nothing, |nic| format!("{:.2}", Seconds(nic.time_s))),
            format!("{:.2}", self.hops_per_byte(row)),
            memory.map_or_else(nothing, amount),
        ]
    }

    /// The bytes between the groups of each level, for people: header and rows.
    #[must_use]
    pub fn cut_table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let cuts = self.strategies.first().map(|row| row.cut.as_slice()).unwrap_or_default();
        let mut header = vec!["bytes between".to_owned()];
        header.extend(cuts.iter().map(|cut| cut.level.clone()));
        let row = |row: &StrategyRow| {
            let amount = |cut: &LevelCutRow| format!("{:.1}", crate::units::Bytes(cut.bytes));
            [row.name.to_string()].into_iter().chain(row.cut.iter().map(amount)).collect()
        };
        (header, self.strategies.iter().map(row).collect())
    }

    /// All metrics that have one value per strategy, in plain units: header and rows.
    #[must_use]
    pub fn csv(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut header: Vec<String> = [
            "strategy",
            "best",
            "default",
            "nodes",
            "inter_node_bytes",
            "inter_node_share",
            "inter_node_messages",
            "busiest_nic",
            "busiest_nic_bytes",
            "busiest_nic_time_s",
            "hop_bytes",
            "busiest_memory_bytes",
        ]
        .map(str::to_owned)
        .to_vec();
        let cuts = self.strategies.first().map(|row| row.cut.as_slice()).unwrap_or_default();
        header.extend(cuts.iter().map(|cut| format!("cut_{}_bytes", cut.level)));
        let computing = self.strategies.iter().any(|row| row.makespan_s.is_some());
        header.extend(computing.then(|| "makespan_s".to_owned()));
        let row = |row: &StrategyRow| {
            let nic = row.busiest_nic.as_ref();
            let mut cells = vec![
                row.name.to_string(),
                (row.name == self.best).to_string(),
                row.default.to_string(),
                row.nodes.to_string(),
                row.inter_node_bytes.to_string(),
                row.inter_node_share.to_string(),
                row.inter_node_messages.to_string(),
                nic.map(NicRow::label).unwrap_or_default(),
                nic.map_or(0, |nic| nic.bytes).to_string(),
                row.busiest_nic_time_s.to_string(),
                row.hop_bytes.to_string(),
                row.memories.iter().map(|m| m.bytes).max().unwrap_or_default().to_string(),
            ];
            cells.extend(row.cut.iter().map(|cut| cut.bytes.to_string()));
            cells.extend(row.makespan_s.map(|time| time.to_string()));
            cells
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

impl StrategyRow {
    /// The longest computing time of any rank, for people.
    pub(super) fn computing(&self) -> String {
        self.makespan_s.map_or_else(|| "-".to_owned(), |time| format!("{:.2}", Seconds(time)))
    }

    fn new(cluster: &Cluster, candidate: &Candidate, with_times: bool) -> Self {
        let load = &candidate.load;
        let name = |node| cluster.node(node).name.clone();
        let busiest = load.busiest_nic().map(|nic| NicRow {
            node: name(nic.node),
            nic: nic.nic,
            direction: nic.direction,
            bytes: nic.bytes.0,
            time_s: nic.time.0,
        });
        let nic = |nic: &crate::estimate::NicLoad| NicLoadRow {
            node: name(nic.node),
            nic: nic.nic.clone(),
            out_bytes: nic.out.0,
            in_bytes: nic.incoming.0,
        };
        let memory = |memory: &crate::estimate::NumaLoad| MemoryRow {
            node: name(memory.node),
            numa: memory.numa.0,
            bytes: memory.bytes.0,
        };
        let cut = |cut: &LevelCut| LevelCutRow { level: cut.level.to_string(), bytes: cut.bytes.0 };
        Self {
            name: candidate.strategy.clone(),
            parts: StrategyParts::from(&candidate.strategy),
            default: candidate.score.launcher_default,
            made_by: (candidate.made_by != candidate.strategy).then(|| candidate.made_by.clone()),
            evaluated: EvaluatedRow::new(candidate).filter(|_| with_times),
            run_time_s: None,
            gain: None,
            gain_error: None,
            makespan_s: candidate.computing.map(|computing| computing.makespan.0),
            nodes: candidate.score.nodes.unwrap_or_default(),
            inter_node_bytes: load.inter_node.0,
            inter_node_share: load.inter_node_share(),
            inter_node_messages: load.inter_node_messages,
            busiest_nic: busiest,
            busiest_nic_time_s: load.busiest_nic_time().0,
            hop_bytes: load.hop_bytes,
            cut: load.cuts.iter().map(cut).collect(),
            nics: load.nics.iter().map(nic).collect(),
            memories: load.memories.iter().map(memory).collect(),
        }
    }
}

impl NicRow {
    /// `n1 out` or `n1 mlx5_0 in`.
    fn label(&self) -> String {
        match &self.nic {
            Some(nic) => format!("{} {nic} {}", self.node, self.direction),
            None => format!("{} {}", self.node, self.direction),
        }
    }
}

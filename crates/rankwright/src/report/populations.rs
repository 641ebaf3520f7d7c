//! Populations (the ranks on different numbers of nodes), for people and programs.

use serde::Serialize;

use super::StrategyParts;
use crate::choose::model_error;
use crate::choose::{
    Basis, MemoryTraffic, NotPopulated, Populated, Population, Preference, TimeEstimate,
};
use crate::cluster::Cluster;
use crate::ids::format_index_list;
use crate::map::StrategyId;
use crate::placement::PlacementError;
use crate::ranking::TOLERANCE;
use crate::units::{Seconds, counted};

/// The ranks of a workload on different numbers of nodes. Its JSON form is described in
/// `docs/src/formats.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PopulationReport {
    /// How times were estimated: `replay`, `simulation`, `fluid` or `static`.
    pub by: &'static str,
    /// What is minimised: `time` or `node-hours`.
    pub prefer: &'static str,
    /// The best number of nodes; `null` if the ranks fit on none of them.
    pub best: Option<usize>,
    /// Why that number is best, and what the others cost.
    pub reason: String,
    /// Whether the memory traffic of the ranks besides messages is known.
    pub memory_traffic_known: bool,
    /// Whether times include the computing times of the ranks.
    pub computing_known: bool,
    /// The name of the rates.
    pub rates: String,
    /// Whether they were measured on this cluster.
    pub calibrated: bool,
    /// The launcher's default, as a strategy.
    pub launcher_default: String,
    /// How far a difference in run time may be wrong, as a share of the run time.
    pub error: f64,
    /// One entry per number of nodes, in the given order.
    pub populations: Vec<PopulationRow>,
    /// The numbers of nodes without a placement and why, a line for each reason.
    #[serde(skip)]
    impossible: Vec<String>,
}

/// The best placement on one number of nodes. Fields are `null` if the ranks do not fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PopulationRow {
    /// Number of nodes.
    pub nodes: usize,
    /// The smallest number of ranks on a node.
    pub fewest_ranks_per_node: Option<usize>,
    /// The largest number of ranks on a node.
    pub most_ranks_per_node: Option<usize>,
    /// The strategy of the best placement, with options.
    pub strategy: Option<String>,
    /// Its name and its options; absent if the ranks do not fit.
    #[serde(flatten)]
    pub parts: Option<StrategyParts>,
    /// Run time of the jobs, seconds.
    pub time_s: Option<f64>,
    /// Run time with the launcher's default on as many nodes, seconds; `null` if it was not tried.
    pub default_time_s: Option<f64>,
    /// Number of nodes times run time, hours.
    pub node_hours: Option<f64>,
    /// Time that the busiest network device needs for its bytes, seconds.
    pub busiest_nic_time_s: Option<f64>,
    /// Utilisation of the busiest memory, above 1 if overloaded; `null` if unknown.
    pub memory_utilisation: Option<f64>,
    /// Why there is no placement; `null` if there is one.
    pub why_not: Option<String>,
}

impl PopulationReport {
    /// The report on populations of a cluster.
    #[must_use]
    pub fn new(
        cluster: &Cluster,
        populations: &[Population],
        preference: Preference,
        (estimate, traffic): (TimeEstimate, MemoryTraffic),
        launcher_default: &StrategyId,
    ) -> Self {
        let basis = match estimate {
            TimeEstimate::Replay => Basis::Replay,
            TimeEstimate::Simulation => Basis::Simulation,
            TimeEstimate::Fluid => Basis::Model,
            TimeEstimate::ComputeAndBytes | TimeEstimate::Bytes => Basis::Static,
        };
        let best = Population::preferred(populations, preference);
        let error = model_error(cluster, basis);
        Self {
            by: match estimate {
                TimeEstimate::Replay => "replay",
                TimeEstimate::Simulation => "simulation",
                TimeEstimate::Fluid => "fluid",
                TimeEstimate::ComputeAndBytes | TimeEstimate::Bytes => "static",
            },
            prefer: match preference {
                Preference::Time => "time",
                Preference::NodeHours => "node-hours",
            },
            best: best.map(|best| populations[best].nodes),
            reason: reason(populations, preference, error),
            memory_traffic_known: traffic.is_known(),
            computing_known: estimate != TimeEstimate::Bytes,
            rates: cluster.rates.name.clone(),
            calibrated: cluster.rates.calibrated,
            launcher_default: launcher_default.to_string(),
            error,
            populations: populations.iter().map(PopulationRow::new).collect(),
            impossible: impossible(populations),
        }
    }

    /// The table for people: header and rows. The best row has a star. Numbers of nodes without a
    /// placement are not in it.
    #[must_use]
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "nodes",
            "ranks/node",
            "strategy",
            "time",
            "default",
            "node-hours",
            "busiest NIC",
            "memory",
        ];
        let row = |row: &PopulationRow| {
            let star = if Some(row.nodes) == self.best { "*" } else { "" };
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let seconds = |time: Option<f64>| or_dash(time.map(|t| format!("{:.2}", Seconds(t))));
            let percent = |share: f64| format!("{:.0} %", 100.0 * share);
            let ranks = match (row.fewest_ranks_per_node, row.most_ranks_per_node) {
                (Some(fewest), Some(most)) if fewest == most => Some(most.to_string()),
                (Some(fewest), Some(most)) => Some(format!("{fewest}-{most}")),
                _ => None,
            };
            vec![
                format!("{}{star}", row.nodes),
                or_dash(ranks),
                or_dash(row.strategy.clone()),
                seconds(row.time_s),
                seconds(row.default_time_s),
                or_dash(row.node_hours.map(hours)),
                seconds(row.busiest_nic_time_s),
                or_dash(row.memory_utilisation.map(percent)),
            ]
        };
        let possible = self.populations.iter().filter(|row| row.why_not.is_none());
        (header, possible.map(row).collect())
    }

    /// The text below the table: numbers of nodes without a placement and why, and which inputs are
    /// unknown.
    #[must_use]
    pub fn remarks(&self) -> String {
        let mut text = String::new();
        if self.best.is_some() {
            text += "* the best of these numbers of nodes; its placement is written\n";
        }
        if self.populations.iter().any(|row| row.default_time_s.is_some()) {
            let default = &self.launcher_default;
            text += &format!(
                "default: the time with the launcher's default ({default}) on as many nodes\n"
            );
        }
        for line in &self.impossible {
            text += &format!("{line}\n");
        }
        if !self.memory_traffic_known {
            text += "The memory traffic of the ranks besides messages is unknown, so packing looks too \
                     good: give it with --memory-traffic, such as \"2 GB/s\" per rank.\n";
        }
        if !self.computing_known {
            text += "Times cover only the transfer of the bytes: neither message timing nor computing \
                     times are known.\n";
        }
        let assumed = if self.calibrated { "calibrated" } else { "assumed" };
        let percent = 100.0 * self.error;
        text + &format!(
            "{} estimate, rates {assumed}: {}; differences below {percent:.0} % are within its error\n",
            self.by, self.rates
        )
    }

    /// In plain units: header and rows.
    #[must_use]
    pub fn csv(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let header = vec![
            "nodes",
            "best",
            "fewest_ranks_per_node",
            "most_ranks_per_node",
            "strategy",
            "time_s",
            "default_time_s",
            "node_hours",
            "busiest_nic_time_s",
            "memory_utilisation",
            "why_not",
        ];
        let row = |row: &PopulationRow| {
            let text =
                |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            let count = |value: Option<usize>| value.map(|v| v.to_string()).unwrap_or_default();
            vec![
                row.nodes.to_string(),
                (Some(row.nodes) == self.best).to_string(),
                count(row.fewest_ranks_per_node),
                count(row.most_ranks_per_node),
                row.strategy.clone().unwrap_or_default(),
                text(row.time_s),
                text(row.default_time_s),
                text(row.node_hours),
                text(row.busiest_nic_time_s),
                text(row.memory_utilisation),
                row.why_not.clone().unwrap_or_default(),
            ]
        };
        (header, self.populations.iter().map(row).collect())
    }

    /// As JSON, with a line end.
    ///
    /// # Panics
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }
}

impl PopulationRow {
    fn new(population: &Population) -> Self {
        let best: Option<&Populated> = population.best.as_ref().ok();
        Self {
            nodes: population.nodes,
            fewest_ranks_per_node: best.map(|best| best.ranks_per_node.0),
            most_ranks_per_node: best.map(|best| best.ranks_per_node.1),
            strategy: best.map(|best| best.candidate.strategy.to_string()),
            parts: best.map(|best| StrategyParts::from(&best.candidate.strategy)),
            time_s: best.map(|best| best.estimate.time.0),
            default_time_s: best.and_then(|best| best.default).map(|time| time.0),
            node_hours: population.node_hours(),
            busiest_nic_time_s: best.map(|best| best.candidate.load.busiest_nic_time().0),
            memory_utilisation: best.and_then(|best| best.estimate.memory_utilisation),
            why_not: population.best.as_ref().err().map(NotPopulated::to_string),
        }
    }
}

/// `32-63 nodes: too few cores for 1024 ranks`; numbers of nodes with the same reason share a line.
fn impossible(populations: &[Population]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<u32>, String)> = Vec::new();
    for Population { nodes, best } in populations {
        let Err(error) = best else { continue };
        let (nodes, full) = (u32::try_from(*nodes).unwrap_or(u32::MAX), error.to_string());
        let short = match error {
            NotPopulated::TooSmall(PlacementError::TooFewSlots { ranks, unit, .. }) => {
                format!("too few {unit}s for {}", counted(*ranks, "rank"))
            }
            _ => full.clone(),
        };
        match reasons.iter_mut().find(|(other, ..)| *other == short) {
            Some((_, counts, _)) => counts.push(nodes),
            None => reasons.push((short, vec![nodes], full)),
        }
    }
    let line = |(short, counts, full): (String, Vec<u32>, String)| match counts[..] {
        [nodes] => format!("{}: {full}", counted(nodes as usize, "node")),
        _ => format!("{} nodes: {short}", format_index_list(&counts)),
    };
    reasons.into_iter().map(line).collect()
}

/// The number of nodes that is preferred, and how the fastest and the cheapest differ in run time and node-hours.
fn reason(populations: &[Population], preference: Preference, error: f64) -> String {
    let fastest = Population::preferred(populations, Preference::Time);
    let cheapest = Population::preferred(populations, Preference::NodeHours);
    let (Some(fastest), Some(cheapest)) = (fastest, cheapest) else {
        return "The ranks do not fit on any of these numbers of nodes.".to_owned();
    };
    let nodes = |at: usize, verbs: (&str, &str)| match populations[at].nodes {
        1 => format!("1 node {}", verbs.0),
        nodes => format!("{nodes} nodes {}", verbs.1),
    };
    let (is, takes, costs) = (("is", "are"), ("takes", "take"), ("costs", "cost"));
    if populations.iter().filter(|population| population.best.is_ok()).count() == 1 {
        return format!("{} the only number of these that is possible.", nodes(fastest, is));
    }
    let time = |at: usize| populations[at].best.as_ref().map_or(0.0, |best| best.estimate.time.0);
    let times = || (0..populations.len()).filter(|at| populations[*at].best.is_ok()).map(time);
    // Among numbers that take about the same time the one with the fewest node-hours is preferred.
    let is_least = times().all(|other| time(fastest) <= other);
    let as_fast = if is_least { "fastest" } else { "about as fast as any" };
    if fastest == cheapest {
        let most = times().fold(0.0, f64::max);
        if most <= time(fastest) * (1.0 + TOLERANCE) {
            let costs = nodes(fastest, costs);
            return format!("All take nearly the same time; {costs} the fewest node-hours.");
        }
        let costs = if populations[fastest].nodes == 1 { costs.0 } else { costs.1 };
        return format!("{} {as_fast}, and {costs} the fewest node-hours.", nodes(fastest, is));
    }
    let hours = |at: usize| populations[at].node_hours().unwrap_or_default();
    let (longer, more_hours) = (time(cheapest) / time(fastest), hours(fastest) / hours(cheapest));
    let is_small = |share: f64| (TOLERANCE..=error).contains(&share);
    let within = |share: f64| if is_small(share) { " (within the error)" } else { "" };
    match preference {
        Preference::Time => {
            let slower = match longer - 1.0 {
                more if more <= TOLERANCE => "nearly the same time".to_owned(),
                more => times_or_percent(more, "more time", "as long"),
            };
            let less = 100.0 * (1.0 - 1.0 / more_hours);
            let slower = format!("{slower}{}", within(longer - 1.0));
            let few = nodes(cheapest, takes);
            format!(
                "{} {as_fast}. {few} {slower}, but {less:.0} % fewer node-hours.",
                nodes(fastest, is)
            )
        }
        Preference::NodeHours => {
            let faster = match 1.0 - 1.0 / longer {
                _ if longer - 1.0 <= TOLERANCE => {
                    let few = nodes(cheapest, costs);
                    return format!(
                        "{few} the fewest node-hours, and no other number takes much less time."
                    );
                }
                less => format!("{:.0} % less time{}", 100.0 * less, within(less)),
            };
            let more = times_or_percent(more_hours - 1.0, "more node-hours", "the node-hours");
            let few = nodes(cheapest, costs);
            format!("{few} the fewest node-hours. {} {faster}, but {more}.", nodes(fastest, takes))
        }
    }
}

/// `12 % more time`, or `2.5 times as long` from twice on.
fn times_or_percent(more: f64, percent: &str, times: &str) -> String {
    match more < 1.0 {
        true => format!("{:.0} % {percent}", 100.0 * more),
        false => format!("{:.1} times {times}", 1.0 + more),
    }
}

fn hours(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.2e}"),
    }
}

//! The reports of placements that exist: one beside the launcher's default, one that was simulated.

use super::data::{Cell, Column, Kind, Outcome, Report, Table, Verdict};
use super::findings::Unmeasured;
use super::placements::{PlacementRole, Shown};
use super::strategies::{StrategyRole, StrategyRow, StrategyTable};
use crate::choose::Basis;
use crate::cluster::Cluster;
use crate::report::simulation::{JobRow, ServerRow, SimulationReport};
use crate::sim::Replications;
use crate::statistics::Estimate;
use crate::traffic::Workload;
use crate::units::{Seconds, counted};

/// A placement with its simulations, if it could be simulated.
#[derive(Debug)]
pub struct Simulated<'a> {
    /// The placement.
    pub shown: Shown<'a>,
    /// Simulations with several seeds.
    pub replications: Option<Replications>,
}

/// Differences below this share are none.
const NO_DIFFERENCE: f64 = 0.0005;

/// The most servers that are listed: those at which messages wait longest.
const SERVERS: usize = 50;

impl Report {
    /// The report of a placement, after the launcher's default if that is known. All were simulated, or
    /// none.
    ///
    /// # Panics
    /// Without a placement.
    #[must_use]
    pub fn of_placements(
        (cluster, workload): (&Cluster, &Workload),
        placements: &[Simulated<'_>],
    ) -> Self {
        let given = placements.last().expect("there is a placement");
        let nodes = given.shown.placement.ranks().map(|rank| rank.node);
        let nodes: std::collections::BTreeSet<_> = nodes.collect();
        let nodes = counted(nodes.len(), "node");
        let title = format!("{} on {nodes} of {}, as placed", workload.name, cluster.name);
        let default = placements.first().filter(|_| placements.len() > 1);
        let verdict = verdict(default, given);
        let shown: Vec<Shown> = placements.iter().map(|it| it.shown.clone()).collect();
        let mut report = Self::new(Kind::Placement, title, verdict)
            .with_workload_facts(workload)
            .with_placements(cluster, workload, &shown);
        report.strategies = Some(StrategyTable {
            by: if given.replications.is_some() { Basis::Simulation } else { Basis::Static },
            best: given.shown.name.clone(),
            default: default.map(|default| default.shown.name.clone()),
            reason: "The placement that was given, and the launcher's default.".to_owned(),
            rows: placements.iter().map(row).collect(),
        });
        if given.replications.is_none() {
            report.lack(Unmeasured::Waiting);
        }
        if default.is_none() {
            report.lack(Unmeasured::Default);
        }
        if !cluster.rates.calibrated {
            report.lack(Unmeasured::Rates);
        }
        report.lack(Unmeasured::Counted);
        report
    }

    /// The report of a simulated placement.
    #[must_use]
    pub fn of_simulation(
        (cluster, workload): (&Cluster, &Workload),
        shown: &Shown<'_>,
        simulation: &SimulationReport,
    ) -> Self {
        let score = &simulation.totals.score;
        let (waiting, end) = match &simulation.replications {
            Some(several) => {
                let width = |row: f64| match row.is_finite() {
                    true => format!(" ± {:.3}", Seconds(row)),
                    false => String::new(),
                };
                let (waiting, end) = (several.total_waiting_s, several.workload_finish_s);
                (
                    format!("{:.3}{}", Seconds(waiting.mean), width(waiting.half_width)),
                    format!("{:.3}{}", Seconds(end.mean), width(end.half_width)),
                )
            }
            None => {
                let (waiting, end) = (score.total_waiting(), score.last_arrival());
                (format!("{waiting:.3}"), format!("{end:.3}"))
            }
        };
        let text = format!(
            "Under {}, messages wait {waiting} in all, and the last one arrives after {end}.",
            simulation.strategy
        );
        let seeds = simulation.replications.as_ref().map_or(1, |several| several.count);
        let how = format!("Simulated with {}.", counted(seeds, "seed"));
        let verdict = Verdict { text, outcome: Outcome::Unknown, details: vec![how] };
        let title = format!("{} on {}, simulated", workload.name, cluster.name);
        let mut report = Self::new(Kind::Simulation, title, verdict)
            .with_workload_facts(workload)
            .with_placements(cluster, workload, std::slice::from_ref(shown));
        report.tables = vec![jobs(&simulation.per_job), servers(&simulation.per_server)];
        if !cluster.rates.calibrated {
            report.lack(Unmeasured::Rates);
        }
        report.lack(Unmeasured::Counted);
        report
    }
}

/// What a placement gains against the default: by times where both were simulated, else by bytes.
fn verdict(default: Option<&Simulated>, given: &Simulated) -> Verdict {
    let Some(default) = default else {
        let text = "Unknown: the launcher's default has no placement here.".to_owned();
        return Verdict { text, outcome: Outcome::Unknown, details: Vec::new() };
    };
    let than = format!("than with the launcher's default ({})", default.shown.name);
    let (text, outcome, details) = match (&default.replications, &given.replications) {
        (Some(before), Some(after)) => {
            let waiting =
                change(before.total_waiting.mean, after.total_waiting.mean, "less", "more");
            let end =
                change(before.workload_finish.mean, after.workload_finish.mean, "earlier", "later");
            let saved = before.workload_finish.mean - after.workload_finish.mean;
            let widths = [before, after].map(|runs| runs.workload_finish.half_width);
            let error = widths[0].hypot(widths[1]);
            let outcome = match saved.abs() > error && saved.abs() > NO_DIFFERENCE {
                true if saved > 0.0 => Outcome::Gain,
                true => Outcome::Fault,
                false => Outcome::NoGain,
            };
            let text = format!("Messages wait {waiting}, and the run ends {end}, {than}.");
            let seeds = counted(after.outcomes.len(), "seed");
            (text, outcome, vec![format!("By simulation with {seeds} of each.")])
        }
        _ => {
            let [before, after] = [default, given].map(|it| it.shown.load.inter_node.0 as f64);
            let bytes = change(before, after, "fewer", "more");
            let outcome = match after - before {
                difference if difference < -NO_DIFFERENCE * before => Outcome::Gain,
                difference if difference > NO_DIFFERENCE * before => Outcome::Fault,
                _ => Outcome::NoGain,
            };
            let how = "By bytes; the run time is unknown.".to_owned();
            (format!("Bytes between nodes: {bytes} {than}."), outcome, vec![how])
        }
    };
    Verdict { text, outcome, details }
}

/// `12.0 % less`, `as much`.
fn change(before: f64, after: f64, less: &str, more: &str) -> String {
    if (after - before).abs() <= NO_DIFFERENCE * before || before <= 0.0 {
        return "as before".to_owned();
    }
    let share = 100.0 * (1.0 - after / before);
    if share > 0.0 { format!("{share:.1} % {less}") } else { format!("{:.1} % {more}", -share) }
}

fn row(simulated: &Simulated<'_>) -> StrategyRow {
    let Shown { role, name, load, placement } = &simulated.shown;
    let mean = |estimate: fn(&Replications) -> Estimate| {
        let estimate = simulated.replications.as_ref().map(estimate);
        let width = estimate.map(|it| it.half_width).filter(|width| width.is_finite());
        (estimate.map(|it| it.mean), width)
    };
    let (waiting_s, waiting_error_s) = mean(|runs| runs.total_waiting);
    let (finish_s, finish_error_s) = mean(|runs| runs.workload_finish);
    let (strategy_name, strategy_options) = name.split_once(':').unwrap_or((name, ""));
    let nodes: std::collections::BTreeSet<_> = placement.ranks().map(|rank| rank.node).collect();
    StrategyRow {
        name: name.clone(),
        strategy_name: strategy_name.to_owned(),
        strategy_options: strategy_options.to_owned(),
        role: (*role == PlacementRole::Default).then_some(StrategyRole::Default),
        run_time_s: None,
        gain: None,
        gain_error: None,
        waiting_s,
        waiting_error_s,
        finish_s,
        finish_error_s,
        inter_node_bytes: load.inter_node.0,
        inter_node_share: load.inter_node_share(),
        busiest_nic_time_s: Some(load.busiest_nic_time().0),
        hop_bytes: Some(load.hop_bytes as f64),
        nodes: nodes.len(),
        note: None,
    }
}

fn column(name: &str, unit: Option<&str>, numeric: bool) -> Column {
    Column { name: name.to_owned(), unit: unit.map(str::to_owned), numeric }
}

fn jobs(jobs: &[JobRow]) -> Table {
    let row = |job: &JobRow| {
        let numbers = [job.messages as f64].into_iter().chain(job.times()).map(Cell::Number);
        [Cell::Text(job.name.clone())].into_iter().chain(numbers).collect()
    };
    let times = ["waiting", "last arrival", "mean latency", "median", "99th percentile", "longest"];
    let times = times.into_iter().map(|name| column(name, Some("s"), true));
    Table {
        title: "Jobs".to_owned(),
        caption:
            "Waiting is summed over the messages of a job; latency is the time from the sending of \
                  a message to its arrival."
                .to_owned(),
        columns: [column("job", None, false), column("messages", None, true)]
            .into_iter()
            .chain(times)
            .collect(),
        rows: jobs.iter().map(row).collect(),
    }
}

fn servers(servers: &[ServerRow]) -> Table {
    let mut most: Vec<&ServerRow> = servers.iter().collect();
    most.sort_by(|a, b| b.waiting_s.total_cmp(&a.waiting_s));
    most.truncate(SERVERS);
    let row = |server: &&ServerRow| {
        vec![
            Cell::Text(server.name.clone()),
            Cell::Number(server.messages as f64),
            Cell::Number(server.waiting_s),
            Cell::Number(server.mean_waiting_s),
            Cell::Number(server.utilisation),
            Cell::Number(server.longest_queue as f64),
        ]
    };
    Table {
        title: "Where messages wait".to_owned(),
        caption: format!(
            "Network devices, links and memories at which messages wait longest, {} of {}.",
            most.len(),
            servers.len()
        ),
        columns: vec![
            column("server", None, false),
            column("messages", None, true),
            column("waiting", Some("s"), true),
            column("mean waiting", Some("s"), true),
            column("utilisation", None, true),
            column("longest queue", None, true),
        ],
        rows: most.iter().map(row).collect(),
    }
}

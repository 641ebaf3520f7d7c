//! The reports of placements that exist: one beside the launcher's default, one that was simulated.

use super::data::{Cell, Column, Kind, Outcome, Report, Table, Verdict};
use super::findings::{Found, Unmeasured};
use super::placements::{PlacementRole, Shown};
use super::strategies::{StrategyRole, StrategyRow, StrategyTable};
use crate::choose::{Basis, model_error, saved};
use crate::cluster::Cluster;
use crate::report::answer::Weakness;
use crate::report::simulation::{JobRow, ServerRow, SimulationReport};
use crate::sim::{Outcome as Run, Replications};
use crate::statistics::Estimate;
use crate::traffic::Workload;
use crate::units::{Bytes, Seconds, counted};

/// A placement with its simulations, if it could be simulated.
#[derive(Debug)]
pub struct Simulated<'a> {
    /// The placement.
    pub shown: Shown<'a>,
    /// Simulations with several seeds, or one replay.
    pub replications: Option<Replications>,
    /// What `replications` are; [`Basis::Static`] if there are none.
    pub by: Basis,
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
        let verdict = verdict(cluster, default, given);
        let shown: Vec<Shown> = placements.iter().map(|it| it.shown.clone()).collect();
        let mut report = Self::new(Kind::Placement, title, verdict)
            .with_workload_facts(workload)
            .with_placements(cluster, workload, &shown);
        report.strategies = Some(StrategyTable {
            by: given.by,
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
        let weakness = Weakness::of_recorded(&workload.jobs);
        report.find(weakness.iter().map(|weakness| Found::weakness(weakness).finding()));
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
fn verdict(cluster: &Cluster, default: Option<&Simulated>, given: &Simulated) -> Verdict {
    let Some(default) = default else {
        let text = "Unknown: the launcher's default has no placement here.".to_owned();
        return Verdict { text, outcome: Outcome::Unknown, details: Vec::new() };
    };
    let of_default = format!("the launcher's default ({})", default.shown.name);
    let (text, outcome, details) = match (&default.replications, &given.replications) {
        (Some(before), Some(after)) => by_times((cluster, given.by), &of_default, [before, after]),
        _ => {
            let amounts = [default, given].map(|it| it.shown.load.inter_node.0 as f64);
            // Bytes are counted, so they have no error.
            let saved = Estimate { mean: saved(amounts[1], amounts[0]), half_width: 0.0 };
            let change = Change { amounts, saved };
            let outcome = match change.direction() {
                Some(Direction::Less) => Outcome::LessTraffic,
                Some(Direction::More) => Outcome::Fault,
                None => Outcome::NoGain,
            };
            let bytes = |amount| format!("{:.1}", Bytes(amount as u64));
            let text = match change.words(["fewer bytes", "more bytes"], bytes) {
                Some(words) => format!("Compared with {of_default}, {words} pass between nodes."),
                None => format!("Compared with {of_default}, as many bytes pass between nodes."),
            };
            (text, outcome, vec!["By bytes; the run time is unknown.".to_owned()])
        }
    };
    Verdict { text, outcome, details }
}

/// What simulated placements differ in: the end of the run decides, whatever messages wait.
fn by_times(
    (cluster, by): (&Cluster, Basis),
    of_default: &str,
    runs: [&Replications; 2],
) -> (String, Outcome, Vec<String>) {
    let waiting = Change {
        amounts: runs.map(|runs| runs.total_waiting.mean),
        saved: saved_by_seed((runs, by), |outcome| outcome.total_waiting),
    };
    let mut end = Change {
        amounts: runs.map(|runs| runs.workload_finish.mean),
        saved: saved_by_seed((runs, by), |outcome| outcome.workload_finish),
    };
    let model = model_error(cluster, by);
    end.saved.half_width += model;
    let outcome = match (end.direction(), waiting.direction()) {
        (Some(Direction::Less), _) => Outcome::Gain,
        (Some(Direction::More), _) => Outcome::Fault,
        (None, Some(Direction::Less)) => Outcome::LessWaiting,
        (None, _) => Outcome::NoGain,
    };
    let seconds = |amount| format!("{:.2}", Seconds(amount));
    let longer = waiting.direction() == Some(Direction::More);
    let waits = match waiting.times_as_much().filter(|_| longer) {
        Some(times) => format!("{times:.1} times as long"),
        None => waiting.words(["less", "more"], seconds).unwrap_or_else(|| "as long".to_owned()),
    };
    let text = match (end.words(["earlier", "later"], seconds), end.direction()) {
        (Some(ends), Some(_)) => format!("The run ends {ends} than with {of_default}"),
        (Some(ends), None) => {
            format!("No proven difference: the run ends {ends} than with {of_default}")
        }
        (None, _) => format!("The run ends as early as with {of_default}"),
    };
    let text = format!("{text}; messages wait {waits}.");
    let rates = if cluster.rates.calibrated { "" } else { " with assumed rates" };
    let (model, seeds) = (100.0 * model, counted(runs[1].outcomes.len(), "seed"));
    let mut details = vec![match by {
        Basis::Replay => {
            format!("By one replay of each. ± is what a replay{rates} does not know: {model:.0} %.")
        }
        _ => format!(
            "By simulation with {seeds} of each. ± is half of the 95 % interval, and for the end {model:.0} % more \
             for what a simulation{rates} does not know."
        ),
    }];
    let opposed = [(Direction::Less, Direction::More), (Direction::More, Direction::Less)];
    if let (Some(end), Some(waiting)) = (end.direction(), waiting.direction())
        && opposed.contains(&(end, waiting))
    {
        details.push("Waiting is summed over all messages; the end of the run decides.".to_owned());
    }
    (text, outcome, details)
}

/// The time that the second of two placements saves, as a share of that of the first: the seeds are the
/// same, so what they have in common cancels. A replay has no noise.
fn saved_by_seed(
    ([before, after], by): ([&Replications; 2], Basis),
    time: fn(&Run) -> Seconds,
) -> Estimate {
    let is_whole = |(before, after): &(&Run, &Run)| before.stopped.or(after.stopped).is_none();
    let runs = before.outcomes.iter().zip(&after.outcomes).filter(is_whole);
    let shares = runs.map(|(before, after)| saved(time(after).0, time(before).0));
    let shares: Vec<f64> = shares.collect();
    match (by, &shares[..]) {
        (Basis::Replay, [share]) => Estimate { mean: *share, half_width: 0.0 },
        _ => Estimate::of(&shares),
    }
}

/// What a placement changes against another.
struct Change {
    /// The amounts, that of the other first.
    amounts: [f64; 2],
    /// The share of that of the other that is saved.
    saved: Estimate,
}

/// Whether an amount is less or more than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Less,
    More,
}

impl Change {
    /// `None` for no difference, or none beyond its error.
    fn direction(&self) -> Option<Direction> {
        let Estimate { mean, half_width } = self.saved;
        (mean.abs() > half_width && mean.abs() > NO_DIFFERENCE).then_some(if mean > 0.0 {
            Direction::Less
        } else {
            Direction::More
        })
    }

    /// By what factor the amount is larger, if it is at least doubled.
    fn times_as_much(&self) -> Option<f64> {
        let [before, after] = self.amounts;
        (before > 0.0 && after >= 2.0 * before).then(|| after / before)
    }

    /// `12.0 % less (± 0.3 %)`, or both amounts if that of the other is 0; `None` without a difference.
    fn words(&self, [less, more]: [&str; 2], shown: impl Fn(f64) -> String) -> Option<String> {
        let ([before, after], Estimate { mean, half_width }) = (self.amounts, self.saved);
        if mean.abs() <= NO_DIFFERENCE {
            return None;
        }
        if before <= 0.0 {
            return Some(format!("{} instead of {}", shown(after), shown(before)));
        }
        let word = if mean > 0.0 { less } else { more };
        let width = match half_width > 0.0 && half_width.is_finite() {
            true => format!(" (± {:.1} %)", 100.0 * half_width),
            false => String::new(),
        };
        Some(format!("{:.1} % {word}{width}", 100.0 * mean.abs()))
    }
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
            column("utilisation", Some("share"), true),
            column("longest queue", None, true),
        ],
        rows: most.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(amounts: [f64; 2], half_width: f64) -> Change {
        Change { amounts, saved: Estimate { mean: saved(amounts[1], amounts[0]), half_width } }
    }

    #[test]
    fn changes_are_shares_of_what_was_before() {
        let words = |change: Change| {
            let bytes = |amount| format!("{:.1}", Bytes(amount as u64));
            (change.words(["less", "more"], bytes), change.direction())
        };
        let share = |text: &str, direction| (Some(text.to_owned()), direction);
        // Milliseconds and hours alike.
        for unit in [1e-3, 3600.0] {
            let less = words(change([unit, 0.88 * unit], 0.003));
            assert_eq!(less, share("12.0 % less (± 0.3 %)", Some(Direction::Less)));
            let more = words(change([unit, 2.336 * unit], 0.0));
            assert_eq!(more, share("133.6 % more", Some(Direction::More)));
            // Within the error.
            let unsure = words(change([unit, 0.9 * unit], 0.2));
            assert_eq!(unsure, share("10.0 % less (± 20.0 %)", None));
            assert_eq!(words(change([unit, 1.0004 * unit], 0.0)), (None, None));
            assert_eq!(change([unit, 8.0 * unit], 0.0).times_as_much(), Some(8.0));
            assert_eq!(change([unit, 1.9 * unit], 0.0).times_as_much(), None);
        }
    }

    #[test]
    fn against_nothing_both_amounts_are_told() {
        let change = |after| change([0.0, after], 0.0);
        let bytes = |amount| format!("{:.1}", Bytes(amount as u64));
        let words = change(104_857_600.0).words(["fewer", "more"], bytes);
        assert_eq!(words.as_deref(), Some("104.9 MB instead of 0 B"));
        assert_eq!(change(104_857_600.0).direction(), Some(Direction::More));
        assert_eq!(change(0.0).words(["fewer", "more"], bytes), None);
        assert_eq!(change(104_857_600.0).times_as_much(), None);
        assert_eq!(change(0.0).direction(), None);
    }
}

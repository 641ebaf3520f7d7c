//! Table III: every benchmark beside every other one, and who should share nodes with whom.

use rankwright::pairing::{JobFacts, JobSet, Objective, PairOptions, Pairing, Slowdowns, pair};

use super::{NAMES, Times, agreement, table_2};
use crate::data_file::{DataFile, data_file};
use crate::row::{Row, Verdict};

const TABLE_3: DataFile = data_file!("2009-mixed/table-3.csv");

const FIRST_ORDER: &str = "to first order, from each benchmark alone (Table II): time in communication \
                           grows by the share in which the other uses the network";

pub(super) fn rows() -> anyhow::Result<Vec<Row>> {
    let printed = table_3()?;
    let times = table_2()?;
    let half = times.map(|it| 100.0 * it.half / it.full);
    let predicted = Slowdowns::from_pressures(&half, &times.map(device_use));
    let fitted = Slowdowns::from_pressures(&half, &printed.pressures(&half));
    let mut rows = Vec::new();
    for (background, other) in NAMES.iter().enumerate() {
        for (measured, name) in NAMES.iter().enumerate() {
            let what = format!("{name} beside {other} (our prediction from Table II)");
            let (paper, ours) =
                (printed.percent(background, measured), predicted.percent(background, measured));
            let row = Row::new("Table III", what, ours, "%").beside(paper);
            rows.push(match agreement(ours, paper) {
                Verdict::Reproduced => row.with_verdict(Verdict::Reproduced),
                other => row.with_verdict(other).because(FIRST_ORDER),
            });
        }
    }
    rows.extend(statements(&printed));
    rows.extend(errors(&printed, [&predicted, &fitted]));
    rows.extend(pairings(&jobs(&times, &printed), &predicted, &fitted));
    Ok(rows)
}

fn table_3() -> anyhow::Result<Slowdowns> {
    let columns = ["background", "BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"];
    let mut percent = Vec::new();
    for record in TABLE_3.table(columns, NAMES)? {
        for cell in &record[1..] {
            percent.push(cell.number()?);
        }
    }
    Ok(Slowdowns::new(NAMES.len(), percent))
}

/// The share of Exclusive-Half in which a benchmark uses the network device: its communication takes
/// twice as long on whole nodes.
fn device_use(times: Times) -> f64 {
    ((times.full - times.half) / times.half).clamp(0.0, 1.0)
}

fn jobs(times: &[Times; 8], table: &Slowdowns) -> JobSet {
    let job = |(name, times): (&&str, &Times)| JobFacts {
        seconds: Some(times.full),
        half: Some(100.0 * times.half / times.full),
        ..JobFacts::named(*name)
    };
    JobSet::new(NAMES.iter().zip(times).map(job).collect(), table.clone())
}

/// What the paper says about its table.
fn statements(printed: &Slowdowns) -> Vec<Row> {
    let (cg, ep, ft) = (1, 2, 3);
    let best = (0..NAMES.len()).map(|row| printed.percent(row, cg)).fold(f64::INFINITY, f64::min);
    let holds = |what: &str, ours: f64, holds: bool| {
        Row::new("VI.D", what, ours, "%").with_verdict(Verdict::reproduced_if(holds))
    };
    vec![
        holds("CG is fastest beside EP (the paper's table)", best, best == printed.percent(ep, cg)),
        holds(
            "FT beside FT reaches 99 % of what is possible; with 88.0 % of Table II (the paper's data)",
            100.0 * (100.0 - printed.percent(ft, ft)) / (100.0 - 88.0),
            false,
        )
        .beside(99.0)
        .because("the text takes 89.4 % for FT alone on half of the cores, Table II prints 88.0 %"),
    ]
}

/// How far predictions of the table are from it.
fn errors(printed: &Slowdowns, [predicted, fitted]: [&Slowdowns; 2]) -> Vec<Row> {
    let cells = || (0..NAMES.len()).flat_map(|a| (0..NAMES.len()).map(move |b| (a, b)));
    let count = (NAMES.len() * NAMES.len()) as f64;
    let mean = cells().map(|(a, b)| printed.percent(a, b)).sum::<f64>() / count;
    let spread: f64 = cells().map(|(a, b)| (printed.percent(a, b) - mean).powi(2)).sum();
    let of = |name: &str, table: &Slowdowns| {
        let error = |(a, b): (usize, usize)| (table.percent(a, b) - printed.percent(a, b)).powi(2);
        let squares: f64 = cells().map(error).sum();
        [
            Row::new(
                "Table III",
                format!("{name}: error (rms)"),
                (squares / count).sqrt(),
                "points",
            ),
            Row::new("Table III", format!("{name}: R2"), 1.0 - squares / spread, ""),
        ]
    };
    [
        of("predicted from Table II alone", predicted),
        of("one pressure per benchmark, fitted to the table (calibrated)", fitted),
    ]
    .concat()
}

/// Who should share with whom, by the paper's table; the paper leaves that for the future.
fn pairings(jobs: &JobSet, predicted: &Slowdowns, fitted: &Slowdowns) -> Vec<Row> {
    let row = |what: String, value: f64, unit| Row::new("Table III, pairs", what, value, unit);
    let names = |pairing: &Pairing| {
        let group = |group: &rankwright::pairing::Group| group.names(jobs).join("-");
        pairing.groups.iter().map(group).collect::<Vec<_>>().join(" ")
    };
    let mut rows = Vec::new();
    for (name, objective) in Objective::ALL {
        let pairing = pair(jobs, &PairOptions { objective, ..PairOptions::default() });
        let unit = match objective {
            Objective::Sum | Objective::Worst => "%",
            Objective::Runtime | Objective::Makespan => "s",
            Objective::WeightedSpeedup => "",
        };
        rows.push(row(format!("{name}: best, {}", names(&pairing)), pairing.cost, unit));
        rows.push(row(format!("{name}: all alone"), pairing.baseline, unit));
        rows.push(row(format!("{name}: random, mean"), pairing.random_mean, unit));
        let worst = pairing.random_worst.map(|worst| row(format!("{name}: worst"), worst, unit));
        rows.extend(worst);
    }
    let sum = PairOptions::default();
    let copies = pair(&jobs.clone().copies(2), &sum);
    rows.push(row("sum: best of two copies of each".to_owned(), copies.cost, "%"));
    rows.push(row("sum: greedy, the best pair first".to_owned(), greedy(jobs), "%"));
    for (what, table) in [("from Table II alone", predicted), ("by fitted pressures", fitted)] {
        let chosen = pair(&JobSet::new(jobs.facts().to_vec(), table.clone()), &sum);
        let cost = chosen.groups.iter().map(|group| {
            let [a, b] = [0, 1].map(|at| group.members[at].job);
            jobs.percent(a, b) + jobs.percent(b, a)
        });
        let what = format!("sum: pairs chosen {what}, {}", names(&chosen));
        let alone = 100.0 * chosen.alone.len() as f64;
        rows.push(row(what, cost.sum::<f64>() + alone, "%"));
    }
    rows
}

/// The sum if the best pair of those left is taken each time.
fn greedy(jobs: &JobSet) -> f64 {
    let cost = |a: usize, b: usize| jobs.percent(a, b) + jobs.percent(b, a);
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    let mut sum = 0.0;
    while left.len() > 1 {
        let pairs = left.iter().flat_map(|a| left.iter().map(move |b| (*a, *b)));
        let best =
            pairs.filter(|(a, b)| a < b).min_by(|x, y| cost(x.0, x.1).total_cmp(&cost(y.0, y.1)));
        let Some((a, b)) = best else { break };
        sum += cost(a, b);
        left.retain(|job| *job != a && *job != b);
    }
    sum
}

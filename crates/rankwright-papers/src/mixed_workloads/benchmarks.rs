//! Table II: the NAS benchmarks alone, on whole nodes and on half of the cores of twice as many.

use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::pairing::{PredictOptions, predict};
use rankwright::sim::replay::Program;
use rankwright::traffic::{self, Job};
use rankwright::units::Seconds;

use super::{NAMES, TABLE_2, agreement, replayer, table_2};
use crate::row::{Row, Verdict};

/// The most messages of a program that is replayed; the whole benchmarks send up to 9 million.
const MOST_MESSAGES: u64 = 20_000;

const CALIBRATED: &str = "calibrated, not a finding: computing is what Exclusive-Full leaves beside the \
                          messages of `nas:`";
const ONLY_BYTES: &str = "the model knows bytes, bandwidth and latency; what else the 2009 library and \
                          memory cost in communication is not in it";

pub(super) fn rows(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in NAMES {
        rows.extend(of_benchmark(cluster, name)?);
    }
    rows.extend(contradictions()?);
    Ok(rows)
}

/// Both times of a benchmark.
pub(super) fn of_benchmark(cluster: &Cluster, name: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (_, printed) in NAMES.iter().zip(table_2()?).filter(|(other, _)| **other == name) {
        let computing = computing(cluster, name, printed.full)?;
        let (full, half) = times(cluster, name, computing)?;
        let row = |mode: &str, what: &str, ours: f64| {
            Row::new("Table II", format!("{name}, {mode} ({what})"), ours, "s")
        };
        let calibrated = row("Exclusive-Full", "calibrated", full).beside(printed.full);
        rows.push(calibrated.with_verdict(Verdict::Calibrated).because(CALIBRATED));
        let predicted = row("Exclusive-Half", "our prediction", half).beside(printed.half);
        let percent = |half: f64, full: f64| 100.0 * half / full;
        let agreement = agreement(percent(half, full), percent(printed.half, printed.full));
        rows.push(match agreement {
            Verdict::Reproduced => predicted.with_verdict(agreement),
            _ => predicted.with_verdict(agreement).because(ONLY_BYTES),
        });
    }
    Ok(rows)
}

/// The traffic of a benchmark, class C, 64 processes, and the number of its messages.
fn traffic(name: &str) -> anyhow::Result<(Job, u64)> {
    let job = traffic::open(&format!("nas:{}.C.64", name.to_lowercase()))?.jobs.remove(0);
    let messages = job.sources.iter().map(|it| it.rounds * it.sends.len() as u64).sum();
    Ok((job, messages))
}

/// The first seconds of a benchmark as a program. Computing is what the printed time leaves.
pub(super) fn program(cluster: &Cluster, name: &str, seconds: f64) -> anyhow::Result<Program> {
    let (job, messages) = traffic(name)?;
    let position = NAMES.iter().position(|other| *other == name).unwrap_or_default();
    let printed = table_2()?[position].full;
    let most = (messages as f64 * seconds / printed).ceil() as u64;
    Ok(Program::of_clocks(&job, Seconds(computing(cluster, name, printed)?), most, 1))
}

/// How long a benchmark computes, so that it takes as long on whole nodes as printed.
fn computing(cluster: &Cluster, name: &str, printed: f64) -> anyhow::Result<f64> {
    // Communication depends little on how long ranks compute between.
    let (first, _) = times(cluster, name, printed)?;
    Ok(2.0 * printed - first)
}

/// The run times on whole nodes and on half of the cores, in seconds, of a benchmark that computes this long.
fn times(cluster: &Cluster, name: &str, computing: f64) -> anyhow::Result<(f64, f64)> {
    let (job, messages) = traffic(name)?;
    let part = (MOST_MESSAGES as f64 / messages as f64).min(1.0);
    let program = Program::of_clocks(&job, Seconds(computing), MOST_MESSAGES, 1);
    let options = PredictOptions::default();
    let mut observer = |_: usize, _: &_| ControlFlow::Continue(());
    let jobs = replayer([program])?;
    let found = predict(cluster, &jobs, &[name.to_owned()], &options, &mut observer)?;
    let alone = found.alone[0];
    Ok((alone.full.0 / part, alone.half.0 / part))
}

/// Where the paper's own numbers disagree: "Half / Full" as printed, and from its times.
pub(super) fn contradictions() -> anyhow::Result<Vec<Row>> {
    let columns = ["benchmark", "full_s", "half_s", "half_per_full"];
    let mut rows = Vec::new();
    for [name, full, half, ratio] in TABLE_2.table(columns, NAMES)? {
        let ours = 100.0 * half.number::<f64>()? / full.number::<f64>()?;
        let what = format!("{}, Half / Full (from the paper's own times)", name.text);
        let printed = ratio.printed()?;
        let row = Row::new("Table II", what, ours, "%").beside(printed.value);
        // Within the rounding, not within 5 %.
        let agrees = (ours - printed.value).abs() <= 1.01 * printed.rounding.max(0.05);
        rows.push(row.with_verdict(Verdict::reproduced_if(agrees)));
    }
    Ok(rows)
}

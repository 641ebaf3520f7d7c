//! Table I: an all-to-all, a barrier and a sleep in a loop, in three modes.

use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::ids::Rank;
use rankwright::pairing::{Part, placed};
use rankwright::placement::JobShape;
use rankwright::sim::replay::{Measured, Program, ReplayOptions, Replayer};
use rankwright::traffic::{Job, Send, Source};
use rankwright::units::{Bytes, PerSecond, Seconds};

use super::replayer;
use crate::data_file::{DataFile, data_file};
use crate::row::{Row, Verdict};

const TABLE_1: DataFile = data_file!("2009-mixed/table-1.csv");

/// Of each message. The paper does not print it.
pub(super) const LENGTH: Bytes = Bytes(350_000);

const RANKS: u32 = 64;

/// Rounds of the loop.
const ROUNDS: u64 = 4;

/// When the second job begins before the measured one: parts of a round.
const OFFSETS: [f64; 3] = [0.1, 0.4, 0.8];

const CONVOYS: &str = "in the model each message waits behind those that were sent before it, which \
                       costs more than the sum of their lengths where ranks are on many nodes";

pub(super) fn rows(cluster: &Cluster) -> anyhow::Result<Vec<Row>> {
    let columns = ["sleep_s", "exclusive_half_s", "shared_s", "exclusive_full_s"];
    let mut rows = Vec::new();
    let mut gains = Vec::new();
    for [sleep, half, shared, full] in TABLE_1.records(columns)? {
        let seconds: f64 = sleep.number()?;
        let times = simulated(cluster, seconds)?;
        for (mode, cell, ours) in [
            ("Exclusive-Half", half, times.half),
            ("Shared", shared, times.shared),
            ("Exclusive-Full", full, times.full),
        ] {
            let what = format!("{mode}, sleep {seconds} s (simulated, bandwidth calibrated)");
            let row = Row::new("Table I", what, ours, "s");
            let row = row.compared_with(cell.printed()?, Verdict::SameOrdering);
            let agrees = row.verdict == Verdict::Reproduced;
            rows.push(if agrees { row } else { row.because(CONVOYS) });
        }
        gains.push(100.0 * (1.0 - times.shared / times.full));
    }
    let [busy, sleeping] = gains[..] else { return Ok(rows) };
    let row = Row::new("VI.C", "gain of Shared, sleep 1 s (simulated)", sleeping, "%");
    rows.push(row.beside(33.0).with_verdict(match sleeping - busy {
        gain if gain > 20.0 && (sleeping - 33.0).abs() < 5.0 => Verdict::Reproduced,
        gain if gain > 20.0 => Verdict::SameOrdering,
        _ => Verdict::NotReproduced,
    }));
    let row = Row::new("VI.C", "gain of Shared, no sleep (simulated): none", busy, "%");
    rows.push(row.beside(0.0).with_verdict(match busy {
        gain if gain.abs() < 5.0 => Verdict::Reproduced,
        gain if gain < 0.0 => Verdict::SameOrdering,
        _ => Verdict::NotReproduced,
    }));
    Ok(rows)
}

/// Communication per round, in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModeTimes {
    pub(super) full: f64,
    pub(super) half: f64,
    pub(super) shared: f64,
}

pub(super) fn simulated(cluster: &Cluster, sleep: f64) -> anyhow::Result<ModeTimes> {
    // The second job draws sleeps of its own.
    let replayer = replayer([program(sleep, 1)?, program(sleep, 2)?])?;
    let full = time(cluster, &replayer, &[(0, Part::WHOLE)], 0.0)?;
    let half = time(cluster, &replayer, &[(0, Part::FIRST_HALF)], 0.0)?;
    let mut shared = 0.0;
    for offset in OFFSETS {
        let begins = offset * half / ROUNDS as f64;
        let jobs = [(0, Part::FIRST_HALF), (1, Part::SECOND_HALF)];
        shared += time(cluster, &replayer, &jobs, begins)? / OFFSETS.len() as f64;
    }
    let per_round = |time: f64| time / ROUNDS as f64 - sleep;
    Ok(ModeTimes { full: per_round(full), half: per_round(half), shared: per_round(shared) })
}

/// The microbenchmark: who has received all waits for the next round.
pub(super) fn program(sleep: f64, seed: u64) -> anyhow::Result<Program> {
    let source = |rank: u32| Source {
        rank: Rank(rank),
        rate: PerSecond(1.0),
        cv: 0.0,
        in_step: Some(0),
        rounds: ROUNDS,
        sends: (0..RANKS)
            .filter(|to| *to != rank)
            .map(|to| Send { destination: Rank(to), length: LENGTH })
            .collect(),
    };
    let job = Job::from_sources("alltoall", RANKS, (0..RANKS).map(source).collect())?;
    Ok(Program::of_clocks(&job, Seconds(sleep * ROUNDS as f64), u64::MAX, seed))
}

/// The run time of the first job.
fn time(
    cluster: &Cluster,
    replayer: &Replayer,
    jobs: &[(usize, Part)],
    begins: f64,
) -> anyhow::Result<f64> {
    let shape = |job: usize| JobShape { name: format!("job {job}"), ranks: RANKS };
    let placements: Vec<(JobShape, Part)> =
        jobs.iter().map(|(job, part)| (shape(*job), *part)).collect();
    let placement = placed(cluster, &placements, "microbenchmark")?;
    let jobs: Vec<usize> = jobs.iter().map(|(job, _)| *job).collect();
    let measured = Some(Measured { job: 0, begins: Seconds(begins) });
    let replayed = replayer.replay_some(
        (&jobs, measured),
        (cluster, &placement),
        ReplayOptions::default(),
        &mut |_| ControlFlow::Continue(()),
    )?;
    Ok(replayed.outcome.jobs[0].finish.0 - begins)
}

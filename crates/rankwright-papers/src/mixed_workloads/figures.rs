//! Figures 4 and 5: when the processes of a node use the network, from replays.

use std::ops::ControlFlow;

use rankwright::cluster::Cluster;
use rankwright::ids::NodeId;
use rankwright::pairing::{Part, placed};
use rankwright::placement::JobShape;
use rankwright::report::timeline::{BandwidthFrom, TimelineReport, TimesFrom, timeline_picture};
use rankwright::sim::replay::{Measured, Program, ReplayOptions};
use rankwright::timeline::{Messages, Sites, Timeline};
use rankwright::units::Seconds;

use super::{benchmarks, microbenchmark, replayer};

/// What a figure shows: one job on whole nodes, or two that share nodes.
struct Figure {
    file: &'static str,
    title: &'static str,
    jobs: &'static [Shown],
    /// Of the time line; the programs are long enough for it.
    seconds: f64,
}

enum Shown {
    /// The microbenchmark with 1 s of sleep; sleeps are drawn with this seed.
    Microbenchmark(u64),
    Benchmark(&'static str),
}

const FIGURES: [Figure; 6] = [
    Figure {
        file: "figure-4a.svg",
        title: "Figure 4 (a), replayed: microbenchmark, sleep 1 s, Exclusive-Full",
        jobs: &[Shown::Microbenchmark(1)],
        seconds: 4.0,
    },
    Figure {
        file: "figure-4b.svg",
        title: "Figure 4 (b), replayed: microbenchmark, sleep 1 s, Shared with a copy",
        jobs: &[Shown::Microbenchmark(1), Shown::Microbenchmark(2)],
        seconds: 4.0,
    },
    Figure {
        file: "figure-5a.svg",
        title: "Figure 5 (a), replayed: FT, Exclusive-Full",
        jobs: &[Shown::Benchmark("FT")],
        seconds: 8.0,
    },
    Figure {
        file: "figure-5b.svg",
        title: "Figure 5 (b), replayed: FT, Shared with FT",
        jobs: &[Shown::Benchmark("FT"), Shown::Benchmark("FT")],
        seconds: 8.0,
    },
    Figure {
        file: "figure-5c.svg",
        title: "Figure 5 (c), replayed: EP, Shared with CG",
        jobs: &[Shown::Benchmark("EP"), Shown::Benchmark("CG")],
        seconds: 0.5,
    },
    Figure {
        file: "figure-5d.svg",
        title: "Figure 5 (d), replayed: FT, Shared with LU",
        jobs: &[Shown::Benchmark("FT"), Shown::Benchmark("LU")],
        seconds: 4.0,
    },
];

/// When the second job begins: a part of the time line.
const LATER: f64 = 0.1;

/// The names and texts of the files, in the style of `timeline show -o FILE.svg`.
pub(super) fn files(cluster: &Cluster) -> anyhow::Result<Vec<(String, String)>> {
    let drawn = FIGURES.iter().map(|figure| {
        let report = report(cluster, figure)?;
        Ok((figure.file.to_owned(), timeline_picture(&report, figure.title)))
    });
    drawn.collect()
}

/// The time line of the first node.
fn report(cluster: &Cluster, figure: &Figure) -> anyhow::Result<TimelineReport> {
    let programs: anyhow::Result<Vec<Program>> =
        figure.jobs.iter().map(|job| job.program(cluster, figure.seconds)).collect();
    let replayer = replayer(programs?)?;
    let parts: &[Part] = match figure.jobs {
        [_] => &[Part::WHOLE],
        _ => &[Part::FIRST_HALF, Part::SECOND_HALF],
    };
    let ranks = replayer.ranks();
    let shape = |job: usize| JobShape { name: format!("job {job}"), ranks: ranks[job] as u32 };
    let jobs: Vec<(JobShape, Part)> = (0..).map(shape).zip(parts.iter().copied()).collect();
    let placement = placed(cluster, &jobs, "figure")?;
    let all: Vec<usize> = (0..jobs.len()).collect();
    // The first job is shown from its begin, while the other, which began before, repeats.
    let begins = Seconds(if jobs.len() > 1 { LATER * figure.seconds } else { 0.0 });
    let (replayed, messages) = replayer.replay_with_messages(
        (&all, Some(Measured { job: 0, begins })),
        (cluster, &placement),
        ReplayOptions::default(),
        &mut |_| ControlFlow::Continue(()),
    )?;
    let sites = Sites::placed(cluster, &placement);
    // After the first job's last message the other one is not replayed further.
    let last = messages.sends.iter().map(|send| send.time.0).fold(0.0, f64::max);
    let span = Seconds(last.min(replayed.outcome.jobs[0].finish.0));
    let messages = Messages::of_replay(replayed.ranks.len() as u32, span, &messages);
    let timeline = Timeline::new(messages, None, &sites);
    let bin = figure.seconds.min(span.0) / TimelineReport::PICTURE_BINS as f64;
    let report = TimelineReport::new(&timeline, bin, TimesFrom::Replay, BandwidthFrom::Device);
    Ok(report.of_node(&sites, cluster, NodeId(0)))
}

impl Shown {
    /// A program of about this length.
    fn program(&self, cluster: &Cluster, seconds: f64) -> anyhow::Result<Program> {
        match self {
            Self::Microbenchmark(seed) => microbenchmark::program(1.0, *seed),
            Self::Benchmark(name) => benchmarks::program(cluster, name, seconds),
        }
    }
}

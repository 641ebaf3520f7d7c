//! How fast the completion of sends is computed; `benchmarks/timeline/run speed` calls it.
//!
//! A million sends through one device, of random length at random times, by numbers of processes that send
//! at once; processor time, the best of five.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::fs;
use std::hint::black_box;

use rand::{RngExt, SeedableRng};
use rankwright::timeline::{Curve, Occupation, Transfer};
use rankwright::units::BytesPerSecond;

const SENDS: usize = 1_000_000;
const REPETITIONS: usize = 5;

fn main() {
    let points = [(1, 1e9), (2, 1.6e9), (4, 2e9), (16, 1.8e9)];
    let points = points.map(|(senders, rate)| (senders, BytesPerSecond(rate)));
    let curve = Curve::measured(&points).expect("points");
    println!(
        "| processes | load | busy | several at once | sends | receives |\n|---|---|---|---|---|---|"
    );
    for (processes, load) in [(1, 0.5), (16, 0.5), (16, 2.0), (128, 0.9), (1024, 2.0)] {
        let sends = sends(processes, load, curve.bandwidth().0);
        let mut occupation = Occupation::default();
        let forwards = best(|| occupation = Occupation::of_sends(&sends, &curve, None));
        let backwards = best(|| {
            black_box(Occupation::of_receives(&sends, &curve, None));
        });
        let (busy, several) = (occupation.busy_time(), occupation.overlap_time());
        let span = sends.last().map_or(1.0, |last| last.time).max(busy);
        println!(
            "| {processes} | {load} | {:.0} % | {:.0} % | {forwards:.2} s | {backwards:.2} s |",
            100.0 * busy / span,
            100.0 * several / busy
        );
    }
}

/// Sends at random times, so long that they need this share of the bandwidth.
fn sends(processes: u32, load: f64, bandwidth: f64) -> Vec<Transfer> {
    let mut random = rand::rngs::SmallRng::seed_from_u64(1);
    let mut time = 0.0;
    let send = |_| {
        time += 1e-5 * random.random_range(0.0..2.0);
        let bytes = (2.0 * load * 1e-5 * bandwidth * random.random_range(0.0..1.0)) as u64;
        Transfer { time, bytes, process: random.random_range(0..processes), peer: 0 }
    };
    (0..SENDS).map(send).collect()
}

/// Seconds of processor time, the least of several.
fn best(mut work: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let before = processor_time();
        work();
        least = least.min(processor_time() - before);
    }
    least
}

/// Seconds that this process has run, as the kernel counts them.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/self/schedstat").expect("the kernel's statistics");
    let ns: f64 = text.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number");
    ns * 1e-9
}

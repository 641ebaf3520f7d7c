//! How fast and how exact the evaluations of placements are; `benchmarks/model/run` calls it.
//!
//! For each synthetic workload of Soryani et al. 2013 and each mapping in
//! `testdata/fluid/simulated.csv`: total waiting in the simulator and in the fluid, the errors, and
//! the speeds, each the best of five repetitions.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::estimate::{Fluid, OfferedLoad};
use rankwright::ids::{GlobalRank, SlotId, parse_index_list};
use rankwright::placement::{Granularity, Mapping, Slot, slots};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::built_in as workloads;

const REPETITIONS: usize = 5;

/// A synthetic workload of the paper.
fn workload(name: &str) -> Workload {
    let built_in = workloads::find(&format!("paper:2013/{name}")).expect("a built-in workload");
    built_in.workload().expect("it can be read")
}

fn main() {
    let cluster = built_in::find("paper:2013").expect("a built-in cluster").cluster();
    let slots = slots(&cluster, Granularity::Cores(1), 256).expect("256 cores");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fluid/simulated.csv");
    println!(
        "| workload | mapping | waiting simulated, s | fluid, s | error | finish: error | sum of \
         finishes: error | evaluations/s | swaps/s |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut errors = Vec::new();
    let (mut mixed_time, mut mixed) = (0.0, 0.0);
    for line in std::fs::read_to_string(path).expect("the test data").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let workload = workload(fields[0]);
        let slot_of = parse_index_list(&fields[7].replace(' ', ",")).expect("slots");
        let mapping: Mapping = slot_of.into_iter().map(SlotId).collect();
        let mut fluid = Fluid::new(&cluster, &workload, &slots).expect("slots of the cluster");
        let outcome = fluid.evaluate(&mapping);
        let count = 2000;
        let time = best(|| {
            for _ in 0..count {
                black_box(fluid.evaluate(black_box(&mapping)));
            }
        });
        if fields[0].starts_with("mixed") {
            mixed_time += time / f64::from(count);
            mixed += 1.0;
        }
        let number = |field: usize| fields[field].parse::<f64>().expect("a number");
        let error = |value: f64, field: usize| 100.0 * (value / number(field) - 1.0);
        errors.push(error(outcome.total_waiting.0, 2).abs());
        println!(
            "| {} | {} | {:.4e} | {:.4e} | {:+.1} % | {:+.1} % | {:+.1} % | {:.0} | {:.2} M |",
            fields[0],
            fields[1],
            number(2),
            outcome.total_waiting.0,
            error(outcome.total_waiting.0, 2),
            error(outcome.workload_finish.0, 5),
            error(outcome.total_finish.0, 6),
            f64::from(count) / time,
            swaps(&cluster, &workload, &slots, &mapping) / 1e6
        );
    }
    errors.sort_by(f64::total_cmp);
    let quantile = |share: f64| errors[((errors.len() - 1) as f64 * share).round() as usize];
    println!(
        "\nError of total waiting: median {:.2} %, 90th percentile {:.1} %, largest {:.1} %. \
         Mixed_1 to Mixed_6: {:.0} evaluations/s (number over time).",
        quantile(0.5),
        quantile(0.9),
        quantile(1.0),
        mixed / mixed_time
    );
}

/// Swaps of random ranks per second, each with the new estimate of waiting.
fn swaps(cluster: &Cluster, workload: &Workload, slots: &[Slot], mapping: &Mapping) -> f64 {
    let mut load = OfferedLoad::new(cluster, workload, slots, mapping).expect("a placement");
    let mut state = 1_u64;
    let mut rank = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        GlobalRank::from_index((state >> 16) as usize % mapping.len())
    };
    let pairs: Vec<(GlobalRank, GlobalRank)> = (0..200_000).map(|_| (rank(), rank())).collect();
    let time = best(|| {
        for (a, b) in &pairs {
            black_box(load.swap(*a, *b));
        }
    });
    pairs.len() as f64 / time
}

fn best(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..REPETITIONS).map(time).fold(f64::INFINITY, f64::min)
}

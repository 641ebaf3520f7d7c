//! How long pairing takes and what search beyond pairs gains; `benchmarks/pairing/run` calls it.
//!
//! Jobs draw what they can gain and their pressure at random; the table follows from these, with noise.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::num::NonZeroUsize;
use std::time::Instant;

use rankwright::pairing::{JobFacts, JobSet, Objective, PairOptions, Slowdowns, pair};
use rankwright::random::Generator;

const REPETITIONS: usize = 3;

/// Jobs that reach from 60 to 100 % on half of the cores, with pressures from 0 to 1.2.
fn jobs(count: usize, seed: u64) -> JobSet {
    let mut random = Generator::new(seed);
    let half: Vec<f64> = (0..count).map(|_| 60.0 + 40.0 * random.share()).collect();
    let pressure: Vec<f64> = (0..count).map(|_| 1.2 * random.share()).collect();
    let exact = Slowdowns::from_pressures(&half, &pressure);
    let mut cells = Vec::new();
    for background in 0..count {
        for measured in 0..count {
            cells.push(exact.percent(background, measured) + 4.0 * random.share() - 2.0);
        }
    }
    let facts = half.iter().enumerate().map(|(job, half)| JobFacts {
        seconds: Some(10.0 + 1000.0 * random.share()),
        half: Some(*half),
        ..JobFacts::named(format!("job-{job}"))
    });
    JobSet::new(facts.collect(), Slowdowns::new(count, cells))
}

fn main() {
    println!("| jobs | per node | objective | cost | all alone | random mean | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for (count, per_node) in [(40, 2), (40, 4), (200, 2), (200, 4)] {
        for (name, objective) in Objective::ALL {
            if count > 40 && !matches!(objective, Objective::Sum | Objective::Makespan) {
                continue;
            }
            let jobs = jobs(count, 1);
            let per_node = NonZeroUsize::new(per_node).expect("not zero");
            let options = PairOptions { objective, per_node, ..PairOptions::default() };
            let mut best = f64::INFINITY;
            let mut pairing = pair(&jobs, &options);
            for _ in 0..REPETITIONS {
                let begin = Instant::now();
                pairing = pair(&jobs, &options);
                best = best.min(begin.elapsed().as_secs_f64());
            }
            println!(
                "| {count} | {per_node} | {name} | {:.4} | {:.4} | {:.4} | {best:.4} |",
                pairing.cost, pairing.baseline, pairing.random_mean
            );
        }
    }
    println!("\n| jobs | seed | repeated matching | then local search | gain over it |");
    println!("|---|---|---|---|---|");
    for seed in 1..=5 {
        let jobs = jobs(40, seed);
        let per_node = NonZeroUsize::new(4).expect("not zero");
        let options = PairOptions { per_node, ..PairOptions::default() };
        let matched = rankwright::pairing::cost_of_repeated_matching(&jobs, &options);
        let searched = pair(&jobs, &options).cost;
        let gain = 100.0 * (1.0 - searched / matched);
        println!("| 40 | {seed} | {matched:.1} | {searched:.1} | {gain:.2} % |");
    }
}

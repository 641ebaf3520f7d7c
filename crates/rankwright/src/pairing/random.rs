//! What pairs at random cost.

use super::matching::{Costs, apart};
use super::{JobSet, PairOptions};
use crate::random::Generator;

/// Random pairings whose mean stands for that of all, where it has no closed form.
const SAMPLES: usize = 2000;

/// The mean over all pairings at random, and the worst of them where that is known. Jobs that must not
/// share are then alone.
pub(super) fn mean_and_worst(jobs: &JobSet, options: &PairOptions) -> (f64, Option<f64>) {
    let value = |costs: &mut dyn Iterator<Item = f64>| options.objective.value(jobs, costs);
    let alone = |job: usize| jobs.cost(options, &[job]);
    if options.per_node.get() != 2 || jobs.len() < 2 {
        return (sampled(jobs, options), None);
    }
    let pair = |a: usize, b: usize| match jobs.may_share(&[a, b]) {
        true => jobs.cost(options, &[a, b]),
        false => apart(options, alone(a), alone(b)),
    };
    let costs = Costs::new(jobs.len(), pair, alone);
    if options.objective.is_largest() {
        // Any pair can be part of a pairing.
        return (sampled(jobs, options), Some(costs.all().fold(0.0, f64::max)));
    }
    // Every pair is in one pairing out of count - 1.
    let mean = costs.all().sum::<f64>() / (costs.count - 1) as f64;
    let mates = costs.worst();
    let mut worst = mates.iter().enumerate().filter(|(a, b)| a < b).map(|(a, b)| costs.of(a, *b));
    (value(&mut std::iter::once(mean)), Some(value(&mut worst)))
}

fn sampled(jobs: &JobSet, options: &PairOptions) -> f64 {
    let mut generator = Generator::new(options.seed);
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    let mut sum = 0.0;
    for _ in 0..SAMPLES {
        generator.shuffle(&mut order);
        let cost = |group: &[usize]| match jobs.may_share(group) {
            true => jobs.cost(options, group),
            false => {
                let alone = group.iter().map(|job| jobs.cost(options, &[*job]));
                alone.reduce(|a, b| apart(options, a, b)).unwrap_or_default()
            }
        };
        sum += options.objective.value(jobs, order.chunks(options.per_node.get()).map(cost));
    }
    sum / SAMPLES as f64
}

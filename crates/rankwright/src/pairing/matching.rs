//! The best pairs: a minimum-weight perfect matching.

use integer_blossom::min_weight_perfect_matching;

use super::{JobSet, PairOptions};

/// The costs of joining things two by two. An odd number of things has one more, which stands for
/// nothing: what is joined with it stays alone.
#[derive(Debug, Clone)]
pub(super) struct Costs {
    /// An even number.
    pub(super) count: usize,
    /// By rows; symmetric.
    cost: Vec<f64>,
}

impl Costs {
    /// `cost` gives that of joining two things, `alone` that of one.
    pub(super) fn new(
        things: usize,
        cost: impl Fn(usize, usize) -> f64,
        alone: impl Fn(usize) -> f64,
    ) -> Self {
        let count = things.next_multiple_of(2);
        let mut costs = Self { count, cost: vec![0.0; count * count] };
        for a in 0..things {
            for b in a + 1..count {
                let value = if b < things { cost(a, b) } else { alone(a) };
                costs.cost[a * count + b] = value;
                costs.cost[b * count + a] = value;
            }
        }
        costs
    }

    pub(super) fn of(&self, a: usize, b: usize) -> f64 {
        self.cost[a * self.count + b]
    }

    /// The costs of all that can be joined.
    pub(super) fn all(&self) -> impl Iterator<Item = f64> {
        (0..self.count).flat_map(move |a| (a + 1..self.count).map(move |b| self.of(a, b)))
    }

    /// The partner of each thing such that the sum of the costs is least.
    pub(super) fn matched(&self) -> Vec<usize> {
        min_weight_perfect_matching(&self.in_steps(|cost| cost), self.count)
    }

    /// The partner of each thing such that the sum is largest.
    pub(super) fn worst(&self) -> Vec<usize> {
        min_weight_perfect_matching(&self.in_steps(|cost| -cost), self.count)
    }

    /// As [`Costs::matched`], but such that the largest cost is least, and then the sum.
    pub(super) fn matched_by_largest(&self) -> Vec<usize> {
        let mut limits: Vec<f64> = self.all().collect();
        limits.sort_by(f64::total_cmp);
        limits.dedup();
        let exceeds = |limit: f64| self.cost.iter().map(move |cost| i64::from(*cost > limit));
        let is_possible = |limit: f64| {
            let exceeding: Vec<i64> = exceeds(limit).collect();
            let mates = min_weight_perfect_matching(&exceeding, self.count);
            mates.iter().enumerate().all(|(a, b)| exceeding[a * self.count + b] == 0)
        };
        let least = limits.partition_point(|limit| !is_possible(*limit));
        let Some(limit) = limits.get(least).copied() else { return Vec::new() };
        let costs = self.in_steps(|cost| cost);
        // More than all others together.
        let beyond = (STEPS + 1) * self.count as i64;
        let costs: Vec<i64> =
            costs.iter().zip(exceeds(limit)).map(|(cost, over)| cost + over * beyond).collect();
        min_weight_perfect_matching(&costs, self.count)
    }

    /// The costs as whole numbers from 0 to [`STEPS`].
    fn in_steps(&self, sign: impl Fn(f64) -> f64) -> Vec<i64> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for cost in self.all().map(&sign) {
            (least, most) = (least.min(cost), most.max(cost));
        }
        let step = if most > least { STEPS as f64 / (most - least) } else { 0.0 };
        self.cost.iter().map(|cost| ((sign(*cost) - least) * step).round() as i64).collect()
    }
}

/// So fine that rounding does not decide between pairings that differ; their sums stay far below 2^63.
const STEPS: i64 = 1 << 40;

/// The groups of one or two jobs with the least objective.
pub(super) fn pairs(jobs: &JobSet, options: &PairOptions) -> Vec<Vec<usize>> {
    let alone = |job: usize| jobs.cost(options, &[job]);
    let costs = Costs::new(
        jobs.len(),
        |a, b| shared(jobs, options, a, b).unwrap_or_else(|| apart(options, alone(a), alone(b))),
        alone,
    );
    let mates = match options.objective.is_largest() {
        true => costs.matched_by_largest(),
        false => costs.matched(),
    };
    let group = |(a, b): (usize, usize)| -> Vec<Vec<usize>> {
        match () {
            () if a > b => Vec::new(),
            () if b >= jobs.len() => vec![vec![a]],
            () if shared(jobs, options, a, b).is_none() => vec![vec![a], vec![b]],
            () => vec![vec![a, b]],
        }
    };
    mates.into_iter().enumerate().take(jobs.len()).flat_map(group).collect()
}

/// The cost of a pair; `None` if they must not share, or lose more than the tolerance by it.
pub(super) fn shared(jobs: &JobSet, options: &PairOptions, a: usize, b: usize) -> Option<f64> {
    if !jobs.may_share(&[a, b]) {
        return None;
    }
    let alone = apart(options, jobs.cost(options, &[a]), jobs.cost(options, &[b]));
    let cost = jobs.cost(options, &[a, b]);
    (cost <= alone + options.tolerance * alone.abs()).then_some(cost)
}

/// The cost of two groups that do not share.
pub(super) fn apart(options: &PairOptions, a: f64, b: f64) -> f64 {
    if options.objective.is_largest() { a.max(b) } else { a + b }
}

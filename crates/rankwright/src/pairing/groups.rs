//! More than two jobs per node: repeated matching, then a local search that moves and swaps jobs.

use super::matching::{Costs, apart, pairs};
use super::{JobSet, PairOptions};
use crate::random::Generator;

/// Groups of at most `per_node` jobs.
pub(super) fn search(jobs: &JobSet, options: &PairOptions) -> Vec<Vec<usize>> {
    let start = repeated_matching(jobs, options);
    let mut search = Search::new(jobs, options, start);
    search.descend();
    search.escape();
    search.groups.retain(|group| !group.is_empty());
    search.groups
}

/// Pairs, then pairs of pairs and so on, as long as nodes take them.
pub(super) fn repeated_matching(jobs: &JobSet, options: &PairOptions) -> Vec<Vec<usize>> {
    let mut groups = pairs(jobs, options);
    loop {
        let joined = |a: usize, b: usize| [&groups[a][..], &groups[b][..]].concat();
        let alone = |at: usize| jobs.cost(options, &groups[at]);
        let together = |a: usize, b: usize| {
            let group = joined(a, b);
            let cost = || jobs.cost(options, &group);
            let allowed = group.len() <= options.per_node.get() && jobs.may_share(&group);
            allowed.then(cost).filter(|cost| *cost < apart(options, alone(a), alone(b)))
        };
        let cost = |a: usize, b: usize| {
            together(a, b).unwrap_or_else(|| apart(options, alone(a), alone(b)))
        };
        let mates = Costs::new(groups.len(), cost, alone).matched();
        let mut next = Vec::new();
        for (a, b) in mates.into_iter().enumerate().take(groups.len()) {
            match () {
                () if b >= groups.len() => next.push(groups[a].clone()),
                () if together(a.min(b), a.max(b)).is_none() => next.push(groups[a].clone()),
                () if a < b => next.push(joined(a, b)),
                () => {}
            }
        }
        if next.len() == groups.len() {
            return groups;
        }
        groups = next;
    }
}

/// The most groups that are evaluated: the search ends by work and not by the clock.
const EVALUATIONS: u64 = 500_000;

/// Attempts to leave a local optimum by random swaps.
const ESCAPES: usize = 100;

/// Swaps of one attempt.
const KICKS: usize = 3;

/// Groups on their way to a local optimum.
struct Search<'a> {
    jobs: &'a JobSet,
    options: &'a PairOptions,
    groups: Vec<Vec<usize>>,
    /// By group.
    costs: Vec<f64>,
    evaluations: u64,
}

/// A job moves to another group, or changes places with a job there.
#[derive(Debug, Clone, Copy)]
struct Step {
    from: usize,
    to: usize,
    job: usize,
    back: Option<usize>,
}

impl<'a> Search<'a> {
    fn new(jobs: &'a JobSet, options: &'a PairOptions, mut groups: Vec<Vec<usize>>) -> Self {
        // A place for a job that leaves its group.
        groups.push(Vec::new());
        let mut search =
            Self { jobs, options, costs: vec![0.0; groups.len()], groups, evaluations: 0 };
        for at in 0..search.groups.len() {
            search.costs[at] = search.cost(&search.groups[at].clone()).unwrap_or(f64::INFINITY);
        }
        search
    }

    /// The cost of a group; `None` if it is not allowed.
    fn cost(&mut self, group: &[usize]) -> Option<f64> {
        self.evaluations += 1;
        if group.is_empty() {
            return Some(0.0);
        }
        let allowed = group.len() <= self.options.per_node.get() && self.jobs.may_share(group);
        allowed.then(|| self.jobs.cost(self.options, group))
    }

    /// What should be small: the objective, then the sum of all groups.
    fn total(&self) -> (f64, f64) {
        let sum: f64 = self.costs.iter().sum();
        let largest = || self.costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (if self.options.objective.is_largest() { largest() } else { sum }, sum)
    }

    /// Takes the step if `accept` likes the total before and after.
    fn step(&mut self, step: Step, accept: impl Fn((f64, f64), (f64, f64)) -> bool) -> bool {
        let swap = |group: &[usize], out: Option<usize>, into: Option<usize>| -> Vec<usize> {
            group.iter().copied().filter(|job| Some(*job) != out).chain(into).collect()
        };
        let from = swap(&self.groups[step.from], Some(step.job), step.back);
        let to = swap(&self.groups[step.to], step.back, Some(step.job));
        let Some((a, b)) = self.cost(&from).zip(self.cost(&to)) else { return false };
        let before = self.total();
        let old = (self.costs[step.from], self.costs[step.to]);
        (self.costs[step.from], self.costs[step.to]) = (a, b);
        if !accept(before, self.total()) {
            (self.costs[step.from], self.costs[step.to]) = old;
            return false;
        }
        (self.groups[step.from], self.groups[step.to]) = (from, to);
        if self.groups.iter().all(|group| !group.is_empty()) {
            self.groups.push(Vec::new());
            self.costs.push(0.0);
        }
        true
    }

    /// Takes steps that improve until there is none.
    fn descend(&mut self) {
        while self.evaluations < EVALUATIONS {
            let mut improved = false;
            for job in 0..self.jobs.len() {
                improved |= self.improve(job);
            }
            if !improved {
                break;
            }
        }
    }

    /// Tries all steps of a job.
    fn improve(&mut self, job: usize) -> bool {
        let is_better = |before: (f64, f64), after: (f64, f64)| {
            let little = 1e-9 * before.0.abs().max(1e-9);
            after.0 < before.0 - little
                || (after.0 <= before.0 + little && after.1 < before.1 - little)
        };
        let mut improved = false;
        let mut to = 0;
        while to < self.groups.len() {
            let from = self.group_of(job);
            let others = self.groups[to].clone();
            let ways = others.into_iter().map(Some).chain([None]);
            if from != to {
                for back in ways {
                    if self.step(Step { from, to, job, back }, is_better) {
                        improved = true;
                        break;
                    }
                }
            }
            to += 1;
        }
        improved
    }

    fn group_of(&self, job: usize) -> usize {
        self.groups.iter().position(|group| group.contains(&job)).unwrap_or_default()
    }

    /// Random swaps, then down again: keeps what is better.
    fn escape(&mut self) {
        let mut generator = Generator::new(self.options.seed);
        let mut best = (self.total(), self.groups.clone(), self.costs.clone());
        for _ in 0..ESCAPES {
            if self.evaluations >= EVALUATIONS {
                break;
            }
            for _ in 0..KICKS {
                let job = generator.below(self.jobs.len());
                let other = generator.below(self.jobs.len());
                let (from, to) = (self.group_of(job), self.group_of(other));
                if from != to {
                    self.step(Step { from, to, job, back: Some(other) }, |_, _| true);
                }
            }
            self.descend();
            if self.total() < best.0 {
                best = (self.total(), self.groups.clone(), self.costs.clone());
            } else {
                (self.groups, self.costs) = (best.1.clone(), best.2.clone());
            }
        }
        (self.groups, self.costs) = (best.1, best.2);
    }
}

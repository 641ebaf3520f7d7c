//! What simulations of several answers say together.

use crate::choose::By;
use crate::estimate::FluidOutcome;
use crate::map::{Cost, Criterion};
use crate::sim::Outcome;
use crate::statistics::Estimate;

/// The result of [`settle`](super::settle).
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The position of the winner.
    pub best: usize,
    /// What each answer costs, in their order.
    pub measures: Vec<Measure>,
    /// What part of the messages the longest runs had: 1 for all, 0 where the model judged.
    pub share: f64,
    /// How many messages were simulated, over all answers and runs.
    pub simulated: u64,
    /// By what was judged.
    pub criterion: Criterion,
}

/// What an answer costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// The mean over all seeds. Where an answer dropped out before, its ratio to the winner with the
    /// seeds that both have is taken for the ratio with all.
    pub times: Times,
    /// How many times worse than the best it is, by the objective.
    pub loss: f64,
    /// With each seed of the longest runs; `None` for those in which it had dropped out.
    pub runs: Vec<Option<Times>>,
    /// What the fluid says; only of open loops.
    pub predicted: Option<FluidOutcome>,
}

/// Times of a run in seconds, for all messages of the workload.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Times {
    /// Waiting at all servers, summed over messages.
    pub waiting: f64,
    /// At network devices.
    pub nic_waiting: f64,
    /// At memories.
    pub memory_waiting: f64,
    /// When the last message arrives.
    pub finish: f64,
}

/// Two answers with the seeds that both were simulated with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Versus {
    /// How many seeds.
    pub seeds: usize,
    /// With how many of them the first is at least as good, by the objective.
    pub wins: usize,
    /// By what part of the other's its waiting is less.
    pub waiting: Estimate,
    /// By what part of the other's time it ends earlier.
    pub finish: Estimate,
}

impl Settled {
    /// By what: simulation, or where nothing was simulated, the model.
    #[must_use]
    pub fn by(&self) -> By {
        if self.share > 0.0 { By::Simulation } else { By::Model }
    }

    /// Compares two answers, by their positions.
    #[must_use]
    pub fn versus(&self, one: usize, other: usize) -> Versus {
        let runs = self.measures[one].runs.iter().zip(&self.measures[other].runs);
        let pairs: Vec<(Times, Times)> = runs.filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let part = |of: fn(&Times) -> f64| {
            let parts: Vec<f64> = pairs.iter().map(|(a, b)| less(of(a), of(b))).collect();
            Estimate::of(&parts)
        };
        let wins = |(a, b): &&(Times, Times)| {
            let losses = self.criterion.losses(&[a.cost(), b.cost()]);
            losses[0] <= losses[1]
        };
        Versus {
            seeds: pairs.len(),
            wins: pairs.iter().filter(wins).count(),
            waiting: part(|times| times.waiting),
            finish: part(|times| times.finish),
        }
    }
}

/// By what part of `other` a value is less.
fn less(value: f64, other: f64) -> f64 {
    if other > 0.0 {
        1.0 - value / other
    } else if value > 0.0 {
        -1.0
    } else {
        0.0
    }
}

impl From<&FluidOutcome> for Times {
    fn from(fluid: &FluidOutcome) -> Self {
        Self {
            waiting: fluid.total_waiting.0,
            nic_waiting: fluid.nic_waiting.0,
            memory_waiting: fluid.memory_waiting.0,
            finish: fluid.workload_finish.0,
        }
    }
}

impl Times {
    pub(super) fn new(outcome: &Outcome, (waiting, finish): (f64, f64)) -> Self {
        Self {
            waiting: outcome.total_waiting.0 * waiting,
            nic_waiting: outcome.nic_waiting.0 * waiting,
            memory_waiting: outcome.memory_waiting.0 * waiting,
            finish: outcome.workload_finish.0 * finish,
        }
    }

    /// What counts of them.
    #[must_use]
    pub fn cost(&self) -> Cost {
        Cost { waiting: self.waiting, finish: self.finish }
    }

    pub(super) fn mean<'a>(of: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let mut count: f64 = 0.0;
        for times in of {
            sum.waiting += times.waiting;
            sum.nic_waiting += times.nic_waiting;
            sum.memory_waiting += times.memory_waiting;
            sum.finish += times.finish;
            count += 1.0;
        }
        let count = count.max(1.0);
        Self {
            waiting: sum.waiting / count,
            nic_waiting: sum.nic_waiting / count,
            memory_waiting: sum.memory_waiting / count,
            finish: sum.finish / count,
        }
    }

    /// These times as they would be with other seeds, where a witness has `here` with the same seeds and
    /// `there` with the others.
    pub(super) fn carried(&self, here: &Self, there: &Self) -> Self {
        let ratio = |here: f64, there: f64| if here > 0.0 { there / here } else { 1.0 };
        let waiting = ratio(here.waiting, there.waiting);
        Self {
            waiting: self.waiting * waiting,
            nic_waiting: self.nic_waiting * waiting,
            memory_waiting: self.memory_waiting * waiting,
            finish: self.finish * ratio(here.finish, there.finish),
        }
    }
}

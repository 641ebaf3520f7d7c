//! Evaluates mappings: by bytes alone, by the fluid, or by simulation. Each evaluation gives one
//! [`Score`] per mapping.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use serde::Serialize;

use super::Computing;
use crate::estimate::{Fluid, Load};
use crate::map::Problem;
use crate::parallel;
use crate::placement::{Mapping, Placement};
use crate::ranking::{ObjectiveRule, Rule, Score, rank};
use crate::statistics::Estimate;
use crate::traffic::Workload;

/// The evaluation by which candidates are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Bytes through network devices, and how far they travel.
    Static,
    /// The model: the times of a run in the fluid.
    Model,
    /// The times of simulated runs.
    Simulation,
    /// The times of replays of the recorded calls.
    Replay,
}

/// A mapping with its placement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedMapping {
    /// The slot of each rank, among those of the problem.
    pub(crate) mapping: Mapping,
    /// The placement of the ranks in these slots, with network devices.
    pub(crate) placement: Placement,
}

/// The times of several mappings, all from the same fluid or from simulations with the same clocks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Index of the best mapping in `mappings`.
    pub best: usize,
    /// By mapping, in the given order.
    pub mappings: Vec<MappingEvaluation>,
    /// The share of the messages in the longest runs, 0 to 1; 0 if nothing was simulated.
    pub share: f64,
    /// Number of simulated messages, over all mappings and runs.
    pub simulated_messages: u64,
    /// The objective by which the mappings are compared.
    pub rule: ObjectiveRule,
    /// Whether the recorded calls were replayed with the best mappings, and decided.
    pub replayed: bool,
    /// The end of a replay, as a multiple of that of the simulated runs: the median over the mappings
    /// replayed; 1 without replays.
    pub replay_to_simulation: f64,
    /// Why the calls were not replayed, though they were recorded.
    pub not_replayed: Option<String>,
}

/// The times of one mapping.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MappingEvaluation {
    /// The mean over all seeds. For a mapping that was eliminated early, it is extrapolated from its
    /// ratio to the winner with the seeds that both have.
    pub score: Score,
    /// Ratio to the best mapping by the objective; 1 for the best.
    pub loss: f64,
    /// By seed of the longest runs: the score; `None` if it was eliminated before.
    pub runs: Vec<Option<Score>>,
    /// The score by the fluid; `None` in a closed loop.
    pub fluid: Option<Score>,
}

/// A comparison of two mappings over the seeds with which both were simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SeedComparison {
    /// Number of these seeds.
    pub seeds: usize,
    /// Number of seeds with which the first mapping is at least as good, by the objective.
    pub wins: usize,
    /// Waiting saved by the first mapping, as a share of that of the second.
    pub waiting: Estimate,
    /// Time saved until the finish by the first mapping, as a share of that of the second.
    pub finish: Estimate,
}

impl Evaluation {
    /// Replay or simulation, or the model if nothing was simulated.
    #[must_use]
    pub fn basis(&self) -> Basis {
        if self.replayed {
            Basis::Replay
        } else if self.share > 0.0 {
            Basis::Simulation
        } else {
            Basis::Model
        }
    }

    /// Whether others were replayed, but not this mapping: its times follow from its simulation.
    #[must_use]
    pub fn is_estimated(&self, mapping: usize) -> bool {
        self.replayed && self.mappings[mapping].runs.iter().flatten().next().is_none()
    }

    /// Compares two mappings, given by their indices, seed by seed.
    #[must_use]
    pub fn by_seeds(&self, first: usize, second: usize) -> SeedComparison {
        let runs = self.mappings[first].runs.iter().zip(&self.mappings[second].runs);
        let pairs: Vec<(Score, Score)> = runs.filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let saved = |time: fn(&Score) -> f64| {
            let shares: Vec<f64> = pairs.iter().map(|(a, b)| saved(time(a), time(b))).collect();
            Estimate::of(&shares)
        };
        let wins = |(a, b): &&(Score, Score)| {
            let ranking = rank(&[*a, *b], &Rule::Objective(self.rule));
            ranking.loss(0) <= ranking.loss(1)
        };
        SeedComparison {
            seeds: pairs.len(),
            wins: pairs.iter().filter(wins).count(),
            waiting: saved(|score| score.total_waiting().0),
            finish: saved(|score| score.last_arrival().0),
        }
    }
}

/// The share of `other` by which `value` is less.
pub(crate) fn saved(value: f64, other: f64) -> f64 {
    if other > 0.0 {
        1.0 - value / other
    } else if value > 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// The score of a placement by bytes alone.
pub(super) fn static_score(
    placement: &Placement,
    load: &Load,
    computing: Option<Computing>,
) -> Score {
    let nodes: BTreeSet<_> = placement.ranks().map(|rank| rank.node).collect();
    Score {
        busiest_nic: Some(load.busiest_nic_time()),
        hop_bytes: Some(load.hop_bytes),
        nodes: Some(nodes.len()),
        excluded: computing.is_some_and(|computing| !computing.is_balanced),
        ..Score::default()
    }
}

/// [`fluid_scores`] of all of the workload in this order while `goes_on`. By mapping: its score, if there
/// was time.
pub(super) fn fluid_scores_while(
    problem: &Problem,
    mappings: &[PlacedMapping],
    order: &[usize],
    threads: NonZeroUsize,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Option<Score>>> {
    if !goes_on() {
        return None;
    }
    let (cluster, workload) = (problem.cluster, problem.workload);
    // Two mappings may differ in their devices alone.
    let in_slots = problem.selection().is_none();
    let fluid =
        in_slots.then(|| Fluid::new(cluster, workload, problem.slots())).transpose().ok()?;
    let found = parallel::map(order, threads, |_, number| {
        if !goes_on() {
            return Ok(None);
        }
        let PlacedMapping { mapping, placement } = &mappings[*number];
        let outcome = match &fluid {
            Some(fluid) => Ok(fluid.clone().evaluate(mapping)),
            None => Fluid::of_placement(cluster, workload, placement),
        };
        outcome.map(|outcome| Some(Score::from(&outcome)))
    });
    let mut scores = vec![None; mappings.len()];
    for (number, score) in order.iter().zip(found) {
        scores[*number] = score.ok()?;
    }
    Some(scores)
}

/// The scores of mappings by the fluid, for all of the workload or a part; `None` if a slot does not
/// exist.
pub(super) fn fluid_scores(
    problem: &Problem,
    workload: &Workload,
    mappings: &[PlacedMapping],
) -> Option<Vec<Score>> {
    if !problem.selection().is_none() {
        // Two mappings may differ in their devices alone.
        let score = |placed: &PlacedMapping| {
            let outcome = Fluid::of_placement(problem.cluster, workload, &placed.placement);
            outcome.ok().map(|outcome| Score::from(&outcome))
        };
        return mappings.iter().map(score).collect();
    }
    let mappings = mappings.iter().map(|placed| &placed.mapping);
    fluid_scores_in_slots(problem, workload, mappings)
}

/// [`fluid_scores`] if devices follow from the slots.
pub(super) fn fluid_scores_in_slots<'a>(
    problem: &Problem,
    workload: &Workload,
    mappings: impl Iterator<Item = &'a Mapping>,
) -> Option<Vec<Score>> {
    let mut fluid = Fluid::new(problem.cluster, workload, problem.slots()).ok()?;
    Some(mappings.map(|mapping| Score::from(&fluid.evaluate(mapping))).collect())
}

/// The evaluation of mappings by their scores in the fluid alone. For open loops only, because the fluid
/// does not model senders that wait.
///
/// # Panics
/// If there are no scores.
#[must_use]
pub(super) fn fluid_evaluation(scores: Vec<Score>, rule: ObjectiveRule) -> Evaluation {
    let ranking = rank(&scores, &Rule::Objective(rule));
    let evaluation = |(at, score): (usize, Score)| MappingEvaluation {
        score,
        loss: ranking.loss(at),
        runs: Vec::new(),
        fluid: Some(score),
    };
    Evaluation {
        best: ranking.best(),
        mappings: scores.into_iter().enumerate().map(evaluation).collect(),
        share: 0.0,
        simulated_messages: 0,
        rule,
        replayed: false,
        replay_to_simulation: 1.0,
        not_replayed: None,
    }
}

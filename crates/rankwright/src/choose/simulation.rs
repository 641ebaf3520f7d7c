//! Candidates judged by what the model and the simulator say of them.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use super::Candidate;
use super::side_by_side::side_by_side;
use crate::cluster::Cluster;
use crate::model::{ModelError, Prediction};
use crate::sim::{Options, Outcome, Progress, SimulationError, simulate};
use crate::traffic::Workload;

/// Simulates the workload under each candidate's placement, in their order; at most `threads` at a
/// time. The results do not depend on how many: all candidates see the same clocks tick.
///
/// The observer is told how far the candidate at a position is, from several threads; when it breaks,
/// that simulation stops.
///
/// # Errors
/// If nothing says when a job sends, or the workload takes too long for the clock.
pub fn simulations(
    cluster: &Cluster,
    workload: &Workload,
    candidates: &[Candidate],
    options: &Options,
    threads: NonZeroUsize,
    observer: &(dyn Fn(usize, &Progress) -> ControlFlow<()> + Sync),
) -> Result<Vec<Outcome>, SimulationError> {
    let outcomes = side_by_side(candidates, threads, |position, candidate| {
        let mut observer = |progress: &Progress| observer(position, progress);
        simulate(cluster, workload, &candidate.placement, options, &mut observer)
    });
    outcomes.into_iter().collect()
}

/// What the queueing model says of each candidate, in their order.
///
/// # Errors
/// If nothing says when a job sends.
pub fn predictions(
    cluster: &Cluster,
    workload: &Workload,
    candidates: &[Candidate],
) -> Result<Vec<Prediction>, ModelError> {
    let predict = |candidate: &Candidate| Prediction::new(cluster, workload, &candidate.placement);
    candidates.iter().map(predict).collect()
}

/// The candidate whose messages wait least in all; of equals the first.
#[must_use]
pub fn least_waiting(outcomes: &[Outcome]) -> usize {
    let waiting = |at: &usize| outcomes[*at].total_waiting.0;
    (0..outcomes.len()).min_by(|a, b| waiting(a).total_cmp(&waiting(b))).unwrap_or(0)
}

/// The candidate that the model prefers; of equals the first.
#[must_use]
pub fn best_predicted(predictions: &[Prediction]) -> usize {
    let order = |a: &usize, b: &usize| predictions[*a].compare(&predictions[*b]);
    (0..predictions.len()).min_by(order).unwrap_or(0)
}

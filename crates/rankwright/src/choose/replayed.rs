//! The last word on programs whose calls were recorded in order: the mappings that may win, and the
//! launcher's default, are replayed. The simulation by clocks selects them, because it is faster and
//! races.

use std::ops::ControlFlow;
use std::path::Path;

use super::{ChooseOptions, Evaluation, MappingEvaluation, PlacedMapping, PlanProgress};
use crate::map::Problem;
use crate::parallel;
use crate::ranking::{Rule, Score, rank};
use crate::sim::Progress;
use crate::sim::replay::{ReplayError, ReplayOptions, Replayer};
use crate::traffic::Workload;

/// The most mappings that are replayed.
const MOST: usize = 12;

/// Mappings whose loss by the simulation is larger cannot win a replay.
const HOPELESS: f64 = 1.3;

/// How much longer the replay of a message takes than its simulation, roughly.
const COST: u64 = 25;

/// The files with the calls of all jobs in order; `None` unless all were recorded.
pub(super) fn recordings(workload: &Workload) -> Option<Vec<&Path>> {
    workload.jobs.iter().map(|job| job.seen.events.as_deref()).collect()
}

/// Replays the mappings that may win by their evaluation, and `default`. The others keep their score,
/// in proportion to that of the best.
///
/// # Errors
/// If a run cannot be replayed; the evaluation then stays as it is.
pub(super) fn replayed(
    problem: &Problem,
    mappings: &[PlacedMapping],
    default: Option<usize>,
    evaluation: &mut Evaluation,
    options: &ChooseOptions,
) -> Result<(), ReplayError> {
    let Some(recordings) = recordings(problem.workload) else { return Ok(()) };
    let messages = problem.workload.clocked_messages().max(1);
    let affordable = options.messages / (COST * messages);
    let count = usize::try_from(affordable).unwrap_or(MOST).min(MOST);
    if count < mappings.len().min(2) {
        evaluation.not_replayed = Some("it takes more work than allowed, see --effort".to_owned());
        return Ok(());
    }
    let chosen = contenders(evaluation, default, count);
    let threads = options.threads.get().min(chosen.len()).max(1);
    let parts: Vec<&[usize]> = chosen.chunks(chosen.len().div_ceil(threads)).collect();
    let scores = parallel::map(&parts, options.threads, |_, part| {
        // Files cannot be shared between threads.
        let replayer = Replayer::open(&recordings)?;
        let mut scores = Vec::new();
        for at in *part {
            let mut observer = |_: &Progress| observe(options);
            let placement = &mappings[*at].placement;
            let replay = ReplayOptions::default();
            let replayed = replayer.replay(problem.cluster, placement, replay, &mut observer)?;
            let left_out = replayed.left_out.iter().next().map(|(what, count)| (*what, *count));
            scores.push((*at, Score::from(&replayed.outcome), left_out));
        }
        Ok::<_, ReplayError>(scores)
    });
    let scores: Result<Vec<_>, ReplayError> = scores.into_iter().collect();
    let scores: Vec<_> = scores?.into_iter().flatten().collect();
    // The clocks have what these calls send.
    if let Some((what, count)) = scores.iter().find_map(|(.., left_out)| *left_out) {
        evaluation.not_replayed = Some(format!("the replay would leave out {count} {what}"));
        return Ok(());
    }
    let scores: Vec<(usize, Score)> = scores.iter().map(|(at, score, _)| (*at, *score)).collect();
    // Stopped before its end.
    if scores.iter().any(|(_, score)| score.excluded) {
        return Ok(());
    }
    evaluation.simulated_messages += messages * scores.len() as u64;
    decide(evaluation, &scores);
    Ok(())
}

fn observe(options: &ChooseOptions) -> ControlFlow<()> {
    let stopped = (options.observer)(&PlanProgress::Replay).is_break();
    if stopped || options.is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The mappings to replay, at most `count`: the default, then the best by their loss.
fn contenders(evaluation: &Evaluation, default: Option<usize>, count: usize) -> Vec<usize> {
    let loss = |at: &usize| evaluation.mappings[*at].loss;
    let mut chosen: Vec<usize> = (0..evaluation.mappings.len())
        .filter(|at| loss(at) <= HOPELESS || Some(*at) == default)
        .collect();
    chosen.sort_by(|a, b| {
        let order = |at: &usize| (Some(*at) != default, loss(at));
        order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    chosen.truncate(count);
    chosen
}

/// Ranks all mappings anew, with the scores of those that were replayed.
fn decide(evaluation: &mut Evaluation, replayed: &[(usize, Score)]) {
    let simulated = |at: usize| evaluation.mappings[at].score;
    let ratio = |time: fn(&Score) -> f64| {
        let (replayed, simulated): (f64, f64) = replayed
            .iter()
            .map(|(at, score)| (time(score), time(&simulated(*at))))
            .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        if simulated > 0.0 { replayed / simulated } else { 1.0 }
    };
    let waiting = ratio(|score| score.total_waiting().0);
    let finish = ratio(|score| score.last_arrival().0);
    let mut scores: Vec<Score> = evaluation
        .mappings
        .iter()
        .map(|mapping| mapping.score.stretched(waiting, finish))
        .collect();
    for (at, score) in replayed {
        scores[*at] = *score;
    }
    let ranking = rank(&scores, &Rule::Objective(evaluation.rule));
    // Nothing that was not replayed wins.
    let best = replayed.iter().map(|(at, _)| *at).min_by(|a, b| {
        ranking.loss(*a).partial_cmp(&ranking.loss(*b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    evaluation.best = best.unwrap_or(evaluation.best);
    let least = ranking.loss(evaluation.best);
    for (at, mapping) in evaluation.mappings.iter_mut().enumerate() {
        let score = replayed.iter().find(|(other, _)| *other == at).map(|(_, score)| *score);
        let loss = (ranking.loss(at) / least).max(1.0);
        let fluid = mapping.fluid;
        *mapping = MappingEvaluation { score: scores[at], loss, runs: vec![score], fluid };
    }
    evaluation.replayed = true;
    evaluation.share = 1.0;
}

//! The last word on programs whose calls were recorded in order: the mappings that may win, and the
//! launcher's default, are replayed. The simulation by clocks selects them, because it is faster and
//! races.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{ChooseOptions, Evaluation, MappingEvaluation, PlacedMapping, PlanProgress};
use crate::map::Problem;
use crate::parallel;
use crate::ranking::{Rule, Score, rank};
use crate::sim::Progress;
use crate::sim::replay::{ReplayError, ReplayOptions, Replayer, why_by_clocks};
use crate::statistics::median;
use crate::traffic::Workload;

/// The most mappings that are replayed.
const MOST: usize = 12;

/// Mappings whose loss by the simulation is larger cannot win a replay. They are replayed where all can be, so that
/// every time is that of a replay.
const HOPELESS: f64 = 1.3;

/// How much longer the replay of a message takes than its simulation, roughly.
const COST: u64 = 25;

/// The most events of a replay for each message that was expected: twice the servers that it passes.
const EVENTS: u64 = 12;

/// How much worse than the best mapping that was replayed the others are at least taken to be, so that
/// none of them wins or ties.
const WORSE: f64 = 1.02;

/// The files with the calls of all jobs in order; `None` unless all were recorded.
pub(super) fn recordings(workload: &Workload) -> Option<Vec<&Path>> {
    workload.jobs.iter().map(|job| job.seen.events.as_deref()).collect()
}

/// Replays the mappings that may win by their evaluation, and `default`. The others keep their score,
/// in proportion, but none is better than the best that was replayed.
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
        evaluation.not_replayed = Some(format!(
            "it takes {messages} messages for each placement, and this --effort allows {}; \
             `simulate --replay` replays one",
            options.messages / (COST * 2)
        ));
        return Ok(());
    }
    let chosen = contenders(evaluation, default, count);
    let scores = replay_all(problem, mappings, &chosen, &recordings, options)?;
    match scores {
        Ok(scores) => {
            evaluation.simulated_messages += messages * scores.len() as u64;
            decide(evaluation, &scores);
        }
        Err(why) => evaluation.not_replayed = Some(why),
    }
    Ok(())
}

/// The scores of the chosen mappings. Inner error: why there are none.
fn replay_all(
    problem: &Problem,
    mappings: &[PlacedMapping],
    chosen: &[usize],
    recordings: &[&Path],
    options: &ChooseOptions,
) -> Result<Result<Vec<(usize, Score)>, String>, ReplayError> {
    let late = || Ok(Err("the time limit was reached".to_owned()));
    let mut keeps_on = || !observe(options).is_break();
    if options.is_late() {
        return late();
    }
    let Some(replayer) = Replayer::open_while(recordings, &mut keeps_on)? else { return late() };
    // An algorithm of the library may send many more messages than the clocks, by which the work was
    // estimated. Under a time limit any number of messages is affordable.
    let of_all = EVENTS.saturating_mul(options.messages);
    let most_events = of_all / (COST * chosen.len() as u64);
    let replay = |replayer: &Replayer, at: usize| {
        let mut too_long = false;
        let mut observer = |progress: &Progress| {
            too_long = progress.events > most_events;
            if too_long { ControlFlow::Break(()) } else { observe(options) }
        };
        let placement = &mappings[at].placement;
        let how = ReplayOptions::default();
        let replayed = replayer.replay(problem.cluster, placement, how, &mut observer)?;
        let why = match why_by_clocks(&replayed.left_out) {
            Some(why) => Some(why),
            None if too_long => Some(
                "the collective calls are more messages than this effort allows; \
                 `simulate --replay` replays one placement"
                    .to_owned(),
            ),
            None if replayed.outcome.stopped.is_some() => {
                Some("the time limit was reached".to_owned())
            }
            None => None,
        };
        Ok::<_, ReplayError>(match why {
            Some(why) => Err(why),
            None => Ok((at, Score::from(&replayed.outcome))),
        })
    };
    let threads = options.threads.get().min(chosen.len()).max(1);
    let mut parts = Vec::new();
    for part in chosen.chunks(chosen.len().div_ceil(threads)) {
        // Open files cannot be shared between threads.
        parts.push((Mutex::new(replayer.again()?), part));
    }
    let scores = parallel::map(&parts, options.threads, |_, (replayer, part)| {
        let replayer = replayer.lock().unwrap_or_else(PoisonError::into_inner);
        part.iter().map(|at| replay(&replayer, *at)).collect::<Result<Vec<_>, _>>()
    });
    let scores: Result<Vec<_>, ReplayError> = scores.into_iter().collect();
    Ok(scores?.into_iter().flatten().collect())
}

fn observe(options: &ChooseOptions) -> ControlFlow<()> {
    let stopped = (options.observer)(&PlanProgress::Replay).is_break();
    if stopped || options.is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The mappings to replay, at most `count`: the default, then the best by their loss.
fn contenders(evaluation: &Evaluation, default: Option<usize>, count: usize) -> Vec<usize> {
    let loss = |at: &usize| evaluation.mappings[*at].loss;
    let all = evaluation.mappings.len() <= count;
    let mut chosen: Vec<usize> = (0..evaluation.mappings.len())
        .filter(|at| all || loss(at) <= HOPELESS || Some(*at) == default)
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
    let middle = |time: fn(&Score) -> f64| {
        let ratios = replayed.iter().map(|(at, score)| (time(score), time(&simulated(*at))));
        let ratios: Vec<f64> = ratios
            .filter(|(_, simulated)| *simulated > 0.0)
            .map(|(replayed, simulated)| replayed / simulated)
            .collect();
        if ratios.is_empty() { 1.0 } else { median(&ratios) }
    };
    let waiting = middle(|score| score.total_waiting().0);
    let finish = middle(|score| score.last_arrival().0);
    let of_replayed: Vec<Score> = replayed.iter().map(|(_, score)| *score).collect();
    let rule = Rule::Objective(evaluation.rule);
    let floor = match of_replayed.is_empty() {
        true => Score::default(),
        false => of_replayed[rank(&of_replayed, &rule).best()].stretched(WORSE, WORSE),
    };
    let mut scores: Vec<Score> = evaluation
        .mappings
        .iter()
        .map(|mapping| mapping.score.stretched(waiting, finish).at_least(&floor))
        .collect();
    for (at, score) in replayed {
        scores[*at] = *score;
    }
    let ranking = rank(&scores, &Rule::Objective(evaluation.rule));
    let best = (0..scores.len())
        .min_by(|a, b| ranking.loss(*a).total_cmp(&ranking.loss(*b)))
        .unwrap_or(evaluation.best);
    evaluation.best = best;
    let least = ranking.loss(best);
    for (at, mapping) in evaluation.mappings.iter_mut().enumerate() {
        let score = replayed.iter().find(|(other, _)| *other == at).map(|(_, score)| *score);
        let loss = (ranking.loss(at) / least).max(1.0);
        let fluid = mapping.fluid;
        *mapping = MappingEvaluation { score: scores[at], loss, runs: vec![score], fluid };
    }
    evaluation.replayed = true;
    evaluation.replay_to_simulation = finish;
    evaluation.share = 1.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::evaluate::fluid_evaluation;
    use crate::ranking::{Objective, ObjectiveRule, Waiting};
    use crate::units::Seconds;

    fn score(seconds: f64) -> Score {
        let waiting = Waiting { total: Seconds(seconds), ..Waiting::default() };
        let finish = Some(Seconds(seconds));
        Score { waiting: Some(waiting), finish, total_finish: finish, ..Score::default() }
    }

    #[test]
    fn all_mappings_are_replayed_where_all_can_be() {
        let objective = Objective::Finish;
        let rule = ObjectiveRule { objective, closed_loop: true, ranks: 2 };
        let evaluation = fluid_evaluation([4.0, 1.0, 1.1, 9.0].map(score).into(), rule);
        assert_eq!(contenders(&evaluation, Some(0), 4), [0, 1, 2, 3]);
        // Else the hopeless ones are left out, but never the default.
        assert_eq!(contenders(&evaluation, Some(0), 3), [0, 1, 2]);
        assert_eq!(contenders(&evaluation, Some(1), 3), [1, 2]);
    }

    #[test]
    fn a_mapping_that_was_not_replayed_does_not_win() {
        let mapping = |seconds| MappingEvaluation {
            score: score(seconds),
            loss: seconds,
            runs: vec![],
            fluid: None,
        };
        let objective = Objective::Finish;
        let rule = ObjectiveRule { objective, closed_loop: true, ranks: 2 };
        let mut evaluation = fluid_evaluation(vec![score(1.0)], rule);
        (evaluation.mappings, evaluation.best) = ([20.0, 10.0, 10.6].map(mapping).into(), 1);
        decide(&mut evaluation, &[(0, score(20.0)), (1, score(15.0))]);
        assert_eq!(evaluation.best, 1);
        let [default, best, other] = [0, 1, 2].map(|at| evaluation.mappings[at].score);
        assert_eq!((default, best), (score(20.0), score(15.0)));
        // Nor is it worse than it is known to be: the default says nothing of it.
        assert!(other.last_arrival().0 > 15.0 && other.last_arrival().0 < 20.0);
        assert!(!evaluation.is_estimated(1) && evaluation.is_estimated(2));
    }
}

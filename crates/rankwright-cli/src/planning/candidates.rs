//! From a problem to the candidates of all strategies, with progress and warnings.

use std::mem::discriminant;
use std::ops::ControlFlow;

use anyhow::{Context, bail};
use rankwright::choose::{
    Candidate, CandidateError, ChooseOptions, Evaluation, NotSimulated, RankedCandidates,
    candidates, rank_candidates,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy, StrategyId};
use rankwright::ranking::ObjectiveRule;
use rankwright::report::Comparison;
use rankwright::sim::{Options, Pacing};

use crate::host::signals::interrupt;
use crate::host::signals::termination::ended_by_sigterm;
use crate::options::SearchOptions;
use crate::output::{self, Verbosity};

/// Runs all strategies and evaluates their mappings. One that fails is warned of; an error if none is
/// left.
pub(crate) fn search(
    options: &SearchOptions,
    problem: Problem,
    strategies: &[Strategy],
    request: EvaluationRequest,
    verbosity: &Verbosity,
) -> anyhow::Result<EvaluatedCandidates> {
    let spinner = output::spinner(verbosity, format!("strategies to try: {}", strategies.len()));
    let observer = |messages: u64| {
        // Until the first simulation an interrupt ends the program at once.
        interrupt::watch();
        if messages > 0 {
            spinner.set_message(format!("{} million messages simulated", messages / 1_000_000));
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let clock = options.start_clock();
    let (messages, seeds) = options.simulated(request.closed_loop(), problem.rank_count());
    let choose = ChooseOptions {
        threads: options.threads,
        clock: clock.as_deref(),
        objective: options.objective()?,
        simulation: request.simulation,
        messages,
        seeds,
        evaluate_all: request.all,
        observer: &observer,
    };
    let rule = choose.rule(&problem);
    let run = ended_by_sigterm(|| candidates(&problem, strategies, &choose));
    spinner.finish_and_clear();
    if let Some(why) = &run.not_simulated {
        if *why == NotSimulated::Stopped {
            bail!("interrupted");
        }
        let by = if run.evaluation.is_some() { "the model" } else { "static estimates" };
        output::warn(verbosity, format_args!("ranked by {by}, not by simulation: {why}"));
    }
    let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
    for (strategy, candidate) in strategies.iter().zip(run.results) {
        match candidate {
            Ok(candidate) => candidates.push(candidate),
            Err(error) => left_out.push((strategy.to_string(), error)),
        }
    }
    if candidates.is_empty() {
        let first = left_out.into_iter().next();
        return Err(first.context("no strategy was named")?.1.into());
    }
    for text in by_reason(&left_out) {
        output::warn(verbosity, format_args!("left out: {text}"));
    }
    Ok(EvaluatedCandidates { candidates, evaluation: run.evaluation, rule })
}

/// Strategies that failed for the same reason, with that: a line each. Where devices cannot be chosen
/// for several, only what is said of nodes and ranks differs: that of the first is told.
fn by_reason(failed: &[(String, CandidateError)]) -> Vec<String> {
    let why = |error: &CandidateError| match error {
        CandidateError::Map { error, .. } => error.to_string(),
        other => other.to_string(),
    };
    let alike = |a: &CandidateError, b: &CandidateError| match (a, b) {
        (
            CandidateError::Selection { error: a, .. },
            CandidateError::Selection { error: b, .. },
        ) => discriminant(a) == discriminant(b),
        _ => why(a) == why(b),
    };
    let mut reasons: Vec<Vec<&(String, CandidateError)>> = Vec::new();
    for failure in failed {
        match reasons.iter_mut().find(|reason| alike(&reason[0].1, &failure.1)) {
            Some(reason) => reason.push(failure),
            None => reasons.push(vec![failure]),
        }
    }
    let line = |reason: &Vec<&(String, CandidateError)>| {
        let names: Vec<&str> = reason.iter().map(|(strategy, _)| strategy.as_str()).collect();
        let (names, first) = (names.join(", "), why(&reason[0].1));
        match reason.iter().all(|(_, error)| why(error) == first) {
            true => format!("{names}: {first}"),
            false => format!("{names}; under {}: {first}", reason[0].0),
        }
    };
    reasons.iter().map(line).collect()
}

/// How mappings are evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvaluationRequest {
    /// How they are simulated.
    pub(crate) simulation: Options,
    /// Whether all are evaluated, also where no strategy needs that.
    pub(crate) all: bool,
}

impl EvaluationRequest {
    /// Whether senders wait before their next round.
    pub(crate) fn closed_loop(&self) -> bool {
        self.simulation.pacing != Pacing::Open
    }
}

/// The candidates of the strategies that have one.
#[derive(Debug)]
pub(crate) struct EvaluatedCandidates {
    pub(crate) candidates: Vec<Candidate>,
    /// Their times, where they were evaluated.
    pub(crate) evaluation: Option<Evaluation>,
    /// By what they are compared where their times are known.
    pub(crate) rule: ObjectiveRule,
}

impl EvaluatedCandidates {
    /// Ranks them as `place` does: which to take, and the comparison that says why.
    pub(crate) fn ranked(&self, cluster: &Cluster) -> (RankedCandidates, Comparison) {
        let evaluation = self.evaluation.as_ref();
        let ranked = rank_candidates(&self.candidates, evaluation);
        let comparison = Comparison::new(cluster, &self.candidates, &ranked, evaluation);
        (ranked, comparison)
    }
}

/// Tells whose mapping a strategy chose, and how many moves were tried for it.
pub(crate) fn note_choice(verbosity: &Verbosity, candidate: &Candidate) {
    if candidate.made_by != candidate.strategy {
        let text = format!("{}: the answer of {}", candidate.strategy, candidate.made_by);
        output::note(verbosity, text);
    }
    note_moves(verbosity, &candidate.made_by, candidate.moves);
}

/// Tells how many moves a search made, so that it can be repeated.
pub(crate) fn note_moves(verbosity: &Verbosity, strategy: &StrategyId, moves: u64) {
    if moves > 0 {
        output::note(verbosity, format!("{strategy}: {moves} moves tried"));
    }
}

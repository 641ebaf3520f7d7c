//! Runs a planner, with progress and warnings.

use std::mem::discriminant;
use std::ops::ControlFlow;

use anyhow::bail;
use rankwright::choose::{Candidate, NotSimulated, Plan, PlanError, Planner};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, StrategyId};
use rankwright::placement::PlacementError;
use rankwright::rails::SelectionError;
use rankwright::report::Comparison;

use crate::host::signals::interrupt;
use crate::host::signals::termination::ended_by_sigterm;
use crate::options::SearchOptions;
use crate::output::exit_code::Infeasible;
use crate::output::{self, Verbosity};

/// Runs the planner. Warns of strategies that fail; an error if all do.
pub(crate) fn plan(
    options: &SearchOptions,
    planner: &Planner,
    verbosity: &Verbosity,
) -> anyhow::Result<Plan> {
    watched(options, planner, verbosity, None)
}

/// As [`plan`], for a problem with slots of its own.
pub(crate) fn plan_in(
    problem: Problem,
    options: &SearchOptions,
    planner: &Planner,
    verbosity: &Verbosity,
) -> anyhow::Result<Plan> {
    watched(options, planner, verbosity, Some(problem))
}

fn watched(
    options: &SearchOptions,
    planner: &Planner,
    verbosity: &Verbosity,
    problem: Option<Problem>,
) -> anyhow::Result<Plan> {
    let spinner = output::spinner(verbosity, "running strategies".to_owned());
    let observer = |messages: u64| {
        // Until the first simulation an interrupt ends the program at once.
        interrupt::watch();
        if messages > 0 {
            spinner.set_message(format!("{} million messages simulated", messages / 1_000_000));
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let clock = options.start_clock();
    let planner = planner.clone().clock(clock.as_deref()).observer(&observer);
    let plan = ended_by_sigterm(|| match problem {
        Some(problem) => planner.plan_in(problem),
        None => planner.plan(),
    });
    spinner.finish_and_clear();
    let plan = plan.map_err(without_transparent).map_err(with_next_step)?;
    if let Some(why) = &plan.not_simulated {
        if *why == NotSimulated::Stopped {
            bail!("interrupted");
        }
        let by = if plan.evaluation.is_some() { "the model" } else { "static estimates" };
        output::warn(verbosity, format_args!("ranked by {by}, not by simulation: {why}"));
    }
    for text in by_reason(&plan.left_out) {
        output::warn(verbosity, format_args!("left out: {text}"));
    }
    Ok(plan)
}

/// The cause of an error that only passes on its text: the exit code depends on the cause.
pub(crate) fn without_transparent(error: PlanError) -> anyhow::Error {
    match error {
        PlanError::Placement(error)
        | PlanError::Selection { error: SelectionError::Placement(error), .. } => error.into(),
        error => error.into(),
    }
}

/// What to do where the cluster is too small, which is often this machine instead of the real one.
fn with_next_step(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(PlacementError::TooFewSlots { .. }) => Infeasible(format!(
            "{error}; for a larger cluster: describe it (`rankwright cluster discover` on a node of \
             it), try --on \"synthetic:pack:2 core:32 pu:1\" --nodes 4, or emulate it \
             (`rankwright lab`)"
        ))
        .into(),
        _ => error,
    }
}

/// One line for each reason, with the strategies that failed for it. Failures to choose devices differ
/// only in the nodes and ranks that they name: the line has those of the first strategy.
fn by_reason(failed: &[(StrategyId, PlanError)]) -> Vec<String> {
    let why = |error: &PlanError| match error {
        PlanError::Map { error, .. } => error.to_string(),
        other => other.to_string(),
    };
    let alike = |a: &PlanError, b: &PlanError| match (a, b) {
        (PlanError::Selection { error: a, .. }, PlanError::Selection { error: b, .. }) => {
            discriminant(a) == discriminant(b)
        }
        _ => why(a) == why(b),
    };
    let mut reasons: Vec<Vec<&(StrategyId, PlanError)>> = Vec::new();
    for failure in failed {
        match reasons.iter_mut().find(|reason| alike(&reason[0].1, &failure.1)) {
            Some(reason) => reason.push(failure),
            None => reasons.push(vec![failure]),
        }
    }
    let line = |reason: &Vec<&(StrategyId, PlanError)>| {
        let names: Vec<String> = reason.iter().map(|(id, _)| id.to_string()).collect();
        let (names, first) = (names.join(", "), why(&reason[0].1));
        match reason.iter().all(|(_, error)| why(error) == first) {
            true => format!("{names}: {first}"),
            false => format!("{names}; under {}: {first}", reason[0].0),
        }
    };
    reasons.iter().map(line).collect()
}

/// The comparison of all candidates of a plan, with the reason for the best.
pub(crate) fn comparison(plan: &Plan, cluster: &Cluster) -> Comparison {
    Comparison::new(cluster, &plan.candidates, &plan.ranking, plan.evaluation.as_ref())
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

//! Runs a planner, with progress and warnings.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use anyhow::bail;
use rankwright::choose::{Candidate, Plan, PlanError, PlanProgress, Planner};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Role, StrategyId};
use rankwright::placement::PlacementError;
use rankwright::rails::SelectionError;
use rankwright::report::page::limits;

use crate::host::signals::interrupt;
use crate::host::signals::termination::ended_by_sigterm;
use crate::options::{SearchOptions, inputs};
use crate::output::exit_code::Infeasible;
use crate::output::progress::{ProgressLine, Step};
use crate::output::{self, Verbosity, stages};

/// How a planner is run.
#[derive(Clone)]
pub(crate) struct Planning<'a> {
    options: &'a SearchOptions,
    verbosity: &'a Verbosity,
    /// What is planned, like `8 nodes`, where several plans are made.
    name: &'a str,
    /// The number of this plan, from 0, and how many there are: they share the time.
    part: (usize, usize),
    /// Whether an interrupt ends the search with the best so far, instead of the program.
    keep_best: bool,
    /// The warnings so far: what holds for several plans is told once.
    told: Rc<RefCell<BTreeSet<String>>>,
}

/// Runs the planner once. Warns of strategies that fail; an error if all do.
pub(crate) fn plan(
    options: &SearchOptions,
    planner: &Planner,
    verbosity: &Verbosity,
) -> anyhow::Result<Plan> {
    Planning::new(options, verbosity).plan(planner)
}

impl<'a> Planning<'a> {
    /// One plan; an interrupt ends the program.
    pub(crate) fn new(options: &'a SearchOptions, verbosity: &'a Verbosity) -> Self {
        Self { options, verbosity, name: "", part: (0, 1), keep_best: false, told: Rc::default() }
    }

    /// Whether an interrupt ends the search with the best so far; the second ends the program.
    pub(crate) fn keep_best(self, keep_best: bool) -> Self {
        if keep_best {
            interrupt::watch_first();
        }
        Self { keep_best, ..self }
    }

    /// One of several plans, by number from 0, with its name.
    pub(crate) fn part(self, number: usize, count: usize, name: &'a str) -> Self {
        Self { name, part: (number, count), ..self }
    }

    /// Runs the planner. Warns of strategies that fail; an error if all do.
    pub(crate) fn plan(&self, planner: &Planner) -> anyhow::Result<Plan> {
        self.run(planner, None)
    }

    /// As [`Planning::plan`], for a problem with slots of its own.
    pub(crate) fn plan_in(&self, problem: Problem, planner: &Planner) -> anyhow::Result<Plan> {
        self.run(planner, Some(problem))
    }

    fn run(&self, planner: &Planner, problem: Option<Problem>) -> anyhow::Result<Plan> {
        let (verbosity, keep_best) = (self.verbosity, self.keep_best);
        let clock = self.options.clock(planner.workload(), self.part);
        let line = ProgressLine::until(verbosity, "preparing", self.options.end());
        let observer = |progress: &PlanProgress| {
            // Until the first simulation an interrupt ends the program at once.
            if !keep_best && matches!(progress, PlanProgress::Simulation { .. }) {
                interrupt::watch();
            }
            stages::begin(stage(progress));
            if !line.is_hidden() {
                line.show(step(self.name, progress, clock.is_some()));
            }
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let cluster = planner.cluster();
        let planner = planner.clone().clock(clock.as_deref()).observer(&observer);
        let plan = ended_by_sigterm(|| match problem {
            Some(problem) => planner.plan_in(problem),
            None => planner.plan(),
        });
        drop(line);
        stages::begin("answer");
        let plan = plan.map_err(without_transparent);
        let plan = plan.map_err(|error| with_next_step(error, cluster))?;
        if plan.stopped && !keep_best {
            bail!("interrupted");
        }
        self.warn_of_limits(&plan);
        Ok(plan)
    }

    /// Warns of what a plan lacks.
    fn warn_of_limits(&self, plan: &Plan) {
        for limit in limits(plan) {
            let is_new = self.told.borrow_mut().insert(limit.text.to_string());
            if is_new {
                output::warn(self.verbosity, limit.text);
            }
        }
    }
}

/// What a planner does, for the times of `--verbose`. Strategies that do not search run side by side.
fn stage<'a>(progress: &PlanProgress<'a>) -> &'a str {
    match *progress {
        PlanProgress::Strategy { strategy, .. }
            if strategy.entry().searches() || strategy.entry().role == Role::StartsFromOthers =>
        {
            strategy.name()
        }
        PlanProgress::Strategy { .. } => "quick strategies",
        PlanProgress::Simulation { .. } => "simulations",
        PlanProgress::Replay => "replays",
        _ => "planning",
    }
}

/// What a planner does, for the progress line. With a limit of time the number of simulations is open.
fn step(name: &str, progress: &PlanProgress, timed: bool) -> Step {
    let of = |what: String| if name.is_empty() { what } else { format!("{name}: {what}") };
    match *progress {
        PlanProgress::Strategy { strategy, number, count, done, simulated } => Step {
            what: of(format!("strategy {number} of {count}: {strategy}")),
            done,
            then: if simulated { "simulations" } else { "" },
            ..Step::default()
        },
        PlanProgress::Simulation { number, most, done } => Step {
            what: of("simulations".to_owned()),
            detail: match timed {
                true => format!("number {number}"),
                false => format!("number {number} of at most {most}"),
            },
            done: if timed { 0.0 } else { done },
            may_end_early: true,
            ..Step::default()
        },
        PlanProgress::Replay => Step { what: of("replay".to_owned()), ..Step::default() },
        _ => Step { what: of("planning".to_owned()), ..Step::default() },
    }
}

/// The cause of an error that only passes on its text: the exit code depends on the cause.
pub(crate) fn without_transparent(error: PlanError) -> anyhow::Error {
    match error {
        PlanError::Placement(error)
        | PlanError::Selection { error: SelectionError::Placement(error), .. } => error.into(),
        error => error.into(),
    }
}

/// What to do where the cluster is too small, which is often this machine instead of the real one, or one
/// node of it.
fn with_next_step(error: anyhow::Error, cluster: &Cluster) -> anyhow::Error {
    match error.downcast_ref() {
        Some(PlacementError::TooFewSlots { ranks, slots, .. })
            if inputs::stands_for_many(cluster) && *slots >= cluster.nodes.len() =>
        {
            let enough = ranks.div_ceil(slots / cluster.nodes.len());
            Infeasible(format!("{error}; --nodes {enough} takes as many nodes of this kind")).into()
        }
        Some(PlacementError::TooFewSlots { ranks, unit, .. }) => {
            // `core`, `PU` or `group of 4 cores`
            let cores_of_rank = unit.split(' ').find_map(|word| word.parse().ok()).unwrap_or(1);
            let larger = larger_cluster(ranks.saturating_mul(cores_of_rank));
            Infeasible(format!(
                "{error}; for a larger cluster: describe it (`rankwright cluster discover` on a node of \
                 it), try {larger}, or emulate it (`rankwright lab`)"
            ))
            .into()
        }
        _ => error,
    }
}

/// The options for a cluster on which ranks that take these cores fill all nodes, four if they can: ranks
/// that fit on one node show no difference between placements.
pub(crate) fn larger_cluster(cores: usize) -> String {
    let of_package = cores.div_ceil(8).clamp(1, 64);
    let nodes = cores.div_ceil(2 * of_package).max(2);
    format!("--on \"synthetic:pack:2 core:{of_package} pu:1\" --nodes {nodes}")
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

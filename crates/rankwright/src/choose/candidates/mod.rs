//! Runs strategies and takes the best mapping of each as its candidate.

mod mappings;
mod progress;
mod run;
mod time_shares;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::evaluate::{fluid_evaluation, fluid_scores_in_slots, fluid_scores_while, static_score};
use super::race::race;
use super::replayed::replayed;
use super::{Evaluation, MappingEvaluation, NotSimulated};
use crate::cluster::Cluster;
use crate::estimate::Load;
use crate::map::{Budget, Clock, MapError, Problem, Strategy, StrategyError, StrategyId};
use crate::placement::{GpuUse, Mapping, Placement, PlacementError, PlacementFile};
use crate::rails::{Selection, SelectionError};
use crate::ranking::{Objective, ObjectiveRule, Rule, Score, rank};
use crate::sim::{Options, Pacing};
use crate::traffic::Workload;
use crate::units::Seconds;
use mappings::{Mappings, Proposed};
pub use progress::{Observer, PlanProgress};
use run::{Limits, run};

/// What a strategy puts up: its best mapping, or where it chooses among others, theirs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The strategy.
    pub strategy: StrategyId,
    /// Whose mapping it is: another strategy's, where this one chose it.
    pub made_by: StrategyId,
    /// The slot of each rank, among those of the problem.
    pub mapping: Mapping,
    /// The number of the mapping, among those of [`Candidates::evaluation`]: equal mappings have
    /// equal numbers.
    pub number: usize,
    /// Where the ranks are.
    pub placement: Placement,
    /// What passes network devices and memories.
    pub load: Load,
    /// How many moves a search tried; 0 for strategies that do not search.
    pub moves: u64,
    /// How long the ranks compute, where that depends on the mapping.
    pub computing: Option<Computing>,
    /// What it is ranked by: bytes always, times where it was evaluated.
    pub score: Score,
    /// Its times, where it was evaluated.
    pub evaluation: Option<MappingEvaluation>,
}

/// How long ranks compute on nodes of different speed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Computing {
    /// The longest of any rank.
    pub makespan: Seconds,
    /// No mapping has a shorter one.
    pub lower_bound: Seconds,
    /// Whether it is as short as the limit asks for ([`Planner::balance`](super::Planner::balance)).
    pub is_balanced: bool,
}

impl Candidate {
    /// The placement as it is written to `placement.json`.
    #[must_use]
    pub fn file(&self, cluster: &Cluster, workload: &Workload) -> PlacementFile {
        PlacementFile::new(cluster, workload, &self.placement, self.load.predicted())
    }
}

impl Computing {
    fn new(problem: &Problem, mapping: &Mapping) -> Option<Self> {
        let (balance, slot_of) = (problem.compute_balance()?, mapping.as_indices());
        Some(Self {
            makespan: balance.makespan(slot_of),
            lower_bound: balance.lower_bound(),
            is_balanced: balance.is_met(slot_of),
        })
    }
}

/// The candidates of several strategies.
#[derive(Debug)]
pub struct Candidates {
    /// The candidate of each strategy, or why there is none; position is that of the strategy.
    pub results: Vec<Result<Candidate, PlanError>>,
    /// The times of all different mappings, where they were evaluated.
    pub evaluation: Option<Evaluation>,
    /// Why they were not simulated, where they should have been.
    pub not_simulated: Option<NotSimulated>,
    /// Whether the observer ended the search or the simulation.
    pub stopped: bool,
}

/// What strategies and evaluations may use, and by what mappings are compared.
#[derive(Clone, Copy)]
pub struct ChooseOptions<'a> {
    /// How many strategies or simulations may run at the same time.
    pub threads: NonZeroUsize,
    /// The share of the time that has passed, where time is limited: strategies that search and the
    /// simulations share it. The result then depends on the machine.
    pub clock: Option<&'a Clock<'a>>,
    /// What should be small, where message timing is known.
    pub objective: Objective,
    /// How mappings are simulated. The seed is that of the choice: the runs draw from seeds of 2^63
    /// and more that follow from it, so none has a seed that a user can simulate the result with.
    pub simulation: Options,
    /// How many messages may be simulated, over all mappings and runs; with 0 open loops are
    /// evaluated in the fluid, closed ones not at all.
    pub messages: u64,
    /// With how many seeds a mapping is simulated at most; 16 times as many where that takes little
    /// of the messages.
    pub seeds: usize,
    /// Whether all mappings are evaluated, also where no strategy needs that.
    pub evaluate_all: bool,
    /// The strategy that places as the launcher does by default; `None`: `blocked`.
    pub launcher_default: Option<&'a StrategyId>,
    /// How the ranks use GPUs.
    pub gpus: GpuUse,
    /// How many each of them takes in turn, where they are ordered by GPU.
    pub gpus_per_rank: usize,
    /// Whether that strategy is evaluated for comparison only and cannot win.
    pub default_is_reference: bool,
    /// Called from several threads with what is being done; when it breaks, no other strategy begins,
    /// searches and simulations end, and the best so far is the result.
    pub observer: &'a Observer<'a>,
}

impl ChooseOptions<'_> {
    /// By what mappings of a problem are compared where their times are known.
    #[must_use]
    pub fn rule(&self, problem: &Problem) -> ObjectiveRule {
        let closed_loop = self.simulation.pacing != Pacing::Open;
        ObjectiveRule { objective: self.objective, closed_loop, ranks: problem.rank_count() }
    }

    /// Whether time is limited and over.
    pub(super) fn is_late(&self) -> bool {
        self.clock.is_some_and(|clock| clock() >= 1.0)
    }

    /// Whether a strategy places as the launcher does by default.
    fn is_launcher_default(&self, strategy: &StrategyId) -> bool {
        match self.launcher_default {
            Some(default) => default == strategy,
            None => strategy.is_blocked(),
        }
    }
}

impl Default for ChooseOptions<'_> {
    fn default() -> Self {
        Self {
            threads: NonZeroUsize::MIN,
            clock: None,
            objective: Objective::default(),
            simulation: Options::default(),
            messages: 100_000_000,
            seeds: 3,
            evaluate_all: false,
            launcher_default: None,
            gpus: GpuUse::None,
            gpus_per_rank: 1,
            default_is_reference: false,
            observer: &|_| ControlFlow::Continue(()),
        }
    }
}

/// Why planning failed, or why a strategy has no candidate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The strategy failed.
    #[error("{strategy}: {error}")]
    Map {
        /// The strategy.
        strategy: StrategyId,
        /// What went wrong.
        error: MapError,
    },
    /// One whose mapping it needs cannot take its options.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// Its ranks cannot be given network devices.
    #[error("network devices chosen by `{selection}`: {error}")]
    Selection {
        /// How they were to be chosen.
        selection: String,
        /// Why not.
        error: SelectionError,
    },
    /// The ranks do not fit, or a mapping is not a valid placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// No strategy was named.
    #[error("no strategy was named")]
    NoStrategy,
}

impl PlanError {
    pub(super) fn selection(selection: &Selection, error: SelectionError) -> Self {
        Self::Selection { selection: selection.to_string(), error }
    }
}

/// The candidates of strategies. Those that start from others run after them. Where a strategy has
/// several mappings, or chooses among those of others, the evaluation decides.
#[must_use]
pub fn candidates(
    problem: &Problem,
    strategies: &[Strategy],
    options: &ChooseOptions,
) -> Candidates {
    let stopped = AtomicBool::new(false);
    let observer = |progress: &PlanProgress| {
        let answer = (options.observer)(progress);
        stopped.fetch_or(answer.is_break(), Ordering::Relaxed);
        answer
    };
    let options = &ChooseOptions { observer: &observer, ..*options };
    let mut mappings = Mappings::new(problem, strategies, options);
    let needs_evaluation =
        |strategy: &Strategy| strategy.chooses() || mappings.of(strategy).len() > 1;
    let wanted = options.evaluate_all || strategies.iter().any(needs_evaluation);
    let (evaluation, not_simulated) = if wanted && has_message_timing(problem) {
        evaluate(problem, &mut mappings, options)
    } else {
        (None, None)
    };
    let result = |strategy: &Strategy| {
        let proposed = best_proposed(problem, strategy, &mappings, evaluation.as_ref(), options)?;
        Ok(candidate(problem, strategy.id(), &mappings, &proposed, (evaluation.as_ref(), options)))
    };
    let results = strategies.iter().map(result).collect();
    Candidates { results, evaluation, not_simulated, stopped: stopped.into_inner() }
}

/// The mapping of a strategy, where nothing can be placed or simulated, as on a bare graph. Of one
/// that chooses among others it is the best in the fluid, or without message timing the one with the
/// least bytes times distance.
///
/// # Errors
/// If the strategy fails, or all that it chooses among.
pub fn map(problem: &Problem, strategy: &Strategy, budget: &Budget) -> Result<Mapping, MapError> {
    if !strategy.chooses() {
        return strategy.map(problem, budget);
    }
    let others =
        strategy.others().map_err(|error| MapError::Invalid { what: error.to_string() })?;
    let clock = || budget.time_passed().unwrap_or(1.0);
    let clock: Option<&Clock> = if budget.time_passed().is_some() { Some(&clock) } else { None };
    let limits = Limits {
        threads: budget.threads(),
        clock,
        simulated: false,
        selects: false,
        launcher_default: None,
        observer: &|_| ControlFlow::Continue(()),
    };
    let runs = run(problem, &others.iter().collect::<Vec<_>>(), &limits);
    budget.count_moves(runs.iter().map(|run| run.moves).sum());
    let (mut mappings, mut failure) = (Vec::new(), None);
    for run in runs {
        match run.mappings {
            Ok(placed) => mappings.extend(placed.into_iter().map(|placed| placed.mapping)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let (true, Some(error)) = (mappings.is_empty(), failure) {
        return Err(error);
    }
    let timed = has_message_timing(problem);
    let in_fluid = || fluid_scores_in_slots(problem, problem.workload, mappings.iter());
    let ranking = match timed.then(in_fluid).flatten() {
        Some(scores) => {
            let objective = strategy.objective().unwrap_or_default();
            let (closed_loop, ranks) = (problem.is_closed_loop(), problem.rank_count());
            let rule = ObjectiveRule { objective, closed_loop, ranks };
            rank(&scores, &Rule::Objective(rule))
        }
        None => {
            let score = |mapping: &Mapping| {
                let hop_bytes = Some(problem.cost(mapping.as_indices()));
                Score { hop_bytes, ..Score::default() }
            };
            rank(&mappings.iter().map(score).collect::<Vec<_>>(), &Rule::HopBytes)
        }
    };
    Ok(mappings.swap_remove(ranking.best()))
}

/// Whether all jobs that send have message timing.
fn has_message_timing(problem: &Problem) -> bool {
    let jobs = &problem.workload.jobs;
    jobs.iter().all(|job| !job.sources.is_empty() || job.flows.is_empty())
        && jobs.iter().any(|job| !job.sources.is_empty())
}

/// Evaluates all mappings: by simulation, where that is not possible in the fluid. Leaves out those for
/// which there is no time.
fn evaluate(
    problem: &Problem,
    mappings: &mut Mappings,
    options: &ChooseOptions,
) -> (Option<Evaluation>, Option<NotSimulated>) {
    if mappings.placed().is_empty() {
        return (None, None);
    }
    // The fluid knows nothing of senders that wait.
    let open = options.simulation.pacing == Pacing::Open;
    let fluid = if open { in_fluid(problem, mappings, options) } else { None };
    let placed = mappings.placed();
    let late = open && fluid.is_none() && options.is_late();
    let not_simulated = match options.messages {
        0 => None,
        _ if late => Some(NotSimulated::Late),
        _ => match race(problem, placed, fluid.clone(), options) {
            Ok(mut evaluation) => {
                let default = mappings.of_default(options);
                let replay = replayed(problem, placed, default, &mut evaluation, options);
                if let Err(error) = replay {
                    evaluation.not_replayed = Some(error.to_string());
                }
                return (Some(evaluation), None);
            }
            Err(not_simulated) => Some(not_simulated),
        },
    };
    let rule = options.rule(problem);
    (fluid.map(|scores| fluid_evaluation(scores, rule)), not_simulated)
}

/// The scores of mappings in the fluid, while there is time, the most promising first: others are left
/// out. `None` if there was time for less than two of several, or a slot does not exist.
fn in_fluid(
    problem: &Problem,
    mappings: &mut Mappings,
    options: &ChooseOptions,
) -> Option<Vec<Score>> {
    let (placed, order) = (mappings.placed(), mappings.by_promise(options));
    let goes_on = || !options.is_late();
    let scores = fluid_scores_while(problem, placed, &order, options.threads, &goes_on)?;
    if scores.iter().flatten().count() < scores.len().min(2) {
        return None;
    }
    mappings.retain(|number| scores[number].is_some());
    Some(scores.into_iter().flatten().collect())
}

/// The mapping that a strategy is given: of its own the best; where it chooses among others, or
/// started from them and all were evaluated, of all.
fn best_proposed<'a>(
    problem: &Problem,
    strategy: &Strategy,
    mappings: &'a Mappings,
    evaluation: Option<&Evaluation>,
    options: &ChooseOptions,
) -> Result<Proposed<'a>, PlanError> {
    if !strategy.chooses() {
        mappings.failure(strategy)?;
    }
    let mut pool = mappings.of(strategy);
    if strategy.chooses() || (strategy.starts_from_others() && evaluation.is_some()) {
        let is_other = |proposed: &Proposed| proposed.strategy != strategy.id();
        pool.extend(mappings.proposed().filter(is_other));
    }
    if let Some(balance) = problem.compute_balance() {
        let is_met = |proposed: &Proposed| balance.is_met(mappings.mapping(proposed).as_indices());
        if pool.iter().any(is_met) {
            pool.retain(is_met);
        }
    }
    let Some(first) = pool.first().copied() else {
        mappings.any_failure()?;
        return Err(PlanError::Map {
            strategy: strategy.id().clone(),
            error: MapError::Invalid { what: "no strategy gave a mapping".to_owned() },
        });
    };
    let ranking = if let Some(evaluation) = evaluation {
        let objective = strategy.objective().unwrap_or(options.objective);
        let rule = ObjectiveRule { objective, ..evaluation.rule };
        let score = |proposed: &Proposed| evaluation.mappings[proposed.number].score;
        rank(&pool.iter().map(score).collect::<Vec<_>>(), &Rule::Objective(rule))
    } else if strategy.chooses() && pool.len() > 1 {
        let score = |proposed: &Proposed| {
            candidate(problem, proposed.strategy, mappings, proposed, (None, options)).score
        };
        rank(&pool.iter().map(score).collect::<Vec<_>>(), &Rule::Static)
    } else {
        return Ok(first);
    };
    Ok(pool[ranking.best()])
}

fn candidate(
    problem: &Problem,
    strategy: &StrategyId,
    mappings: &Mappings,
    proposed: &Proposed,
    (evaluation, options): (Option<&Evaluation>, &ChooseOptions),
) -> Candidate {
    let mapping = mappings.mapping(proposed);
    let placement = mappings.placement(proposed).clone().named(strategy.to_string());
    let load = Load::new(problem.cluster, problem.levels(), problem.workload, &placement);
    let computing = Computing::new(problem, mapping);
    let evaluation = evaluation.map(|evaluation| evaluation.mappings[proposed.number].clone());
    let launcher_default = options.is_launcher_default(strategy);
    let times = evaluation.as_ref().map(|evaluation| evaluation.score).unwrap_or_default();
    let score = Score {
        waiting: times.waiting,
        finish: times.finish,
        total_finish: times.total_finish,
        launcher_default,
        reference: launcher_default && options.default_is_reference,
        ..static_score(&placement, &load, computing)
    };
    Candidate {
        strategy: strategy.clone(),
        made_by: proposed.strategy.clone(),
        mapping: mapping.clone(),
        number: proposed.number,
        placement,
        load,
        moves: proposed.moves,
        computing,
        score,
        evaluation,
    }
}

//! Runs strategies side by side, and lets those that give several answers be judged.

mod answers;
mod time;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use super::settle::{Contender, Measure, Settled, Settling, Unsettled, predict, settle};
use super::{Observer, Verdict, judge};
use crate::estimate::Load;
use crate::map::{
    Clock, Cost, Criterion, MapError, Objective, Problem, Strategy, StrategyError, StrategyId,
};
use crate::placement::{Mapping, Placement, PlacementError};
use crate::rails::{Selection, SelectionError};
use crate::sim::{Options, Pacing};
use crate::units::Seconds;
use answers::{Answers, Made};

/// A placement that a strategy made, with what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The strategy with its options, as on the command line.
    pub strategy: StrategyId,
    /// Whose mapping it is: another strategy's, where this one chose it.
    pub made_by: StrategyId,
    /// The slot of each rank, among those of the problem.
    pub mapping: Mapping,
    /// The placement.
    pub placement: Placement,
    /// Its load.
    pub load: Load,
    /// How many moves a search tried; 0 for strategies that do not search.
    pub moves: u64,
    /// How long the ranks compute, where that depends on the placement.
    pub computing: Option<Computing>,
    /// What it costs in time, where that was judged, with its position among the answers in
    /// [`Found::settled`].
    pub judged: Option<(usize, Measure)>,
}

/// How long ranks compute on nodes of different speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Computing {
    /// The longest of any rank.
    pub makespan: Seconds,
    /// No placement has a shorter one.
    pub lower_bound: Seconds,
    /// Whether it is as short as [`ComputeBalance`](crate::map::ComputeBalance) wants it.
    pub is_balanced: bool,
}

impl Computing {
    fn of(problem: &Problem, slot_of: &[usize]) -> Option<Self> {
        let balance = problem.compute_balance()?;
        Some(Self {
            makespan: balance.makespan(slot_of),
            lower_bound: balance.lower_bound(),
            is_balanced: balance.is_met(slot_of),
        })
    }
}

/// What strategies gave.
#[derive(Debug)]
pub struct Found {
    /// The candidate of each strategy, or why it gave none, in their order.
    pub candidates: Vec<Result<Candidate, SearchError>>,
    /// How the answers were judged, where they were: by simulation, or if its share is 0, by the
    /// model.
    pub settled: Option<Settled>,
    /// Why they were not simulated, where they should have been.
    pub unsettled: Option<Unsettled>,
}

/// What a search may do beside its strategies, and how their answers are judged.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// How many strategies or simulations may run at the same time.
    pub threads: NonZeroUsize,
    /// The share of the time that has passed, where time is limited: strategies that search and the
    /// simulations share it. The result then depends on the machine.
    pub clock: Option<&'a Clock<'a>>,
    /// What answers are judged by where jobs say when they send.
    pub objective: Objective,
    /// How they are simulated.
    pub simulation: Options,
    /// How many messages may be simulated; with 0 the model judges open loops, and the static
    /// judge closed ones.
    pub messages: u64,
    /// With how many seeds at most.
    pub seeds: usize,
    /// Whether all answers are judged, also where no strategy needs that.
    pub judge_all: bool,
    /// Told how many messages have been simulated; when it breaks, nothing is settled.
    pub observer: &'a Observer<'a>,
}

/// Why a strategy gave no candidate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The strategy failed.
    #[error("{strategy}: {error}")]
    Map {
        /// The strategy.
        strategy: StrategyId,
        /// What went wrong.
        error: MapError,
    },
    /// One whose answers it needs cannot take its options.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// Its ranks cannot be given network devices.
    #[error("network devices by {selection}: {error}")]
    Selection {
        /// How they were to be chosen.
        selection: String,
        /// Why not.
        error: SelectionError,
    },
    /// What it made is no placement.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

impl SearchError {
    fn selection(selection: &Selection, error: SelectionError) -> Self {
        Self::Selection { selection: selection.to_string(), error }
    }
}

impl Default for Search<'_> {
    fn default() -> Self {
        Self {
            threads: NonZeroUsize::MIN,
            clock: None,
            objective: Objective::default(),
            simulation: Options::default(),
            messages: 100_000_000,
            seeds: 3,
            judge_all: false,
            observer: &|_| ControlFlow::Continue(()),
        }
    }
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("threads", &self.threads)
            .field("time_passed", &self.clock.map(|clock| clock()))
            .field("objective", &self.objective)
            .field("simulation", &self.simulation)
            .field("messages", &self.messages)
            .field("seeds", &self.seeds)
            .field("judge_all", &self.judge_all)
            .finish_non_exhaustive()
    }
}

/// The candidate of each strategy. Strategies that begin with the answers of others run after them,
/// each strategy once, also those that nobody named but whose answers are needed.
///
/// Where a strategy gives several answers, or chooses among those of others, or the search says so,
/// all answers are judged together: by simulation where the jobs say when they send, else by their
/// load. A strategy that begins with the answers of others is given the best of all, its own or theirs,
/// so by that measure it is never worse than they are.
///
/// The result does not depend on the number of threads.
#[must_use]
pub fn candidates(problem: &Problem, strategies: &[Strategy], search: &Search) -> Found {
    let answers = Answers::new(problem, strategies, search);
    let several = |strategy: &Strategy| strategy.chooses() || answers.of(strategy).len() > 1;
    let judged = search.judge_all || strategies.iter().any(several);
    let (settled, unsettled) = match judged && has_clocks(problem) {
        true => settle_answers(problem, &answers, search),
        false => (None, None),
    };
    let candidates = strategies.iter().map(|strategy| {
        let made = choose(problem, strategy, &answers, settled.as_ref(), search)?;
        Ok(candidate(problem, strategy.id(), &answers, made, settled.as_ref()))
    });
    Found { candidates: candidates.collect(), settled, unsettled }
}

/// Whether all jobs that send say when.
fn has_clocks(problem: &Problem) -> bool {
    let jobs = &problem.workload.jobs;
    jobs.iter().all(|job| !job.sources.is_empty() || job.flows.is_empty())
        && jobs.iter().any(|job| !job.sources.is_empty())
}

fn settle_answers(
    problem: &Problem,
    answers: &Answers,
    search: &Search,
) -> (Option<Settled>, Option<Unsettled>) {
    let contenders: Vec<Contender> = answers.contenders();
    if contenders.is_empty() {
        return (None, None);
    }
    let settling = Settling {
        objective: search.objective,
        simulation: search.simulation,
        messages: search.messages,
        seeds: search.seeds,
        threads: search.threads,
        clock: search.clock,
        observer: search.observer,
    };
    let unsettled = match search.messages {
        0 => None,
        _ => match settle(problem, &contenders, &settling) {
            Ok(settled) => return (Some(settled), None),
            Err(unsettled) => Some(unsettled),
        },
    };
    // The fluid knows nothing of senders that wait.
    let open = search.simulation.pacing == Pacing::Open;
    let predicted =
        open.then(|| predict(problem, &contenders, settling.criterion(problem))).flatten();
    (predicted, unsettled)
}

/// The answer that a strategy is given.
fn choose<'a>(
    problem: &Problem,
    strategy: &Strategy,
    answers: &'a Answers,
    settled: Option<&Settled>,
    search: &Search,
) -> Result<&'a Made, SearchError> {
    let mut pool = answers.of(strategy);
    let all = strategy.chooses() || (strategy.starts_from_others() && settled.is_some());
    if !strategy.chooses() {
        answers.failure(strategy)?;
    }
    if all {
        let others =
            answers.made().filter(|made| pool.iter().all(|own| own.strategy != made.strategy));
        pool.extend(others.collect::<Vec<_>>());
    }
    if let Some(balance) = problem.compute_balance()
        && pool.iter().any(|made| balance.is_met(made.mapping.as_indices()))
    {
        pool.retain(|made| balance.is_met(made.mapping.as_indices()));
    }
    let Some(first) = pool.first().copied() else {
        answers.any_failure()?;
        return Err(SearchError::Map {
            strategy: strategy.id().clone(),
            error: MapError::Invalid { what: "there is no answer".to_owned() },
        });
    };
    if let Some(settled) = settled {
        let objective = strategy.objective().unwrap_or(search.objective);
        let criterion = Criterion { objective, ..settled.criterion };
        let cost = |made: &&Made| settled.measures[made.contender].times.cost();
        let costs: Vec<Cost> = pool.iter().map(cost).collect();
        return Ok(pool[criterion.best(&costs)]);
    }
    if !strategy.chooses() || pool.len() == 1 {
        return Ok(first);
    }
    let of = |made: &&Made| candidate(problem, &made.strategy, answers, made, None);
    let candidates: Vec<Candidate> = pool.iter().map(of).collect();
    let verdict: Verdict = judge(problem.cluster, &candidates);
    Ok(pool[verdict.best])
}

fn candidate(
    problem: &Problem,
    strategy: &StrategyId,
    answers: &Answers,
    made: &Made,
    settled: Option<&Settled>,
) -> Candidate {
    let placement = answers.placement(made, strategy);
    let load = Load::new(problem.cluster, problem.levels(), problem.workload, &placement);
    let judged = settled.map(|settled| (made.contender, settled.measures[made.contender].clone()));
    Candidate {
        strategy: strategy.clone(),
        made_by: made.strategy.clone(),
        mapping: made.mapping.clone(),
        placement,
        load,
        moves: made.moves,
        computing: Computing::of(problem, made.mapping.as_indices()),
        judged,
    }
}

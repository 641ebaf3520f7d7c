//! The answers of all strategies that are named or needed.

use std::num::NonZeroUsize;

use super::time::Shares;
use super::{Contender, Search, SearchError, has_clocks};
use crate::map::{Budget, DeviceMapping, MapError, Problem, Start, Strategy, StrategyId};
use crate::parallel;
use crate::placement::{JobShape, Mapping, Placement};
use crate::rails;

/// All answers, by strategy: first those of strategies that begin with nothing, then those of the
/// others, each in the order in which they were named or needed.
pub(super) struct Answers {
    of: Vec<Of>,
    placements: Vec<Placement>,
}

/// The answers of a strategy, or why there is none.
struct Of {
    strategy: StrategyId,
    made: Result<Vec<Made>, SearchError>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// The strategy that gave it.
    pub(super) strategy: StrategyId,
    pub(super) mapping: Mapping,
    /// The network devices of its ranks, if the strategy chose them.
    nics: Option<Vec<Vec<String>>>,
    /// Whether its ranks are bound to their slots.
    pub(super) binds: bool,
    pub(super) moves: u64,
    /// Its position among all that differ.
    pub(super) contender: usize,
}

impl Made {
    /// Whether another answer is the same, whoever gave it.
    fn is_same(&self, other: &Self) -> bool {
        (&self.mapping, &self.nics, self.binds) == (&other.mapping, &other.nics, other.binds)
    }

    /// It as a placement with network devices.
    fn placement(&self, problem: &Problem) -> Result<Placement, SearchError> {
        let (cluster, shapes) = (problem.cluster, JobShape::of(problem.workload));
        let slots = problem.slots();
        let (strategy, slot_of) = (self.strategy.to_string(), self.mapping.as_indices());
        let bound = Placement::from_slots(cluster, &shapes, &strategy, slots, slot_of)?;
        let placement = if self.binds { bound } else { bound.unbound(cluster) };
        let selection = problem.selection();
        match &self.nics {
            Some(nics) => Ok(placement.with_devices(cluster, nics.clone())?),
            None if selection.is_none() => Ok(placement),
            None => rails::select(cluster, problem.workload, placement, selection)
                .map_err(|error| SearchError::selection(selection, error)),
        }
    }
}

impl Answers {
    pub(super) fn new(problem: &Problem, strategies: &[Strategy], search: &Search) -> Self {
        let mut of = Vec::new();
        let mut others = Vec::new();
        for strategy in strategies {
            match strategy.others() {
                Ok(found) => others.extend(found),
                Err(error) => {
                    of.push(Of { strategy: strategy.id().clone(), made: Err(error.into()) });
                }
            }
        }
        let mut needed: Vec<&Strategy> = Vec::new();
        for strategy in strategies.iter().chain(&others) {
            if !strategy.chooses() && needed.iter().all(|other| other.id() != strategy.id()) {
                needed.push(strategy);
            }
        }
        let mut answers = Self { of, placements: Vec::new() };
        answers.run(problem, &needed, search);
        answers.number(problem, search.threads);
        answers
    }

    fn run(&mut self, problem: &Problem, needed: &[&Strategy], search: &Search) {
        let searches = needed.iter().filter(|strategy| strategy.searches()).count();
        let simulated = search.messages > 0 && has_clocks(problem);
        let shares = search.clock.map(|clock| Shares::new(clock, searches, simulated));
        let run = |strategy: &Strategy, threads, starts: &[Start]| {
            let clock = shares.as_ref().map(|shares| shares.begin(strategy));
            let budget = Budget::default().with_threads(threads).with_starts(starts);
            let budget = match &clock {
                Some(clock) => budget.with_clock(clock),
                None => budget,
            };
            Of::new(problem, strategy, &budget)
        };
        let (last, first): (Vec<&Strategy>, Vec<&Strategy>) =
            needed.iter().partition(|strategy| strategy.starts_from_others());
        let found = parallel::map(&first, search.threads, |_, strategy| {
            run(strategy, NonZeroUsize::MIN, &[])
        });
        self.of.extend(found);
        for strategy in last {
            let start = |made: &Made| Start {
                strategy: made.strategy.clone(),
                mapping: made.mapping.clone(),
            };
            let starts: Vec<Start> = self.made().map(start).collect();
            self.of.push(run(strategy, search.threads, &starts));
        }
    }

    /// Numbers the answers and makes placements of them; equal ones have the number of the first. One
    /// whose ranks cannot be given devices is left out, unless that is all of its strategy's.
    fn number(&mut self, problem: &Problem, threads: NonZeroUsize) {
        let mut different: Vec<Made> = Vec::new();
        for made in self.of.iter_mut().filter_map(|of| of.made.as_mut().ok()).flatten() {
            let known = different.iter().position(|known| known.is_same(made));
            made.contender = known.unwrap_or(different.len());
            if known.is_none() {
                different.push(made.clone());
            }
        }
        let placements = parallel::map(&different, threads, |_, made| made.placement(problem));
        let mut numbers = Vec::with_capacity(placements.len());
        for placement in &placements {
            numbers.push(self.placements.len());
            self.placements.extend(placement.as_ref().ok().cloned());
        }
        for of in &mut self.of {
            let Ok(made) = &mut of.made else { continue };
            let failure = made.iter().find_map(|made| placements[made.contender].as_ref().err());
            let failure = failure.cloned();
            made.retain(|made| placements[made.contender].is_ok());
            for made in made.iter_mut() {
                made.contender = numbers[made.contender];
            }
            match failure {
                Some(SearchError::Selection { .. }) if !made.is_empty() => (),
                Some(error) => of.made = Err(error),
                None => (),
            }
        }
    }

    /// An answer as a placement, which is said to be of this strategy.
    pub(super) fn placement(&self, made: &Made, strategy: &StrategyId) -> Placement {
        self.placements[made.contender].clone().named(&strategy.to_string())
    }

    /// All that differ.
    pub(super) fn contenders(&self) -> Vec<Contender<'_>> {
        let slot_of = |number: usize| self.made().find(|made| made.contender == number);
        let numbered = self.placements.iter().enumerate();
        numbered
            .filter_map(|(number, placement)| {
                Some(Contender { slot_of: slot_of(number)?.mapping.as_indices(), placement })
            })
            .collect()
    }

    /// All answers.
    pub(super) fn made(&self) -> impl Iterator<Item = &Made> {
        self.of.iter().filter_map(|of| of.made.as_ref().ok()).flatten()
    }

    /// Those of a strategy.
    pub(super) fn of(&self, strategy: &Strategy) -> Vec<&Made> {
        self.made().filter(|made| made.strategy == *strategy.id()).collect()
    }

    /// An error if a strategy failed.
    pub(super) fn failure(&self, strategy: &Strategy) -> Result<(), SearchError> {
        self.first_failure(|of| of.strategy == *strategy.id())
    }

    /// An error if any strategy failed.
    pub(super) fn any_failure(&self) -> Result<(), SearchError> {
        self.first_failure(|_| true)
    }

    fn first_failure(&self, wanted: impl Fn(&Of) -> bool) -> Result<(), SearchError> {
        let failed = self.of.iter().filter(|of| wanted(of)).find_map(|of| of.made.as_ref().err());
        failed.map_or(Ok(()), |error| Err(error.clone()))
    }
}

impl Of {
    fn new(problem: &Problem, strategy: &Strategy, budget: &Budget) -> Self {
        let id = strategy.id().clone();
        let answers = strategy.mappings_with_devices(problem, budget);
        let moves = budget.moves();
        let binds = strategy.binds();
        let made = |DeviceMapping { mapping, nics }| Made {
            strategy: id.clone(),
            mapping,
            nics,
            binds,
            moves,
            contender: 0,
        };
        let made = match answers {
            Ok(answers) => Ok(answers.into_iter().map(made).collect()),
            Err(MapError::Selection(error)) => {
                Err(SearchError::selection(problem.selection(), error))
            }
            Err(error) => Err(SearchError::Map { strategy: id.clone(), error }),
        };
        Self { strategy: id, made }
    }
}

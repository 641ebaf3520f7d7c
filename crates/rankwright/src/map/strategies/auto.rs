//! `auto`: the best answer of all other strategies.
//!
//! Who may simulate judges the answers of [`Strategy::others`] itself; here, where nothing may be
//! simulated, the waiting in a fluid decides, and bytes times distance where jobs do not say when
//! they send.

use crate::estimate::Fluid;
use crate::map::objective::{Cost, Criterion, Objective};
use crate::map::options::{EFFORT, MOVES, OBJECTIVE, OptionEntry, Options, SEED};
use crate::map::{Budget, MapError, Mapper, Problem, Start, Strategy, StrategyError, strategy};
use crate::placement::Mapping;

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[SEED, EFFORT, MOVES, OBJECTIVE];

#[derive(Debug)]
pub(in crate::map) struct Auto {
    others: Vec<Strategy>,
    objective: Objective,
}

impl Auto {
    pub(in crate::map) fn from_options(
        options: &Options,
    ) -> Result<Box<dyn Mapper>, StrategyError> {
        // Both are read by those of the others that search; a wrong value is an error of ours too.
        options.effort()?;
        options.moves()?;
        let others = strategy::others(options, |entry| entry.role.is_candidate())?;
        Ok(Box::new(Self { others, objective: options.objective()? }))
    }

    /// The mappings of all that give one.
    fn mappings_of_others(
        &self,
        problem: &Problem,
        budget: &Budget,
    ) -> Result<Vec<Start>, MapError> {
        let mut known: Vec<Start> = Vec::new();
        let mut failed = None;
        let (last, first): (Vec<&Strategy>, Vec<&Strategy>) =
            self.others.iter().partition(|strategy| strategy.starts_from_others());
        for strategy in first.into_iter().chain(last) {
            let inner = budget.starting_from(&known);
            let mappings = strategy.mappings(problem, &inner);
            budget.count_moves(inner.moves());
            match mappings {
                Ok(mappings) => {
                    let strategy = strategy.id();
                    let answer = |mapping| Start { strategy: strategy.clone(), mapping };
                    known.extend(mappings.into_iter().map(answer));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if known.is_empty() => Err(error),
            _ => Ok(known),
        }
    }

    /// The position of the best of some answers.
    fn best(&self, problem: &Problem, known: &[Start]) -> usize {
        let clocks = problem.workload.jobs.iter().all(|job| !job.sources.is_empty());
        let fluid = Fluid::new(problem.cluster, problem.workload, problem.slots());
        if let Some(mut fluid) = fluid.ok().filter(|_| clocks) {
            let cost = |known: &Start| {
                let outcome = fluid.evaluate(&known.mapping);
                Cost { waiting: outcome.total_waiting.0, finish: outcome.workload_finish.0 }
            };
            let costs: Vec<Cost> = known.iter().map(cost).collect();
            let (closed_loop, ranks) = (problem.is_closed_loop(), problem.rank_count());
            let criterion = Criterion { objective: self.objective, closed_loop, ranks };
            return criterion.best(&costs);
        }
        let cost = |at: &usize| problem.cost(known[*at].mapping.as_indices());
        (0..known.len()).min_by_key(cost).unwrap_or_default()
    }
}

impl Mapper for Auto {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let mut known = self.mappings_of_others(problem, budget)?;
        let best = self.best(problem, &known);
        Ok(known.swap_remove(best).mapping)
    }
}

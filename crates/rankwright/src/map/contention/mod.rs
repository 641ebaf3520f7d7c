//! `contention`: the least predicted waiting.
//!
//! It begins with the answers of all other strategies and anneals from the best of them, first by
//! the offered load ([`OfferedLoad`]: many steps), then by the fluid ([`Fluid`]: exact ones).

mod burst;
mod chain;
mod layout;
mod neighbourhood;
mod scale;
mod starts;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rayon::prelude::*;

use super::options::{EFFORT, MOVES, OBJECTIVE, OptionEntry, Options, SEED};
use super::{Budget, Effort, MapError, Mapper, Objective, Problem, StrategyError};
use crate::model::{Fluid, OfferedLoad};
use crate::placement::PlacementError;
use chain::{Chain, exactly, roughly};
use scale::{Measure, Scale};

pub(super) const OPTIONS: &[OptionEntry] = &[OBJECTIVE, EFFORT, SEED, MOVES];

/// Searches for the placement with the least predicted waiting.
#[derive(Debug, Clone)]
pub(super) struct Contention {
    objective: Objective,
    effort: Effort,
    seed: u64,
    /// Steps of all chains together.
    moves: Option<u64>,
}

/// The temperatures at which chains begin, in parts of what a step usually costs. Without a clock
/// each is walked once.
const HEATS: [f64; 4] = [0.1, 0.03, 0.3, 1.0];
/// How many times as much later every other chain lets the end be by the offered load: that is often wrong
/// about it, and what the fluid takes for late is not kept.
const PATIENCE: f64 = 4.0;

/// All that the chains have in common.
struct Search<'a> {
    problem: &'a Problem<'a>,
    budget: &'a Budget<'a>,
    scale: Scale,
    rough: Scale,
    fluid: Fluid,
    offered: OfferedLoad,
    /// Answers of other strategies with their costs, the best first.
    starts: Vec<(f64, Vec<usize>)>,
}

impl Contention {
    pub(super) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        Ok(Self {
            objective: options.objective()?,
            effort: options.effort()?,
            seed: options.seed()?,
            moves: options.moves()?,
        })
    }

    /// Steps of one chain: for each rank so many, but not more than fit into a while.
    fn steps(&self, ranks: usize) -> u64 {
        let (of_each_rank, most) = match self.effort {
            Effort::Fast => (400, 1 << 18),
            Effort::Normal => (4_000, 1 << 21),
            Effort::Best => (40_000, 1 << 26),
        };
        match self.moves {
            Some(moves) => moves.div_ceil(HEATS.len() as u64),
            None => (of_each_rank * ranks as u64).min(most),
        }
    }
}

impl Mapper for Contention {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Vec<usize>, MapError> {
        let mut answers = self.answers(problem, budget)?;
        Ok(answers.swap_remove(0))
    }

    /// The best of each chain and the best start, the one with the least cost first.
    fn answers(&self, problem: &Problem, budget: &Budget) -> Result<Vec<Vec<usize>>, MapError> {
        let starts = starts::starts(problem, budget)?;
        if problem.rank_count() < 2 {
            return Ok(starts);
        }
        let mut search = Search::new(self.objective, problem, budget, starts)?;
        let steps = self.steps(problem.rank_count());
        let chain = |number: usize| {
            // The best two in turn.
            let start = &search.starts[(number % 2).min(search.starts.len() - 1)].1;
            let seed = self.seed.wrapping_mul(1 << 16).wrapping_add(number as u64);
            search.chain(number, steps, seed).walk(start)
        };
        let threads = budget.threads().get();
        // All chains look at the same clock.
        let chains = if budget.time_passed().is_some() { threads } else { HEATS.len() };
        let found = side_by_side(0..chains, threads, chain);
        Ok(search.in_order(found))
    }
}

/// What `work` makes of each number, in their order, on so many threads.
fn side_by_side<R: Send>(
    numbers: Range<usize>,
    threads: usize,
    work: impl Fn(usize) -> R + Sync + Send,
) -> Vec<R> {
    let threads = threads.min(numbers.len());
    if threads > 1
        && let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build()
    {
        return pool.install(|| numbers.into_par_iter().map(work).collect());
    }
    numbers.map(work).collect()
}

impl<'a> Search<'a> {
    fn new(
        objective: Objective,
        problem: &'a Problem,
        budget: &'a Budget,
        starts: Vec<Vec<usize>>,
    ) -> Result<Self, MapError> {
        let invalid = |error: PlacementError| MapError::Invalid { what: error.to_string() };
        let workload = burst::with_clocks(problem.workload);
        let (cluster, slots) = (problem.cluster, problem.slots());
        let mut fluid = Fluid::new(cluster, &workload, slots).map_err(invalid)?;
        let mut offered =
            OfferedLoad::new(cluster, &workload, slots, &starts[0]).map_err(invalid)?;
        let (mut exact, mut rough) = (Vec::new(), Vec::new());
        for start in &starts {
            offered.restart(start);
            exact.push(exactly(&mut fluid, &offered));
            rough.push(roughly(&offered));
        }
        let scale =
            |measures: &[Measure]| Scale::new(objective, problem.is_closed_loop(), measures);
        let (scale, rough) = (scale(&exact), scale(&rough).with_smooth_end());
        let costs = exact.iter().map(|measure| scale.cost(measure));
        let mut starts: Vec<(f64, Vec<usize>)> = costs.zip(starts).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Self { problem, budget, scale, rough, fluid, offered, starts })
    }

    /// The chain with a number.
    fn chain(&self, number: usize, steps: u64, seed: u64) -> Chain<'_> {
        let patience = if number % 2 == 1 { PATIENCE } else { 1.0 };
        let pairs = self.offered.lone_pairs() as u64;
        Chain {
            problem: self.problem,
            budget: self.budget,
            scale: self.scale,
            rough: self.rough.with_patience(patience),
            fluid: self.fluid.clone(),
            offered: self.offered.clone(),
            steps,
            // Longer ones where they take longer.
            evaluations: steps / (50 + pairs / 8),
            heat: HEATS[number % HEATS.len()],
            seed,
        }
    }

    /// Placements and the best start by their costs, each once.
    fn in_order(&mut self, found: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let mut answers = vec![self.starts.swap_remove(0)];
        for slot_of in found {
            self.offered.restart(&slot_of);
            let cost = self.scale.cost(&exactly(&mut self.fluid, &self.offered));
            if answers.iter().all(|(_, known)| *known != slot_of) {
                answers.push((cost, slot_of));
            }
        }
        answers.sort_by(|a, b| a.0.total_cmp(&b.0));
        answers.into_iter().map(|(_, slot_of)| slot_of).collect()
    }
}

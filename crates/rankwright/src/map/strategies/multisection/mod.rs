//! `multisection`: divide the ranks along the tree of the cluster, then search on traffic times
//! distance itself.

mod annealing;
mod bin_codes;
mod construct;
mod cycle;
mod descent;
mod generator;
mod local_search;
mod moves;
mod search;
mod seating;
#[cfg(test)]
mod testing;
mod tiles;
mod tournament;

use search::{Aim, search};

use crate::map::options::{EFFORT, MOVES, OptionEntry, Options, SEED, WEIGHTS};
use crate::map::search::graph::EdgeWeights;
use crate::map::{Budget, Effort, MapError, Mapper, Problem, StrategyError};
use crate::placement::Mapping;

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[EFFORT, MOVES, SEED, WEIGHTS];

/// Hierarchical multisection and local search on J, the sum of weight times distance.
///
/// First assignments are made by dividing the ranks from the top of the tree down, and of grids also
/// by boxes of the grid. They are improved by descent and, but for [`Effort::Fast`], by annealings, of which the best go on for longer. With
/// more slots than ranks it uses the fewest nodes, in the order of the cluster, that hold all ranks.
///
/// With a clock it goes on as long as there is time; an end after as many moves gives the same
/// result, for any number of threads.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Multisection {
    effort: Effort,
    moves: Option<u64>,
    seed: u64,
    weights: EdgeWeights,
}

impl Multisection {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        let (effort, moves) = (options.effort()?, options.moves()?);
        Ok(Self { effort, moves, seed: options.seed()?, weights: options.weights()? })
    }
}

impl Mapper for Multisection {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let (tree, slot_of_bin) = problem.tree_of_fewest_nodes();
        let graph = problem.weighted_graph(self.weights);
        let capacity = vec![problem.limit(); tree.bin_count()];
        let aim = Aim {
            tree: &tree,
            graph: &graph,
            loads: problem.loads(),
            capacity: &capacity,
            effort: self.effort,
            moves: self.moves,
            seed: self.seed,
        };
        let bin_of = search(&aim, budget)?;
        let slots = bin_of.into_iter().map(|bin| slot_of_bin[bin as usize]).collect();
        Ok(problem.balanced(slots).into())
    }
}

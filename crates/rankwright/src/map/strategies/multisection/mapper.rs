//! `multisection` minimises J, the sum over all pairs of ranks of their bytes (or bytes per second)
//! times the distance of their cores: a quadratic assignment problem.
//!
//! * First assignments: multisection along the tree of the cluster by multilevel recursive bisection
//!   (Karypis and Kumar 1998; Sanders and Schulz 2011), for grids also tilings by boxes.
//! * Improvement: descent by swaps of vertices near each other in the tree (Schulz and Träff 2017,
//!   "Better process mapping and sparse quadratic assignment"), then simulated annealing
//!   (Kirkpatrick, Gelatt and Vecchi 1983) under successive halving (Karnin, Koren and Somekh 2013).
//!   Where many vertices share a bin, moves of single vertices over multilevel cycles instead.
//!
//! A bisection takes O(m log n) for m edges and n ranks, a trial swap O(degree); the number of trial
//! swaps per rank is fixed by the effort ([`super::effort`]). Memory is O(n + m).

use super::search::{Subproblem, search};
use crate::map::options::{EFFORT, MOVES, OptionEntry, Options, SEED, WEIGHTS};
use crate::map::search::graph::EdgeWeights;
use crate::map::{Budget, Effort, MapError, Mapper, Problem, StrategyError};
use crate::placement::Mapping;

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[EFFORT, MOVES, SEED, WEIGHTS];

/// Hierarchical multisection and local search on J.
///
/// With more slots than ranks it uses the fewest nodes, in the order of the cluster, that hold all
/// ranks. With a clock it continues as long as there is time; an end after as many moves gives the
/// same result, for any number of threads.
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
        let subproblem = Subproblem {
            tree: &tree,
            graph: &graph,
            loads: problem.loads(),
            capacity: &capacity,
            effort: self.effort,
            moves: self.moves,
            seed: self.seed,
        };
        let bin_of = search(&subproblem, budget)?;
        let slots = bin_of.into_iter().map(|bin| slot_of_bin[bin as usize]).collect();
        Ok(problem.balanced(slots).into())
    }
}

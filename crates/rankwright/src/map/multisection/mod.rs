//! `multisection`: the least traffic times distance, by dividing the ranks along the tree of the
//! machine.

mod construct;
mod cycle;
mod moves;

use super::graph::EdgeWeights;
use super::{Budget, Effort, MapError, Mapper, Problem};

use construct::{Request, construct};

/// Divides the ranks among the nodes, those of a node among its packages, and so on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Multisection {
    pub(super) seed: u64,
    pub(super) weights: EdgeWeights,
    pub(super) effort: Effort,
}

impl Mapper for Multisection {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Vec<usize>, MapError> {
        let (tree, slot_of_bin) = problem.tree_of_fewest_nodes();
        let graph = problem.weighted_graph(self.weights);
        let capacity = vec![problem.limit(); tree.bin_count()];
        let request = Request {
            tree: &tree,
            capacity: &capacity,
            effort: self.effort,
            seed: self.seed,
            threads: budget.threads(),
        };
        let bin_of = construct(request, &graph, problem.loads())?;
        Ok(bin_of.into_iter().map(|bin| slot_of_bin[bin as usize]).collect())
    }
}

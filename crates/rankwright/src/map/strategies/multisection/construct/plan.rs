//! How hard a construction tries.

use super::Request;
use crate::map::Effort;
use crate::map::search::graph::{Rating, Trials};
use crate::map::strategies::multisection::annealing::Shares;
use crate::map::strategies::multisection::cycle::Search;

/// How long to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// For each bisection on the way from all bins to the highest groups, where a division counts
    /// most.
    pub(super) highest: Trials,
    /// For each bisection between.
    pub(super) between: Trials,
    /// For each bisection among single bins.
    pub(super) lowest: Trials,
    /// For each division, where no vertices share bins.
    pub(super) annealing: Option<Annealing>,
    /// For each division into several groups, where vertices share bins.
    pub(super) division: Search,
    /// For the whole, where vertices share bins.
    pub(super) whole: Search,
}

/// How a division is annealed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annealing {
    /// How many trial swaps each vertex makes.
    pub(super) length: u64,
    pub(super) shares: Shares,
    /// Divisions into fewer groups stay as they are.
    pub(super) groups: usize,
}

impl Plan {
    pub(super) fn new(request: Request<'_>, one_each: bool) -> Self {
        let trials = |starts, cycles, branch_after| Trials {
            starts,
            cycles,
            branch_after,
            passes: 4,
            patience: 40,
            rating: Rating::Weight,
        };
        let quick = |starts, cycles, branch_after| Trials {
            passes: 2,
            patience: 25,
            ..trials(starts, cycles, branch_after)
        };
        let [highest, between, lowest] = match (request.effort, one_each) {
            (Effort::Fast, true) => [quick(4, 3, 3), quick(3, 2, 2), quick(3, 1, 0)],
            (_, true) => [trials(8, 8, 2), trials(8, 2, 2), trials(8, 1, 0)],
            (Effort::Fast, false) => {
                [Trials { rating: Rating::SquaredWeight, ..quick(4, 2, 2) }; 3]
            }
            (Effort::Normal, false) => [trials(4, 2, 2); 3],
            (Effort::Best, false) => [trials(4, 3, 1); 3],
        };
        let annealing = match (request.effort, request.hot) {
            (Effort::Fast, _) => None,
            (_, false) => Some(Annealing { length: 300, shares: [0.02, 0.0005], groups: 2 }),
            (_, true) => Some(Annealing { length: 1000, shares: [0.1, 0.0005], groups: 3 }),
        };
        let search = |cycles, rounds, patience, work| Search { cycles, rounds, patience, work };
        let (division, whole) = match request.effort {
            Effort::Fast => (search(0, 0, 0, 0), search(1, 1, 15, 20)),
            Effort::Normal => (search(1, 1, 10, 20), search(2, 1, 15, 50)),
            Effort::Best => (search(2, 3, 40, 200), search(3, 2, 25, 100)),
        };
        Self { highest, between, lowest, annealing, division, whole }
    }
}

//! The effort for each division.

use super::Request;
use crate::map::Effort;
use crate::map::search::graph::{BisectionEffort, Rating};
use crate::map::strategies::multisection::multilevel::CycleEffort;
use crate::map::strategies::multisection::swaps::AcceptanceRatios;

/// How long to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct DivisionPlan {
    /// For bisections among the groups of the highest level, where the cut costs most.
    pub(super) highest: BisectionEffort,
    /// For bisections among the groups of levels between.
    pub(super) between: BisectionEffort,
    /// For bisections among single bins.
    pub(super) lowest: BisectionEffort,
    /// For each division, where no vertices share bins.
    pub(super) annealing: Option<AnnealingPlan>,
    /// For each division into several groups, where vertices share bins.
    pub(super) division: CycleEffort,
    /// For the whole assignment, where vertices share bins.
    pub(super) whole: CycleEffort,
}

/// How a division is annealed.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnnealingPlan {
    /// Trial swaps per vertex.
    pub(super) length: u64,
    pub(super) ratios: AcceptanceRatios,
    /// Divisions into fewer groups are not annealed.
    pub(super) groups: usize,
}

impl DivisionPlan {
    pub(super) fn new(request: Request<'_>, one_each: bool) -> Self {
        let thorough = |starts, cycles, branch_after| BisectionEffort {
            starts,
            cycles,
            branch_after,
            passes: 4,
            patience: 40,
            rating: Rating::Weight,
        };
        let quick = |starts, cycles, branch_after| BisectionEffort {
            passes: 2,
            patience: 25,
            ..thorough(starts, cycles, branch_after)
        };
        let [highest, between, lowest] = match (request.effort, one_each) {
            (Effort::Fast, true) => [quick(4, 3, 3), quick(3, 2, 2), quick(3, 1, 0)],
            (_, true) => [thorough(8, 8, 2), thorough(8, 2, 2), thorough(8, 1, 0)],
            (Effort::Fast, false) => {
                [BisectionEffort { rating: Rating::SquaredWeight, ..quick(4, 2, 2) }; 3]
            }
            (Effort::Normal, false) => [thorough(4, 2, 2); 3],
            (Effort::Best, false) => [thorough(4, 3, 1); 3],
        };
        let annealing = match (request.effort, request.hot) {
            (Effort::Fast, _) => None,
            (_, false) => Some(AnnealingPlan { length: 300, ratios: [0.02, 0.0005], groups: 2 }),
            (_, true) => Some(AnnealingPlan { length: 1000, ratios: [0.1, 0.0005], groups: 3 }),
        };
        let search =
            |cycles, rounds, patience, work| CycleEffort { cycles, rounds, patience, work };
        let (division, whole) = match request.effort {
            Effort::Fast => (search(0, 0, 0, 0), search(1, 1, 15, 20)),
            Effort::Normal => (search(1, 1, 10, 20), search(2, 1, 15, 50)),
            Effort::Best => (search(2, 3, 40, 200), search(3, 2, 25, 100)),
        };
        Self { highest, between, lowest, annealing, division, whole }
    }
}

//! How much work each effort is.

use std::num::NonZeroUsize;

use super::construct::{Request, construct};
use super::halving::{MoveBudget, moves_of_halving};
use super::search::Subproblem;
use super::swaps::AcceptanceRatios;
use super::tilings::tilings;
use crate::map::search::tree::BinId;
use crate::map::{Budget, Effort, MapError};
use crate::parallel;

/// First assignments of the first halving, at most.
const FIRST_ASSIGNMENTS: usize = 8;

/// Acceptance ratios of annealings, in turn. No start is best for all graphs: hot ones destroy good
/// structure, cold ones end in local optima.
const RATIOS: &[AcceptanceRatios] = &[[0.1, 0.001], [0.2, 0.001], [0.05, 0.001]];
/// For annealings that are too short to repair what a hot start destroys.
const COLD_RATIOS: &[AcceptanceRatios] = &[[0.01, 0.001]];

/// How much work an effort is for a problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkPlan {
    /// First assignments of a halving, at most.
    first_assignments: usize,
    /// The effort for each of them.
    effort: Effort,
    /// Trial swaps of the first annealings of the first halving.
    pub(super) length: u64,
    /// Acceptance ratios of annealings, in turn.
    pub(super) ratios: &'static [AcceptanceRatios],
    /// Trial swaps in all, without a clock.
    pub(super) moves: u64,
    /// Whether many vertices share a bin: then moves of single vertices, made while dividing, leave
    /// little for swaps to find.
    pub(super) crowded: bool,
}

impl WorkPlan {
    pub(super) fn new(problem: &Subproblem) -> Self {
        let vertices = problem.graph.vertex_count() as u64;
        let length = 250 * vertices;
        let crowded = vertices > 4 * problem.tree.bin_count() as u64;
        let plan = |first_assignments, effort, length, moves| {
            let ratios = if effort == Effort::Fast { COLD_RATIOS } else { RATIOS };
            Self { first_assignments, effort, length, ratios, moves, crowded }
        };
        match problem.effort {
            effort if crowded => {
                plan(if effort == Effort::Best { 2 } else { 1 }, effort, 20 * vertices, 0)
            }
            // Several where each takes about a millisecond.
            Effort::Fast => {
                let firsts = (512 / vertices.max(1)).clamp(1, 4);
                let length = 15 * vertices;
                plan(firsts as usize, Effort::Fast, length, firsts * length)
            }
            Effort::Normal => plan(8, Effort::Normal, length, moves_of_halving(8, length)),
            Effort::Best => {
                let length = 100 * vertices;
                plan(32, Effort::Normal, length, 7 * moves_of_halving(32, length))
            }
        }
    }

    /// First assignments of a halving, at most: few in the first halvings, so that a short search gets
    /// through them.
    fn count_of(&self, number: u64) -> usize {
        self.first_assignments.min(FIRST_ASSIGNMENTS << number.min(32))
    }

    /// Tilings of a grid, the best first; none where looking for a grid would take longer than
    /// everything else.
    fn tilings(&self, problem: &Subproblem) -> Vec<Vec<BinId>> {
        let short = problem.effort == Effort::Fast && !self.crowded;
        let uneven = problem.loads.iter().any(|load| *load != problem.loads[0]);
        if short || uneven {
            return Vec::new();
        }
        tilings(problem.tree, problem.graph, self.count_of(0).div_ceil(4))
    }

    /// The first assignments of a halving: at least one in the first, even if the time is over. Others
    /// that were not complete by then are dropped.
    pub(super) fn first_assignments(
        &self,
        problem: &Subproblem,
        number: u64,
        budget: &Budget,
        left: &MoveBudget,
    ) -> Result<Vec<Vec<BinId>>, MapError> {
        let threads =
            if self.first_assignments == 1 { budget.threads() } else { NonZeroUsize::MIN };
        let tilings = if number == 0 { self.tilings(problem) } else { Vec::new() };
        let mut divided = self.count_of(number);
        // Where moves are all that is tried, the division may still be better.
        if !self.crowded || problem.effort == Effort::Fast {
            divided -= tilings.len();
        }
        let positions: Vec<usize> = (0..tilings.len() + divided).collect();
        let is_over = || (left.advance)(0);
        let constructed = parallel::map(&positions, left.threads, |position, _| {
            let is_needed = position == 0 && number == 0;
            if !is_needed && is_over() {
                return None;
            }
            let start = tilings.get(position).map(Vec::as_slice);
            let stream = number * self.first_assignments as u64 + position as u64;
            let request = Request {
                tree: problem.tree,
                capacity: problem.capacity,
                effort: self.effort,
                hot: position % 2 == 1,
                uneven: position % 4 == 3,
                start,
                seed: problem.seed.wrapping_add(stream << 32),
                threads,
                is_over: &is_over,
            };
            let constructed = construct(request, problem.graph, problem.loads);
            (is_needed || !is_over()).then_some(constructed)
        });
        constructed.into_iter().flatten().collect()
    }
}

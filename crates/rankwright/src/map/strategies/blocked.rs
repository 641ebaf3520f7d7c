//! `blocked` minimises nothing: rank by rank in order into the slots in order, one node after the
//! other. It is the default of most launchers ("by core", "by slot"). O(ranks + slots).

use crate::map::{Budget, MapError, Mapper, Problem, fill};
use crate::placement::Mapping;

/// Ranks in order into slots in order.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::map) struct Blocked;

impl Mapper for Blocked {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let ranks: Vec<usize> = (0..problem.rank_count()).collect();
        let slots: Vec<usize> = (0..problem.slots().len()).collect();
        Ok(fill(problem, &ranks, &slots).into())
    }
}

//! `blocked`: fill one node after the other.

use crate::map::{Budget, MapError, Mapper, Problem, fill};
use crate::placement::Mapping;

/// Rank by rank in order into the slots in order: what launchers call "by core" or "by slot".
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::map) struct Blocked;

impl Mapper for Blocked {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let ranks: Vec<usize> = (0..problem.rank_count()).collect();
        let slots: Vec<usize> = (0..problem.slots().len()).collect();
        Ok(fill(problem, &ranks, &slots).into())
    }
}

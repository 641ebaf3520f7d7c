//! `random` minimises nothing: ranks in random order into slots in random order (Fisher and Yates
//! shuffle), a baseline. O(ranks + slots).

use crate::map::{Budget, MapError, Mapper, Problem, fill};
use crate::placement::Mapping;
use crate::random::Generator;

/// A random mapping over all nodes.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Random {
    pub(in crate::map) seed: u64,
}

impl Mapper for Random {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let mut generator = Generator::new(self.seed);
        let ranks = shuffled(problem.rank_count(), &mut generator);
        let slots = shuffled(problem.slots().len(), &mut generator);
        Ok(fill(problem, &ranks, &slots).into())
    }
}

/// 0 to `count` - 1 in random order.
fn shuffled(count: usize, generator: &mut Generator) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    generator.shuffle(&mut order);
    order
}

//! `random`: any rank anywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::map::{Budget, MapError, Mapper, Problem, fill};
use crate::placement::Mapping;

/// Ranks in random order into the slots of all nodes in random order; what chance gives, to judge
/// the others by.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Random {
    pub(in crate::map) seed: u64,
}

impl Mapper for Random {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        let ranks = shuffled(problem.rank_count(), &mut generator);
        let slots = shuffled(problem.slots().len(), &mut generator);
        Ok(fill(problem, &ranks, &slots).into())
    }
}

/// 0 to `count` - 1 in random order (Fisher and Yates). Written out so that a seed means the same
/// order in every version.
fn shuffled(count: usize, generator: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        // The bias of the multiplication is below 2^-32 for any number of slots.
        let other = (u128::from(generator.next_u64()) * (last as u128 + 1)) >> 64;
        order.swap(last, other as usize);
    }
    order
}

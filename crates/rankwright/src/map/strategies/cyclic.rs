//! `cyclic`: one rank to each node in turn.

use std::ops::Range;

use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Rank by rank in order, each to the next node that has room and there to its first free slot:
/// what launchers call "by node". The turn goes on from one job to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::map) struct Cyclic;

impl Mapper for Cyclic {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        Ok(in_turn(problem, problem.slots_of_nodes(), &[0]).into())
    }
}

/// The slot of each rank: rank by rank to the next of the nodes that has room, given by their slots,
/// and there to the first that is not full. `begins` are the ranks that go to the first node again.
pub(in crate::map) fn in_turn(
    problem: &Problem,
    mut nodes: Vec<Range<usize>>,
    begins: &[usize],
) -> Vec<usize> {
    let mut filled = vec![0; nodes.len()];
    let mut turn = 0;
    let mut slot_of = Vec::with_capacity(problem.rank_count());
    let mut open = nodes.len();
    for (rank, load) in problem.loads().iter().enumerate() {
        if begins.contains(&rank) {
            turn = 0;
        }
        while nodes[turn].is_empty() && open > 0 {
            turn = (turn + 1) % nodes.len();
        }
        // Ranks without any load may come when all slots are full.
        slot_of.push(nodes[turn].start.min(nodes[turn].end - 1));
        filled[turn] += load;
        if filled[turn] >= problem.share() && !nodes[turn].is_empty() {
            nodes[turn].start += 1;
            filled[turn] = 0;
            open -= usize::from(nodes[turn].is_empty());
        }
        turn = (turn + 1) % nodes.len();
    }
    slot_of
}

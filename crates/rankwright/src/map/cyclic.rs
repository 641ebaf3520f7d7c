//! `cyclic`: one rank to each node in turn.

use super::{Budget, MapError, Mapper, Problem};

/// Rank by rank in order, each to the next node that has room and there to its first free slot:
/// what launchers call "by node". The turn goes on from one job to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cyclic;

impl Mapper for Cyclic {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Vec<usize>, MapError> {
        // Of each node the slots that are not yet full; all ranks have the same turn, so a node
        // fills its slots in order.
        let mut nodes = problem.slots_of_nodes();
        let mut filled = vec![0; nodes.len()];
        let mut turn = 0;
        let mut slot_of = Vec::with_capacity(problem.rank_count());
        let mut open = nodes.len();
        for load in problem.loads() {
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
        Ok(slot_of)
    }
}

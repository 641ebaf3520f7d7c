//! `cyclic` minimises nothing: one rank to each node in turn, skipping full ones. Launchers call it "by
//! node" (`--map-by node`, `--distribution=cyclic`). O(ranks) where nodes have equally many slots.

use std::ops::Range;

use crate::ids::GlobalRank;
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Ranks in order, each to the next node that is not full and there to its first free slot. The turn
/// continues from one job to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::map) struct Cyclic;

impl Mapper for Cyclic {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        Ok(in_turn(problem, problem.slots_of_nodes(), &[GlobalRank(0)]).into())
    }
}

/// The slot of each rank: in turn over nodes, given by their slots, on each the first slot that is not
/// full. The ranks in `restarts` go to the first node again.
pub(in crate::map) fn in_turn(
    problem: &Problem,
    mut nodes: Vec<Range<usize>>,
    restarts: &[GlobalRank],
) -> Vec<usize> {
    let mut filled = vec![0; nodes.len()];
    let mut turn = 0;
    let mut slot_of = Vec::with_capacity(problem.rank_count());
    let mut open = nodes.len();
    for (rank, load) in problem.loads().iter().enumerate() {
        if restarts.contains(&GlobalRank::from_index(rank)) {
            turn = 0;
        }
        while nodes[turn].is_empty() && open > 0 {
            turn = (turn + 1) % nodes.len();
        }
        // When all slots are full only ranks without load can be left.
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

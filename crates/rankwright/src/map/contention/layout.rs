//! Who is where, while ranks move.

use crate::map::Problem;

/// The ranks of each slot and the slot of each rank.
#[derive(Debug, Clone)]
pub(super) struct Layout<'a> {
    problem: &'a Problem<'a>,
    slot_of: Vec<usize>,
    ranks_at: Vec<Vec<u32>>,
    filled: Vec<u64>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, slot_of: &[usize]) -> Self {
        let slots = problem.slots().len();
        let (ranks_at, filled) = (vec![Vec::new(); slots], vec![0; slots]);
        let mut layout = Self { problem, slot_of: slot_of.to_vec(), ranks_at, filled };
        for (rank, slot) in slot_of.iter().enumerate() {
            layout.enter(rank, *slot);
        }
        layout
    }

    /// The slot of each rank.
    pub(super) fn slot_of(&self) -> &[usize] {
        &self.slot_of
    }

    /// Who is at a slot.
    pub(super) fn ranks_at(&self, slot: usize) -> &[u32] {
        &self.ranks_at[slot]
    }

    /// Whether a slot has room for a rank beside those that it holds, and is fast enough for it.
    pub(super) fn has_room(&self, slot: usize, rank: usize) -> bool {
        self.is_fast_enough(slot, rank)
            && self.filled[slot].saturating_add(self.problem.loads()[rank]) <= self.problem.limit()
    }

    /// Whether two ranks can change places.
    pub(super) fn can_swap(&self, a: usize, b: usize) -> bool {
        let (loads, limit) = (self.problem.loads(), self.problem.limit());
        let fits = |slot: usize, goes: usize, comes: usize| {
            (self.filled[slot] - loads[goes]).saturating_add(loads[comes]) <= limit
                && self.is_fast_enough(slot, comes)
        };
        fits(self.slot_of[a], a, b) && fits(self.slot_of[b], b, a)
    }

    /// Whether a rank at a slot keeps the balance of what ranks compute.
    fn is_fast_enough(&self, slot: usize, rank: usize) -> bool {
        self.problem.compute_balance().is_none_or(|balance| balance.fits(rank, slot))
    }

    /// Moves ranks, each to a slot.
    pub(super) fn exchange(&mut self, moves: &[(usize, usize)]) {
        for (rank, _) in moves {
            let slot = self.slot_of[*rank];
            self.ranks_at[slot].retain(|other| *other as usize != *rank);
            self.filled[slot] -= self.problem.loads()[*rank];
        }
        for (rank, slot) in moves {
            self.slot_of[*rank] = *slot;
            self.enter(*rank, *slot);
        }
    }

    fn enter(&mut self, rank: usize, slot: usize) {
        self.ranks_at[slot].push(rank as u32);
        self.filled[slot] = self.filled[slot].saturating_add(self.problem.loads()[rank]);
    }
}

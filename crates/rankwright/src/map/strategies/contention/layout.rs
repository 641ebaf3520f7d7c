//! Who is where, while ranks move.

use super::berths::Berths;
use crate::map::Problem;

/// The ranks of each slot and the berth of each rank.
#[derive(Debug, Clone)]
pub(super) struct Layout<'a> {
    problem: &'a Problem<'a>,
    berths: &'a Berths,
    berth_of: Vec<usize>,
    ranks_at: Vec<Vec<u32>>,
    filled: Vec<u64>,
    /// How many ranks use each device, where that has a limit.
    users: Vec<u32>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, berths: &'a Berths, berth_of: &[usize]) -> Self {
        let slots = problem.slots().len();
        let (ranks_at, filled) = (vec![Vec::new(); slots], vec![0; slots]);
        let users = berths.users(berth_of);
        let berth_of = berth_of.to_vec();
        let mut layout = Self { problem, berths, berth_of, ranks_at, filled, users };
        for rank in 0..layout.berth_of.len() {
            layout.enter(rank);
        }
        layout
    }

    pub(super) fn berths(&self) -> &'a Berths {
        self.berths
    }

    /// The berth of each rank.
    pub(super) fn berth_of(&self) -> &[usize] {
        &self.berth_of
    }

    /// The slot of a rank.
    pub(super) fn slot(&self, rank: usize) -> usize {
        self.berths.slot(self.berth_of[rank])
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
        fits(self.slot(a), a, b) && fits(self.slot(b), b, a)
    }

    /// Whether devices have room for ranks that move, each to a berth.
    pub(super) fn devices_suffice(&self, moves: &[(usize, usize)]) -> bool {
        let from = |(rank, to): &(usize, usize)| (self.berth_of[*rank], *to);
        self.berths.suffice(&self.users, || moves.iter().map(from).collect())
    }

    /// Whether a rank at a slot keeps the balance of what ranks compute.
    fn is_fast_enough(&self, slot: usize, rank: usize) -> bool {
        self.problem.compute_balance().is_none_or(|balance| balance.fits(rank, slot))
    }

    /// Moves ranks, each to a berth.
    pub(super) fn exchange(&mut self, moves: &[(usize, usize)]) {
        let berths = self.berths;
        for (rank, _) in moves {
            let slot = self.slot(*rank);
            self.ranks_at[slot].retain(|other| *other as usize != *rank);
            self.filled[slot] -= self.problem.loads()[*rank];
            for device in berths.limited_devices(self.berth_of[*rank]) {
                self.users[*device] -= 1;
            }
        }
        for (rank, berth) in moves {
            self.berth_of[*rank] = *berth;
            self.enter(*rank);
            for device in berths.limited_devices(*berth) {
                self.users[*device] += 1;
            }
        }
    }

    fn enter(&mut self, rank: usize) {
        let slot = self.slot(rank);
        self.ranks_at[slot].push(rank as u32);
        self.filled[slot] = self.filled[slot].saturating_add(self.problem.loads()[rank]);
    }
}

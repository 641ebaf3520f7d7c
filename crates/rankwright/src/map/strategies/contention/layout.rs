//! The present placement of a chain: the ranks of each slot, and the number of users of each device.

use super::device_slots::DeviceSlots;
use crate::map::Problem;

/// The device slot of each rank and the ranks of each slot.
#[derive(Debug, Clone)]
pub(super) struct Layout<'a> {
    problem: &'a Problem<'a>,
    device_slots: &'a DeviceSlots,
    /// By global rank.
    device_slot_of: Vec<usize>,
    /// By slot: its global ranks.
    ranks_at: Vec<Vec<u32>>,
    /// By slot: the sum of the loads of its ranks, in the unit of [`Problem::loads`].
    filled: Vec<u64>,
    /// By device: the number of ranks that use it; empty if no device has a limit.
    users: Vec<u32>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        device_slots: &'a DeviceSlots,
        device_slot_of: &[usize],
    ) -> Self {
        let slots = problem.slots().len();
        let (ranks_at, filled) = (vec![Vec::new(); slots], vec![0; slots]);
        let users = device_slots.users(device_slot_of);
        let device_slot_of = device_slot_of.to_vec();
        let mut layout = Self { problem, device_slots, device_slot_of, ranks_at, filled, users };
        for rank in 0..layout.device_slot_of.len() {
            layout.enter(rank);
        }
        layout
    }

    pub(super) fn device_slots(&self) -> &'a DeviceSlots {
        self.device_slots
    }

    /// By global rank: its device slot.
    pub(super) fn device_slot_of(&self) -> &[usize] {
        &self.device_slot_of
    }

    /// The ranks that a rank exchanges messages with, and the bytes.
    pub(super) fn peers(&self, rank: usize) -> impl ExactSizeIterator<Item = (usize, u64)> {
        self.problem.graph().row(rank)
    }

    /// The slot of a rank.
    pub(super) fn slot(&self, rank: usize) -> usize {
        self.device_slots.slot(self.device_slot_of[rank])
    }

    /// The global ranks at a slot.
    pub(super) fn ranks_at(&self, slot: usize) -> &[u32] {
        &self.ranks_at[slot]
    }

    /// Whether a slot can take one more rank: within its capacity, and fast enough for this rank.
    pub(super) fn can_take(&self, slot: usize, rank: usize) -> bool {
        self.is_fast_enough(slot, rank)
            && self.filled[slot].saturating_add(self.problem.loads()[rank]) <= self.problem.limit()
    }

    /// Whether two ranks can exchange their slots.
    pub(super) fn can_swap(&self, a: usize, b: usize) -> bool {
        let (loads, limit) = (self.problem.loads(), self.problem.limit());
        let fits = |slot: usize, goes: usize, comes: usize| {
            (self.filled[slot] - loads[goes]).saturating_add(loads[comes]) <= limit
                && self.is_fast_enough(slot, comes)
        };
        fits(self.slot(a), a, b) && fits(self.slot(b), b, a)
    }

    /// Whether the devices can serve all ranks after these moves, each of a rank to a device slot.
    pub(super) fn devices_can_serve(&self, moves: &[(usize, usize)]) -> bool {
        let from = |(rank, to): &(usize, usize)| (self.device_slot_of[*rank], *to);
        self.device_slots.can_serve(&self.users, || moves.iter().map(from).collect())
    }

    /// Whether the balance of computing times, or its class, allows a rank at a slot.
    fn is_fast_enough(&self, slot: usize, rank: usize) -> bool {
        self.problem.fitting().is_none_or(|balance| balance.fits(rank, slot))
    }

    /// Moves ranks, each to a device slot.
    pub(super) fn apply(&mut self, moves: &[(usize, usize)]) {
        let device_slots = self.device_slots;
        for (rank, _) in moves {
            let slot = self.slot(*rank);
            self.ranks_at[slot].retain(|other| *other as usize != *rank);
            self.filled[slot] -= self.problem.loads()[*rank];
            for device in device_slots.limited_devices(self.device_slot_of[*rank]) {
                self.users[*device] -= 1;
            }
        }
        for (rank, device_slot) in moves {
            self.device_slot_of[*rank] = *device_slot;
            self.enter(*rank);
            for device in device_slots.limited_devices(*device_slot) {
                self.users[*device] += 1;
            }
        }
    }

    /// Counts a rank at its slot.
    fn enter(&mut self, rank: usize) {
        let slot = self.slot(rank);
        self.ranks_at[slot].push(rank as u32);
        self.filled[slot] = self.filled[slot].saturating_add(self.problem.loads()[rank]);
    }
}

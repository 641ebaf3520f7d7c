//! The result of a strategy: the slot of every rank.

use crate::ids::{GlobalRank, SlotId};

/// The slot of each rank of all jobs. [`Placement::from_slots`](super::Placement::from_slots) makes a
/// placement of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// By [`GlobalRank`]: position among the slots ([`SlotId`]).
    slot_of: Vec<usize>,
}

impl Mapping {
    /// The slot of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn slot(&self, rank: GlobalRank) -> SlotId {
        SlotId::from_index(self.slot_of[rank.index()])
    }

    /// Moves a rank to another slot.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn set(&mut self, rank: GlobalRank, slot: SlotId) {
        self.slot_of[rank.index()] = slot.index();
    }

    /// The number of ranks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slot_of.len()
    }

    /// Whether there are no ranks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slot_of.is_empty()
    }

    /// All ranks with their slots, by ascending rank.
    pub fn iter(&self) -> impl Iterator<Item = (GlobalRank, SlotId)> + '_ {
        let pair = |(rank, slot): (usize, &usize)| {
            (GlobalRank::from_index(rank), SlotId::from_index(*slot))
        };
        self.slot_of.iter().enumerate().map(pair)
    }

    /// The mapping as inner loops read it: index is [`GlobalRank`], value is the index of a
    /// [`SlotId`].
    #[must_use]
    pub fn as_indices(&self) -> &[usize] {
        &self.slot_of
    }

    /// The numbers of [`Mapping::as_indices`], without a copy.
    #[must_use]
    pub fn into_indices(self) -> Vec<usize> {
        self.slot_of
    }
}

/// From slot indices in the order of global ranks.
impl From<Vec<usize>> for Mapping {
    fn from(slot_of: Vec<usize>) -> Self {
        Self { slot_of }
    }
}

/// From slot indices in the order of global ranks.
impl From<&[usize]> for Mapping {
    fn from(slot_of: &[usize]) -> Self {
        Self { slot_of: slot_of.to_vec() }
    }
}

impl FromIterator<SlotId> for Mapping {
    fn from_iter<I: IntoIterator<Item = SlotId>>(slots: I) -> Self {
        Self { slot_of: slots.into_iter().map(SlotId::index).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_with_their_slots() {
        let mapping: Mapping = [SlotId(2), SlotId(0)].into_iter().collect();
        assert_eq!(mapping, Mapping::from(vec![2, 0]));
        assert_eq!((mapping.len(), mapping.is_empty()), (2, false));
        assert_eq!(mapping.slot(GlobalRank(1)), SlotId(0));
        let pairs: Vec<_> = mapping.iter().collect();
        assert_eq!(pairs, [(GlobalRank(0), SlotId(2)), (GlobalRank(1), SlotId(0))]);
        let mut moved = mapping.clone();
        moved.set(GlobalRank(0), SlotId(5));
        assert_eq!(moved, Mapping::from(&[5, 0][..]));
        assert_eq!(
            (mapping.as_indices(), mapping.clone().into_indices()),
            (&[2, 0][..], vec![2, 0])
        );
    }
}

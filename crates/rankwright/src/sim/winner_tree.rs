//! The earliest of a fixed number of times that change one by one.

use super::time::NEVER;

/// A tournament tree over slots, each with a time. Of equal times the slot with the lowest number
/// wins.
#[derive(Debug, Clone)]
pub(super) struct WinnerTree {
    /// Node 1 is the root, node n has the children 2n and 2n + 1; the second half are the leaves, by
    /// slot.
    nodes: Vec<Node>,
}

/// The earliest slot below a node.
#[derive(Debug, Clone, Copy)]
struct Node {
    time: u64,
    slot: u32,
}

impl WinnerTree {
    /// A tree of this many slots, all at [`NEVER`].
    pub(super) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two();
        let mut nodes = vec![Node { time: NEVER, slot: 0 }; 2 * leaves];
        for (node, slot) in nodes[leaves..].iter_mut().zip(0..) {
            node.slot = slot;
        }
        for node in (1..leaves).rev() {
            nodes[node].slot = nodes[2 * node].slot;
        }
        Self { nodes }
    }

    /// The earliest time and its slot.
    #[inline]
    pub(super) fn first(&self) -> (u64, usize) {
        (self.nodes[1].time, self.nodes[1].slot as usize)
    }

    /// The time of a slot.
    #[inline]
    pub(super) fn time(&self, slot: usize) -> u64 {
        self.nodes[self.nodes.len() / 2 + slot].time
    }

    /// The earliest time of all other slots.
    #[inline]
    pub(super) fn first_beside(&self, slot: usize) -> u64 {
        let mut node = self.nodes.len() / 2 + slot;
        let mut time = NEVER;
        while node > 1 {
            time = time.min(self.nodes[node ^ 1].time);
            node >>= 1;
        }
        time
    }

    /// Sets the time of a slot.
    #[inline]
    pub(super) fn set(&mut self, slot: usize, time: u64) {
        let mut node = self.nodes.len() / 2 + slot;
        let mut winner = Node { time, slot: slot as u32 };
        self.nodes[node] = winner;
        while node > 1 {
            let sibling = self.nodes[node ^ 1];
            let sibling_is_left = node & 1 == 1;
            let earlier = sibling.time < winner.time;
            let wins = earlier | (sibling_is_left & (sibling.time == winner.time));
            winner.time = if wins { sibling.time } else { winner.time };
            winner.slot = if wins { sibling.slot } else { winner.slot };
            node >>= 1;
            self.nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_winner_is_the_earliest_of_the_lowest_number(
            slots in 1_usize..40,
            changes in prop::collection::vec((0_usize..40, prop_oneof![0_u64..8, Just(NEVER)]), 0..60),
        ) {
            let mut tree = WinnerTree::new(slots);
            let mut times = vec![NEVER; slots];
            for (slot, time) in changes {
                let slot = slot % slots;
                times[slot] = time;
                tree.set(slot, time);
                let earliest = *times.iter().min().unwrap();
                let first = times.iter().position(|time| *time == earliest).unwrap();
                prop_assert_eq!(tree.first(), (earliest, first));
                let others = times.iter().enumerate().filter(|(other, _)| *other != slot);
                let beside = others.map(|(_, time)| *time).min().unwrap_or(NEVER);
                prop_assert_eq!(tree.first_beside(slot), beside);
            }
        }
    }
}

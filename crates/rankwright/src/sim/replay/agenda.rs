//! What happens when: the events of a replay in the order of time.

use crate::sim::time::Time;

/// A heap of events with four children per node, which share a cache line. Events at one time come in
/// the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// The root is the first of block 0. The children of the event at place p, counted from the root,
    /// are block p + 1.
    blocks: Vec<Children>,
    /// The number of events in the heap.
    len: usize,
    /// The number of events so far.
    pub(super) count: u64,
}

/// Events as one number each, [`key`], or [`NONE`].
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Children([u128; CHILDREN]);

const CHILDREN: usize = 4;

/// Later than every event.
const NONE: u128 = u128::MAX;

fn key(time: Time, event: u32) -> u128 {
    u128::from(time) << u32::BITS | u128::from(event)
}

impl Children {
    /// The earliest, without branches: which one it is cannot be predicted.
    #[inline(always)]
    fn least(&self) -> (usize, u128) {
        let all = &self.0;
        let low = usize::from(all[1] < all[0]);
        let high = 2 + usize::from(all[3] < all[2]);
        let least = if all[high] < all[low] { high } else { low };
        (least, all[least])
    }
}

impl Agenda {
    pub(super) fn add(&mut self, time: Time, event: u32) {
        self.count += 1;
        let (key, mut place) = (key(time, event), self.len);
        self.len += 1;
        if place.div_ceil(CHILDREN) == self.blocks.len() {
            self.blocks.push(Children([NONE; CHILDREN]));
        }
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if *self.at(parent) <= key {
                break;
            }
            *self.at(place) = *self.at(parent);
            place = parent;
        }
        *self.at(place) = key;
    }

    /// The event at a place of the heap.
    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut u128 {
        let in_blocks = if place == 0 { 0 } else { place + CHILDREN - 1 };
        &mut self.blocks[in_blocks / CHILDREN].0[in_blocks % CHILDREN]
    }

    /// The earliest event. It stays, and events at its time can be added, until
    /// [`Agenda::replace_first`].
    pub(super) fn first(&mut self) -> Option<(Time, u32)> {
        if self.len == 0 {
            return None;
        }
        let first = self.at(0);
        let (time, event) = ((*first >> u32::BITS) as Time, *first as u32);
        // Nothing that is added now gets before it.
        *first = key(time, 0);
        Some((time, event))
    }

    /// Puts the event that follows from the earliest one in its place, if there is one.
    pub(super) fn replace_first(&mut self, next: Option<(Time, u32)>) {
        self.count += u64::from(next.is_some());
        if let Some((time, event)) = next {
            self.sink(key(time, event));
            return;
        }
        self.len -= 1;
        let last = std::mem::replace(self.at(self.len), NONE);
        if self.len > 0 {
            self.sink(last);
        }
    }

    /// Puts an event in place of the root, and then below all that are earlier.
    fn sink(&mut self, event: u128) {
        let mut place = 0;
        // Blocks beyond the last event have no event that is earlier.
        while let Some(children) = self.blocks.get(place + 1) {
            let (child, least) = children.least();
            if least >= event {
                break;
            }
            *self.at(place) = least;
            place = CHILDREN * place + 1 + child;
        }
        *self.at(place) = event;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_number(
            added in prop::collection::vec((0_u64..50, 0_u32..50), 0..300),
            following in prop::collection::vec((0_u64..9, prop::option::of(0_u64..9)), 0..300),
        ) {
            let mut agenda = Agenda::default();
            let mut expected = std::collections::BinaryHeap::new();
            for (time, event) in added {
                agenda.add(time, event);
                expected.push(std::cmp::Reverse((time, event)));
            }
            let mut following = following.into_iter();
            while let Some(first) = agenda.first() {
                prop_assert_eq!(Some(std::cmp::Reverse(first)), expected.pop());
                let (added, next) = following.next().unwrap_or((9, None));
                if added < 9 {
                    agenda.add(first.0 + added, 50);
                    expected.push(std::cmp::Reverse((first.0 + added, 50)));
                }
                let next = next.map(|later| (first.0 + later, first.1));
                agenda.replace_first(next);
                expected.extend(next.map(std::cmp::Reverse));
            }
            prop_assert!(expected.is_empty());
        }
    }
}

//! What happens when: the events of a replay in the order of time.

use crate::sim::time::Time;

/// A heap of events with four children per node: fewer cache lines are touched than with two.
/// Events at one time come in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: Vec<(Time, u32)>,
    /// The number of events so far.
    pub(super) count: u64,
}

const CHILDREN: usize = 4;

impl Agenda {
    pub(super) fn add(&mut self, time: Time, event: u32) {
        self.count += 1;
        let mut place = self.heap.len();
        self.heap.push((time, event));
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent] <= (time, event) {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = (time, event);
    }

    /// The earliest event.
    pub(super) fn next(&mut self) -> Option<(Time, u32)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop()?;
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some(first)
    }

    /// Puts an event in place of the root, and then below all that are earlier.
    fn sink(&mut self, event: (Time, u32)) {
        let (heap, mut place) = (&mut self.heap[..], 0);
        loop {
            let first = CHILDREN * place + 1;
            let last = heap.len().min(first + CHILDREN);
            if first >= last {
                break;
            }
            let children = heap[first..last].iter().enumerate();
            let Some((child, least)) = children.min_by_key(|(_, child)| **child) else { break };
            if *least >= event {
                break;
            }
            heap[place] = *least;
            place = first + child;
        }
        heap[place] = event;
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
            taken in 0_usize..300,
        ) {
            let mut agenda = Agenda::default();
            let mut expected = added.clone();
            added.iter().for_each(|(time, event)| agenda.add(*time, *event));
            expected.sort_unstable();
            for event in expected.iter().take(taken) {
                prop_assert_eq!(agenda.next(), Some(*event));
            }
            agenda.add(0, 7);
            let left = expected.len().saturating_sub(taken);
            prop_assert_eq!(std::iter::from_fn(|| agenda.next()).count(), left + 1);
        }
    }
}

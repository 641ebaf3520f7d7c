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

    /// The earliest event. It stays, and events at its time can be added, until
    /// [`Agenda::replace_first`].
    pub(super) fn first(&mut self) -> Option<(Time, u32)> {
        let first = self.heap.first_mut()?;
        let event = *first;
        // Nothing that is added now gets before it.
        first.1 = 0;
        Some(event)
    }

    /// Puts the event that follows from the earliest one in its place, if there is one.
    pub(super) fn replace_first(&mut self, next: Option<(Time, u32)>) {
        self.count += u64::from(next.is_some());
        let event = next.or_else(|| self.heap.pop().filter(|_| !self.heap.is_empty()));
        if let Some(event) = event {
            self.sink(event);
        }
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

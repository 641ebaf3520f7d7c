//! Messages between two servers, in the order of their arrivals.

use super::time::NEVER;

/// The arrival of a message at its next server. Times are picoseconds from the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrival {
    pub(super) time: u64,
    /// The time of the tick that sent the message.
    pub(super) sent: u64,
    /// Index in [`Network::hops`](super::network::Network::hops).
    pub(super) hop: u32,
}

/// Messages of one tick that arrive at equal intervals. Times are picoseconds from the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Train {
    /// The arrival of the first message.
    pub(super) time: u64,
    /// The interval between two arrivals.
    pub(super) step: u64,
    /// The time of the tick that sent the messages.
    pub(super) sent: u64,
    /// Index in [`Network::train_hops`](super::network::Network::train_hops) of the first message's
    /// hop; those of the others follow.
    pub(super) first: u32,
    /// The number of messages.
    pub(super) count: u32,
}

/// An entry of a queue.
pub(super) trait Timed: Copy + Default {
    /// The first arrival, picoseconds from the start.
    fn time(&self) -> u64;
}

impl Timed for Arrival {
    fn time(&self) -> u64 {
        self.time
    }
}

impl Timed for Train {
    fn time(&self) -> u64 {
        self.time
    }
}

/// A first-in first-out queue in a ring that doubles when it is full.
#[derive(Debug, Clone)]
pub(super) struct Queue<T> {
    /// The length is a power of two.
    ring: Vec<T>,
    /// The number of entries taken so far; modulo the length of the ring the index of the first entry.
    head: usize,
    /// The number of entries appended so far.
    tail: usize,
}

impl<T: Timed> Queue<T> {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self { ring: vec![T::default(); 16], head: 0, tail: 0 }
    }

    /// The number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// The time of the first entry; [`NEVER`] if the queue is empty.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        let time = self.ring[self.head & (self.ring.len() - 1)].time();
        if self.head == self.tail { NEVER } else { time }
    }

    /// The first entry of a queue that is not empty.
    #[inline]
    pub(super) fn front(&mut self) -> &mut T {
        let mask = self.ring.len() - 1;
        &mut self.ring[self.head & mask]
    }

    /// Takes the first entry of a queue that is not empty.
    #[inline]
    pub(super) fn pop(&mut self) -> T {
        let entry = *self.front();
        self.head = self.head.wrapping_add(1);
        entry
    }

    /// Appends an entry.
    #[inline]
    pub(super) fn push(&mut self, entry: T) {
        if self.len() == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[self.tail & mask] = entry;
        self.tail = self.tail.wrapping_add(1);
    }

    #[cold]
    fn grow(&mut self) {
        let length = self.ring.len();
        let mut ring = Vec::with_capacity(2 * length);
        ring.extend((0..length).map(|at| self.ring[self.head.wrapping_add(at) & (length - 1)]));
        ring.resize(2 * length, T::default());
        (self.ring, self.head, self.tail) = (ring, 0, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_in_which_they_were_appended() {
        let mut queue = Queue::new();
        assert_eq!(queue.first(), NEVER);
        let mut next = 0;
        for time in 0..1000 {
            queue.push(Arrival { time, sent: 0, hop: 0 });
            if time % 3 == 0 {
                assert_eq!(queue.first(), next);
                assert_eq!(queue.pop().time, next);
                next += 1;
            }
        }
        assert_eq!(queue.len(), 666);
        while queue.len() > 0 {
            assert_eq!(queue.pop().time, next);
            next += 1;
        }
        assert_eq!(next, 1000);
    }
}

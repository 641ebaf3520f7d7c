//! Messages on their way from one server to the next, in the order in which they come there.

/// Later than anything that happens. Times are picoseconds from the start.
pub(super) const NEVER: u64 = u64::MAX;

/// A message on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// When it comes to the next server.
    pub(super) time: u64,
    /// When it was sent.
    pub(super) birth: u64,
    /// What happens to it there: a position in `Network::hops`.
    pub(super) hop: u32,
}

/// Messages that were sent at one time and come one `step` after the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Train {
    /// When the first of them comes.
    pub(super) time: u64,
    pub(super) step: u64,
    pub(super) birth: u64,
    /// Where the hop of the first stands in `Network::trains`; behind it those of the others.
    pub(super) first: u32,
    pub(super) count: u32,
}

/// What a queue can hold.
pub(super) trait Timed: Copy + Default {
    /// When its first message comes.
    fn time(&self) -> u64;
}

impl Timed for Entry {
    fn time(&self) -> u64 {
        self.time
    }
}

impl Timed for Train {
    fn time(&self) -> u64 {
        self.time
    }
}

/// A first-in first-out queue in a ring that doubles where it is full.
#[derive(Debug, Clone)]
pub(super) struct Queue<T> {
    /// As many as a power of two.
    ring: Vec<T>,
    /// Positions count on and are taken modulo the length of the ring.
    head: usize,
    tail: usize,
}

impl<T: Timed> Queue<T> {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self { ring: vec![T::default(); 16], head: 0, tail: 0 }
    }

    /// How many entries are in it.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// When the first message comes; [`NEVER`] if there is none.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        let time = self.ring[self.head & (self.ring.len() - 1)].time();
        if self.head == self.tail { NEVER } else { time }
    }

    /// The first entry; the queue must have one.
    #[inline]
    pub(super) fn front(&mut self) -> &mut T {
        let mask = self.ring.len() - 1;
        &mut self.ring[self.head & mask]
    }

    /// Takes the first entry; the queue must have one.
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
    fn messages_leave_in_the_order_in_which_they_came() {
        let mut queue = Queue::new();
        assert_eq!(queue.first(), NEVER);
        let mut next = 0;
        for time in 0..1000 {
            queue.push(Entry { time, birth: 0, hop: 0 });
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

//! A server that takes messages in the order in which they come, and what is counted of it.

/// One server, first in first out.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// When it has served all that came.
    free: u64,
    /// The sum of all times between arrival and begin of service.
    pub(super) waiting: u128,
    /// The longest of them.
    pub(super) longest: u64,
    /// The sum of all service times.
    pub(super) busy: u64,
    /// How many messages came.
    pub(super) messages: u64,
    /// The most that were waiting or in service at once.
    most: u64,
    /// When the last messages left or will leave, by their number modulo the length (a power of two
    /// above `most`).
    departures: Vec<u64>,
}

impl Server {
    /// A server that is idle.
    pub(super) fn new() -> Self {
        Self {
            free: 0,
            waiting: 0,
            longest: 0,
            busy: 0,
            messages: 0,
            most: 0,
            departures: vec![0; 8],
        }
    }

    /// Serves a message that comes now, not before the last one. Returns when it leaves and how long
    /// it waited; later than 64 bits hold is `u64::MAX`.
    #[inline]
    pub(super) fn serve(&mut self, now: u64, service: u64) -> (u64, u64) {
        let begin = now.max(self.free);
        let wait = begin - now;
        let departure = begin.saturating_add(service);
        self.free = departure;
        self.waiting += u128::from(wait);
        self.longest = self.longest.max(wait);
        self.busy = self.busy.wrapping_add(service);
        self.count(now, departure);
        (departure, wait)
    }

    /// There are more than `most` messages now if the one that came `most` messages ago is still
    /// here; an arrival adds one at most.
    #[inline]
    fn count(&mut self, now: u64, departure: u64) {
        let mask = self.departures.len() - 1;
        self.departures[self.messages as usize & mask] = departure;
        if self.departures[(self.messages - self.most) as usize & mask] > now {
            self.more();
        }
        self.messages += 1;
    }

    fn more(&mut self) {
        self.most += 1;
        let length = self.departures.len();
        if self.most as usize == length {
            // Number n stood at n modulo the length; the last `length` messages are all here.
            let mut longer = vec![0; 2 * length];
            let last = self.messages as usize;
            for number in last + 1 - length..=last {
                longer[number & (2 * length - 1)] = self.departures[number & (length - 1)];
            }
            self.departures = longer;
        }
    }

    /// The most messages that waited at once, not counting the one in service.
    pub(super) fn longest_queue(&self) -> u64 {
        self.most.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_waits_until_the_ones_before_it_are_served() {
        let mut server = Server::new();
        assert_eq!(server.serve(10, 5), (15, 0));
        assert_eq!(server.serve(11, 5), (20, 4));
        assert_eq!(server.serve(20, 5), (25, 0));
        assert_eq!((server.waiting, server.longest, server.busy), (4, 4, 15));
        assert_eq!((server.messages, server.longest_queue()), (3, 1));
        assert_eq!(server.serve(u64::MAX - 1, 5), (u64::MAX, 0));
    }

    proptest! {
        #[test]
        fn the_longest_queue_is_that_of_a_count_at_each_arrival(
            arrivals in prop::collection::vec((0_u64..20, 1_u64..20), 1..200)
        ) {
            let (mut server, mut now, mut departures, mut longest) = (Server::new(), 0, vec![], 0);
            for (gap, service) in arrivals {
                now += gap;
                departures.push(server.serve(now, service).0);
                let present = departures.iter().filter(|departure| **departure > now).count();
                longest = longest.max(present - 1);
            }
            prop_assert_eq!(server.longest_queue(), longest as u64);
        }
    }
}

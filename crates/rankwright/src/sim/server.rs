//! A first-in first-out server, and its statistics.

use super::longest_queue::LongestQueue;

/// A first-in first-out server. Times are picoseconds.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// The time at which all messages that have arrived are served.
    free: u64,
    /// The sum over all messages of the time between arrival and start of service.
    pub(super) waiting: u128,
    /// The longest time between arrival and start of service.
    pub(super) longest: u64,
    /// The sum of all service times.
    pub(super) busy: u64,
    /// The number of messages that have arrived.
    pub(super) messages: u64,
    longest_queue: LongestQueue,
}

impl Server {
    /// An idle server with this service time, or with `None` one whose service times differ.
    pub(super) fn new(service: Option<u64>) -> Self {
        let longest_queue = LongestQueue::new(service);
        Self { free: 0, waiting: 0, longest: 0, busy: 0, messages: 0, longest_queue }
    }

    /// The time at which all messages that have arrived are served.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Serves a message that arrives at `now`, not before the last one. Returns its departure, or
    /// `u64::MAX` beyond 64 bits, and its waiting time.
    #[inline(always)]
    pub(super) fn serve(&mut self, now: u64, service: u64) -> (u64, u64) {
        let begin = now.max(self.free);
        let wait = begin - now;
        let departure = begin.saturating_add(service);
        self.longest_queue.add(now, departure, service, 1);
        self.free = departure;
        self.waiting += u128::from(wait);
        self.longest = self.longest.max(wait);
        self.busy = self.busy.wrapping_add(service);
        self.messages += 1;
        (departure, wait)
    }

    /// A message is served beside others: what it takes of the server.
    pub(super) fn share(&mut self, service: u64) {
        self.busy = self.busy.wrapping_add(service);
        self.messages += 1;
    }

    /// A message took this much longer because of others.
    pub(super) fn waited(&mut self, time: u64) {
        self.waiting += u128::from(time);
        self.longest = self.longest.max(time);
    }

    /// Serves several equal messages that all arrive at `now`. Returns the departure of the first; the
    /// others follow at intervals of `service`. `None` if the last leaves beyond 64 bits.
    #[inline]
    pub(super) fn serve_train(&mut self, now: u64, service: u64, count: u64) -> Option<u64> {
        let begin = now.max(self.free);
        let wait = begin - now;
        let all = service.checked_mul(count)?;
        let last = begin.checked_add(all)?;
        self.longest_queue.add(now, begin + service, service, count);
        self.free = last;
        // Each message of the train also waits for those before it.
        let behind = u128::from(all) * u128::from(count - 1) / 2;
        self.waiting += u128::from(wait) * u128::from(count) + behind;
        self.longest = self.longest.max(wait + (all - service));
        self.busy = self.busy.wrapping_add(all);
        self.messages += count;
        Some(begin + service)
    }

    /// The largest number of messages that waited at once, without the one in service.
    pub(super) fn longest_queue(&self) -> u64 {
        self.longest_queue.queue(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_waits_until_the_ones_before_it_are_served() {
        let mut server = Server::new(Some(5));
        assert_eq!(server.serve(10, 5), (15, 0));
        assert_eq!(server.serve(11, 5), (20, 4));
        assert_eq!(server.serve(20, 5), (25, 0));
        assert_eq!((server.waiting, server.longest, server.busy), (4, 4, 15));
        assert_eq!((server.messages, server.longest_queue()), (3, 1));
        assert_eq!(server.serve(u64::MAX - 1, 5), (u64::MAX, 0));
    }

    proptest! {
        #[test]
        fn trains_are_served_like_their_messages_and_queues_counted_at_each_arrival(
            uniform in any::<bool>(),
            arrivals in prop::collection::vec((0_u64..20, 1_u64..6, 1_u64..5), 1..200)
        ) {
            let uniform = uniform.then_some(3);
            let (mut single, mut train) = (Server::new(uniform), Server::new(uniform));
            let mut now = 0;
            let (mut departures, mut longest) = (vec![], 0);
            for (gap, service, count) in arrivals {
                let service = uniform.unwrap_or(service);
                now += gap;
                let first = departures.len();
                departures.extend((0..count).map(|_| single.serve(now, service).0));
                prop_assert_eq!(train.serve_train(now, service, count), Some(departures[first]));
                let present = departures.iter().filter(|departure| **departure > now).count();
                longest = longest.max(present - 1);
                let counted = |server: &Server| {
                    (server.waiting, server.longest, server.busy, server.messages)
                };
                prop_assert_eq!(counted(&single), counted(&train));
                prop_assert_eq!(single.longest_queue(), longest as u64);
                prop_assert_eq!(train.longest_queue(), longest as u64);
            }
        }
    }
}

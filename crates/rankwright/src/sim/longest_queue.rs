//! The maximum length of a server's queue.

/// The longest queue of a server. If all services are equal, it follows from the longest wait;
/// otherwise the last departures are kept. Times are picoseconds.
#[derive(Debug, Clone)]
pub(super) enum LongestQueue {
    /// All services take this time.
    Uniform(u64),
    /// Service times differ.
    Mixed(Departures),
}

/// The last departures of a server, as many as can still be in the future.
///
/// An arrival adds at most one message to the maximum so far, and it does so exactly if the message
/// that arrived `most` messages earlier has not left yet.
#[derive(Debug, Clone)]
pub(super) struct Departures {
    /// A ring that is longer than `most`; its length is a power of two. Index: number of the message
    /// modulo the length.
    times: Vec<u64>,
    /// The number of messages so far.
    count: usize,
    /// The largest number of messages that were waiting or in service at once.
    most: usize,
}

impl LongestQueue {
    /// For a server with this service time, or with `None` for one whose service times differ.
    pub(super) fn new(service: Option<u64>) -> Self {
        let departures = Departures { times: vec![0; 8], count: 0, most: 0 };
        service.map_or(Self::Mixed(departures), Self::Uniform)
    }

    /// Messages arrive at `now`; the first leaves at `first`, the others at intervals of `service`.
    #[inline(always)]
    pub(super) fn add(&mut self, now: u64, first: u64, service: u64, count: u64) {
        if let Self::Mixed(departures) = self {
            let mut departure = first;
            for _ in 0..count {
                departures.add(now, departure);
                departure = departure.wrapping_add(service);
            }
        }
    }

    /// The largest number of messages that waited at once, without the one in service, by the longest
    /// wait.
    pub(super) fn queue(&self, wait: u64) -> u64 {
        match self {
            // A message waits for the rest of one service and for whole ones.
            Self::Uniform(service) => wait.div_ceil(*service),
            Self::Mixed(departures) => departures.most.saturating_sub(1) as u64,
        }
    }
}

impl Departures {
    #[inline(always)]
    fn add(&mut self, now: u64, departure: u64) {
        let mask = self.times.len() - 1;
        self.times[self.count & mask] = departure;
        if self.times[self.count.wrapping_sub(self.most) & mask] > now {
            self.add_one();
        }
        self.count += 1;
    }

    #[inline(always)]
    fn add_one(&mut self) {
        self.most += 1;
        if self.most == self.times.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = self.times.len();
        let mut times = vec![0; 2 * length];
        for number in self.count + 1 - length..=self.count {
            times[number & (2 * length - 1)] = self.times[number & (length - 1)];
        }
        self.times = times;
    }
}

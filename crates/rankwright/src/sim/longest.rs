//! How long the queue of a server has ever been.

/// The longest queue of a server. Where all services are equal, the longest wait says it; otherwise
/// the last departures are kept.
#[derive(Debug, Clone)]
pub(super) enum Longest {
    /// All services take this long.
    Uniform(u64),
    /// They differ.
    Mixed(Departures),
}

/// The departures of a server, as many as may still be to come.
///
/// Of every arrival one thing is asked: whether the message that came `most` messages earlier is
/// still here. If so there is one message more than ever before, for an arrival adds one at most.
#[derive(Debug, Clone)]
pub(super) struct Departures {
    /// A ring, longer than `most`, as long as a power of two: number n stands at n modulo the length.
    times: Vec<u64>,
    /// How many there were.
    count: usize,
    /// The most messages that were waiting or in service at once.
    most: usize,
}

impl Longest {
    /// Of a server whose services all take so long, or differ.
    pub(super) fn new(service: Option<u64>) -> Self {
        let departures = Departures { times: vec![0; 8], count: 0, most: 0 };
        service.map_or(Self::Mixed(departures), Self::Uniform)
    }

    /// Messages come now; they leave one `service` after the other, the first at `first`.
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

    /// The most messages that waited at once, not counting the one in service, if this was the
    /// longest wait.
    pub(super) fn queue(&self, wait: u64) -> u64 {
        match self {
            // Before a message that waits are the rest of one service and whole ones.
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
            self.more();
        }
        self.count += 1;
    }

    #[inline(always)]
    fn more(&mut self) {
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

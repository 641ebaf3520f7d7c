//! The sums of all servers, with those before the last change.

use crate::ids::ServerId;

/// The load that clocks with one end offer to a server in the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Offered {
    pub(super) messages: f64,
    /// Seconds of service.
    pub(super) work: f64,
    /// The sum of the squares of the work that arrives at once: seconds².
    pub(super) squares: f64,
}

/// The offered load of all servers and its cost. The last change can be undone.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerSums {
    /// When clocks stop: seconds, ascending.
    ends: Vec<f64>,
    /// Index: server × ends + end.
    offered: Vec<Offered>,
    /// Index: [`ServerId`].
    costs: Vec<Cost>,
    pub(super) totals: Totals,
    /// The change in which each server was saved last. Index: [`ServerId`].
    saved_in: Vec<u64>,
    /// The servers that were ever offered a load, indices: few of those of a large cluster.
    used: Vec<usize>,
    /// Whether a server is in `used`. Index: [`ServerId`].
    is_used: Vec<bool>,
    /// The number of the present change.
    change: u64,
    /// The servers of the present change, indices, with their costs before it.
    servers_before: Vec<(usize, Cost)>,
    /// The offered load of the servers of the present change, before it. Index: position in
    /// `servers_before` × ends + end.
    offered_before: Vec<Offered>,
    totals_before: Totals,
}

/// Sums over all servers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Seconds.
    pub(super) waiting: f64,
    /// The sum of the eighth powers of the seconds that each server works.
    pub(super) powers: f64,
    /// The longest time that a server works, seconds.
    pub(super) longest: f64,
    /// The core time that far devices cost, seconds.
    pub(super) far: f64,
    /// The waiting of messages for others of their tick, seconds.
    pub(super) in_ticks: f64,
}

/// The contribution of a server to the totals.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    /// Seconds.
    waiting: f64,
    /// Seconds of service.
    work: f64,
    /// The eighth power of `work`.
    power: f64,
}

impl Offered {
    /// `ticks` times this many messages and this much work, of which `at_once` arrives at once.
    #[inline(always)]
    pub(super) fn new(ticks: f64, messages: f64, work: f64, at_once: f64) -> Self {
        let (messages, work, squares) = (ticks * messages, ticks * work, ticks * at_once * at_once);
        Self { messages, work, squares }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.work += other.work;
        self.squares += other.squares;
    }

    pub(super) fn times(self, factor: f64) -> Self {
        let Self { messages, work, squares } = self;
        Self { messages: factor * messages, work: factor * work, squares: factor * squares }
    }

    /// Whether this is but the rounding error of sums that were added and taken away.
    #[inline(always)]
    fn is_none(&self) -> bool {
        self.messages < 1e-3
    }
}

impl Cost {
    /// The cost of a server by its offered load; both slices by end.
    fn new(offered: &[Offered], ends: &[f64]) -> Self {
        let (mut waiting, mut backlog, mut begin) = (0.0, 0.0, 0.0);
        // Per second, of all clocks that still tick.
        let mut rates = Offered::default();
        let mut work = 0.0;
        for (at, entry) in offered.iter().enumerate() {
            work += entry.work;
            if !entry.is_none() {
                rates.add(Offered::new(1.0 / ends[at], entry.messages, entry.work, 0.0));
                rates.squares += entry.squares / ends[at];
            }
        }
        for (at, entry) in offered.iter().enumerate() {
            if entry.is_none() {
                continue;
            }
            let end = ends[at];
            let time = end - begin;
            let drift = 0.5 * time * (rates.work - 1.0);
            let left = (backlog + 2.0 * drift).max(0.0);
            // The mean backlog. In the first case it falls to zero before the end.
            let mean = if backlog > 0.0 && left == 0.0 {
                0.25 * backlog * backlog / -drift
            } else {
                0.5 * (backlog + left)
            };
            let x = drift.abs().max(mean);
            let noise = 0.5 * ((x * x + (rates.squares * time).max(0.0)).sqrt() - x);
            waiting += rates.messages * time * (mean + noise);
            rates.add(Offered::new(-1.0 / end, entry.messages, entry.work, 0.0));
            rates.squares -= entry.squares / end;
            (backlog, begin) = (left, end);
        }
        let square = work * work;
        let fourth = square * square;
        Self { waiting, work, power: fourth * fourth }
    }
}

impl ServerSums {
    pub(super) fn new(servers: usize, ends: &[f64]) -> Self {
        Self {
            ends: ends.to_vec(),
            offered: vec![Offered::default(); servers * ends.len()],
            costs: vec![Cost::default(); servers],
            saved_in: vec![0; servers],
            is_used: vec![false; servers],
            ..Self::default()
        }
    }

    /// The load that clocks of all ends offer to a server.
    pub(super) fn offered(&self, server: ServerId) -> Offered {
        let mut all = Offered::default();
        let ends = self.ends.len();
        self.offered[server.index() * ends..][..ends].iter().for_each(|entry| all.add(*entry));
        all
    }

    /// Begins a change; the one before can no longer be undone.
    pub(super) fn begin(&mut self) {
        self.change += 1;
        self.servers_before.clear();
        self.offered_before.clear();
        self.totals_before = self.totals;
    }

    /// Adds the load that clocks offer to a server; `end` is the index of their end.
    pub(super) fn add(&mut self, server: ServerId, end: usize, offered: Offered) {
        let (server, ends) = (server.index(), self.ends.len());
        if self.saved_in[server] != self.change {
            self.saved_in[server] = self.change;
            self.servers_before.push((server, self.costs[server]));
            self.offered_before.extend_from_slice(&self.offered[server * ends..][..ends]);
        }
        if !std::mem::replace(&mut self.is_used[server], true) {
            self.used.push(server);
        }
        self.offered[server * ends + end].add(offered);
    }

    /// Ends a change.
    pub(super) fn finish(&mut self) {
        let (ends, totals) = (self.ends.len(), &mut self.totals);
        let mut falls = false;
        for (server, before) in &self.servers_before {
            let cost = Cost::new(&self.offered[server * ends..][..ends], &self.ends);
            totals.waiting += cost.waiting - before.waiting;
            totals.powers += cost.power - before.power;
            self.costs[*server] = cost;
            falls |= before.work >= totals.longest && cost.work < before.work;
            totals.longest = totals.longest.max(cost.work);
        }
        if falls {
            let costs = self.used.iter().map(|server| self.costs[*server].work);
            totals.longest = costs.fold(0.0, f64::max);
        }
    }

    /// Undoes the last change.
    pub(super) fn undo(&mut self) {
        let ends = self.ends.len();
        for (position, (server, cost)) in self.servers_before.drain(..).enumerate() {
            let before = &self.offered_before[position * ends..][..ends];
            self.offered[server * ends..][..ends].copy_from_slice(before);
            self.costs[server] = cost;
        }
        self.totals = self.totals_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(offered: &[Offered], ends: &[f64]) -> f64 {
        Cost::new(offered, ends).waiting
    }

    #[test]
    fn a_backlog_waits_into_the_next_phase() {
        // Two seconds of work in one, then no arrivals: half of what is left at the end.
        let burst = Offered::new(1000.0, 1.0, 2e-3, 0.0);
        assert!((waiting(&[burst], &[1.0]) - 500.0).abs() < 1e-9);
        // Beside it one message per second of almost no work, for five seconds. The message of the
        // first second waits 0.5 s, and so does the one that arrives while the backlog is served.
        let slow = Offered::new(5.0, 1.0, 1e-12, 0.0);
        let both = waiting(&[burst, slow], &[1.0, 5.0]);
        assert!((both - (500.0 + 0.5 + 0.5)).abs() < 1e-6, "{both}");
    }

    #[test]
    fn fast_clocks_are_not_hidden_by_slow_ones() {
        let fast = Offered::new(2000.0, 1.0, 3e-3, 0.0);
        let slow = Offered::new(2000.0, 1.0, 3e-3, 0.0);
        let (alone, both) = (waiting(&[fast], &[4.0]), waiting(&[fast, slow], &[4.0, 200.0]));
        assert!(alone > 1000.0 && both > alone);
    }

    #[test]
    fn random_arrivals_at_an_unsaturated_server_wait_as_pollaczek_and_khinchine_say() {
        // Half busy for long: the wait is λ E(S²) / (2 (1 - ρ)).
        let entry = Offered::new(1e6, 1.0, 0.5, 0.5);
        let each = waiting(&[entry], &[1e6]) / 1e6;
        assert!((each - 0.25).abs() < 1e-5, "{each}");
    }
}

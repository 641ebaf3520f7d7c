//! The sums of each server, what they were before the last change, and their cost.

use crate::ids::ServerId;

/// What a server is offered by clocks that stop at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) messages: f64,
    /// Seconds of service.
    pub(super) work: f64,
    /// The sum over all that comes at once of its seconds of service squared.
    pub(super) squares: f64,
}

/// All servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    /// When clocks stop, ascending, seconds.
    ends: Vec<f64>,
    /// Server by server, end by end.
    entries: Vec<Entry>,
    costs: Vec<Cost>,
    /// The sum of all waiting.
    pub(super) total: f64,
    /// The sum over all servers of the eighth power of the seconds that each works.
    pub(super) powers: f64,
    /// The longest that any server works, seconds.
    pub(super) longest: f64,
    /// How much longer cores have to do with messages because of where devices are, seconds.
    pub(super) far: f64,
    /// The change in which each server was saved last.
    saved_in: Vec<u64>,
    change: u64,
    /// What changed servers were, in the order in which they were saved.
    servers_before: Vec<(usize, Cost)>,
    entries_before: Vec<Entry>,
    total_before: f64,
    powers_before: f64,
    longest_before: f64,
    far_before: f64,
}

/// What a server adds to the sums.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Cost {
    waiting: f64,
    /// Seconds that it works, and the eighth power.
    work: f64,
    power: f64,
}

impl Entry {
    /// `ticks` times this many messages and this much work, of which `at_once` comes at once.
    pub(super) fn of(ticks: f64, messages: f64, work: f64, at_once: f64) -> Self {
        let (messages, work, squares) = (ticks * messages, ticks * work, ticks * at_once * at_once);
        Self { messages, work, squares }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.work += other.work;
        self.squares += other.squares;
    }

    pub(super) fn times(self, factor: f64) -> Self {
        let Self { messages, work, squares } = self;
        Self { messages: factor * messages, work: factor * work, squares: factor * squares }
    }

    /// What is left of sums that came and went is no message.
    fn is_none(&self) -> bool {
        self.messages < 1e-3
    }
}

impl Cost {
    /// Of a server that is offered this by the clocks that stop at each of the ends.
    fn new(entries: &[Entry], ends: &[f64]) -> Self {
        let (mut waiting, mut backlog, mut begin) = (0.0, 0.0, 0.0);
        // Per second, of all clocks that still tick.
        let mut rates = Entry::default();
        for (entry, end) in entries.iter().zip(ends) {
            if !entry.is_none() {
                rates.add(Entry::of(1.0 / end, entry.messages, entry.work, 0.0));
                rates.squares += entry.squares / end;
            }
        }
        for (entry, end) in entries.iter().zip(ends) {
            if entry.is_none() {
                continue;
            }
            let time = end - begin;
            let drift = 0.5 * time * (rates.work - 1.0);
            let left = (backlog + 2.0 * drift).max(0.0);
            // The mean backlog; it falls to nothing before the end, or not.
            let mean = match backlog > 0.0 && left == 0.0 {
                true => 0.25 * backlog * backlog / -drift,
                false => 0.5 * (backlog + left),
            };
            let x = drift.abs().max(mean);
            let chance = 0.5 * ((x * x + (rates.squares * time).max(0.0)).sqrt() - x);
            waiting += rates.messages * time * (mean + chance);
            rates.add(Entry::of(-1.0 / end, entry.messages, entry.work, 0.0));
            rates.squares -= entry.squares / end;
            (backlog, begin) = (left, *end);
        }
        let work: f64 = entries.iter().map(|entry| entry.work).sum();
        let square = work * work;
        let fourth = square * square;
        Self { waiting, work, power: fourth * fourth }
    }
}

impl Ledger {
    pub(super) fn new(servers: usize, ends: &[f64]) -> Self {
        Self {
            ends: ends.to_vec(),
            entries: vec![Entry::default(); servers * ends.len()],
            costs: vec![Cost::default(); servers],
            saved_in: vec![0; servers],
            ..Self::default()
        }
    }

    /// What a server is offered in the whole run.
    pub(super) fn offered(&self, server: ServerId) -> Entry {
        let mut all = Entry::default();
        let ends = self.ends.len();
        self.entries[server.index() * ends..][..ends].iter().for_each(|entry| all.add(*entry));
        all
    }

    /// Begins a change; the one before can no longer be taken back.
    pub(super) fn begin(&mut self) {
        self.change += 1;
        self.servers_before.clear();
        self.entries_before.clear();
        self.total_before = self.total;
        self.powers_before = self.powers;
        self.longest_before = self.longest;
        self.far_before = self.far;
    }

    /// Adds what clocks offer that stop at the end with this number.
    pub(super) fn add(&mut self, server: ServerId, end: usize, entry: Entry) {
        let (server, ends) = (server.index(), self.ends.len());
        if self.saved_in[server] != self.change {
            self.saved_in[server] = self.change;
            self.servers_before.push((server, self.costs[server]));
            self.entries_before.extend_from_slice(&self.entries[server * ends..][..ends]);
        }
        self.entries[server * ends + end].add(entry);
    }

    /// Ends a change.
    pub(super) fn finish(&mut self) {
        let ends = self.ends.len();
        let mut falls = false;
        for (server, before) in &self.servers_before {
            let cost = Cost::new(&self.entries[server * ends..][..ends], &self.ends);
            self.total += cost.waiting - before.waiting;
            self.powers += cost.power - before.power;
            self.costs[*server] = cost;
            falls |= before.work >= self.longest && cost.work < before.work;
            self.longest = self.longest.max(cost.work);
        }
        if falls {
            self.longest = self.costs.iter().map(|cost| cost.work).fold(0.0, f64::max);
        }
    }

    /// Takes the last change back.
    pub(super) fn undo(&mut self) {
        let ends = self.ends.len();
        for (position, (server, cost)) in self.servers_before.drain(..).enumerate() {
            let before = &self.entries_before[position * ends..][..ends];
            self.entries[server * ends..][..ends].copy_from_slice(before);
            self.costs[server] = cost;
        }
        self.total = self.total_before;
        self.powers = self.powers_before;
        self.longest = self.longest_before;
        self.far = self.far_before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(entries: &[Entry], ends: &[f64]) -> f64 {
        Cost::new(entries, ends).waiting
    }

    #[test]
    fn a_backlog_waits_into_the_next_phase() {
        // Two seconds of work in one; then nothing comes: half of what is left at the end.
        let burst = Entry::of(1000.0, 1.0, 2e-3, 0.0);
        assert!((waiting(&[burst], &[1.0]) - 500.0).abs() < 1e-9);
        // Beside it one message per second of next to no work, for five seconds: 0.5 s wait those of
        // the first second, and 0.5 s the one that comes while the second left over is served.
        let slow = Entry::of(5.0, 1.0, 1e-12, 0.0);
        let both = waiting(&[burst, slow], &[1.0, 5.0]);
        assert!((both - (500.0 + 0.5 + 0.5)).abs() < 1e-6, "{both}");
    }

    #[test]
    fn fast_clocks_are_not_hidden_by_slow_ones() {
        let fast = Entry::of(2000.0, 1.0, 3e-3, 0.0);
        let slow = Entry::of(2000.0, 1.0, 3e-3, 0.0);
        let (alone, both) = (waiting(&[fast], &[4.0]), waiting(&[fast, slow], &[4.0, 200.0]));
        assert!(alone > 1000.0 && both > alone);
    }

    #[test]
    fn chance_makes_a_server_with_room_wait_as_pollaczek_and_khinchine_say() {
        // Half busy for long: the wait is λ E(S²) / (2 (1 - ρ)).
        let entry = Entry::of(1e6, 1.0, 0.5, 0.5);
        let each = waiting(&[entry], &[1e6]) / 1e6;
        assert!((each - 0.25).abs() < 1e-5, "{each}");
    }
}

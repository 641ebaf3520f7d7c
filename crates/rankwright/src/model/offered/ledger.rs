//! The sums of each server, what they were before the last change, and their cost.

use crate::ids::ServerId;

/// What a server is offered in the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) messages: f64,
    /// Seconds of service.
    pub(super) work: f64,
    /// The sum over all that comes at once of its seconds of service squared.
    squares: f64,
    /// The sum of all work times the seconds for which its clocks tick.
    span: f64,
}

/// All servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    pub(super) entries: Vec<Entry>,
    /// Seconds that messages are estimated to wait at each.
    waiting: Vec<f64>,
    /// The sum of all waiting.
    pub(super) total: f64,
    /// The sum over all servers of the eighth power of the seconds that each works.
    pub(super) powers: f64,
    /// The change in which each entry was saved last.
    saved_in: Vec<u64>,
    change: u64,
    before: Vec<(usize, Entry, f64)>,
    total_before: f64,
    powers_before: f64,
}

impl Entry {
    /// `ticks` times this many messages and this much work, of which `at_once` comes at once.
    pub(super) fn of(ticks: f64, messages: f64, work: f64, at_once: f64, end: f64) -> Self {
        let (messages, work, square) = (ticks * messages, ticks * work, ticks * at_once * at_once);
        Self { messages, work, squares: square, span: work * end }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.work += other.work;
        self.squares += other.squares;
        self.span += other.span;
    }

    /// The eighth power of the seconds of work.
    fn power(&self) -> f64 {
        let square = self.work * self.work;
        let fourth = square * square;
        fourth * fourth
    }

    /// Seconds that the messages wait; see [`OfferedLoad`](super::OfferedLoad).
    fn waiting(&self) -> f64 {
        // What is left of sums that came and went is no message.
        if self.messages < 1e-3 {
            return 0.0;
        }
        let x = 0.5 * (self.work - self.span / self.work);
        0.5 * self.messages * (x + (x * x + self.squares.max(0.0)).sqrt())
    }
}

impl Ledger {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            entries: vec![Entry::default(); servers],
            waiting: vec![0.0; servers],
            saved_in: vec![0; servers],
            ..Self::default()
        }
    }

    /// Begins a change; the one before can no longer be taken back.
    pub(super) fn begin(&mut self) {
        self.change += 1;
        self.before.clear();
        self.total_before = self.total;
        self.powers_before = self.powers;
    }

    pub(super) fn add(&mut self, server: ServerId, entry: Entry) {
        let server = server.index();
        if self.saved_in[server] != self.change {
            self.saved_in[server] = self.change;
            self.before.push((server, self.entries[server], self.waiting[server]));
        }
        self.entries[server].add(entry);
    }

    /// Ends a change.
    pub(super) fn finish(&mut self) {
        for (server, old, before) in &self.before {
            let entry = &self.entries[*server];
            let waiting = entry.waiting();
            self.waiting[*server] = waiting;
            self.total += waiting - before;
            self.powers += entry.power() - old.power();
        }
    }

    /// Takes the last change back.
    pub(super) fn undo(&mut self) {
        for (server, entry, waiting) in self.before.drain(..) {
            self.entries[server] = entry;
            self.waiting[server] = waiting;
        }
        self.total = self.total_before;
        self.powers = self.powers_before;
    }
}

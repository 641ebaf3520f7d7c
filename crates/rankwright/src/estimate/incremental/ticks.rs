//! Messages of one tick wait for each other at the servers of their sender.

use super::server_sums::ServerSums;
use super::setup::Setup;
use crate::estimate::tick::Tick;
use crate::ids::GlobalRank;
use crate::network::SingleClock;

/// The single messages of each rank under the present mapping, by the end of their clocks. Several clocks
/// of a rank with one end count as one, whose ticks are all like their mean. The last change can be undone.
#[derive(Debug, Clone)]
pub(super) struct Ticks {
    /// The number of ticks. Index: as `senders`.
    ticks: Vec<f64>,
    /// Index: rank × ends + end.
    senders: Vec<Sender>,
    /// The number of ends of clocks.
    ends: usize,
    /// The senders of the present change, with their index, as they were before it.
    before: Vec<(usize, Sender)>,
    /// The number of the present change.
    change: u64,
}

/// The messages of a rank whose clocks have one end.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    /// The sum of all ticks.
    sum: Tick,
    /// How long the messages of the ticks wait for each other, seconds.
    waiting: f64,
    /// The change in which this was saved last.
    saved_in: u64,
}

impl Ticks {
    /// Ranks that send nothing yet.
    pub(super) fn new(rank_count: usize, ends: usize, singles: &[SingleClock]) -> Self {
        let mut ticks = vec![0.0; rank_count * ends];
        for SingleClock { clock, sender, .. } in singles {
            ticks[sender.index() * ends + clock.end] += clock.rounds;
        }
        let senders = vec![Sender::default(); ticks.len()];
        Self { ticks, senders, ends, before: Vec::new(), change: 0 }
    }

    /// Takes away all that ranks send.
    pub(super) fn clear(&mut self) {
        self.senders.fill(Sender::default());
        self.begin();
    }

    /// Begins a change; the one before can no longer be undone.
    pub(super) fn begin(&mut self) {
        self.change += 1;
        self.before.clear();
    }

    pub(super) fn undo(&mut self) {
        for (at, before) in self.before.drain(..) {
            self.senders[at] = before;
        }
    }

    /// What a rank sends in all ticks of clocks with an end, to be changed.
    pub(super) fn sum_of(&mut self, rank: GlobalRank, end: usize) -> &mut Tick {
        let at = rank.index() * self.ends + end;
        let sender = &mut self.senders[at];
        if sender.saved_in != self.change {
            self.before.push((at, *sender));
            sender.saved_in = self.change;
        }
        &mut sender.sum
    }

    /// Ends a change: counts how long messages wait now instead of before. Index of `site_of`:
    /// [`GlobalRank`].
    pub(super) fn finish(&mut self, setup: &Setup, sums: &mut ServerSums, site_of: &[u32]) {
        for (at, before) in &self.before {
            let sender = &mut self.senders[*at];
            let site = &setup.sites.sites[site_of[at / self.ends] as usize];
            let mut mean = Tick::default();
            mean.add_times(1.0 / self.ticks[*at], &sender.sum);
            sender.waiting = self.ticks[*at] * mean.waiting(site);
            sums.totals.in_ticks += sender.waiting - before.waiting;
        }
    }
}

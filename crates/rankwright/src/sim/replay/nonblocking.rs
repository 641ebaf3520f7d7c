//! Nonblocking collective operations: their phases go on beside what the rank does, as with a thread for
//! progress. The next phase starts when all messages of the last are complete.

use rustc_hash::FxHashMap;

use super::engine::Replay;
use crate::ids::GlobalRank;
use crate::sim::time::Time;
use crate::traffic::read::events::steps::Exchange;

/// The messages of an operation have its number, with this bit.
pub(super) const OF_OPERATION: u64 = 1 << 63;

/// The nonblocking operations of all ranks that are not complete.
#[derive(Debug, Default)]
pub(super) struct Nonblocking {
    underway: FxHashMap<(GlobalRank, u64), Phase>,
    /// Operations whose phase is complete.
    due: Vec<(GlobalRank, u64)>,
    /// Used while a phase begins.
    exchanges: Vec<Exchange>,
}

/// The phase that an operation is in.
#[derive(Debug, Clone, Copy)]
struct Phase {
    /// The number of its messages that are not complete.
    open: usize,
    /// The latest completion of the others.
    ready: Time,
}

impl Nonblocking {
    /// A message of an operation is complete, and the core has spent `overhead` on it.
    pub(super) fn complete(&mut self, rank: GlobalRank, number: u64, time: Time, overhead: Time) {
        let number = number & !OF_OPERATION;
        let Some(phase) = self.underway.get_mut(&(rank, number)) else { return };
        phase.open -= 1;
        phase.ready = phase.ready.max(time.saturating_add(overhead));
        if phase.open == 0 {
            self.due.push((rank, number));
        }
    }

    /// Forgets the operations of the ranks from `first` up to `end`.
    pub(super) fn forget(&mut self, first: GlobalRank, end: GlobalRank) {
        let is_other = |rank: &GlobalRank| !(first..end).contains(rank);
        self.underway.retain(|(rank, _), _| is_other(rank));
        self.due.retain(|(rank, _)| is_other(rank));
    }
}

impl Replay<'_> {
    /// A rank starts an operation.
    pub(super) fn begin_operation(&mut self, rank: GlobalRank, number: u64) {
        let state = &mut self.ranks[rank.index()];
        state.begin(true);
        let phase = Phase { open: 0, ready: state.clock };
        self.nonblocking.underway.insert((rank, number), phase);
        self.nonblocking.due.push((rank, number));
    }

    /// Starts the next phases of all operations whose phase is complete.
    pub(super) fn advance_nonblocking(&mut self) {
        while let Some((rank, number)) = self.nonblocking.due.pop() {
            let mut exchanges = std::mem::take(&mut self.nonblocking.exchanges);
            let in_run = self.ranks[rank.index()].number_in_run(number);
            let more = self.steps[rank.index()].next_of(in_run, &mut exchanges);
            self.begin_phase(rank, number, more, &exchanges);
            self.nonblocking.exchanges = exchanges;
        }
    }

    fn begin_phase(&mut self, rank: GlobalRank, number: u64, more: bool, exchanges: &[Exchange]) {
        let key = (rank, number);
        let Some(phase) = self.nonblocking.underway.get_mut(&key) else { return };
        let mut clock = phase.ready;
        if !more {
            self.nonblocking.underway.remove(&key);
            self.complete(rank, number, clock, 0);
            return;
        }
        phase.open = exchanges.len();
        if exchanges.is_empty() {
            self.nonblocking.due.push(key);
        }
        for exchange in exchanges {
            let exchange = Exchange { number: number | OF_OPERATION, ..*exchange };
            let peer = self.peer(rank, &exchange);
            if exchange.sends {
                clock = self.send(rank, peer, &exchange, Some(clock));
            } else {
                self.receive(rank, peer, &exchange, clock);
            }
        }
    }
}

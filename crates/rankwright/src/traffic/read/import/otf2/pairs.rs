//! Sums of messages by pair.

use std::collections::BTreeMap;

use crate::ids::Rank;
use crate::traffic::Flow;
use crate::traffic::profile::{FlowKind, FlowRecord, FlowTimes};
use crate::units::Seconds;

/// Sums by pair.
#[derive(Default)]
pub(super) struct Pairs(BTreeMap<(Rank, Rank, FlowKind), Pair>);

/// Sums of one pair; times are in ticks.
#[derive(Default)]
struct Pair {
    messages: u64,
    bytes: u64,
    largest: u64,
    size_histogram: Vec<u64>,
    first: u64,
    last: u64,
    /// Mean gap, and the sum of squared deviations from it, by Welford's algorithm (1962).
    gap_mean: f64,
    gap_squares: f64,
}

impl Pairs {
    /// Adds a message of `bytes` from the first rank of the pair to the second.
    pub(super) fn add(&mut self, kind: FlowKind, pair: (Rank, Rank), bytes: u64, ticks: u64) {
        let pair = self.0.entry((pair.0, pair.1, kind)).or_default();
        if pair.messages == 0 {
            pair.first = ticks;
        } else {
            let gap = ticks.saturating_sub(pair.last) as f64;
            let distance = gap - pair.gap_mean;
            pair.gap_mean += distance / pair.messages as f64;
            pair.gap_squares += distance * (gap - pair.gap_mean);
        }
        pair.last = ticks.max(pair.last);
        pair.messages += 1;
        pair.bytes = pair.bytes.saturating_add(bytes);
        pair.largest = pair.largest.max(bytes);
        let bin = (u64::BITS - bytes.leading_zeros()) as usize;
        if pair.size_histogram.len() <= bin {
            pair.size_histogram.resize(bin + 1, 0);
        }
        pair.size_histogram[bin] += 1;
    }

    /// The flows. `since_start` converts a tick to seconds since MPI started on a rank, `seconds` a
    /// number of ticks to seconds.
    pub(super) fn flows(
        self,
        since_start: impl Fn(Rank, u64) -> Seconds,
        seconds: impl Fn(f64) -> Seconds,
    ) -> Vec<FlowRecord> {
        let record = |((source, destination, kind), pair): ((Rank, Rank, FlowKind), Pair)| {
            let caller = if kind == FlowKind::Get { destination } else { source };
            let Pair { messages, bytes, largest, gap_mean, .. } = pair;
            let gaps = messages.saturating_sub(1).max(1) as f64;
            let deviation = (pair.gap_squares / gaps).sqrt();
            let times = FlowTimes {
                first: since_start(caller, pair.first),
                last: since_start(caller, pair.last),
                gap_mean: seconds(gap_mean),
                gap_cv: if gap_mean > 0.0 { deviation / gap_mean } else { 0.0 },
            };
            FlowRecord {
                flow: Flow { source, destination, messages, bytes, largest },
                kind,
                times: Some(times),
                size_histogram: pair.size_histogram,
            }
        };
        self.0.into_iter().map(record).collect()
    }
}

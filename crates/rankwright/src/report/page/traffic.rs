//! Who sends how much to whom.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::JobRanks;
use super::packed::Packed;
use crate::traffic::Workload;
use crate::units::{Bytes, counted};

/// Above this number of pairs their bytes are rounded logarithms, so that a report stays small.
const MOST_EXACT_PAIRS: usize = 200_000;

/// Bytes of pairs of ranks, collective operations expanded. Messages of a rank to itself do not count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    /// Number of ranks, or of groups of ranks if `aggregated`.
    pub ranks: usize,
    /// By pair: the sender. Pairs are ordered by sender, then receiver.
    pub sources: Packed,
    /// By pair: the receiver.
    pub destinations: Packed,
    /// By pair: exact bytes (f64); if `rounded`, v (u8) for 2^(v/4) bytes, and 0 for none.
    pub bytes: Packed,
    /// Whether bytes are rounded logarithms, within 9 % (a single byte: within 19 %).
    pub rounded: bool,
    /// By pair: number of messages; only where bytes are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Packed>,
    /// Bytes of all pairs of ranks.
    pub total_bytes: u64,
    /// Messages of all pairs of ranks.
    pub total_messages: u64,
    /// Whether messages of collective operations are among them.
    pub collectives: bool,
    /// Whether each "rank" stands for the ranks that the first placement puts on one node, in the order of
    /// the nodes. A group then also sends to itself.
    pub aggregated: bool,
}

/// The bytes and messages from one to another.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ends: (u32, u32),
    bytes: u64,
    messages: u64,
}

impl Traffic {
    /// The traffic between the ranks of a workload.
    #[must_use]
    pub fn new(workload: &Workload) -> Self {
        let collectives = has_collectives(workload);
        let traffic = Self::of_pairs(pairs(workload).collect(), workload.rank_count());
        Self { collectives, ..traffic }
    }

    /// The traffic between groups of ranks. `group_of` has the group of each rank.
    ///
    /// # Panics
    /// If a rank has no group.
    #[must_use]
    pub fn between_groups(workload: &Workload, group_of: &[u32]) -> Self {
        let mut sums: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        for Pair { ends: (from, to), bytes, messages } in pairs(workload) {
            let sum = sums.entry((group_of[from as usize], group_of[to as usize])).or_default();
            sum.0 = sum.0.saturating_add(bytes);
            sum.1 = sum.1.saturating_add(messages);
        }
        let pair = |(ends, (bytes, messages))| Pair { ends, bytes, messages };
        let groups = group_of.iter().max().map_or(0, |last| *last as usize + 1);
        let traffic = Self::of_pairs(sums.into_iter().map(pair).collect(), groups);
        Self { collectives: has_collectives(workload), aggregated: true, ..traffic }
    }

    /// The traffic of these pairs, by sender, then receiver: sender, receiver, bytes, messages.
    #[must_use]
    pub fn between(pairs: &[(u32, u32, u64, u64)], ranks: usize) -> Self {
        let pair = |&(from, to, bytes, messages): &_| Pair { ends: (from, to), bytes, messages };
        Self::of_pairs(pairs.iter().map(pair).collect(), ranks)
    }

    /// Number of pairs that communicate.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.sources.length
    }

    /// `26.2 MB in 4000 messages between 20 pairs of ranks`.
    pub(super) fn sentence(&self) -> String {
        let (bytes, messages) = (Bytes(self.total_bytes), self.total_messages);
        let messages = counted(usize::try_from(messages).unwrap_or(usize::MAX), "message");
        let pairs = counted(self.pairs(), "pair");
        let of = if self.aggregated { "groups of ranks" } else { "ranks" };
        let included = match self.collectives {
            true => ", messages of collective operations included",
            false => "",
        };
        format!("{bytes:.1} in {messages} between {pairs} of {of}{included}")
    }

    /// The bytes of each pair: sender, receiver, bytes.
    pub(super) fn bytes_of_pairs(&self) -> Vec<(usize, usize, f64)> {
        let [from, to, bytes] =
            [&self.sources, &self.destinations, &self.bytes].map(Packed::numbers);
        let bytes = bytes.into_iter().map(|bytes| match (self.rounded, bytes) {
            (true, rounded) if rounded > 0.0 => (rounded / 4.0).exp2(),
            (_, bytes) => bytes,
        });
        let ends = from.into_iter().zip(to);
        ends.zip(bytes).map(|((from, to), bytes)| (from as usize, to as usize, bytes)).collect()
    }

    fn of_pairs(pairs: Vec<Pair>, ranks: usize) -> Self {
        let rounded = pairs.len() > MOST_EXACT_PAIRS;
        let whole =
            |number: fn(&Pair) -> u32| Packed::whole(&pairs.iter().map(number).collect::<Vec<_>>());
        let real = |number: fn(&Pair) -> u64| {
            Packed::real(&pairs.iter().map(|pair| number(pair) as f64).collect::<Vec<_>>())
        };
        let bytes = match rounded {
            true => {
                let rounded = pairs.iter().map(|pair| logarithm(pair.bytes));
                Packed::bytes(&rounded.collect::<Vec<_>>())
            }
            false => real(|pair| pair.bytes),
        };
        let sum = |number: fn(&Pair) -> u64| pairs.iter().map(number).fold(0, u64::saturating_add);
        Self {
            ranks,
            sources: whole(|pair| pair.ends.0),
            destinations: whole(|pair| pair.ends.1),
            bytes,
            rounded,
            messages: (!rounded).then(|| real(|pair| pair.messages)),
            total_bytes: sum(|pair| pair.bytes),
            total_messages: sum(|pair| pair.messages),
            collectives: false,
            aggregated: false,
        }
    }
}

fn has_collectives(workload: &Workload) -> bool {
    workload.jobs.iter().any(|job| !job.collectives.calls.is_empty())
}

/// The ranks of each job.
pub(super) fn job_ranks(workload: &Workload) -> Vec<JobRanks> {
    let offsets = workload.rank_offsets();
    let job = |(job, first): (&crate::traffic::Job, &crate::ids::GlobalRank)| JobRanks {
        name: job.name.clone(),
        first_rank: first.index(),
        ranks: job.ranks as usize,
    };
    workload.jobs.iter().zip(&offsets).map(job).collect()
}

/// The pairs of different ranks, by sender, then receiver.
fn pairs(workload: &Workload) -> impl Iterator<Item = Pair> + '_ {
    let offsets = workload.rank_offsets();
    workload.jobs.iter().zip(offsets).flat_map(|(job, first)| {
        let between = job.flows.iter().filter(|flow| flow.source != flow.destination);
        between.filter(|flow| flow.destination.0 < job.ranks).map(move |flow| Pair {
            ends: (first.0 + flow.source.0, first.0 + flow.destination.0),
            bytes: flow.bytes,
            messages: flow.messages,
        })
    })
}

/// v, where 2^(v/4) is nearest to this number of bytes.
fn logarithm(bytes: u64) -> u8 {
    match bytes {
        0 => 0,
        _ => (4.0 * (bytes as f64).log2()).round().max(1.0) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic;

    #[test]
    fn pairs_are_exact_up_to_the_limit() {
        let workload = traffic::open("pattern:ring:4:length=1000 B").unwrap();
        let traffic = Traffic::new(&workload);
        let sent: u64 = workload.jobs[0].flows.iter().map(|flow| flow.bytes).sum();
        assert_eq!((traffic.total_bytes, traffic.rounded), (sent, false));
        assert_eq!(traffic.bytes.numbers().iter().sum::<f64>(), sent as f64);
        let sources = traffic.sources.numbers();
        assert!(sources.is_sorted(), "{sources:?}");
    }

    #[test]
    fn many_pairs_are_rounded_logarithms_and_small() {
        let workload = traffic::open("pattern:all-to-all:512").unwrap();
        let traffic = Traffic::new(&workload);
        assert!(traffic.rounded && traffic.messages.is_none());
        assert_eq!(traffic.pairs(), 512 * 511);
        let exact = workload.jobs[0].flows[0].bytes as f64;
        let rounded = 2.0_f64.powf(traffic.bytes.numbers()[0] / 4.0);
        assert!((rounded / exact - 1.0).abs() < 0.09, "{rounded} for {exact}");
        let size = serde_json::to_string(&traffic).unwrap().len();
        assert!(size < 100_000, "{size}");
    }

    #[test]
    fn a_report_of_1024_ranks_is_below_3_mb_even_if_no_two_pairs_are_alike() {
        let mut state = 1_u64;
        let mut bits = || {
            // Knuth's linear congruential generator; its high bits are good enough here.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 32
        };
        let mut pairs = Vec::new();
        for from in 0..1024_u32 {
            for to in (0..1024_u32).filter(|to| *to != from) {
                pairs.push((from, to, (bits() << 20) >> (bits() % 52), 1));
            }
        }
        let traffic = Traffic::between(&pairs, 1024);
        let size = serde_json::to_string(&traffic).unwrap().len();
        assert!(size < 2_000_000, "{size}");
    }

    #[test]
    fn logarithms_are_within_nine_percent() {
        for bytes in [2_u64, 3, 100, 12_345, 1 << 40, 1 << 62] {
            let back = 2.0_f64.powf(f64::from(logarithm(bytes)) / 4.0);
            let exact = bytes as f64;
            assert!((back / exact - 1.0).abs() < 0.095, "{bytes}: {back}");
        }
        assert_eq!([logarithm(0), logarithm(1)], [0, 1]);
    }

    #[test]
    fn groups_add_up_their_ranks() {
        let workload = traffic::open("pattern:ring:4:length=1000 B").unwrap();
        let all = Traffic::new(&workload);
        let traffic = Traffic::between_groups(&workload, &[0, 0, 1, 1]);
        assert_eq!((traffic.ranks, traffic.aggregated), (2, true));
        assert_eq!(traffic.total_bytes, all.total_bytes);
        assert_eq!(traffic.pairs(), 4);
    }

    #[test]
    fn ranks_of_jobs_follow_each_other() {
        let workload = traffic::open("pattern:ring:4,pattern:ring:8").unwrap();
        let jobs = job_ranks(&workload);
        assert_eq!(
            jobs.iter().map(|job| (job.first_rank, job.ranks)).collect::<Vec<_>>(),
            [(0, 4), (4, 8)]
        );
        let sources = Traffic::new(&workload).sources.numbers();
        assert_eq!(sources.last(), Some(&11.0));
    }
}

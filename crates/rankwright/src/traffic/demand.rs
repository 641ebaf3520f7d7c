//! Communication demand of a job's ranks, and which ranks are adjacent.

use super::source::OUTSIDE;
use super::{Job, Send};
use crate::ids::Rank;
use crate::units::PerSecond;

/// The communication demand of all pairs of ranks of a job, Eq. (13), Soryani et al. 2013:
/// `CD = L λ (1 + f(CV) / 100)`.
///
/// In bytes per second with message timing. Without it, in bytes: the number of messages stands in
/// for the rate, and CV adds nothing. Two ranks are adjacent if one sends the other at least one
/// byte. A rank is never adjacent to itself or to anything outside the cluster.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Demand {
    /// Index into `peers` of each rank's first entry, by rank; one more entry holds the end.
    offsets: Vec<usize>,
    /// Adjacency lists of all ranks, each ascending; the number is the demand of both directions.
    peers: Vec<(Rank, f64)>,
    sent: Vec<f64>,
    received: Vec<f64>,
}

/// Which message length stands for a pair whose messages differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// The mean.
    Mean,
    /// The maximum.
    Largest,
}

/// Message statistics of a job, averaged over its pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MessageMeans {
    /// λ_avg: mean message rate of a pair.
    pub(crate) rate: PerSecond,
    /// L: message length, in bytes.
    pub(crate) length: f64,
    /// Ca: the coefficient of variation of the gaps between messages.
    pub(crate) cv: f64,
}

/// The messages of one send of a source, or of one flow.
struct Stream {
    from: Rank,
    to: Rank,
    /// λ (1 + f / 100), per second; without timing, a number of messages.
    rate: f64,
    /// `rate` times the message length.
    bytes: f64,
    largest: u64,
}

impl Demand {
    /// Demand of a job. `slowdown` maps a coefficient of variation to f, in percent.
    #[must_use]
    pub(crate) fn new(job: &Job, lengths: Lengths, slowdown: impl Fn(f64) -> f64) -> Self {
        let mut streams = streams(job, slowdown);
        // A stable sort: sums of floating-point numbers depend on their order.
        streams.sort_by_key(|stream| (stream.from, stream.to));
        let ranks = job.ranks as usize;
        let (mut sent, mut received) = (vec![0.0; ranks], vec![0.0; ranks]);
        let mut ends = Vec::with_capacity(2 * streams.len());
        for pair in streams.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)) {
            let demand = match lengths {
                Lengths::Mean => pair.iter().map(|stream| stream.bytes).sum(),
                Lengths::Largest => {
                    let largest = pair.iter().map(|stream| stream.largest).max().unwrap_or(0);
                    pair.iter().map(|stream| stream.rate).sum::<f64>() * largest as f64
                }
            };
            let (from, to) = (pair[0].from, pair[0].to);
            sent[from.index()] += demand;
            if to == OUTSIDE {
                continue;
            }
            received[to.index()] += demand;
            ends.extend([(from, to, demand), (to, from, demand)]);
        }
        ends.sort_by_key(|(rank, peer, _)| (*rank, *peer));
        ends.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut offsets = vec![0; ranks + 1];
        ends.iter().for_each(|(rank, _, _)| offsets[rank.index() + 1] += 1);
        for rank in 0..ranks {
            offsets[rank + 1] += offsets[rank];
        }
        let peers = ends.into_iter().map(|(_, peer, demand)| (peer, demand)).collect();
        Self { offsets, peers, sent, received }
    }

    /// Number of ranks.
    #[must_use]
    pub(crate) fn rank_count(&self) -> usize {
        self.sent.len()
    }

    /// Adjacent ranks in ascending order, with the demand of both directions.
    #[must_use]
    pub(crate) fn peers(&self, rank: Rank) -> &[(Rank, f64)] {
        &self.peers[self.offsets[rank.index()]..self.offsets[rank.index() + 1]]
    }

    /// Demand of everything a rank sends.
    #[must_use]
    pub(crate) fn sent(&self, rank: Rank) -> f64 {
        self.sent[rank.index()]
    }

    /// Demand of everything a rank receives.
    #[must_use]
    pub(crate) fn received(&self, rank: Rank) -> f64 {
        self.received[rank.index()]
    }

    /// `ADJ_avg`: mean number of adjacent ranks, rounded down.
    #[must_use]
    pub(crate) fn mean_adjacency(&self) -> u64 {
        (self.peers.len() / self.rank_count().max(1)) as u64
    }

    /// The largest number of adjacent ranks of any rank.
    #[must_use]
    pub(crate) fn largest_adjacency(&self) -> u64 {
        self.offsets.windows(2).map(|row| (row[1] - row[0]) as u64).max().unwrap_or(0)
    }

    /// Number of adjacent pairs, counted from both ends.
    #[must_use]
    pub(crate) fn adjacency_sum(&self) -> u64 {
        self.peers.len() as u64
    }
}

fn streams(job: &Job, slowdown: impl Fn(f64) -> f64) -> Vec<Stream> {
    if job.sources.is_empty() {
        let flows = job.flows.iter().filter(|f| f.source != f.destination && f.bytes > 0);
        let stream = |flow: &super::Flow| Stream {
            from: flow.source,
            to: flow.destination,
            rate: flow.messages.max(1) as f64,
            bytes: flow.bytes as f64,
            largest: flow.largest,
        };
        return flows.map(stream).collect();
    }
    let mut streams = Vec::with_capacity(job.flows.len());
    for source in &job.sources {
        let rate = source.rate.0 * (1.0 + slowdown(source.cv) / 100.0);
        let others = source.sends.iter();
        let others = others.filter(|send| send.destination != source.rank && send.length.0 > 0);
        streams.extend(others.map(|send| Stream {
            from: source.rank,
            to: send.destination,
            rate,
            bytes: rate * send.length.0 as f64,
            largest: send.length.0,
        }));
    }
    streams
}

impl MessageMeans {
    /// Averages length and CV over all messages, and the rate over all pairs that communicate.
    /// `None` without message timing, or if nothing is sent.
    #[must_use]
    pub(crate) fn of_job(job: &Job, lengths: Lengths) -> Option<Self> {
        let (mut rate, mut bytes, mut varied, mut largest) = (0.0, 0.0, 0.0, 0);
        for source in &job.sources {
            let others = |send: &&Send| ![source.rank, OUTSIDE].contains(&send.destination);
            for send in source.sends.iter().filter(others) {
                if send.length.0 > 0 {
                    rate += source.rate.0;
                    bytes += source.rate.0 * send.length.0 as f64;
                    varied += source.rate.0 * source.cv;
                    largest = largest.max(send.length.0);
                }
            }
        }
        let pairs = job.flows.iter().filter(|f| f.source != f.destination && f.bytes > 0).count();
        let length = match lengths {
            Lengths::Mean => bytes / rate,
            Lengths::Largest => largest as f64,
        };
        let means = Self { rate: PerSecond(rate / pairs as f64), length, cv: varied / rate };
        (rate > 0.0 && pairs > 0).then_some(means)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::traffic::generate::pattern::Pattern;
    use crate::traffic::{Flow, Source};
    use crate::units::Bytes;

    fn job(pattern: &str) -> Job {
        Pattern::parse(pattern).unwrap().job().unwrap()
    }

    fn demand(job: &Job) -> Demand {
        Demand::new(job, Lengths::Mean, |_| 0.0)
    }

    #[test]
    fn adjacency_is_that_of_the_papers_patterns() {
        let adjacency =
            ["all-to-all:64", "bcast:64", "gather:64", "linear:64", "ring:64", "ring:1"]
                .map(|pattern| demand(&job(pattern)).mean_adjacency());
        assert_eq!(adjacency, [63, 1, 1, 1, 2, 0]);
        let gather = demand(&job("gather:8"));
        assert_eq!((gather.largest_adjacency(), gather.adjacency_sum()), (7, 14));
    }

    #[test]
    fn demand_is_bytes_per_second_and_what_bursts_add() {
        let sends = |length| vec![Send { destination: Rank(1), length: Bytes(length) }];
        let source = |rank, rate, cv, length| Source {
            rank: Rank(rank),
            rate: PerSecond(rate),
            cv,
            in_step: None,
            rounds: 1,
            sends: sends(length),
        };
        // 10 x 100 B and 5 x 400 B from 0 to 1; what 1 sends itself counts nowhere.
        let sources =
            vec![source(0, 10.0, 0.0, 100), source(0, 5.0, 2.0, 400), source(1, 9.0, 1.0, 7)];
        let job = Job::from_sources("j", 3, sources).unwrap();
        let square = |cv: f64| 50.0 * cv * cv;
        let mean = Demand::new(&job, Lengths::Mean, square);
        assert_eq!(mean.peers(Rank(0)), [(Rank(1), 1000.0 + 3.0 * 2000.0)]);
        assert_eq!((mean.sent(Rank(0)), mean.received(Rank(0))), (7000.0, 0.0));
        assert_eq!((mean.sent(Rank(1)), mean.received(Rank(1))), (0.0, 7000.0));
        assert!(mean.peers(Rank(2)).is_empty());
        let largest = Demand::new(&job, Lengths::Largest, square);
        assert_eq!(largest.sent(Rank(0)), (10.0 + 3.0 * 5.0) * 400.0);
        let means = MessageMeans::of_job(&job, Lengths::Mean).unwrap();
        assert_eq!((means.rate.0, means.length, means.cv), (15.0, 200.0, 10.0 / 15.0));
        assert_eq!(MessageMeans::of_job(&job, Lengths::Largest).unwrap().length, 400.0);
    }

    #[test]
    fn without_clocks_messages_count() {
        let flow = |source, destination, messages, bytes| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages,
            bytes,
            largest: bytes,
        };
        let flows = [flow(0, 1, 2, 10), flow(1, 0, 1, 5), flow(1, 1, 1, 99), flow(1, 2, 7, 0)];
        let job = Job::new("j", 3, flows).unwrap();
        let mean = Demand::new(&job, Lengths::Mean, |_| f64::NAN);
        assert_eq!(mean.peers(Rank(0)), [(Rank(1), 15.0)]);
        assert_eq!((mean.sent(Rank(0)), mean.received(Rank(0))), (10.0, 5.0));
        assert!(mean.peers(Rank(2)).is_empty());
        assert_eq!(Demand::new(&job, Lengths::Largest, |_| 0.0).sent(Rank(0)), 20.0);
        assert_eq!(MessageMeans::of_job(&job, Lengths::Mean), None);
        assert_eq!(MessageMeans::of_job(&super::Job::default(), Lengths::Mean), None);
    }

    proptest! {
        #[test]
        fn what_is_sent_is_received_and_known_at_both_ends(
            flows in prop::collection::vec((0_u32..9, 0_u32..9, 1_u64..5, 0_u64..1000), 0..40),
        ) {
            let flow = |(source, destination, messages, largest): (u32, u32, u64, u64)| Flow {
                source: Rank(source),
                destination: Rank(destination),
                messages,
                bytes: messages * largest,
                largest,
            };
            let job = Job::new("j", 9, flows.into_iter().map(flow)).unwrap();
            let demand = demand(&job);
            let ranks = || (0..9).map(Rank);
            let bytes: u64 = job.flows.iter().filter(|f| f.source != f.destination).map(|f| f.bytes).sum();
            prop_assert_eq!(ranks().map(|rank| demand.sent(rank)).sum::<f64>(), bytes as f64);
            prop_assert_eq!(ranks().map(|rank| demand.received(rank)).sum::<f64>(), bytes as f64);
            for rank in ranks() {
                prop_assert!(demand.peers(rank).is_sorted_by_key(|(peer, _)| *peer));
                let both: f64 = demand.peers(rank).iter().map(|(_, between)| between).sum();
                prop_assert_eq!(both, demand.sent(rank) + demand.received(rank));
                for (peer, between) in demand.peers(rank) {
                    prop_assert!(*peer != rank && demand.peers(*peer).contains(&(rank, *between)));
                }
            }
        }
    }
}

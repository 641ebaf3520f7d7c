//! Message timing for recorded and imported traffic: turns the known times of each pair into the
//! [`Source`]s of a job.
//!
//! A rank that sends to several others equally often and fast does so in rounds, as in a halo
//! exchange: its messages leave in batches, which wait longer than evenly spread messages. Such
//! pairs share a clock.
//!
//! `recorded` builds the clocks of a profile, `sizes` the message sizes of a pair.

mod recorded;
mod sizes;

use std::collections::BTreeSet;

use super::source::{LARGEST_CV, RATES};
use super::{Flow, Job, Send, Source};
use crate::ids::Rank;
use crate::units::{Bytes, PerSecond, Seconds};

pub(super) use recorded::recorded;
use sizes::SizeClass;

/// Pairs of a rank share a clock if their rates differ by at most this factor.
const SAME_RATE: f64 = 1.05;
/// Largest number of clocks that rounds are divided into when message sizes differ.
const MOST_PARTS: usize = 16;
/// Number of recent clocks of a rank that are tried for sharing with another pair.
const LOOK_BACK: usize = 8;

/// Timing of one pair, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
struct PairClock {
    source: Rank,
    destination: Rank,
    /// Time of the first message, in seconds since MPI started; `None` if unknown.
    first: Option<f64>,
    /// Messages per second.
    rate: f64,
    /// The coefficient of variation of the gaps between messages.
    cv: f64,
    /// Messages by size, the longest first; not empty.
    sizes: Vec<SizeClass>,
}

impl Job {
    /// Gives every pair that communicates `rate` messages per second, replacing any timing. `cv` is
    /// the coefficient of variation of the gaps.
    #[must_use]
    pub fn at_rate(self, rate: PerSecond, cv: f64) -> Self {
        let clock = |flow: &Flow| PairClock::of_flow(flow, rate.0, cv);
        let clocks = self.flows.iter().filter_map(clock).collect();
        self.with_sources(rounds(clocks))
    }

    /// Makes the clocks end after `duration` on average. With message timing, all clocks are scaled
    /// by one factor; without, each pair spreads its messages evenly over `duration`, with `cv` as
    /// the coefficient of variation of the gaps.
    #[must_use]
    pub(crate) fn lasting(mut self, duration: Seconds, cv: f64) -> Self {
        let longest = self.sources.iter().map(|source| source.rounds as f64 / source.rate.0);
        let longest = longest.fold(0.0, f64::max);
        if longest > 0.0 {
            for source in &mut self.sources {
                source.rate = allowed_rate(source.rate.0 * longest / duration.0);
            }
            return self;
        }
        let clock = |flow: &Flow| PairClock::of_flow(flow, flow.messages as f64 / duration.0, cv);
        let clocks = self.flows.iter().filter_map(clock).collect();
        self.with_sources(rounds(clocks))
    }

    /// Splits the bytes of each pair into equal messages of at most `length`. Discards timing.
    #[must_use]
    pub(crate) fn in_messages_of(mut self, length: Bytes) -> Self {
        self.sources.clear();
        for flow in self.flows.iter_mut().filter(|flow| flow.bytes > 0) {
            flow.messages = flow.bytes.div_ceil(length.0.max(1));
            flow.largest = flow.bytes.div_ceil(flow.messages);
        }
        self
    }

    /// Sets the clocks, or none if they do not send exactly the flows (amounts beyond 64 bits).
    fn with_sources(mut self, sources: Vec<Source>) -> Self {
        let amounts = |job: &Self| -> Vec<(Rank, Rank, u64, u64)> {
            let sent = job.flows.iter().filter(|flow| flow.messages > 0 || flow.bytes > 0);
            sent.map(|flow| (flow.source, flow.destination, flow.messages, flow.bytes)).collect()
        };
        let sent = Self::from_sources("", self.ranks, sources);
        self.sources = match sent {
            Ok(sent) if amounts(&sent) == amounts(&self) => sent.sources,
            _ => Vec::new(),
        };
        self
    }
}

impl PairClock {
    /// Timing of a pair with known amounts only; `None` if it sends no message.
    fn of_flow(flow: &Flow, rate: f64, cv: f64) -> Option<Self> {
        let sizes = sizes::alike(flow.messages, flow.bytes, flow.largest);
        let Flow { source, destination, .. } = *flow;
        let clock = Self { source, destination, first: None, rate, cv, sizes };
        (flow.messages > 0).then_some(clock)
    }

    fn messages(&self) -> u64 {
        self.sizes.iter().map(|class| class.messages).fold(0, u64::saturating_add)
    }

    /// Numbers of messages, the longest first, after which the size changes; the last is the total.
    fn parts(&self) -> impl Iterator<Item = u64> {
        self.sizes.iter().scan(0_u64, |sum, class| {
            *sum = sum.saturating_add(class.messages);
            Some(*sum)
        })
    }

    /// Length of message number `messages` (from 0, the longest first).
    fn length_after(&self, messages: u64) -> Bytes {
        let mut classes = self.sizes.iter().zip(self.parts());
        let class = classes.find(|(_, end)| *end > messages).map(|(class, _)| class.length);
        Bytes(class.unwrap_or_default())
    }
}

/// Pairs of one rank that send in rounds, and the parts into which their sizes divide the rounds.
struct Rounds {
    pairs: Vec<PairClock>,
    parts: BTreeSet<u64>,
}

/// Builds one clock per set of pairs that send in rounds. `pairs` belong to one rank.
fn rounds(mut pairs: Vec<PairClock>) -> Vec<Source> {
    let order = |a: &PairClock, b: &PairClock| {
        let key = |pair: &PairClock| (pair.source, pair.messages());
        key(a).cmp(&key(b)).then(a.rate.total_cmp(&b.rate)).then(a.destination.cmp(&b.destination))
    };
    pairs.sort_by(order);
    let mut all: Vec<Rounds> = Vec::new();
    for pair in pairs {
        let latest = all.len().saturating_sub(LOOK_BACK);
        match all[latest..].iter_mut().find(|rounds| rounds.fits(&pair)) {
            Some(rounds) => rounds.add(pair),
            None => all.push(Rounds { parts: pair.parts().collect(), pairs: vec![pair] }),
        }
    }
    all.iter().flat_map(Rounds::sources).collect()
}

impl Rounds {
    /// Whether a pair can join these rounds. A single message never does.
    fn fits(&self, pair: &PairClock) -> bool {
        let first = &self.pairs[0];
        let together = match (first.first, pair.first) {
            // Both start in the same round.
            (Some(a), Some(b)) => (a - b).abs() * first.rate <= 1.0,
            _ => true,
        };
        first.source == pair.source
            && pair.messages() > 1
            && first.messages() == pair.messages()
            && pair.rate <= first.rate * SAME_RATE
            && together
            && pair.parts().chain(self.parts.iter().copied()).collect::<BTreeSet<_>>().len()
                <= MOST_PARTS
    }

    fn add(&mut self, pair: PairClock) {
        self.parts.extend(pair.parts());
        self.pairs.push(pair);
    }

    /// One clock per part. Sizes come in random order: a random share p of the ticks of a clock
    /// with coefficient of variation c has sqrt(p c² + 1 - p).
    fn sources(&self) -> Vec<Source> {
        let count = self.pairs.len() as f64;
        // Mean of the gaps.
        let first = self.pairs[0].rate;
        let rate = first * count / self.pairs.iter().map(|pair| first / pair.rate).sum::<f64>();
        let cv = self.pairs.iter().map(|pair| pair.cv).sum::<f64>() / count;
        let mut pairs: Vec<&PairClock> = self.pairs.iter().collect();
        // The next rank first, as libraries and programs do: else all would send to rank 0 at once.
        pairs.sort_by_key(|pair| (pair.destination < pair.source, pair.destination));
        let rounds = self.parts.last().copied().unwrap_or_default();
        let mut begin = 0;
        let part = |&end: &u64| {
            let share = (end - begin) as f64 / rounds as f64;
            let send = |pair: &&PairClock| Send {
                destination: pair.destination,
                length: pair.length_after(begin),
            };
            let source = Source {
                rank: self.pairs[0].source,
                rate: allowed_rate(rate * share),
                // A single message has no gaps: it is sent at a random time of the run.
                cv: match end - begin {
                    1 => 0.0,
                    _ => (share * cv * cv + 1.0 - share).sqrt().min(LARGEST_CV),
                },
                in_step: None,
                rounds: end - begin,
                sends: pairs.iter().map(send).collect(),
            };
            begin = end;
            source
        };
        self.parts.iter().map(part).collect()
    }
}

/// The valid rate nearest to `rate`.
fn allowed_rate(rate: f64) -> PerSecond {
    PerSecond(rate.clamp(*RATES.start(), *RATES.end()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pair(source: u32, destination: u32, rate: f64, sizes: &[(u64, u64)]) -> PairClock {
        let sizes = sizes.iter().map(|&(messages, length)| SizeClass { messages, length });
        let (source, destination) = (Rank(source), Rank(destination));
        PairClock { source, destination, first: None, rate, cv: 1.0, sizes: sizes.collect() }
    }

    /// Rank, rounds, rate, and the lengths to each destination.
    fn shown(sources: &[Source]) -> Vec<String> {
        let line = |source: &Source| {
            let sends: Vec<String> = source
                .sends
                .iter()
                .map(|send| format!("{}:{}", send.destination, send.length.0))
                .collect();
            let (rank, rounds, rate) = (source.rank, source.rounds, source.rate.0);
            format!("{rank} {rounds} x {} at {rate:.1}", sends.join(" "))
        };
        sources.iter().map(line).collect()
    }

    #[test]
    fn pairs_of_equal_count_and_rate_share_a_clock() {
        let clocks = rounds(vec![
            pair(0, 1, 10.0, &[(100, 8)]),
            pair(0, 2, 10.3, &[(100, 9)]),
            pair(0, 3, 20.0, &[(100, 8)]),
            pair(0, 4, 10.0, &[(101, 8)]),
            pair(1, 0, 10.0, &[(100, 8)]),
        ]);
        let expected = [
            "0 100 x 1:8 2:9 at 10.1",
            "0 100 x 3:8 at 20.0",
            "0 101 x 4:8 at 10.0",
            "1 100 x 0:8 at 10.0",
        ];
        assert_eq!(shown(&clocks), expected);
    }

    #[test]
    fn pairs_that_begin_in_other_rounds_have_clocks_of_their_own() {
        let at = |first, destination| PairClock {
            first: Some(first),
            ..pair(0, destination, 10.0, &[(5, 8)])
        };
        assert_eq!(rounds(vec![at(0.0, 1), at(0.05, 2), at(3.0, 3)]).len(), 2);
    }

    #[test]
    fn sizes_divide_the_rounds() {
        let clocks = rounds(vec![
            pair(0, 1, 10.0, &[(40, 64), (60, 8)]),
            pair(0, 2, 10.0, &[(100, 16)]),
            pair(0, 3, 10.0, &[(1, 9), (99, 8)]),
        ]);
        let expected = [
            "0 1 x 1:64 2:16 3:9 at 0.1",
            "0 39 x 1:64 2:16 3:8 at 3.9",
            "0 60 x 1:8 2:16 3:8 at 6.0",
        ];
        assert_eq!(shown(&clocks), expected);
        let cvs: Vec<f64> = clocks.iter().map(|source| source.cv).collect();
        assert_eq!(cvs, [0.0, 1.0, 1.0]);
    }

    #[test]
    fn imported_traffic_gets_a_rate_or_a_duration() {
        let flow = |source: u32, destination: u32, messages, bytes| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages,
            bytes,
            largest: bytes,
        };
        let job = Job::new("j", 3, [flow(0, 1, 4, 10), flow(0, 2, 4, 40), flow(1, 2, 8, 8)]);
        let job = job.unwrap();
        let by_rate = job.clone().at_rate(PerSecond(2.0), 1.0);
        assert_eq!(
            shown(&by_rate.sources),
            ["0 1 x 1:4 2:10 at 0.5", "0 3 x 1:2 2:10 at 1.5", "1 8 x 2:1 at 2.0"]
        );
        let lasting = job.clone().lasting(Seconds(2.0), 1.0);
        assert_eq!(
            shown(&lasting.sources),
            ["0 1 x 1:4 2:10 at 0.5", "0 3 x 1:2 2:10 at 1.5", "1 8 x 2:1 at 4.0"]
        );
        let faster = shown(&lasting.lasting(Seconds(1.0), 1.0).sources);
        assert_eq!(faster[2], "1 8 x 2:1 at 8.0");
        let cut = job.in_messages_of(Bytes(16)).at_rate(PerSecond(1.0), 1.0);
        assert_eq!(shown(&cut.sources)[..2], ["0 1 x 1:10 at 1.0", "0 1 x 2:14 at 0.3"]);
    }

    #[test]
    fn amounts_beyond_any_counter_get_no_clocks() {
        let flow = Flow {
            source: Rank(0),
            destination: Rank(1),
            messages: u64::MAX,
            bytes: u64::MAX,
            largest: u64::MAX,
        };
        let none = Flow { messages: 0, ..flow };
        for flow in [flow, none] {
            let job = Job::new("j", 2, [flow]).unwrap().at_rate(PerSecond(1.0), 1.0);
            assert!(job.sources.is_empty() || job.sources[0].rounds == u64::MAX);
        }
    }

    proptest! {
        #[test]
        fn clocks_send_exactly_the_flows(
            flows in prop::collection::vec((0_u32..4, 0_u32..9, 1_u64..9, 0_u64..5000), 1..60),
            rate in 0.01..1e4,
            cv in 0.0..5.0,
        ) {
            let flow = |&(source, destination, messages, bytes): &(u32, u32, u64, u64)| Flow {
                source: Rank(source),
                destination: Rank(destination),
                messages,
                bytes,
                largest: bytes,
            };
            let job = Job::new("j", 9, flows.iter().map(flow)).unwrap();
            for job in [
                job.clone().at_rate(PerSecond(rate), cv),
                job.clone().lasting(Seconds(rate), cv),
                job.in_messages_of(Bytes(100)).lasting(Seconds(rate), cv),
            ] {
                // Those that do not would have been dropped.
                prop_assert!(!job.sources.is_empty());
                let sends = job.sources.iter().map(|source| source.sends.len()).sum::<usize>();
                prop_assert!(sends <= job.flows.len() * MOST_PARTS);
                prop_assert!(job.sources.iter().all(|source| source.cv <= cv.max(1.0) + 1e-9));
            }
        }
    }
}

//! The clocks of a workload, grouped: ranks that send alike to one list of ranks are counted
//! together, as multicasts.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::ids::GlobalRank;
use crate::traffic::{self, Send, Source, Workload};

/// The receiver of messages that leave the cluster. Greater than every rank.
pub(crate) const OUTSIDE: GlobalRank = GlobalRank(traffic::OUTSIDE.0);

/// A list with fewer destinations is not counted as a multicast.
const SMALLEST_MULTICAST: usize = 8;
/// Where ranks are in more multicasts than this in the mean, those with fewer than `LEAST_SENDERS`
/// senders are counted message by message: a rank that moves changes every multicast that it is in,
/// which takes as long as several single messages each.
const MOST_MULTICASTS: usize = 4;
const LEAST_SENDERS: usize = 4;

/// The clocks of all jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockGroups {
    /// The number of ranks of all jobs.
    pub(crate) rank_count: usize,
    pub(crate) job_count: usize,
    /// The times at which clocks stop: seconds, ascending.
    pub(crate) ends: Vec<f64>,
    /// The lengths of messages that occur: bytes, ascending.
    pub(crate) lengths: Vec<u64>,
    pub(crate) kinds: Vec<MessageKind>,
    pub(crate) multicasts: Vec<Multicast>,
    /// The clocks that belong to no multicast.
    pub(crate) singles: Vec<SingleClock>,
}

/// Messages that the fluid distinguishes from others: those of clocks with one end, and of one
/// length or of neighbouring lengths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MessageKind {
    /// Index in [`ClockGroups::ends`].
    pub(crate) end: usize,
    /// Indices in [`ClockGroups::lengths`].
    pub(crate) lengths: Range<usize>,
}

/// Clocks that tick and send alike: each sends to every member but its own rank.
#[derive(Debug, Clone)]
pub(crate) struct Multicast {
    pub(crate) clock: Clock,
    /// Index in [`ClockGroups::lengths`].
    pub(crate) length: usize,
    /// Index in [`ClockGroups::kinds`].
    pub(crate) kind: usize,
    /// One for each clock; all are members.
    pub(crate) senders: Vec<GlobalRank>,
    /// The receivers, ascending, which is the order of sending.
    pub(crate) members: Vec<GlobalRank>,
}

/// A clock whose messages are counted one by one.
#[derive(Debug, Clone)]
pub(crate) struct SingleClock {
    pub(crate) clock: Clock,
    pub(crate) sender: GlobalRank,
    /// The messages of one tick, in the order of sending.
    pub(crate) sends: Vec<Destination>,
}

/// The receiver of one message of each tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Destination {
    /// A rank, or [`OUTSIDE`].
    pub(crate) rank: GlobalRank,
    /// Index in [`ClockGroups::lengths`].
    pub(crate) length: u32,
    /// Index in [`ClockGroups::kinds`].
    pub(crate) kind: u32,
}

/// When a source sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    /// Index in [`Workload::jobs`].
    pub(crate) job: usize,
    /// Ticks per second.
    pub(crate) rate: f64,
    /// The square of the coefficient of variation of the gaps between ticks.
    pub(crate) cv2: f64,
    /// Index in [`ClockGroups::ends`].
    pub(crate) end: usize,
    /// The number of ticks.
    pub(crate) rounds: f64,
}

/// The properties that the clocks of one multicast share: job, members, length, and the bits of rate,
/// `cv2` and rounds.
type MulticastKey = (usize, Vec<GlobalRank>, u32, [u64; 3]);

/// The position in [`ClockGroups::multicasts`] of each multicast.
type MulticastPositions = BTreeMap<MulticastKey, usize>;

impl ClockGroups {
    /// The clocks of a workload. Ends that differ by less than a thousandth count as one. If there
    /// are more than `most_kinds`, the nearest ends and lengths are joined: that changes rates, but
    /// not the number of messages nor their bytes.
    pub(crate) fn new(workload: &Workload, most_kinds: usize) -> Self {
        let sources = || workload.jobs.iter().flat_map(|job| &job.sources);
        let ends = distinct_ends(sources().map(end_of).collect(), most_kinds);
        let mut lengths: Vec<u64> =
            sources().flat_map(|source| &source.sends).map(|send| send.length.0).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let occurring = sources().flat_map(|source| {
            let end = nearest(&ends, end_of(source));
            let length = |bytes: u64| lengths.partition_point(|shorter| *shorter < bytes);
            source.sends.iter().map(move |send| (end, length(send.length.0)))
        });
        let kinds = kinds(occurring.collect(), &lengths, most_kinds);
        let (rank_count, job_count) = (workload.rank_count(), workload.jobs.len());
        let mut groups = Self { rank_count, job_count, ends, lengths, kinds, ..Self::default() };
        let mut multicasts = BTreeMap::new();
        for (number, (job, first)) in workload.jobs.iter().zip(workload.rank_offsets()).enumerate()
        {
            for source in &job.sources {
                groups.add(number, first, source, &mut multicasts);
            }
        }
        groups.dissolve_small_multicasts();
        groups
    }

    /// Counts multicasts of few senders message by message where ranks are in many.
    fn dissolve_small_multicasts(&mut self) {
        let memberships: usize = self.multicasts.iter().map(|it| it.members.len()).sum();
        if memberships <= MOST_MULTICASTS * self.rank_count {
            return;
        }
        let has_few = |multicast: &mut Multicast| multicast.senders.len() < LEAST_SENDERS;
        for Multicast { clock, length, kind, senders, members } in
            self.multicasts.extract_if(.., has_few)
        {
            let (length, kind) = (length as u32, kind as u32);
            for sender in senders {
                let others = members.iter().filter(|rank| **rank != sender);
                let sends = others.map(|rank| Destination { rank: *rank, length, kind }).collect();
                self.singles.push(SingleClock { clock, sender, sends });
            }
        }
    }

    /// `job` is an index in [`Workload::jobs`], `first` the global rank of its rank 0.
    fn add(
        &mut self,
        job: usize,
        first: GlobalRank,
        source: &Source,
        multicasts: &mut MulticastPositions,
    ) {
        let end = nearest(&self.ends, end_of(source));
        let rounds = source.rounds as f64;
        let rate = rounds / self.ends[end];
        let clock = Clock { job, rate, cv2: source.cv * source.cv, end, rounds };
        let sender = source.rank.global(first);
        let destination = |send: &Send| {
            let length = self.lengths.partition_point(|shorter| *shorter < send.length.0);
            let is = |kind: &MessageKind| kind.end == end && kind.lengths.contains(&length);
            let kind = self.kinds.iter().position(is).unwrap_or_default() as u32;
            let rank = match send.destination {
                traffic::OUTSIDE => OUTSIDE,
                rank => rank.global(first),
            };
            Destination { rank, length: length as u32, kind }
        };
        let others = |destination: &Destination| destination.rank != sender;
        let sends: Vec<Destination> = source.sends.iter().map(destination).filter(others).collect();
        let Some(&Destination { length, kind, .. }) = sends.first() else {
            return;
        };
        let Some(members) = multicast_members(&sends, sender) else {
            self.singles.push(SingleClock { clock, sender, sends });
            return;
        };
        let clock_bits = [rate.to_bits(), clock.cv2.to_bits(), rounds.to_bits()];
        let key = (job, members.clone(), length, clock_bits);
        let multicast = *multicasts.entry(key).or_insert_with(|| {
            let (length, kind) = (length as usize, kind as usize);
            self.multicasts.push(Multicast { clock, length, kind, senders: Vec::new(), members });
            self.multicasts.len() - 1
        });
        self.multicasts[multicast].senders.push(sender);
    }
}

/// The kinds of messages with these pairs of end and length, indices in [`ClockGroups`]: at most
/// `most`, but at least one for each end.
fn kinds(mut occurring: Vec<(usize, usize)>, lengths: &[u64], most: usize) -> Vec<MessageKind> {
    occurring.sort_unstable();
    occurring.dedup();
    let kind = |(end, length): (usize, usize)| MessageKind { end, lengths: length..length + 1 };
    let mut kinds: Vec<MessageKind> = occurring.into_iter().map(kind).collect();
    while kinds.len() > most.max(1) {
        let ratio = |at: &usize| {
            let short = lengths[kinds[*at].lengths.start];
            let long = lengths[kinds[at + 1].lengths.end - 1];
            long.max(1) as f64 / short.max(1) as f64
        };
        let same_end = |at: &usize| kinds[*at].end == kinds[at + 1].end;
        let closest = (0..kinds.len() - 1).filter(same_end);
        let Some(closest) = closest.min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else {
            break;
        };
        kinds[closest].lengths.end = kinds[closest + 1].lengths.end;
        kinds.remove(closest + 1);
    }
    kinds
}

/// The receivers and the sender in ascending order, if messages are sent in that order and all have
/// one length.
fn multicast_members(sends: &[Destination], sender: GlobalRank) -> Option<Vec<GlobalRank>> {
    let in_order =
        |pair: &[Destination]| pair[0].rank < pair[1].rank && pair[0].length == pair[1].length;
    let ascending = sends.windows(2).all(in_order);
    let outside = sends.last().is_some_and(|destination| destination.rank == OUTSIDE);
    if sends.len() < SMALLEST_MULTICAST || !ascending || outside {
        return None;
    }
    let mut members: Vec<GlobalRank> = sends.iter().map(|destination| destination.rank).collect();
    members.insert(members.partition_point(|rank| *rank < sender), sender);
    Some(members)
}

/// The mean time of a source's last tick, seconds.
fn end_of(source: &Source) -> f64 {
    source.rounds as f64 / source.rate.0
}

/// At most `most` ends, ascending.
fn distinct_ends(mut ends: Vec<f64>, most: usize) -> Vec<f64> {
    ends.sort_by(f64::total_cmp);
    ends.dedup_by(|next, kept| *next <= *kept * 1.001);
    while ends.len() > most.max(1) {
        let ratio = |at: &usize| ends[at + 1] / ends[*at];
        let closest = (0..ends.len() - 1).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        ends.remove(closest.unwrap_or(0));
    }
    ends
}

/// The index of the end with the smallest ratio to `end`.
fn nearest(ends: &[f64], end: f64) -> usize {
    let after = ends.partition_point(|earlier| *earlier < end);
    let before = after.saturating_sub(1);
    let last = ends.len() - 1;
    let after = after.min(last);
    if end / ends[before] <= ends[after] / end { before } else { after }
}

//! What the ranks of a workload ask of any placement: their clocks in a form in which ranks that
//! send alike are counted together.

use std::collections::BTreeMap;

use crate::traffic::{Send, Source, Workload, source};

/// In the place of a receiver: messages that leave the cluster.
pub(crate) const OUTSIDE: u32 = source::OUTSIDE.0;

/// Ranks below which a list of destinations is kept message by message.
const SMALLEST_FAN: usize = 8;

/// The clocks of all jobs, ranks counted through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demand {
    /// How many ranks there are.
    pub(crate) ranks: usize,
    /// How many jobs there are.
    pub(crate) jobs: usize,
    /// When clocks stop, ascending, seconds.
    pub(crate) ends: Vec<f64>,
    /// The lengths of messages that occur, ascending.
    pub(crate) lengths: Vec<u64>,
    /// What is told apart among messages.
    pub(crate) kinds: Vec<Kind>,
    /// Sources that send to the same ranks.
    pub(crate) fans: Vec<Fan>,
    /// All others.
    pub(crate) singles: Vec<Single>,
}

/// What senders of one fan have in common: job, ranks, length, and the bits of their clocks.
type FanKey = (usize, Vec<u32>, u32, [u64; 3]);

/// Messages that are sent until the same time and are of the same length, or nearly so.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kind {
    /// Which of the ends.
    pub(crate) end: usize,
    /// The first of the lengths that are this kind, and the one behind the last.
    pub(crate) first: usize,
    pub(crate) behind: usize,
}

/// Clocks that tick and send alike, each to every rank of one list but its own.
#[derive(Debug, Clone)]
pub(crate) struct Fan {
    pub(crate) clock: Clock,
    /// Which of the lengths.
    pub(crate) length: usize,
    /// Which of the kinds.
    pub(crate) kind: usize,
    /// Who sends.
    pub(crate) senders: Vec<u32>,
    /// Who receives, in the order of sending; every sender is among them.
    pub(crate) ranks: Vec<u32>,
}

/// One clock that has no like.
#[derive(Debug, Clone)]
pub(crate) struct Single {
    pub(crate) clock: Clock,
    pub(crate) sender: u32,
    /// In the order of sending.
    pub(crate) sends: Vec<To>,
}

/// A receiver, which of the lengths it gets, and which of the kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct To {
    /// Counted over all jobs, or [`OUTSIDE`].
    pub(crate) rank: u32,
    pub(crate) length: u32,
    pub(crate) kind: u32,
}

/// When a source sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    pub(crate) job: usize,
    /// Ticks per second.
    pub(crate) rate: f64,
    /// The square of the coefficient of variation of the gaps.
    pub(crate) cv2: f64,
    /// Which of the ends.
    pub(crate) end: usize,
    /// How many ticks.
    pub(crate) rounds: f64,
}

impl Demand {
    /// The clocks of a workload. Ends that differ by less than a thousandth count as one. Where there
    /// are more than `most_kinds`, the nearest ends and lengths are joined: that changes rates, never
    /// the number of messages or their bytes.
    pub(crate) fn new(workload: &Workload, most_kinds: usize) -> Self {
        let sources = || workload.jobs.iter().flat_map(|job| &job.sources);
        let ends = distinct_ends(sources().map(end_of).collect(), most_kinds);
        let mut lengths: Vec<u64> =
            sources().flat_map(|source| &source.sends).map(|send| send.length.0).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let occurring = sources().flat_map(|source| {
            let end = nearest(&ends, end_of(source));
            let length = |bytes: u64| lengths.partition_point(|known| *known < bytes);
            source.sends.iter().map(move |send| (end, length(send.length.0)))
        });
        let kinds = kinds(occurring.collect(), &lengths, most_kinds);
        let (ranks, jobs) = (workload.rank_count(), workload.jobs.len());
        let mut demand = Self { ranks, jobs, ends, lengths, kinds, ..Self::default() };
        // Which fan has this list, by its ranks, its length and its clock.
        let mut known = BTreeMap::new();
        for (job, (described, first)) in
            workload.jobs.iter().zip(workload.rank_offsets()).enumerate()
        {
            for source in &described.sources {
                demand.add(job, first as u32, source, &mut known);
            }
        }
        demand
    }

    fn add(
        &mut self,
        job: usize,
        first: u32,
        source: &Source,
        known: &mut BTreeMap<FanKey, usize>,
    ) {
        let end = nearest(&self.ends, end_of(source));
        let rounds = source.rounds as f64;
        let rate = rounds / self.ends[end];
        let clock = Clock { job, rate, cv2: source.cv * source.cv, end, rounds };
        let sender = first + source.rank.0;
        let send = |send: &Send| {
            let length = self.lengths.partition_point(|known| *known < send.length.0);
            let is = |kind: &Kind| kind.end == end && (kind.first..kind.behind).contains(&length);
            let kind = self.kinds.iter().position(is).unwrap_or_default() as u32;
            let rank = match send.destination {
                source::OUTSIDE => OUTSIDE,
                rank => first + rank.0,
            };
            To { rank, length: length as u32, kind }
        };
        let sends: Vec<To> = source.sends.iter().map(send).filter(|to| to.rank != sender).collect();
        let Some(&To { length, kind, .. }) = sends.first() else {
            return;
        };
        let Some(ranks) = fan_ranks(&sends, sender) else {
            self.singles.push(Single { clock, sender, sends });
            return;
        };
        let what = [rate.to_bits(), clock.cv2.to_bits(), rounds.to_bits()];
        let fan = *known.entry((job, ranks.clone(), length, what)).or_insert_with(|| {
            let (length, kind) = (length as usize, kind as usize);
            self.fans.push(Fan { clock, length, kind, senders: Vec::new(), ranks });
            self.fans.len() - 1
        });
        self.fans[fan].senders.push(sender);
    }
}

/// The kinds of messages with these ends and lengths, at most so many; one per end remains.
fn kinds(mut occurring: Vec<(usize, usize)>, lengths: &[u64], most: usize) -> Vec<Kind> {
    occurring.sort_unstable();
    occurring.dedup();
    let kind = |(end, length): (usize, usize)| Kind { end, first: length, behind: length + 1 };
    let mut kinds: Vec<Kind> = occurring.into_iter().map(kind).collect();
    while kinds.len() > most.max(1) {
        let ratio = |at: &usize| {
            let (short, long) = (lengths[kinds[*at].first], lengths[kinds[at + 1].behind - 1]);
            long.max(1) as f64 / short.max(1) as f64
        };
        let same_end = |at: &usize| kinds[*at].end == kinds[at + 1].end;
        let closest = (0..kinds.len() - 1).filter(same_end);
        let Some(closest) = closest.min_by(|a, b| ratio(a).total_cmp(&ratio(b))) else {
            break;
        };
        kinds[closest].behind = kinds[closest + 1].behind;
        kinds.remove(closest + 1);
    }
    kinds
}

/// The receivers and the sender in ascending order, if that is the order of sending and all
/// messages are of one length.
fn fan_ranks(sends: &[To], sender: u32) -> Option<Vec<u32>> {
    let in_order = |pair: &[To]| pair[0].rank < pair[1].rank && pair[0].length == pair[1].length;
    let ascending = sends.windows(2).all(in_order);
    let outside = sends.last().is_some_and(|to| to.rank == OUTSIDE);
    if sends.len() < SMALLEST_FAN || !ascending || outside {
        return None;
    }
    let mut ranks: Vec<u32> = sends.iter().map(|to| to.rank).collect();
    ranks.insert(ranks.partition_point(|rank| *rank < sender), sender);
    Some(ranks)
}

fn end_of(source: &Source) -> f64 {
    source.rounds as f64 / source.rate.0
}

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

fn nearest(ends: &[f64], end: f64) -> usize {
    let after = ends.partition_point(|known| *known < end);
    let before = after.saturating_sub(1);
    let last = ends.len() - 1;
    let after = after.min(last);
    if end / ends[before] <= ends[after] / end { before } else { after }
}

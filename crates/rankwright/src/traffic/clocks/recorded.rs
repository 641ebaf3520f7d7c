//! Message timing of a profile.

use super::{PairClock, rounds, sizes};
use crate::ids::Rank;
use crate::traffic::expansion::{self, Expansion};
use crate::traffic::profile::{FlowKind, FlowRecord, Profile};
use crate::traffic::{Flow, Job, Source};

/// Resolution of gaps between messages, in seconds; shorter gaps count as this.
const SHORTEST_GAP: f64 = 1e-9;

/// The job of a profile, with clocks if the profile has any times.
///
/// A pair sends at its mean rate from first to last message, with the recorded variation of gaps. A
/// single message, or a pair without times, is spread over the whole run. After a disturbed run all times
/// are shortened to what the program computes without the disturbance ([`Profile::undisturbed`]). So are expanded
/// collective calls, whose messages to several ranks leave together. Anything not recorded as
/// regular is Poisson.
pub(in crate::traffic) fn recorded(job: Job, profile: &Profile, expansion: Expansion) -> Job {
    let Some(walls) = Walls::new(profile) else { return job };
    let of_kind = |kind| {
        let records = profile.flows.iter().filter(move |record| record.kind == kind);
        records.filter_map(|record| walls.clock(record))
    };
    let mut sources = rounds(of_kind(FlowKind::PointToPoint).collect());
    sources.extend(rounds(of_kind(FlowKind::Put).collect()));
    // A get is issued by the receiver, so each pair has its own clock.
    sources.extend(of_kind(FlowKind::Get).flat_map(|clock| rounds(vec![clock])));
    sources.extend(collectives(profile, expansion, &walls));
    job.with_sources(sources)
}

fn collectives(profile: &Profile, expansion: Expansion, walls: &Walls) -> Vec<Source> {
    let (calls, communicators) = (&profile.collectives, &profile.communicators);
    let operations = expansion::expand_each(calls, communicators, expansion, &profile.library());
    let clocks = |flows: Vec<Flow>| {
        let clock = |flow: &Flow| {
            let rate = flow.messages as f64 / walls.wall(flow.source);
            // Calls may differ in length by an unknown amount, so one of them takes the remainder.
            let flow = Flow { largest: flow.largest.saturating_mul(2), ..*flow };
            PairClock::of_flow(&flow, rate, 1.0)
        };
        rounds(flows.iter().filter_map(clock).collect())
    };
    operations.into_iter().flat_map(clocks).collect()
}

/// Wall time of the ranks, in seconds.
struct Walls {
    by_rank: Vec<f64>,
    longest: f64,
    /// What all times are multiplied with; below 1 after a disturbed run.
    scale: f64,
}

impl Walls {
    /// `None` if the profile has no times.
    fn new(profile: &Profile) -> Option<Self> {
        let by_rank: Vec<f64> = profile.ranks.iter().map(|rank| rank.wall.0).collect();
        let sent = profile.flows.iter().filter_map(|record| record.times);
        let times = by_rank.iter().copied().chain(sent.map(|times| times.last.0));
        let longest = times.filter(|time| time.is_finite()).fold(0.0, f64::max);
        let longest_wall = by_rank.iter().copied().fold(0.0, f64::max);
        let undisturbed = profile.undisturbed().map(|computing| computing.0 / longest_wall);
        let scale = undisturbed.filter(|scale| scale.is_finite() && *scale > 0.0).unwrap_or(1.0);
        (longest > 0.0).then_some(Self { by_rank, longest, scale })
    }

    /// Wall time of a rank; if unknown, the longest time in the profile. Scaled.
    fn wall(&self, rank: Rank) -> f64 {
        let wall = self.by_rank.get(rank.index()).copied();
        let known = wall.filter(|wall| wall.is_finite() && *wall > 0.0);
        known.unwrap_or(self.longest) * self.scale
    }

    /// Timing of a pair; `None` if it sends no message.
    fn clock(&self, record: &FlowRecord) -> Option<PairClock> {
        let flow = &record.flow;
        let several = record.times.filter(|_| flow.messages > 1);
        let timed = several.filter(|times| times.gap_mean.0.is_finite() && times.gap_cv >= 0.0);
        let messages = flow.messages as f64;
        let (rate, cv) = match timed {
            // The rate follows from the gaps, not from first and last: after a merge those belong
            // to different runs.
            Some(times) => {
                let gaps = (messages - 1.0) * (times.gap_mean.0 * self.scale).max(SHORTEST_GAP);
                (messages / gaps, times.gap_cv)
            }
            None => (messages / self.wall(flow.source), 1.0),
        };
        let clock = PairClock::of_flow(flow, rate, cv)?;
        let first = timed.map(|times| times.first.0 * self.scale);
        Some(PairClock { first, sizes: sizes::of_record(record), ..clock })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::collectives::{CollectiveCalls, Form, Operation};
    use crate::traffic::communicator::Communicator;
    use crate::traffic::profile::{FlowTimes, RankRecord};
    use crate::units::{Bytes, Seconds};

    /// Rank 0 sends 101 messages to 1 and 2 in rounds of 10 ms, one to 3 and 7 of an unknown time;
    /// rank 3 gets 11 messages from 1; all call a broadcast and reduce a long vector 50 times.
    fn profile() -> Profile {
        let record = |source: u32, destination: u32, messages: u64, gap: Option<f64>| {
            let times = |gap| FlowTimes {
                first: Seconds(1.0),
                last: Seconds(1.0 + gap * (messages - 1) as f64),
                gap_mean: Seconds(gap),
                gap_cv: 0.5,
            };
            let flow = Flow {
                source: Rank(source),
                destination: Rank(destination),
                messages,
                bytes: messages * 100 + 3,
                largest: 103,
            };
            FlowRecord { times: gap.map(times), ..FlowRecord::of_flow(flow) }
        };
        let call = |rank: u32, operation, bytes: u64| CollectiveCalls {
            rank: Rank(rank),
            communicator: 0,
            operation,
            form: Form::Blocking,
            root: (operation == Operation::Bcast).then_some(Rank(0)),
            calls: 50,
            bytes,
            seconds: 0.1,
            first: 0.0,
            last: 9.0,
            row: Vec::new(),
        };
        let members = (0..4).map(|rank| Some(Rank(rank))).collect();
        Profile {
            ranks: vec![RankRecord { wall: Seconds(10.0), ..RankRecord::default() }; 4],
            communicators: vec![Communicator { members, created: 1, ..Communicator::default() }],
            flows: vec![
                record(0, 1, 101, Some(0.01)),
                record(0, 2, 101, Some(0.0101)),
                record(0, 3, 1, Some(0.0)),
                FlowRecord { kind: FlowKind::Get, ..record(1, 3, 11, Some(0.1)) },
                record(2, 0, 7, None),
            ],
            collectives: (0..4)
                .flat_map(|rank| {
                    let root = u64::from(rank == 0);
                    [
                        call(rank, Operation::Bcast, 5000 * root),
                        call(rank, Operation::Alltoall, 4001),
                    ]
                })
                .collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn clocks_send_exactly_the_flows() {
        for (_, expansion) in expansion::EXPANSIONS {
            let job = profile().job(expansion).unwrap();
            assert!(!job.sources.is_empty(), "{expansion:?}");
            let sent = Job::from_sources("sent", 4, job.sources.clone()).unwrap();
            let amount = |flow: &Flow| (flow.source, flow.destination, flow.messages, flow.bytes);
            let amounts = |job: &Job| job.flows.iter().map(amount).collect::<Vec<_>>();
            assert_eq!(amounts(&sent), amounts(&job), "{expansion:?}");
        }
    }

    #[test]
    fn pairs_keep_their_rate_and_rounds_their_batches() {
        let job = profile().job(Expansion::None).unwrap();
        let main: Vec<&Source> = job.sources.iter().filter(|source| source.rounds == 100).collect();
        let [rounds] = main.as_slice() else { panic!("{:?}", job.sources) };
        assert_eq!(rounds.sends.iter().map(|send| send.destination.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(rounds.sends[0].length, Bytes(100));
        // 101 messages in 1.00 and 1.01 s, of which 100 have this length.
        assert!((rounds.rate.0 - 100.0 / 1.005).abs() < 1e-9, "{}", rounds.rate.0);
        assert!((rounds.cv - 0.51).abs() < 0.01, "{}", rounds.cv);
        let single = job.sources.iter().find(|source| source.sends[0].destination == Rank(3));
        let single = single.unwrap();
        assert_eq!((single.rounds, single.rate.0, single.cv), (1, 0.1, 0.0));
        let untimed: f64 = job
            .sources
            .iter()
            .filter(|source| source.rank == Rank(2))
            .map(|source| source.rate.0)
            .sum();
        assert!((untimed - 0.7).abs() < 1e-9);
    }

    #[test]
    fn collective_calls_leave_in_batches_all_over_the_run() {
        let mut profile = profile();
        profile.flows.clear();
        let job = profile.job(Expansion::Default).unwrap();
        let all_to_all: Vec<&Source> =
            job.sources.iter().filter(|source| source.sends.len() == 3).collect();
        // A contribution of 4001 bytes in 50 calls among four: 20 bytes each.
        assert_eq!(all_to_all.len(), 4);
        assert_eq!((all_to_all[0].rounds, all_to_all[0].rate.0), (50, 5.0));
        assert_eq!(all_to_all[0].sends[0].length, Bytes(20));
    }

    #[test]
    fn without_any_time_there_are_no_clocks() {
        let mut profile = profile();
        for rank in &mut profile.ranks {
            rank.wall = Seconds(0.0);
        }
        for record in &mut profile.flows {
            record.times = None;
        }
        assert!(profile.job(Expansion::Default).unwrap().sources.is_empty());
    }
}

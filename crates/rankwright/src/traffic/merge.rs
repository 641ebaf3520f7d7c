//! Merging: several runs of one program as one profile.

use std::collections::BTreeMap;

use super::collectives::{CollectiveCalls, Form};
use super::communicator::Communicator;
use super::profile::{Ended, FlowKind, FlowRecord, FlowTimes, Profile, RankRecord, TimeInMpi};
use super::topology::DeclaredTopology;
use crate::ids::Rank;
use crate::units::Seconds;

/// A profile whose program or rank count differs from the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile {position}: found {found}, expected {expected}")]
pub struct NotTheSameProgram {
    /// Index of the profile, from 0.
    pub position: usize,
    /// Its program and rank count.
    pub found: String,
    /// Program and rank count of the first profile.
    pub expected: String,
}

/// Joins profiles of several runs.
///
/// Counts, bytes and times are added. The largest message is the maximum over the runs; first and
/// last send are the earliest and the latest time since MPI started in any run. Gaps between sends
/// are pooled; the time between two runs is not a gap. If one run lacks the times or size histogram
/// of a pair, or the time inside MPI, the merged profile lacks it too. Host, PUs, NUMA nodes, start
/// and the MPI library with its settings are kept if all runs agree. A rank that ended early in one run stays marked.
///
/// # Errors
/// If programs or rank counts differ.
pub fn merge(profiles: Vec<Profile>) -> Result<Profile, NotTheSameProgram> {
    let mut profiles = profiles.into_iter();
    let Some(first) = profiles.next() else { return Ok(Profile::default()) };
    let mut sum = Sum::new(first);
    for (position, profile) in (1..).zip(profiles) {
        let describe = |profile: &Profile| {
            format!("`{}` with {} ranks", profile.run.program, profile.ranks.len())
        };
        let (found, expected) = (describe(&profile), describe(&sum.profile));
        if found != expected {
            return Err(NotTheSameProgram { position, found, expected });
        }
        sum.add(profile);
    }
    Ok(sum.finish())
}

/// Calls with equal keys are added up: rank, communicator, operation's name, form, root.
type CallKey = (Rank, usize, &'static str, Form, Option<Rank>);

struct Sum {
    /// Merged so far, except flows and collectives.
    profile: Profile,
    flows: BTreeMap<(Rank, Rank, FlowKind), FlowRecord>,
    collectives: BTreeMap<CallKey, CollectiveCalls>,
}

impl Sum {
    fn new(mut first: Profile) -> Self {
        let flows = std::mem::take(&mut first.flows);
        let collectives = std::mem::take(&mut first.collectives);
        let mut sum = Self { profile: first, flows: BTreeMap::new(), collectives: BTreeMap::new() };
        flows.into_iter().for_each(|record| sum.add_flow(record));
        collectives.into_iter().for_each(|calls| sum.add_calls(calls));
        sum
    }

    fn add(&mut self, other: Profile) {
        let run = &mut self.profile.run;
        if run.mpi_library != other.run.mpi_library {
            run.mpi_library.clear();
        }
        run.several_threads |= other.run.several_threads;
        if run.called_through != other.run.called_through {
            run.called_through.clear();
        }
        run.beside_mpi.extend_from_slice(&other.run.beside_mpi);
        run.beside_mpi.sort_unstable();
        run.beside_mpi.dedup();
        if run.origin != other.run.origin {
            "merged".clone_into(&mut run.origin);
        }
        let same =
            |name: &String, value: &mut String| other.library_settings.get(name) == Some(value);
        self.profile.library_settings.retain(same);
        let timed = self.profile.calls_were_timed() && other.calls_were_timed();
        for (rank, record) in self.profile.ranks.iter_mut().zip(other.ranks) {
            add_rank(rank, record);
            if !timed {
                forget_times(rank);
            }
        }
        let places = self.add_communicators(other.communicators);
        other.flows.into_iter().for_each(|record| self.add_flow(record));
        let place = |communicator: usize| places.get(communicator).copied().unwrap_or_default();
        for mut calls in other.collectives {
            calls.communicator = place(calls.communicator);
            self.add_calls(calls);
        }
        for mut topology in other.topologies {
            topology.communicator = place(topology.communicator);
            self.add_topology(topology);
        }
    }

    /// Index of each communicator in the merged list, appending new ones. Communicators with equal
    /// name and members are matched in order of appearance.
    fn add_communicators(&mut self, others: Vec<Communicator>) -> Vec<usize> {
        let merged = &mut self.profile.communicators;
        let mut places: Vec<usize> = Vec::new();
        for other in others {
            let same = |(place, merged): (usize, &Communicator)| {
                let equal = (&merged.name, &merged.members, &merged.remote_members)
                    == (&other.name, &other.members, &other.remote_members);
                (equal && !places.contains(&place)).then_some(place)
            };
            let place = merged.iter().enumerate().find_map(same);
            if let Some(place) = place {
                merged[place].created = merged[place].created.saturating_add(other.created);
            } else {
                merged.push(other);
            }
            places.push(place.unwrap_or(merged.len() - 1));
        }
        places
    }

    fn add_flow(&mut self, record: FlowRecord) {
        let key = (record.flow.source, record.flow.destination, record.kind);
        match self.flows.get_mut(&key) {
            Some(merged) => add_record(merged, record),
            None => {
                self.flows.insert(key, record);
            }
        }
    }

    fn add_calls(&mut self, calls: CollectiveCalls) {
        let CollectiveCalls { rank, communicator, operation, form, root, .. } = calls;
        let key = (rank, communicator, operation.name(), form, root);
        let Some(merged) = self.collectives.get_mut(&key) else {
            self.collectives.insert(key, calls);
            return;
        };
        merged.calls = merged.calls.saturating_add(calls.calls);
        merged.bytes = merged.bytes.saturating_add(calls.bytes);
        merged.seconds += calls.seconds;
        merged.first = merged.first.min(calls.first);
        merged.last = merged.last.max(calls.last);
        merged.row.extend(calls.row);
        merged.row.sort_by_key(|entry| entry.destination);
        merged.row.dedup_by(|next, kept| {
            let same = next.destination == kept.destination;
            if same {
                kept.messages = kept.messages.saturating_add(next.messages);
                kept.bytes = kept.bytes.saturating_add(next.bytes);
            }
            same
        });
    }

    /// Keeps the declaration of the first run that has one.
    fn add_topology(&mut self, topology: DeclaredTopology) {
        let key = |topology: &DeclaredTopology| (topology.communicator, topology.rank);
        let merged = &mut self.profile.topologies;
        if let Err(place) = merged.binary_search_by_key(&key(&topology), key) {
            merged.insert(place, topology);
        }
    }

    fn finish(self) -> Profile {
        Profile {
            flows: self.flows.into_values().collect(),
            collectives: self.collectives.into_values().collect(),
            ..self.profile
        }
    }
}

fn add_rank(merged: &mut RankRecord, other: RankRecord) {
    if merged.host != other.host {
        merged.host.clear();
    }
    if merged.pus != other.pus {
        merged.pus = crate::ids::PuSet::default();
    }
    if merged.numa != other.numa {
        merged.numa.clear();
    }
    if merged.ended != other.ended {
        let worse = |ended: Ended| !ended.is_whole();
        merged.ended =
            [merged.ended, other.ended].into_iter().find(|e| worse(*e)).unwrap_or_default();
    }
    merged.cut |= other.cut;
    merged.peak_memory = merged.peak_memory.max(other.peak_memory);
    if merged.start_unix_ns != other.start_unix_ns {
        merged.start_unix_ns = 0;
    }
    merged.wall = Seconds(merged.wall.0 + other.wall.0);
    let add = |merged: &mut TimeInMpi, other: TimeInMpi| {
        merged.calls = merged.calls.saturating_add(other.calls);
        merged.time = Seconds(merged.time.0 + other.time.0);
    };
    add(&mut merged.point_to_point, other.point_to_point);
    add(&mut merged.wait, other.wait);
    add(&mut merged.collective, other.collective);
    add(&mut merged.one_sided, other.one_sided);
    add(&mut merged.other, other.other);
    merged.waited_for_pu = match (merged.waited_for_pu, other.waited_for_pu) {
        (Some(a), Some(b)) => Some(Seconds(a.0 + b.0)),
        _ => None,
    };
    merged.sleep_is_known &= other.sleep_is_known;
    merged.processor = Seconds(merged.processor.0 + other.processor.0);
    merged.other_threads = Seconds(merged.other_threads.0 + other.other_threads.0);
    merged.outside_messages = merged.outside_messages.saturating_add(other.outside_messages);
    merged.outside_bytes = merged.outside_bytes.saturating_add(other.outside_bytes);
}

/// Clears the time inside MPI, which one of the runs did not record.
fn forget_times(rank: &mut RankRecord) {
    let RankRecord { point_to_point, wait, collective, one_sided, other, .. } = rank;
    for class in [point_to_point, wait, collective, one_sided, other] {
        class.time = Seconds(0.0);
    }
}

fn add_record(merged: &mut FlowRecord, other: FlowRecord) {
    merged.times = match (merged.times, other.times) {
        (Some(a), Some(b)) => Some(pooled(a, merged.flow.messages, b, other.flow.messages)),
        _ => None,
    };
    if merged.size_histogram.is_empty() || other.size_histogram.is_empty() {
        merged.size_histogram.clear();
    } else {
        let bins = merged.size_histogram.len().max(other.size_histogram.len());
        merged.size_histogram.resize(bins, 0);
        for (bin, messages) in merged.size_histogram.iter_mut().zip(other.size_histogram) {
            *bin = bin.saturating_add(messages);
        }
    }
    merged.flow.messages = merged.flow.messages.saturating_add(other.flow.messages);
    merged.flow.bytes = merged.flow.bytes.saturating_add(other.flow.bytes);
    merged.flow.largest = merged.flow.largest.max(other.flow.largest);
}

/// Pools the send times of two runs. Each run has one gap fewer than messages; mean and variance
/// are taken over all gaps.
fn pooled(a: FlowTimes, a_messages: u64, b: FlowTimes, b_messages: u64) -> FlowTimes {
    let gaps = |messages: u64| messages.saturating_sub(1) as f64;
    let (a_gaps, b_gaps) = (gaps(a_messages), gaps(b_messages));
    let all = (a_gaps + b_gaps).max(1.0);
    let mean = (a_gaps * a.gap_mean.0 + b_gaps * b.gap_mean.0) / all;
    let squares = |times: FlowTimes, gaps: f64| {
        let deviation = times.gap_cv * times.gap_mean.0;
        gaps * (deviation * deviation + (times.gap_mean.0 - mean).powi(2))
    };
    let variance = (squares(a, a_gaps) + squares(b, b_gaps)) / all;
    FlowTimes {
        first: Seconds(a.first.0.min(b.first.0)),
        last: Seconds(a.last.0.max(b.last.0)),
        gap_mean: Seconds(mean),
        gap_cv: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::collectives::{Operation, RowEntry};
    use crate::traffic::profile::Run;
    use crate::traffic::{Flow, Job};

    fn flow(source: u32, destination: u32, messages: u64, bytes: u64, largest: u64) -> Flow {
        Flow { source: Rank(source), destination: Rank(destination), messages, bytes, largest }
    }

    /// The times of sends at these seconds.
    fn times(sends: &[f64]) -> FlowTimes {
        let gaps: Vec<f64> = sends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        FlowTimes {
            first: Seconds(sends[0]),
            last: Seconds(sends[sends.len() - 1]),
            gap_mean: Seconds(mean),
            gap_cv: (squares / gaps.len() as f64).sqrt() / mean,
        }
    }

    fn recorded(flow: Flow, sends: &[f64], histogram: &[u64]) -> Profile {
        let mut profile = Profile::of_job(&Job::new("app", 2, []).unwrap(), "tracer");
        let size_histogram = histogram.to_vec();
        let times = Some(times(sends));
        profile.flows.push(FlowRecord { times, size_histogram, ..FlowRecord::of_flow(flow) });
        profile
    }

    #[test]
    fn amounts_add_up_and_gaps_are_those_of_all_runs() {
        let a = recorded(flow(0, 1, 3, 30, 10), &[1.0, 2.0, 4.0], &[0, 1, 2]);
        let b = recorded(flow(0, 1, 4, 80, 20), &[0.5, 3.5, 4.0, 9.0], &[1, 0, 0, 3]);
        let merged = merge(vec![a, b]).unwrap();
        let record = &merged.flows[0];
        assert_eq!(record.flow, flow(0, 1, 7, 110, 20));
        assert_eq!(record.size_histogram, [1, 1, 2, 3]);
        let pooled = record.times.unwrap();
        assert_eq!((pooled.first, pooled.last), (Seconds(0.5), Seconds(9.0)));
        // The five gaps 1, 2, 3, 0.5 and 5 in a row have the same mean and variation.
        let expected = times(&[0.0, 1.0, 3.0, 6.0, 6.5, 11.5]);
        assert!((pooled.gap_mean.0 - expected.gap_mean.0).abs() < 1e-12);
        assert!((pooled.gap_cv - expected.gap_cv).abs() < 1e-12);
    }

    #[test]
    fn what_one_run_does_not_know_is_unknown() {
        let mut a = recorded(flow(0, 1, 3, 30, 10), &[1.0, 2.0, 4.0], &[0, 1, 2]);
        a.ranks[0].host = "a".into();
        a.ranks[1].host = "b".into();
        a.ranks[1].wall = Seconds(2.0);
        a.ranks[1].wait = TimeInMpi { calls: 3, time: Seconds(1.0) };
        let mut b = Profile::of_job(
            &Job::new("app", 2, [flow(0, 1, 1, 5, 5), flow(1, 0, 1, 6, 6)]).unwrap(),
            "imported",
        );
        b.ranks[0].host = "c".into();
        b.ranks[1].host = "b".into();
        b.ranks[1].wall = Seconds(3.0);
        let merged = merge(vec![a.clone(), b.clone()]).unwrap();
        assert_eq!(merged.flows.len(), 2);
        assert_eq!(merged.ranks[1].wait, TimeInMpi { calls: 3, time: Seconds(0.0) });
        assert_eq!((merged.flows[0].times, merged.flows[0].size_histogram.len()), (None, 0));
        assert_eq!((merged.ranks[0].host.as_str(), merged.ranks[1].host.as_str()), ("", "b"));
        assert_eq!((merged.ranks[1].wall, merged.run.origin.as_str()), (Seconds(5.0), "merged"));
        assert_eq!(merge(vec![b.clone(), a.clone()]).unwrap(), merged);
        assert_eq!(merge(vec![a.clone()]).unwrap(), a);
    }

    #[test]
    fn collective_calls_find_their_communicator() {
        let communicator = |name: &str, members: &[u32]| Communicator {
            name: name.to_owned(),
            members: members.iter().map(|member| Some(Rank(*member))).collect(),
            remote_members: Vec::new(),
            created: 1,
        };
        let call = |communicator, bytes, destination| CollectiveCalls {
            rank: Rank(0),
            communicator,
            operation: Operation::Alltoallv,
            form: Form::Blocking,
            root: None,
            calls: 1,
            bytes,
            seconds: 0.5,
            first: 1.0,
            last: bytes as f64,
            row: vec![RowEntry { destination: Rank(destination), messages: 1, bytes }],
        };
        let profile = |communicators, collectives| Profile {
            run: Run { program: "app".into(), ..Run::default() },
            ranks: vec![RankRecord::default(); 2],
            communicators,
            collectives,
            ..Profile::default()
        };
        let (world, twin) = (communicator("MPI_COMM_WORLD", &[0, 1]), communicator("", &[0, 1]));
        let a = profile(vec![world.clone(), twin.clone(), twin.clone()], vec![call(2, 5, 1)]);
        let alone = communicator("", &[0]);
        let b = profile(
            vec![world, alone, twin.clone(), twin],
            vec![call(1, 7, 0), call(3, 9, 0), call(3, 2, 1)],
        );
        let merged = merge(vec![a, b]).unwrap();
        let created: Vec<u32> = merged.communicators.iter().map(|merged| merged.created).collect();
        assert_eq!(created, [2, 2, 2, 1]);
        let seen: Vec<_> = merged
            .collectives
            .iter()
            .map(|calls| (calls.communicator, calls.calls, calls.bytes))
            .collect();
        assert_eq!(seen, [(2, 3, 16), (3, 1, 7)]);
        let row = &merged.collectives[0].row;
        assert_eq!((row[0].bytes, row[1].bytes, row[1].messages), (9, 7, 2));
        assert_eq!((merged.collectives[0].seconds, merged.collectives[0].last), (1.5, 9.0));
    }

    #[test]
    fn other_programs_and_rank_counts_are_named() {
        let profile = |name: &str, ranks| Profile::of_job(&Job::new(name, ranks, []).unwrap(), "x");
        let error =
            merge(vec![profile("app", 2), profile("app", 2), profile("app", 3)]).unwrap_err();
        assert_eq!((error.position, error.found.as_str()), (2, "`app` with 3 ranks"));
        let error = merge(vec![profile("app", 2), profile("other", 2)]).unwrap_err();
        assert_eq!(error.expected, "`app` with 2 ranks");
    }
}

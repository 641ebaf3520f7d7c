//! Occupation against a naive reference and by hand; time lines of made-up events.

use proptest::prelude::*;

use super::*;
use crate::traffic::read::events::sample::{self, Payload};
use crate::traffic::read::events::store;
use crate::units::BytesPerSecond;

fn send(time: f64, bytes: u64, process: u32) -> Transfer {
    Transfer { time, bytes, process, peer: 99 }
}

fn curve(points: &[(u32, f64)]) -> Curve {
    let points: Vec<_> = points.iter().map(|(k, rate)| (*k, BytesPerSecond(*rate))).collect();
    Curve::measured(&points).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// The same by small steps of reasoning: at each event the remaining bytes of every process are counted
/// down. O(n k).
fn naive(sends: &[Transfer], curve: &Curve) -> Vec<f64> {
    let mut ends = vec![f64::NAN; sends.len()];
    let mut left: Vec<f64> = sends.iter().map(|send| send.bytes as f64).collect();
    let (mut now, mut next) = (0.0, 0);
    // By process: its messages in order.
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); 8];
    loop {
        let heads: Vec<usize> = queues.iter().filter_map(|queue| queue.first().copied()).collect();
        let rate = curve.rate(heads.len()) / heads.len().max(1) as f64;
        let end = heads.iter().map(|head| now + left[*head] / rate).fold(f64::INFINITY, f64::min);
        let arrival = sends.get(next).map_or(f64::INFINITY, |send| send.time);
        if end.is_infinite() && arrival.is_infinite() {
            return ends;
        }
        let until = end.min(arrival);
        heads.iter().for_each(|head| left[*head] -= (until - now) * rate);
        now = until;
        if end <= arrival {
            let ended = |head: &&usize| left[**head] <= 1e-7;
            let ended: Vec<usize> = heads.iter().filter(ended).copied().collect();
            for head in ended {
                ends[head] = now;
                queues.iter_mut().for_each(|queue| queue.retain(|message| *message != head));
            }
        } else {
            queues[sends[next].process as usize].push(next);
            next += 1;
        }
    }
}

#[test]
fn check_values_by_hand() {
    let curve = curve(&[(1, 10.0), (2, 16.0)]);
    // Equal starts share the device and end together.
    let both = Occupation::of_sends(&[send(1.0, 80, 0), send(1.0, 80, 1)], &curve, None);
    assert_eq!(both.other_end, [11.0, 11.0]);
    assert_eq!(both.by_senders, [0.0, 0.0, 10.0]);
    assert_eq!(both.busy, [(1.0, 11.0)]);
    // One alone for a second, then two at 8 each: the first has 30 left, 3.75 s; the other then 50 at 10.
    let late = [send(0.0, 40, 0), send(1.0, 80, 1)];
    let late = Occupation::of_sends(&late, &curve, None);
    assert_eq!(late.other_end, [4.75, 9.75]);
    assert_eq!(late.by_senders, [0.0, 6.0, 3.75]);
    // A process sends one message after the other: no second sender.
    let queued = Occupation::of_sends(&[send(0.0, 50, 3), send(0.0, 50, 3)], &curve, None);
    assert_eq!(queued.other_end, [5.0, 10.0]);
    assert_eq!((queued.overlap_time(), queued.busy_time()), (0.0, 10.0));
    // Without bytes it takes no time, unless it has to wait for the process's own message.
    let empty = [send(0.0, 0, 0), send(1.0, 10, 0), send(1.5, 0, 0), send(1.5, 0, 1)];
    let empty = Occupation::of_sends(&empty, &curve, None);
    assert_eq!(empty.other_end, [0.0, 2.0, 2.0, 1.5]);
    assert_eq!(Occupation::of_sends(&[], &curve, None).busy, []);
}

#[test]
fn receives_are_sends_backwards() {
    let curve = curve(&[(1, 10.0), (2, 16.0)]);
    let bins = Some(Bins::new(0.0, 1.0, 12));
    let receives = [send(8.75, 80, 1), send(9.75, 40, 0)];
    let found = Occupation::of_receives(&receives, &curve, bins);
    assert_eq!(found.other_end, [0.0, 5.0]);
    assert_eq!(found.busy, [(0.0, 9.75)]);
    let bins = found.bins.unwrap();
    assert!(close(bins.total(), 120.0) && close(bins.values[0], 10.0), "{bins:?}");
    assert!(close(bins.values[7], 16.0) && close(bins.values[9], 7.5), "{bins:?}");
}

#[test]
fn the_bandwidth_is_shared_as_in_the_papers_example() {
    // Section V.B.3: process 0 sends L bytes alone until L / w; process 1 begins before that.
    let flat = Curve::flat(BytesPerSecond(100.0));
    let found = Occupation::of_sends(&[send(0.0, 100, 0), send(0.5, 100, 1)], &flat, None);
    assert_eq!(found.other_end, [1.5, 2.0]);
}

proptest! {
    #[test]
    fn completions_are_those_of_the_naive_reference(
        gaps in prop::collection::vec((0_u32..40, 0_u64..60, 0_u32..5), 1..60),
        rates in (5.0..20.0_f64, 5.0..40.0_f64, 5.0..40.0_f64),
    ) {
        let curve = curve(&[(1, rates.0), (2, rates.1), (4, rates.2)]);
        let mut now = 0.0;
        let sends: Vec<Transfer> = gaps.iter().map(|(gap, bytes, process)| {
            now += f64::from(gap / 8) * 0.5;
            send(now, *bytes, *process)
        }).collect();
        let bins = Bins::new(0.0, 0.7, 2000);
        let found = Occupation::of_sends(&sends, &curve, Some(bins));
        for (found, expected) in found.other_end.iter().zip(naive(&sends, &curve)) {
            prop_assert!((found - expected).abs() < 1e-6, "{} and {}", found, expected);
        }
        // Conservation of bytes, and of time.
        let bytes: u64 = sends.iter().map(|send| send.bytes).sum();
        prop_assert!((found.bins.unwrap().total() - bytes as f64).abs() < 1e-6);
        let moved: f64 = (found.by_senders.iter().enumerate().skip(1))
            .map(|(senders, time)| time * curve.rate(senders)).sum();
        prop_assert!((moved - bytes as f64).abs() < 1e-6);
        let busy: f64 = found.busy.iter().map(|(begin, end)| end - begin).sum();
        prop_assert!((busy - found.by_senders.iter().sum::<f64>()).abs() < 1e-6);
        prop_assert!(found.busy.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn backwards_and_forwards_are_mirrors(
        gaps in prop::collection::vec((0_u32..20, 0_u64..60, 0_u32..5), 1..40),
    ) {
        let curve = curve(&[(1, 10.0), (3, 15.0)]);
        let mut now = 0.0;
        let receives: Vec<Transfer> = gaps.iter().map(|(gap, bytes, process)| {
            now += f64::from(*gap) * 0.25;
            send(now, *bytes, *process)
        }).collect();
        let mirrored: Vec<Transfer> =
            receives.iter().rev().map(|receive| Transfer { time: -receive.time, ..*receive }).collect();
        let found = Occupation::of_receives(&receives, &curve, None);
        let forwards = Occupation::of_sends(&mirrored, &curve, None);
        let back: Vec<f64> = forwards.other_end.iter().rev().map(|time| -time).collect();
        prop_assert_eq!(found.other_end, back);
        prop_assert_eq!(found.by_senders, forwards.by_senders);
    }
}

/// A run of ranks with these events; each is 10 ns long after 1000 ns.
fn run(payloads: &[Payload]) -> (tempfile::TempDir, RecordedRun) {
    let folder = tempfile::tempdir().unwrap();
    let profile = sample::write_profile(folder.path(), payloads.len());
    let files = sample::write_files(folder.path(), payloads);
    store::add(&profile, &files).unwrap();
    let run = RecordedRun::open(&profile).unwrap();
    (folder, run)
}

fn hosts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// `MPI_Send` to and `MPI_Recv` from a rank.
fn send_to(payload: Payload, peer: u64, bytes: u64) -> Payload {
    payload.event(3, &[0, 3 + peer, 0, 0, bytes])
}

fn receive_from(payload: Payload, peer: u64, bytes: u64) -> Payload {
    payload.event(4, &[0, 3 + peer, 0, 0, bytes])
}

#[test]
fn the_time_line_of_a_message() {
    let (_folder, run) =
        run(&[send_to(Payload::new(2), 1, 1000), receive_from(Payload::new(2), 0, 1000)]);
    let sites = Sites::recorded(&hosts(&["a", "b"]), BytesPerSecond(1e10));
    let timeline = run.timeline(&sites, SendTimes::Mpi, 1).unwrap();
    assert_eq!(timeline.devices.len(), 2);
    let out = &timeline.devices[0].out;
    assert!(close(out.transfers[0].time * 1e9, 1000.0) && close(out.occupation.busy_time(), 1e-7));
    let into = &timeline.devices[1].into;
    assert!(close(into.transfers[0].time * 1e9, 1010.0));
    assert!(close(into.occupation.other_end[0] * 1e9, 910.0));
    assert!(close(timeline.span * 1e9, 1010.0));
    assert_eq!((timeline.measures.messages, timeline.measures.bytes), (1, 1000));
    assert_eq!(timeline.sent, [1000, 0]);
    // Both compute 1000 ns at the same time, and the message costs nothing: only the call is lost.
    let figures = timeline.efficiency[0];
    assert!(
        close(figures.load_balance.unwrap(), 1.0) && close(figures.serialisation.unwrap(), 1.0)
    );
    assert!((figures.transfer - 1000.0 / 1010.0).abs() < 1e-6, "{figures:?}");
}

#[test]
fn what_only_its_sender_tells_arrives_when_it_is_sent() {
    let sites = Sites::recorded(&hosts(&["a", "b"]), BytesPerSecond(100.0));
    let messages = Messages { ranks: 2, span: 10.0, ..Messages::default() };
    let sends = vec![Transfer { peer: 1, ..send(1.0, 300, 0) }];
    let told_by_sender = sends.iter().map(|sent| (sent.process, sent.peer)).collect();
    let passed = Passed { sends, told_by_sender, ..Passed::default() };
    let timeline = Timeline::new(messages, Some(passed), &sites);
    let into = &timeline.devices[1].into;
    assert_eq!(into.transfers, [Transfer { time: 4.0, bytes: 300, process: 1, peer: 0 }]);
    assert_eq!(into.occupation.busy, [(1.0, 4.0)]);
}

#[test]
fn ranks_that_take_turns_are_serialised() {
    // Rank 0 computes, sends, and waits for the answer of rank 1, which waited before it computes.
    let first = receive_from(send_to(Payload::new(2), 1, 8), 1, 8);
    let first = first.event(12, &[4]);
    let second = receive_from(Payload::new(2), 0, 8);
    let second = send_to(second.event(12, &[4]), 0, 8);
    let (_folder, run) = run(&[first, second]);
    let sites = Sites::recorded(&hosts(&["a", "b"]), BytesPerSecond(1e10));
    let figures = run.timeline(&sites, SendTimes::Mpi, 1).unwrap().efficiency[0];
    // Rank 0: 1000, send, 1000 and the receive of what is sent at 3000, 1000: 4000. Rank 1: 3000.
    assert!(close(figures.load_balance.unwrap(), 1.0), "{figures:?}");
    assert!((figures.serialisation.unwrap() - 0.75).abs() < 1e-9, "{figures:?}");
}

#[test]
fn messages_inside_a_node_use_no_device() {
    let payloads = [send_to(Payload::new(2), 1, 1000), receive_from(Payload::new(2), 0, 1000)];
    let (_folder, run) = run(&payloads);
    let sites = Sites::recorded(&hosts(&["a", "a"]), BytesPerSecond(1e10));
    let timeline = run.timeline(&sites, SendTimes::Mpi, 0).unwrap();
    assert_eq!(timeline.measures.messages, 0);
    assert!(timeline.devices[0].out.transfers.is_empty());
    assert!(timeline.steadiness.is_some(), "also of messages inside nodes");
}

#[test]
fn the_phases_of_a_collective_share_its_time() {
    // An allreduce on four ranks; each is in it from 1000 to 1010 ns.
    let payload = || Payload::new(4).event(9, &[4, 0, 0, 0, 800]);
    let (_folder, run) = run(&[payload(), payload(), payload(), payload()]);
    let sites = Sites::recorded(&hosts(&["a", "b", "c", "d"]), BytesPerSecond(1e12));
    let messages = run.messages(&sites).unwrap();
    assert!(!messages.sends.is_empty());
    for message in messages.sends.iter().chain(&messages.receives) {
        let ns = message.time * 1e9;
        assert!((999.9..1010.1).contains(&ns), "{ns}");
    }
    assert_eq!(messages.sends.len(), messages.receives.len());
}

use std::ops::ControlFlow;

use super::*;
use crate::cluster::read::built_in;
use crate::placement::{Granularity, JobShape, slots};
use crate::traffic::read::events::sample::{Payload, write_files, write_profile};
use crate::traffic::read::events::store;
use crate::traffic::{Job, Send, Source};
use crate::units::PerSecond;

const WORLD: u64 = 0;

/// A replay on `paper:2013` with each rank on a node of its own.
fn replayed(payloads: &[Payload], eager_limit: u64) -> Result<Replayed, ReplayError> {
    replayed_by(Discipline::Fifo, payloads, eager_limit)
}

fn replayed_by(
    discipline: Discipline,
    payloads: &[Payload],
    eager_limit: u64,
) -> Result<Replayed, ReplayError> {
    let folder = tempfile::tempdir().unwrap();
    let profile = write_profile(folder.path(), payloads.len());
    store::add(&profile, &write_files(folder.path(), payloads)).unwrap();
    let replayer = Replayer::open(&[profile]).unwrap();
    let cluster = built_in::find("paper:2013").unwrap().cluster();
    let slots = slots(&cluster, Granularity::Cores(1), payloads.len()).unwrap();
    let shape = JobShape { name: "job".to_owned(), ranks: payloads.len() as u32 };
    let slot_of: Vec<usize> = (0..payloads.len()).map(|rank| 16 * rank).collect();
    let placement = Placement::from_slots(&cluster, &[shape], "test", &slots, &slot_of).unwrap();
    let options = ReplayOptions { eager_limit: Some(Bytes(eager_limit)), discipline };
    replayer.replay(&cluster, &placement, options, &mut |_| ControlFlow::Continue(()))
}

/// In nanoseconds.
fn times(replayed: &Replayed) -> Vec<(u64, u64)> {
    let nanoseconds = |time: Seconds| (time.0 * 1e9).round() as u64;
    replayed.ranks.iter().map(|rank| (nanoseconds(rank.waited), nanoseconds(rank.end))).collect()
}

/// Every event of a sample comes 1 us after the one before.
#[test]
fn a_receive_waits_until_the_message_is_there() {
    // 4000 bytes: 1 us at each memory, 4 us at each network device, 100 ns between them. Each passes
    // the message on while it comes in: the slowest counts.
    let receiver = Payload::new(2).event(4, &[16, 3 + 1, 14, WORLD, 4000]);
    let sender = Payload::new(2).event(3, &[0, 3, 14, WORLD, 4000]);
    let replayed = replayed(&[receiver, sender], 1 << 20).unwrap();
    assert_eq!(times(&replayed), [(4100, 5100), (0, 1000)]);
    assert_eq!(replayed.outcome.messages, 1);
    assert_eq!(replayed.outcome.total_waiting, Seconds(0.0));
}

#[test]
fn a_long_message_is_sent_when_its_receive_is_posted() {
    let receiver =
        Payload::new(2).event(3, &[0, 3 + 1, 0, WORLD, 0]).event(4, &[16, 3 + 1, 14, WORLD, 4000]);
    let sender = Payload::new(2).event(3, &[0, 3, 14, WORLD, 4000]).event(4, &[16, 3, 0, WORLD, 0]);
    let replayed = replayed(&[receiver, sender], 1000).unwrap();
    // Posted at 2 us, which the sender hears 100 ns later; it continues when its network device has
    // served the message.
    assert_eq!(times(&replayed), [(4200, 6200), (5100, 7100)]);
}

#[test]
fn messages_wait_for_each_other_at_the_network_device() {
    let post = |payload: Payload, to: u64| payload.event(3, &[4, to, 14, WORLD, 4000]);
    let receiver = || Payload::new(3).event(4, &[16, 3, 14, WORLD, 4000]);
    let sender = post(post(Payload::new(3), 3 + 1), 3 + 2);
    let replayed = replayed(&[sender, receiver(), receiver()], 1 << 20).unwrap();
    // The second is sent 1 us later and waits 3 us behind the first.
    assert_eq!(times(&replayed), [(0, 2000), (4100, 5100), (8100, 9100)]);
    assert!((replayed.outcome.nic_waiting.0 - 3e-6).abs() < 1e-12);
    assert!((replayed.outcome.jobs[0].waiting.0 - 3e-6).abs() < 1e-12);
}

#[test]
fn messages_that_share_the_network_device_are_slower_together() {
    let post = |payload: Payload, to: u64| payload.event(3, &[4, to, 14, WORLD, 4000]);
    let receiver = || Payload::new(3).event(4, &[16, 3, 14, WORLD, 4000]);
    let sender = post(post(Payload::new(3), 3 + 1), 3 + 2);
    let payloads = [sender, receiver(), receiver()];
    let shared = replayed_by(Discipline::MaxMin, &payloads, 1 << 20).unwrap();
    // From 2 us on each has half; the first ends at 8 us, the last microsecond is the second's alone.
    assert_eq!(times(&shared), [(0, 2000), (7100, 8100), (8100, 9100)]);
    assert_eq!(shared.outcome.messages, 2);
}

#[test]
fn collective_operations_are_messages() {
    let rank = || Payload::new(3).event(9, &[0, 0, WORLD, 0, 0]);
    let replayed = replayed(&[rank(), rank(), rank()], 1000).unwrap();
    // Messages without bytes: two paths of 100 ns.
    assert_eq!(replayed.outcome.messages, 4);
    assert!(times(&replayed).iter().all(|(_, end)| *end == 1200 || *end == 1100), "{replayed:?}");
}

#[test]
fn a_nonblocking_barrier_waits_for_the_last_rank() {
    // Rank 5 of 8 comes a millisecond late: 999 events without messages.
    let late = |rank| if rank == 5 { 999 } else { 0 };
    let rank = |rank| {
        let before = (0..late(rank)).fold(Payload::new(8), |payload, _| payload.event(12, &[4]));
        before.event(9, &[0, 1, WORLD, 0, 0]).event(6, &[0, 1, 1, 0])
    };
    let payloads: Vec<Payload> = (0..8).map(rank).collect();
    let replayed = replayed(&payloads, 1000).unwrap();
    assert!(times(&replayed).iter().all(|(_, end)| *end > 1_000_000), "{replayed:?}");
    assert_eq!(replayed.left_out, BTreeMap::new());
}

#[test]
fn nonblocking_operations_complete_in_any_order() {
    // Two barriers; even ranks wait for the first one first.
    let rank = |rank: u64| {
        let begun = Payload::new(6).event(9, &[0, 1, WORLD, 0, 0]).event(9, &[0, 1, WORLD, 0, 0]);
        let (first, second) = if rank.is_multiple_of(2) { (1 << 3, 0) } else { (0, 1 << 3) };
        begun.event(6, &[0, 1, 1, first]).event(6, &[0, 1, 1, second])
    };
    let payloads: Vec<Payload> = (0..6).map(rank).collect();
    assert!(replayed(&payloads, 1000).is_ok());
}

#[test]
fn collective_calls_with_other_jobs_are_left_out_in_part() {
    // A communicator of both ranks and two processes outside.
    let members = [0, 0, 1, 2, 0, 2, 2, 1, 0, 2, 0];
    let rank = || Payload::new(2).record(2, &members).event(9, &[1, 0, 1, 3, 8]);
    let replayed = replayed(&[rank(), rank()], 1000).unwrap();
    let what = "collective calls with processes outside the job";
    assert_eq!(replayed.left_out, BTreeMap::from([(what, 2)]));
}

#[test]
fn a_message_that_is_never_sent_is_an_error() {
    let receiver = Payload::new(2).event(4, &[16, 3 + 1, 14, WORLD, 8]);
    let error = replayed(&[receiver, Payload::new(2)], 1000).unwrap_err().to_string();
    assert!(error.contains("rank 0 waits forever for 1 message: the events"), "{error}");
}

/// An all-to-all of two ranks on two nodes, 1000 times, with this time of computing in all.
fn exchange(computing: f64) -> Program {
    let send = |rank: u32| Source {
        rank: Rank(rank),
        rate: PerSecond(1000.0),
        cv: 0.0,
        in_step: Some(0),
        rounds: 1000,
        sends: vec![Send { destination: Rank(1 - rank), length: Bytes(1_000_000) }],
    };
    let job = Job::from_sources("exchange", 2, vec![send(0), send(1)]).unwrap();
    Program::of_clocks(&job, Seconds(computing), u64::MAX, 1)
}

/// The run time of the first program beside the others, all on the same two nodes.
fn beside(programs: Vec<Program>, begins: f64) -> (f64, Replayed) {
    let count = programs.len();
    let replayer =
        programs.into_iter().fold(Replayer::open(&[] as &[&Path]).unwrap(), Replayer::with_program);
    let cluster = built_in::find("paper:2013").unwrap().cluster();
    let slots = slots(&cluster, Granularity::Cores(1), 2 * count).unwrap();
    let shapes: Vec<JobShape> =
        (0..count).map(|job| JobShape { name: format!("job{job}"), ranks: 2 }).collect();
    // On sockets of their own.
    let slot_of: Vec<usize> = (0..count).flat_map(|job| [4 * job, 16 + 4 * job]).collect();
    let placement = Placement::from_slots(&cluster, &shapes, "test", &slots, &slot_of).unwrap();
    let jobs: Vec<usize> = (0..count).collect();
    let measured = Some(Measured { job: 0, begins: Seconds(begins) });
    let replayed = replayer
        .replay_some(
            (&jobs, measured),
            (&cluster, &placement),
            ReplayOptions::default(),
            &mut |_| ControlFlow::Continue(()),
        )
        .unwrap();
    (replayed.outcome.jobs[0].finish.0 - begins, replayed)
}

#[test]
fn communication_comes_on_top_of_computing_and_grows_beside_others() {
    // 1 MB at 1 GB/s in each round.
    let (alone, replayed) = beside(vec![exchange(0.0)], 0.0);
    assert!((1.0..1.01).contains(&alone), "{alone}");
    assert_eq!(replayed.outcome.messages, 2000);
    let (computing, _) = beside(vec![exchange(2.0)], 0.0);
    assert!((3.0..3.01).contains(&computing), "{computing}");
    let (both, _) = beside(vec![exchange(0.0), exchange(0.0)], 0.3);
    assert!((1.98..2.02).contains(&both), "{both}");
}

#[test]
fn jobs_in_the_background_begin_again_until_the_measured_one_ends() {
    let (alone, _) = beside(vec![exchange(9.0)], 0.0);
    let (time, replayed) = beside(vec![exchange(9.0), exchange(0.0)], 0.5);
    // 10.5 s or more beside runs of about 1.1 s.
    assert!(replayed.outcome.jobs[1].messages > 8 * 2000, "{:?}", replayed.outcome.jobs);
    assert!(time > alone + 0.2, "{time} {alone}");
    // A job without time would begin again for ever.
    let empty = Job::from_sources("empty", 2, Vec::new()).unwrap();
    let empty = Program::of_clocks(&empty, Seconds(1.0), u64::MAX, 1);
    assert_eq!(beside(vec![exchange(1.0), empty], 0.0).0, beside(vec![exchange(1.0)], 0.0).0);
}

#[test]
fn clocks_that_are_not_in_step_wait_for_each_other_and_end() {
    for workload in ["nas:lu.S.16", "nas:mg.S.8", "pattern:random:16:rate=100,messages=50,degree=3"]
    {
        let job = crate::traffic::open(workload).unwrap().jobs.remove(0);
        let program = Program::of_clocks(&job, Seconds(0.5), u64::MAX, 3);
        let ranks = program.ranks();
        let replayer = Replayer::open(&[] as &[&Path]).unwrap().with_program(program);
        let cluster = built_in::find("paper:2013").unwrap().cluster();
        let slots = slots(&cluster, Granularity::Cores(1), ranks).unwrap();
        let shape = JobShape { name: "job".to_owned(), ranks: ranks as u32 };
        let slot_of: Vec<usize> = (0..ranks).map(|rank| 16 * rank).collect();
        let placement =
            Placement::from_slots(&cluster, &[shape], "test", &slots, &slot_of).unwrap();
        let replayed = replayer
            .replay(&cluster, &placement, ReplayOptions::default(), &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(replayed.outcome.jobs[0].finish.0 >= 0.5, "{workload}");
        let sent: u64 = job.flows.iter().map(|flow| flow.messages).sum();
        assert_eq!(replayed.outcome.messages, sent, "{workload}");
    }
}

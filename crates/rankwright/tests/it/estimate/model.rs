//! The queueing model over whole workloads.

use std::cmp::Ordering;

use proptest::prelude::*;
use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::estimate::queueing::queue;
use rankwright::estimate::{MessageWaiting, Prediction, ServerPrediction};
use rankwright::ids::Rank;
use rankwright::network::ServerKind;
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Job, Send, Source, Workload};
use rankwright::units::{Bytes, PerSecond, Seconds};

use crate::clusters::{Kind, cluster, four_by_four, with_two_nics};
use crate::workloads::{flow, job, workload};

/// Messages from one rank to another, with this length in bytes and this rate per second.
fn clock(from: u32, to: u32, length: u64, rate: f64) -> Source {
    let sends = vec![Send { destination: Rank(to), length: Bytes(length) }];
    Source { rank: Rank(from), rate: PerSecond(rate), cv: 1.0, in_step: None, rounds: 10, sends }
}

fn clocks(name: &str, ranks: u32, sources: Vec<Source>) -> Job {
    Job::from_sources(name, ranks, sources).unwrap()
}

fn placed(cluster: &Cluster, workload: &Workload, slot_of: &[usize]) -> Placement {
    let slots = slots(cluster, Granularity::Cores(1), slot_of.len()).unwrap();
    Placement::from_slots(cluster, &JobShape::of(workload), "test", &slots, slot_of).unwrap()
}

fn predicted(cluster: &Cluster, workload: &Workload, slot_of: &[usize]) -> Prediction {
    Prediction::new(cluster, workload, &placed(cluster, workload, slot_of)).unwrap()
}

fn server<'a>(prediction: &'a Prediction, name: &str) -> &'a ServerPrediction {
    let server = prediction.servers.iter().find(|server| server.name == name);
    server.unwrap_or_else(|| panic!("nothing is asked of {name}"))
}

fn assert_near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs(),
        "found {found}, expected {expected}"
    );
}

#[test]
fn two_senders_by_hand() {
    let cluster = cluster(&[(2, Kind(1, 1, 2, 1))]);
    let jobs = vec![
        clocks("long", 2, vec![clock(0, 1, 1_000_000, 100.0)]),
        clocks("short", 2, vec![clock(0, 1, 500_000, 200.0)]),
    ];
    let prediction = predicted(&cluster, &workload(jobs), &[0, 2, 1, 3]);
    for name in ["node0 network out", "node1 network in"] {
        let port = server(&prediction, name);
        assert_near(port.utilisation, 0.2);
        assert_near(port.messages.0, 300.0);
        // A third waits 0.25 ms, two thirds 0.125 ms.
        assert_near(port.waiting.unwrap().0, 0.5e-3 / 3.0);
    }
    assert_near(server(&prediction, "node0 NUMA L#0").utilisation, 0.05);
    let memory_waiting = 0.05 / 0.95 * 250e-6;
    let time = prediction.jobs[0].time.unwrap();
    assert_near(time.source.0, 1e-3 + 0.25e-3 + 250e-6 + memory_waiting);
    assert_near(time.destination.0, time.source.0);
    assert_near(time.switches.0, 100e-9);
    assert_near(time.total().0, 2.0 * time.source.0 + 100e-9);
    assert_near(time.waiting.nic.0, 0.5e-3);
    assert_near(time.waiting.memory.0, 2.0 * memory_waiting);
    assert_near(prediction.messages.0, 300.0);
    // 100 messages wait 2 * 0.25 ms at ports, 200 wait 2 * 0.125 ms.
    assert_near(prediction.waiting.nic.0, 0.1);
    assert_eq!(prediction.waiting.other, Seconds(0.0));
    let short = prediction.jobs[1].time.unwrap().total().0;
    assert_near(prediction.time.unwrap().total().0, (time.total().0 + 2.0 * short) / 3.0);
}

#[test]
fn a_saturated_server_is_named_and_the_rest_still_counted() {
    let cluster = cluster(&[(3, Kind(1, 1, 2, 1))]);
    let jobs = vec![
        clocks("heavy", 2, vec![clock(0, 1, 1_000_000, 1000.0)]),
        clocks("light", 2, vec![clock(0, 1, 1000, 10.0)]),
    ];
    let apart = predicted(&cluster, &workload(jobs.clone()), &[0, 2, 1, 4]);
    let names: Vec<&str> = apart.saturated().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["node0 network out", "node1 network in"]);
    assert!(apart.saturated().all(|server| server.waiting.is_none()));
    // Both leave through the port that is saturated.
    assert_eq!((apart.jobs[0].time, apart.jobs[1].time, apart.time), (None, None, None));
    assert_near(apart.jobs[1].saturated.0, 10.0);
    assert!(apart.waiting.total().0.is_finite() && apart.waiting.memory.0 > 0.0);

    let beside = predicted(&cluster, &workload(jobs), &[0, 2, 4, 5]);
    assert_eq!(beside.jobs[0].time, None);
    assert!(beside.jobs[1].time.is_some());
}

#[test]
fn placements_are_ordered_also_when_saturated() {
    let cluster = four_by_four();
    let at = |rate: f64, slot_of: [usize; 4]| {
        let sources = vec![clock(0, 1, 1_000_000, rate), clock(2, 3, 1_000_000, rate)];
        predicted(&cluster, &workload(vec![clocks("pairs", 4, sources)]), &slot_of)
    };
    let (shared, separate, inside) = ([0, 4, 1, 8], [0, 4, 8, 12], [0, 1, 4, 5]);
    for rate in [10.0, 700.0, 5000.0] {
        let [shared, separate, inside] = [shared, separate, inside].map(|slots| at(rate, slots));
        assert_eq!(separate.compare(&shared), Ordering::Less, "{rate}");
        assert_eq!(shared.compare(&separate), Ordering::Greater, "{rate}");
        assert_eq!(inside.compare(&separate), Ordering::Less, "{rate}");
        assert_eq!(separate.compare(&separate), Ordering::Equal, "{rate}");
    }
    // One saturated server is better than two with the same utilisation.
    let (separate, two) = (at(1500.0, separate), at(1500.0, [0, 4, 5, 1]));
    assert_near(separate.highest_utilisation(), 1.5);
    assert_near(two.highest_utilisation(), 1.5);
    assert_near(separate.overload(), 4.0 * 0.5);
    assert_eq!(separate.compare(&two), two.compare(&separate).reverse());
}

#[test]
fn every_device_takes_its_share() {
    let cluster = with_two_nics(cluster(&[(2, Kind(1, 1, 1, 1))]));
    let jobs = workload(vec![clocks("pair", 2, vec![clock(0, 1, 300_000, 100.0)])]);
    let prediction = predicted(&cluster, &jobs, &[0, 1]);
    let (fast, slow) =
        (server(&prediction, "node0 fast out"), server(&prediction, "node0 slow out"));
    assert_eq!((fast.messages, slow.messages), (PerSecond(50.0), PerSecond(50.0)));
    assert_near(fast.utilisation, 50.0 * 1e-4);
    assert_near(slow.utilisation, 50.0 * 3e-4);
}

#[test]
fn cores_with_ranks_fetch_words_besides() {
    let cluster = built_in::find("paper:2013-model").unwrap().cluster();
    let jobs = workload(vec![clocks("pair", 4, vec![clock(0, 3, 1024, 10.0)])]);
    // Three ranks on the first socket, the last on another node.
    let prediction = predicted(&cluster, &jobs, &[0, 1, 2, 16]);
    let memory = server(&prediction, "node0 NUMA L#0");
    let word = 8.0 / 4_294_967_296.0;
    assert_near(memory.utilisation, 3.0 * 1e5 * word + 10.0 * 128.0 * word);
    assert_near(memory.messages.0, 10.0);
    let memories = prediction.servers.iter().filter(|server| is_memory(server.kind)).count();
    assert_eq!(memories, 2);
}

fn is_memory(kind: ServerKind) -> bool {
    matches!(kind, ServerKind::Memory { .. })
}

#[test]
fn without_clocks_there_is_no_prediction() {
    let cluster = four_by_four();
    let flows = workload(vec![job("solver", 2, vec![flow(0, 1, 5)])]);
    let error = Prediction::new(&cluster, &flows, &placed(&cluster, &flows, &[0, 1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job `solver`: found traffic without message timing, expected clocks. The queueing \
         model needs to know how often messages are sent: give the pattern a rate (like \
         `pattern:ring:8:rate=100`), or use a profile with message timing"
    );
    // Who sends nothing needs none.
    let silent = workload(vec![job("silent", 2, Vec::new())]);
    let prediction = predicted(&cluster, &silent, &[0, 1]);
    assert_eq!((prediction.time, prediction.waiting), (None, MessageWaiting::default()));
    assert!(prediction.servers.is_empty());
}

#[test]
fn messages_without_a_byte_take_no_time_at_ports() {
    let cluster = built_in::find("paper:2013-model").unwrap().cluster();
    let jobs = workload(vec![clocks("pair", 2, vec![clock(0, 1, 0, 10.0)])]);
    let time = predicted(&cluster, &jobs, &[0, 16]).time.unwrap();
    assert_near(time.source.0, time.destination.0);
    assert!(time.source.0 > 6e-6, "{time:?}");
}

const PATTERNS: [&str; 4] = ["all-to-all", "bcast", "gather", "ring"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn waiting_is_the_same_by_server_by_job_and_by_part(
        patterns in prop::collection::vec((0..4_usize, 2..9_u32, 1.0..200.0_f64, 0.0..3.0_f64), 1..4),
        named in any::<bool>(),
        order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let cluster = if named {
            built_in::find("paper:2013-model").unwrap().cluster()
        } else {
            with_two_nics(cluster(&[(8, Kind(2, 1, 2, 1))]))
        };
        let job = |(index, (shape, ranks, rate, cv)): (usize, &(usize, u32, f64, f64))| {
            let name = PATTERNS[*shape];
            let text = format!("{name}:{ranks}:rate={rate},cv={cv},length=64KiB");
            let job = Pattern::parse(&text).unwrap().job().unwrap();
            Job { name: format!("{name}{index}"), ..job }
        };
        let jobs = workload(patterns.iter().enumerate().map(job).collect());
        let prediction = predicted(&cluster, &jobs, &order[..jobs.rank_count()]);
        prop_assert_eq!(&prediction, &predicted(&cluster, &jobs, &order[..jobs.rank_count()]));

        let sent: f64 = jobs.jobs.iter().flat_map(|job| &job.sources)
            .map(|source| source.rate.0 * source.sends.len() as f64).sum();
        prop_assert!((prediction.messages.0 - sent).abs() <= 1e-9 * sent);
        let total = prediction.waiting.total().0;
        let by_server: f64 = prediction.servers.iter()
            .filter_map(|server| Some(server.messages.0 * server.waiting?.0)).sum();
        prop_assert!((by_server - total).abs() <= 1e-9 * total.max(1e-12));
        if let Some(mean) = prediction.time {
            let by_job: f64 = prediction.jobs.iter()
                .map(|job| job.messages.0 * job.time.unwrap().waiting.total().0).sum();
            prop_assert!((by_job - total).abs() <= 1e-9 * total.max(1e-12));
            prop_assert!(mean.total().0 > mean.waiting.total().0);
        } else {
            prop_assert!(prediction.saturated().next().is_some());
            prop_assert!(prediction.highest_utilisation() >= 1.0);
        }
    }
}

/// A line of the guide's table: the share by which the approximation differs, over utilisations.
fn error_line(cv: f64) -> String {
    let cell = |utilisation: &f64| {
        let exact = queue::exact_waiting_time(cv, *utilisation, Seconds(1.0)).unwrap().0;
        let error = 100.0 * queue::approximation_error(cv, *utilisation).unwrap();
        match error.abs() {
            ..0.05 => format!("{exact:.3} (exact)"),
            0.05..100.0 => format!("{exact:.3} ({error:+.1} %)"),
            _ => format!("{exact:.3} ({:.0} times)", 1.0 + error / 100.0),
        }
    };
    let cells: Vec<String> = [0.1, 0.3, 0.5, 0.7, 0.9, 0.99].iter().map(cell).collect();
    format!("| {cv} | {} |", cells.join(" | "))
}

#[test]
fn the_guide_tabulates_the_error_of_the_approximation() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/queueing-model.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let lines = [0.0, 0.5, 1.0, 2.0, 3.0].map(error_line);
    let missing: Vec<&String> = lines.iter().filter(|line| !guide.contains(*line)).collect();
    assert!(missing.is_empty(), "docs/src/queueing-model.md lacks\n{missing:#?}");
}

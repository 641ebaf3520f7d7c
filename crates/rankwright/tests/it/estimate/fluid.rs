//! The fluid evaluation against the simulator and against theory.

use std::collections::BTreeMap;
use std::path::Path;

use rankwright::cluster::Cluster;
use rankwright::cluster::read::built_in;
use rankwright::estimate::{Fluid, FluidOutcome};
use rankwright::ids::{SlotId, parse_index_list};
use rankwright::network::ServerKind;
use rankwright::placement::{Granularity, JobShape, Mapping, Placement, Slot, slots};
use rankwright::statistics::quantile;
use rankwright::traffic::Workload;
use rankwright::traffic::generate::built_in as workloads;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::units::BytesPerSecond;

use crate::clusters::{Kind, cluster, with_switches, with_two_nics, with_uplinks};

fn paper() -> (Cluster, Vec<Slot>) {
    let cluster = built_in::find("paper:2013").unwrap().cluster();
    let slots = slots(&cluster, Granularity::Cores(1), 1).unwrap();
    (cluster, slots)
}

/// A synthetic workload of the paper.
fn workload(name: &str) -> Workload {
    workloads::find(&format!("paper:2013/{name}")).unwrap().workload().unwrap()
}

/// One job of each pattern.
fn of_patterns(patterns: &[String]) -> Workload {
    let mut workload = Workload { name: "test".to_owned(), jobs: Vec::new() };
    for pattern in patterns {
        workload.push(Pattern::parse(pattern).unwrap().job().unwrap());
    }
    workload
}

struct Simulated {
    total_waiting: f64,
    workload_finish: f64,
    mapping: Mapping,
}

/// What the simulator says: by workload, all mappings.
fn simulated() -> BTreeMap<String, Vec<Simulated>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fluid/simulated.csv");
    let mut all: BTreeMap<String, Vec<Simulated>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |field: usize| fields[field].parse().unwrap();
        let slots = parse_index_list(&fields[7].replace(' ', ",")).unwrap();
        all.entry(fields[0].to_owned()).or_default().push(Simulated {
            total_waiting: number(2),
            workload_finish: number(5),
            mapping: slots.into_iter().map(SlotId).collect(),
        });
    }
    all
}

#[test]
fn it_agrees_with_the_simulator_on_the_synthetic_workloads() {
    let (cluster, slots) = paper();
    let (mut errors, mut finish_errors) = (Vec::new(), Vec::new());
    for (name, cases) in simulated() {
        let mut fluid = Fluid::new(&cluster, &workload(&name), &slots).unwrap();
        let outcomes: Vec<FluidOutcome> =
            cases.iter().map(|case| fluid.evaluate(&case.mapping)).collect();
        for (case, outcome) in cases.iter().zip(&outcomes) {
            let error = |predicted: f64, expected: f64| (predicted / expected - 1.0).abs();
            errors.push(error(outcome.total_waiting.0, case.total_waiting));
            finish_errors.push(error(outcome.workload_finish.0, case.workload_finish));
            // Differences below half a percent are those of the seed.
            for (other, of_other) in cases.iter().zip(&outcomes) {
                if case.total_waiting < 0.995 * other.total_waiting {
                    assert!(outcome.total_waiting.0 < of_other.total_waiting.0, "{name}");
                }
            }
        }
    }
    assert_eq!(errors.len(), 60);
    errors.sort_by(f64::total_cmp);
    finish_errors.sort_by(f64::total_cmp);
    assert!(quantile(&errors, 0.5) < 0.01, "{errors:?}");
    assert!(quantile(&errors, 0.9) < 0.05, "{errors:?}");
    assert!(quantile(&errors, 1.0) < 0.20, "{errors:?}");
    assert!(quantile(&finish_errors, 0.5) < 0.01, "{finish_errors:?}");
    assert!(quantile(&finish_errors, 1.0) < 0.10, "{finish_errors:?}");
}

/// Waiting at the sender's network device, of one rank that sends to another node.
fn one_sender(rate: u32) -> f64 {
    let cluster = cluster(&[(2, Kind(1, 1, 1, 1))]);
    let slots = slots(&cluster, Granularity::Cores(1), 2).unwrap();
    let pattern = format!("linear:2:rate={rate},length=1000000B,messages=100000");
    let mut fluid = Fluid::new(&cluster, &of_patterns(&[pattern]), &slots).unwrap();
    fluid.evaluate(&vec![0, 1].into());
    let outs = fluid.servers().iter().zip(fluid.waiting());
    outs.filter(|(kind, _)| matches!(kind, ServerKind::NicOut { .. })).map(|out| out.1.0).sum()
}

#[test]
fn a_single_queue_agrees_with_theory() {
    let (messages, service) = (1e5, 1e-3);
    for rate in [100, 500, 900] {
        // M/D/1.
        let utilisation = f64::from(rate) * service;
        let expected = messages * utilisation * service / (2.0 * (1.0 - utilisation));
        let waiting = one_sender(rate);
        assert!((waiting / expected - 1.0).abs() < 0.01, "{rate}: {waiting} {expected}");
    }
    for rate in [1500, 3000] {
        // Half the backlog at the end.
        let expected = messages * 0.5 * (messages * service - messages / f64::from(rate));
        let waiting = one_sender(rate);
        assert!((waiting / expected - 1.0).abs() < 0.01, "{rate}: {waiting} {expected}");
    }
}

#[test]
fn an_evaluation_does_not_depend_on_the_one_before() {
    let (cluster, slots) = paper();
    let workload = workload("mixed-6");
    let cases = &simulated()["mixed-6"];
    let mut fluid = Fluid::new(&cluster, &workload, &slots).unwrap();
    let first: Vec<FluidOutcome> = cases.iter().map(|case| fluid.evaluate(&case.mapping)).collect();
    for (case, outcome) in cases.iter().zip(first).rev() {
        assert_eq!(fluid.evaluate(&case.mapping), outcome);
        let shapes = JobShape::of(&workload);
        let placement =
            Placement::from_slots(&cluster, &shapes, "test", &slots, case.mapping.as_indices())
                .unwrap();
        let other = Fluid::of_placement(&cluster, &workload, &placement).unwrap();
        assert!((other.total_waiting.0 / outcome.total_waiting.0 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn links_and_several_devices_are_waited_for() {
    let pattern = ["all-to-all:12:rate=300,length=1MiB,messages=1000".to_owned()];
    let workload = of_patterns(&pattern);
    let small = || with_switches(cluster(&[(3, Kind(2, 1, 2, 1))]), 1);
    let evaluate = |cluster: &Cluster| {
        let slots = slots(cluster, Granularity::Cores(1), 12).unwrap();
        let mut fluid = Fluid::new(cluster, &workload, &slots).unwrap();
        fluid.evaluate(&(0..12).map(SlotId).collect())
    };
    let plain = evaluate(&small());
    assert_eq!(plain.link_waiting.0, 0.0);
    let two = evaluate(&with_two_nics(small()));
    assert!(two.nic_waiting.0 < plain.nic_waiting.0, "{two:?} {plain:?}");
    let slow = evaluate(&with_uplinks(small(), BytesPerSecond(2.5e8)));
    assert!(slow.link_waiting.0 > plain.nic_waiting.0, "{slow:?} {plain:?}");
    // Each link passes 4 x 8 messages of 1 MiB a thousand times.
    let least = 32.0 * 1000.0 * 1_048_576.0 / 2.5e8;
    assert!((slow.workload_finish.0 / least - 1.0).abs() < 0.05, "{slow:?} {least}");
}

#[test]
fn ranks_without_clocks_wait_for_nothing() {
    let (cluster, slots) = paper();
    let workload = of_patterns(&["ring:4".to_owned()]);
    let mut fluid = Fluid::new(&cluster, &workload, &slots).unwrap();
    assert_eq!(fluid.evaluate(&vec![0, 16, 32, 48].into()), FluidOutcome::default());
}

//! Messages that leave the cluster.

use std::ops::ControlFlow;

use rankwright::cluster::Levels;
use rankwright::estimate::{Fluid, Load, OfferedLoad, Prediction};
use rankwright::ids::SlotId;
use rankwright::map::Problem;
use rankwright::network::ServerKind;
use rankwright::placement::{Granularity, JobShape, Mapping, Placement};
use rankwright::sim::{Options, Outcome, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::units::Bytes;

use crate::clusters::{Kind, cluster};

/// 16 ranks that answer 1000 requests each with 64 KiB, on two nodes of two memories.
fn answering(rate: u32) -> Workload {
    let text = format!("outside:16:rate={rate},length=64KiB,messages=1000");
    Workload::single(Pattern::parse(&text).unwrap().job().unwrap())
}

/// In order of the slots.
fn simulated(problem: &Problem) -> (Placement, Outcome) {
    let (cluster, workload) = (problem.cluster, problem.workload);
    let slot_of: Vec<usize> = (0..problem.rank_count()).collect();
    let shapes = JobShape::of(workload);
    let placement =
        Placement::from_slots(cluster, &shapes, "blocked", problem.slots(), &slot_of).unwrap();
    let mut go_on = |_: &_| ControlFlow::Continue(());
    let outcome = simulate(cluster, workload, &placement, &Options::default(), &mut go_on).unwrap();
    (placement, outcome)
}

#[test]
fn they_pass_the_memory_and_the_device_of_their_sender_only() {
    let (cluster, workload) = (cluster(&[(2, Kind(2, 1, 4, 1))]), answering(100));
    let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
    let (placement, outcome) = simulated(&problem);

    assert_eq!(outcome.messages, 16_000);
    let used: Vec<_> = outcome.servers.iter().filter(|server| server.messages > 0).collect();
    let out_of =
        |kind: &ServerKind| matches!(kind, ServerKind::Memory { .. } | ServerKind::NicOut { .. });
    assert_eq!(used.len(), 2 + 4, "{used:?}");
    assert!(used.iter().all(|server| out_of(&server.kind)));

    let load = Load::new(&cluster, &Levels::new(&cluster), &workload, &placement);
    let all = Bytes(16 * 1000 * 65536);
    assert_eq!((load.total, load.inter_node, load.inter_node_messages), (all, all, 16_000));
    assert_eq!(load.nics.iter().map(|nic| nic.out.0).sum::<u64>(), all.0);
    assert!(load.nics.iter().all(|nic| nic.incoming.0 == 0));
}

#[test]
fn the_model_agrees_with_the_simulator_on_their_waiting() {
    // 8000 messages per second of 65.5 us at a device: 52 % busy.
    let (cluster, workload) = (cluster(&[(2, Kind(2, 1, 4, 1))]), answering(1000));
    let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
    let mapping: Mapping = (0..16).map(SlotId).collect();
    let (placement, outcome) = simulated(&problem);
    let waiting_then = outcome.total_waiting.0;
    let fluid = Fluid::of_placement(&cluster, &workload, &placement).unwrap();
    let offered = OfferedLoad::new(&cluster, &workload, problem.slots(), &mapping).unwrap();
    for (name, waiting) in [("fluid", fluid.total_waiting), ("offered", offered.waiting())] {
        let ratio = waiting.0 / waiting_then;
        assert!((0.8..1.25).contains(&ratio), "{name}: {ratio} times {waiting_then} s");
    }
    let prediction = Prediction::new(&cluster, &workload, &placement).unwrap();
    assert!(prediction.servers.iter().any(|server| (server.utilisation - 0.52).abs() < 0.01));
}

#[test]
fn a_pattern_of_them_needs_a_rate() {
    let error = Pattern::parse("outside:16").unwrap().job().unwrap_err().to_string();
    assert!(error.contains("rate: found none, expected how often each rank sends"), "{error}");
}

//! What the rounds of waiting ranks take at least, against the simulator.

use std::ops::ControlFlow;

use proptest::prelude::*;
use rankwright::cluster::{Cluster, ClusterDescription, ServiceCurve};
use rankwright::estimate::RoundTrips;
use rankwright::ids::NumaId;
use rankwright::placement::{Granularity, JobShape, Placement, slots};
use rankwright::sim::{Options, Pacing, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::units::{Bytes, BytesPerSecond, Seconds};

use crate::clusters::{Kind, cluster, with_switches, with_two_nics, with_uplinks};
use crate::workloads::workload;

fn jobs(patterns: &[&str]) -> Workload {
    workload(patterns.iter().map(|text| Pattern::parse(text).unwrap().job().unwrap()).collect())
}

/// Four nodes of eight cores on two switches.
fn machines(two_nics: bool) -> Cluster {
    let cluster = cluster(&[(2, Kind(2, 1, 4, 1)), (2, Kind(1, 2, 4, 1))]);
    let cluster = with_uplinks(with_switches(cluster, 2), BytesPerSecond(2e9));
    if two_nics { with_two_nics(cluster) } else { cluster }
}

/// When the longest rounds are over by the bound, and when the last message arrives.
fn bound_and_finish(cluster: &Cluster, workload: &Workload, slot_of: &[usize]) -> (f64, f64) {
    let slots = slots(cluster, Granularity::Cores(1), slot_of.len()).unwrap();
    let computing = workload.clone().in_computing_time();
    let mut trips = RoundTrips::new(cluster, &computing, &slots).unwrap();
    let bound = trips.evaluate(&slot_of.into()).longest.0;
    let shapes = JobShape::of(workload);
    let placement = Placement::from_slots(cluster, &shapes, "test", &slots, slot_of).unwrap();
    let options = Options { pacing: Pacing::AfterArrival, seed: 5, ..Options::default() };
    let mut observer = |_: &_| ControlFlow::Continue(());
    let outcome = simulate(cluster, workload, &placement, &options, &mut observer).unwrap();
    (bound, outcome.workload_finish.0)
}

#[test]
fn a_sender_alone_takes_as_long() {
    for pattern in ["bcast:12", "bcast:3", "linear:2"] {
        let text = format!("{pattern}:rate=1e9,length=256KiB,messages=50");
        for step in [1, 3, 5] {
            let slot_of: Vec<usize> = (0..12).map(|rank| rank * step % 32).collect();
            let workload = jobs(&[&text]);
            let ranks = workload.rank_count();
            let (bound, finish) = bound_and_finish(&machines(false), &workload, &slot_of[..ranks]);
            assert!((finish / bound - 1.0).abs() < 0.02, "{text} by {step}: {finish} {bound}");
        }
    }
}

/// A rank computes for three quarters of a recorded run, or all the time that its clock takes.
#[test]
fn a_sender_that_computes_takes_as_long() {
    for (pattern, share) in [("bcast:12", 1.0), ("bcast:3", 0.75), ("linear:2", 0.75)] {
        let text = format!("{pattern}:rate=500,length=256KiB,messages=400,cv=0");
        let mut workload = jobs(&[&text]);
        let seconds = 400.0 / 500.0;
        let ranks = workload.rank_count();
        workload.jobs[0].compute = vec![Seconds(share * seconds); ranks];
        workload.jobs[0].seen.wall = Some(Seconds(seconds));
        for step in [1, 3, 5] {
            let slot_of: Vec<usize> = (0..12).map(|rank| rank * step % 32).collect();
            let (bound, finish) = bound_and_finish(&machines(false), &workload, &slot_of[..ranks]);
            assert!((finish / bound - 1.0).abs() < 0.005, "{text} by {step}: {finish} {bound}");
            assert!(bound > 1.01 * share * seconds, "{text} by {step}: {bound}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_run_ends_earlier(
        mut order in Just((0..32).collect::<Vec<usize>>()).prop_shuffle(),
        two_nics in any::<bool>(),
        far in prop::option::of(1e-6..1e-3_f64),
        rate in 10.0..1e5_f64,
    ) {
        let all_to_all = format!("all-to-all:10:rate={rate},length=64KiB,messages=30");
        let halo = format!("halo-2d:6:rate={rate},length=1MiB,messages=20");
        let workload = jobs(&[&all_to_all, &halo, "gather:9:rate=50,length=8KiB,messages=20"]);
        order.truncate(workload.rank_count());
        let mut cluster = machines(two_nics);
        if let Some(far) = far {
            // The last device of each node is beside its first package.
            let points = vec![(Bytes(1 << 16), Seconds(far))];
            let change = |parts: &mut ClusterDescription| {
                parts.rates.inter_socket = ServiceCurve::new(points).unwrap();
                let nics = parts.groups.iter_mut().filter_map(|group| group.machine.nics.last_mut());
                nics.for_each(|nic| nic.near = vec![NumaId(0)]);
            };
            cluster = cluster.edit(change).unwrap();
        }
        let (bound, finish) = bound_and_finish(&cluster, &workload, &order);
        prop_assert!(finish >= bound * (1.0 - 1e-9), "{} {}", finish, bound);
    }
}

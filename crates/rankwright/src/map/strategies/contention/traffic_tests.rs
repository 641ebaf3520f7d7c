//! Searches without message timing.

use std::collections::BTreeSet;

use super::tests::{cluster, map, placements, problem, workload};
use crate::estimate::Load;
use crate::map::{Budget, Problem};
use crate::placement::{JobShape, Placement};
use crate::ranking::TOLERANCE;

/// Seconds of the busiest network device, and the number of nodes.
fn busiest(problem: &Problem, slot_of: &[usize]) -> (f64, usize) {
    let (cluster, workload) = (problem.cluster, problem.workload);
    let placement =
        Placement::from_slots(cluster, &JobShape::of(workload), "", problem.slots(), slot_of)
            .unwrap();
    let load = Load::new(cluster, problem.levels(), workload, &placement);
    let nodes: BTreeSet<_> = placement.ranks().map(|rank| rank.node).collect();
    (load.busiest_nic_time().0, nodes.len())
}

#[test]
fn without_message_timing_the_busiest_device_is_least_busy_on_the_fewest_nodes() {
    let (cluster, workload) = (cluster(4, 1, 4, ""), workload(&["random:7:degree=3,seed=5"]));
    let problem = problem(&cluster, &workload);
    let found = busiest(&problem, &map(&problem, "contention"));
    // All placements on two nodes.
    let least = placements(7, 2, 4)
        .iter()
        .map(|slot_of| busiest(&problem, slot_of).0)
        .fold(f64::INFINITY, f64::min);
    assert_eq!(found.1, 2);
    assert!(found.0 <= least * 1.000_001, "{} {least}", found.0);
}

#[test]
fn without_message_timing_no_start_is_better() {
    let (cluster, workload) =
        (cluster(4, 2, 4, ""), workload(&["random:19:degree=4", "halo-2d:9:renumber"]));
    let problem = problem(&cluster, &workload);
    let (time, nodes) = busiest(&problem, &map(&problem, "contention:moves=2000"));
    for start in super::starts::starts(&problem, &Budget::default()).unwrap() {
        let of_start = busiest(&problem, start.as_indices());
        assert!(nodes <= of_start.1);
        assert!(nodes < of_start.1 || time <= of_start.0 * (1.0 + TOLERANCE));
    }
}

//! Candidates whose ranks are ordered by GPU.

use rankwright::Planner;
use rankwright::cluster;
use rankwright::ids::GlobalRank;
use rankwright::map::Strategy;
use rankwright::placement::{GpuUse, Granularity, slots};
use rankwright::traffic;

const FOUR_GPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nics/four-gpus.toml");

/// What is evaluated is what is written: mapping, placement and devices belong together.
#[test]
fn candidates_are_evaluated_in_the_order_by_gpu() {
    let cluster = cluster::open(FOUR_GPUS).unwrap();
    let workload = traffic::open("pattern:halo-2d:16:renumber,rate=1000").unwrap();
    let strategies = ["blocked", "cyclic", "kway", "contention:moves=200"];
    let strategies: Vec<Strategy> = strategies.iter().map(|name| name.parse().unwrap()).collect();
    let slots = slots(&cluster, Granularity::Cores(1), 16).unwrap();
    for selection in ["none", "by-load"] {
        let planner = Planner::new(&cluster, &workload).strategies(&strategies);
        let planner = planner.gpus(GpuUse::Near).devices(selection.parse().unwrap());
        let plan = planner.plan().unwrap();
        assert_eq!(plan.candidates.len(), strategies.len());
        for candidate in &plan.candidates {
            let mut local = [0; 2];
            for (rank, place) in candidate.placement.ranks().enumerate() {
                let slot = candidate.mapping.slot(GlobalRank::from_index(rank));
                assert_eq!(place.cores, slots[slot.index()].cores, "{}", candidate.strategy);
                let number = &mut local[place.node.index()];
                assert_eq!(place.gpus, [format!("nvml{}", *number % 4)]);
                assert_eq!(place.nics.is_empty(), selection == "none");
                *number += 1;
            }
            // Where all cores of a node are taken, each rank is on the socket of its GPU.
            if candidate.strategy.name() == "blocked" {
                let first = candidate.placement.ranks().take(4);
                let sockets: Vec<u32> = first.map(|place| place.cores[0].0 / 8).collect();
                assert_eq!(sockets, [1, 1, 0, 0]);
            }
        }
        let file = plan.best().file(&cluster, &workload);
        assert_eq!((file.gpus, file.jobs[0].ranks[1].gpus.len()), (GpuUse::Near, 1));
    }
}

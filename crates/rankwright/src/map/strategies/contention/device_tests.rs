//! Searches for slots and network devices together, on small clusters.

use std::num::NonZeroUsize;
use std::path::Path;

use proptest::prelude::*;

use super::device_slots::DeviceSlots;
use super::layout::Layout;
use super::neighbourhood::Neighbourhood;
use super::{Search, by_load, exactly, starts};
use crate::cluster::Cluster;
use crate::cluster::read::toml;
use crate::map::{Budget, DeviceMapping, Problem, Strategy};
use crate::placement::Granularity;
use crate::random::Generator;
use crate::ranking::Objective;
use crate::traffic::Workload;
use crate::traffic::generate::pattern::Pattern;

/// Nodes of two sockets with a device beside each; `more` has further lines for each device.
fn cluster(nodes: u32, cores: u32, rates: &str, more: [&str; 2]) -> Cluster {
    let mut text = format!(
        "name = \"test\"\n{rates}\n[[node]]\nnames = \"n[0-{}]\"\n\
         topology = \"pack:2 numa:1 core:{cores} pu:1\"\n",
        nodes - 1
    );
    for (number, more) in more.into_iter().enumerate() {
        text += &format!(
            "[[node.nic]]\nname = \"mlx5_{number}\"\nnear = \"numa:{number}\"\n\
             bandwidth = \"1 GB/s\"\n{more}\n"
        );
    }
    toml::parse(&text, "test.toml", Path::new(".")).unwrap()
}

fn workload(patterns: &[&str]) -> Workload {
    let job = |text: &&str| Pattern::parse(text).unwrap().job().unwrap();
    Workload { name: "test".to_owned(), jobs: patterns.iter().map(job).collect() }
}

fn problem<'a>(cluster: &'a Cluster, workload: &'a Workload) -> Problem<'a> {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).unwrap();
    problem.with_selection("by-load".parse().unwrap()).unwrap()
}

fn mappings(problem: &Problem, strategy: &str, threads: usize) -> Vec<DeviceMapping> {
    let budget = Budget::default().with_threads(NonZeroUsize::new(threads).unwrap());
    let strategy: Strategy = strategy.parse().unwrap();
    strategy.mappings_with_devices(problem, &budget).unwrap()
}

/// The costs of mappings relative to the first; those without devices get devices by load.
fn costs(problem: &Problem, device_slots: &DeviceSlots, mappings: &[DeviceMapping]) -> Vec<f64> {
    let device_slot_of = |placed: &DeviceMapping| {
        let nics = placed.nics.clone();
        let nics =
            nics.unwrap_or_else(|| by_load(problem, placed.mapping.as_indices()).unwrap().unwrap());
        device_slots.find(placed.mapping.as_indices(), &nics).expect("device slots")
    };
    let places: Vec<Vec<usize>> = mappings.iter().map(device_slot_of).collect();
    cost_of(problem, device_slots, &places)
}

fn cost_of(problem: &Problem, device_slots: &DeviceSlots, places: &[Vec<usize>]) -> Vec<f64> {
    let budget = Budget::default();
    let first = vec![places[0].clone()];
    let search = Search::new(Objective::Balanced, problem, device_slots, &budget, first).unwrap();
    let Search { objective, mut fluid, mut offered, mut trips, .. } = search;
    let cost = |device_slot_of: &Vec<usize>| {
        offered.restart(&device_slot_of[..].into());
        objective.cost(&exactly(&mut fluid, &offered, &mut trips))
    };
    places.iter().map(cost).collect()
}

const UNEVEN: [&str; 2] = [
    "gather:3:rate=900,length=1MB,messages=60",
    "linear:3:rate=300,length=1MB,messages=40,renumber=true,seed=2",
];

#[test]
fn the_optimum_over_cores_and_devices_is_found() {
    let (cluster, workload) = (
        cluster(2, 1, "", [""; 2]),
        workload(&["gather:3:rate=700,length=1MB,messages=60", "ring:1:rate=1"]),
    );
    let problem = problem(&cluster, &workload);
    let device_slots = DeviceSlots::with_devices(&problem).unwrap();
    assert_eq!(device_slots.slots().len(), 4 * 3);
    // Every slot for every rank, each with either device or both.
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..4 {
        let longer = |before: &Vec<usize>| {
            let free = (0..12).filter(|at| before.iter().all(|taken| taken / 3 != at / 3));
            free.map(|at| [&before[..], &[at]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    assert_eq!(all.len(), 24 * 81);
    let best = mappings(&problem, "contention:moves=6000", 1).swap_remove(0);
    let nics = best.nics.clone().expect("devices");
    all.insert(0, device_slots.find(best.mapping.as_indices(), &nics).unwrap());
    let costs = cost_of(&problem, &device_slots, &all);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(costs[0] <= least + 1e-9, "{} but {least}", costs[0]);
}

#[test]
fn threads_change_nothing_and_more_moves_are_no_worse_than_the_starts() {
    let (cluster, workload) = (cluster(3, 2, "", [""; 2]), workload(&UNEVEN));
    let problem = problem(&cluster, &workload);
    let device_slots = DeviceSlots::with_devices(&problem).unwrap();
    let forms = [0, 400, 4000].map(|moves| format!("contention:moves={moves}"));
    let results = forms.each_ref().map(|form| mappings(&problem, form, 1));
    assert_eq!(results[1], mappings(&problem, &forms[1], 3));
    let first: Vec<DeviceMapping> = results.iter().map(|mappings| mappings[0].clone()).collect();
    let costs = costs(&problem, &device_slots, &first);
    assert!(costs.iter().all(|later| *later <= costs[0] + 1e-9), "{costs:?}");
    let chosen = first.iter().flat_map(|mapping| mapping.nics.as_ref().expect("devices"));
    assert!(chosen.into_iter().all(|nics| !nics.is_empty()));
}

#[test]
fn devices_serve_no_more_ranks_than_they_have_contexts() {
    let contexts = ["contexts = 1", "contexts = 3"];
    let (cluster, workload) = (cluster(2, 2, "", contexts), workload(&UNEVEN));
    let problem = problem(&cluster, &workload);
    for placed in mappings(&problem, "contention:moves=2000", 1) {
        let Some(nics) = placed.nics else { continue };
        for node in 0..2 {
            let here = placed
                .mapping
                .as_indices()
                .iter()
                .zip(&nics)
                .filter(|(slot, _)| **slot / 4 == node);
            let users = |name: &str| {
                here.clone().filter(|(_, nics)| nics.iter().any(|nic| nic == name)).count()
            };
            assert!(users("mlx5_0") <= 1 && users("mlx5_1") <= 3);
        }
    }
}

#[test]
fn ranks_that_talk_use_the_same_rail() {
    let (cluster, workload) = (cluster(3, 2, "", ["rail = 0", "rail = 1"]), workload(&UNEVEN));
    let problem = problem(&cluster, &workload);
    let mut searched = 0;
    for placed in mappings(&problem, "contention:moves=2000", 1) {
        let Some(nics) = placed.nics else { continue };
        searched += 1;
        for (job, first) in workload.jobs.iter().zip(workload.rank_offsets()) {
            for flow in &job.flows {
                let [a, b] = [flow.source, flow.destination].map(|rank| rank.global(first).index());
                let slot_of = placed.mapping.as_indices();
                let apart = slot_of[a] / 4 != slot_of[b] / 4;
                assert!(!apart || nics[a] == nics[b], "{:?} {:?}", nics[a], nics[b]);
            }
        }
    }
    assert!(searched > 1);
}

#[test]
fn what_the_other_socket_costs_keeps_ranks_beside_their_devices() {
    // Little traffic: spreading over both devices saves less than the far one costs.
    let rates = "[rates]\ninter_socket = [[\"8 KiB\", \"1 ms\"]]";
    let (cluster, workload) = (
        cluster(2, 2, rates, [""; 2]),
        workload(&["all-to-all:6:rate=10,length=8KiB,messages=20"]),
    );
    let problem = problem(&cluster, &workload);
    let best = mappings(&problem, "contention:moves=4000", 1).swap_remove(0);
    for (slot, nics) in best.mapping.as_indices().iter().zip(best.nics.expect("devices")) {
        assert_eq!(nics, [format!("mlx5_{}", slot % 4 / 2)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn no_start_with_devices_by_load_is_better(
        shapes in prop::collection::vec((0_usize..3, 2_u32..5, 50.0..1500.0_f64), 1..3),
        closed in any::<bool>(),
        seed in 0_u32..100,
    ) {
        let names = ["all-to-all", "gather", "linear"];
        let texts: Vec<String> = shapes
            .iter()
            .map(|(shape, ranks, rate)| {
                format!("{}:{ranks}:rate={rate},length=1MB,messages=30", names[*shape])
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (cluster, workload) = (cluster(3, 2, "", [""; 2]), workload(&texts));
        let problem = problem(&cluster, &workload).with_closed_loop(closed);
        let device_slots = DeviceSlots::with_devices(&problem).unwrap();
        // The mappings of the strategy without devices are among them; they come last.
        let mut all = mappings(&problem, &format!("contention:moves=400,seed={seed}"), 1);
        prop_assert!(all.last().is_some_and(|mapping| mapping.nics.is_none()));
        let others = starts::starts(&problem, &Budget::default()).unwrap();
        all.extend(others.into_iter().map(DeviceMapping::from));
        let costs = costs(&problem, &device_slots, &all);
        prop_assert!(costs.iter().all(|cost| costs[0] <= cost + 1e-9), "{costs:?}");
    }

    #[test]
    fn the_load_follows_every_step(seed in any::<u64>(), inter_socket in any::<bool>()) {
        let rates = "[rates]\ninter_socket = [[\"8 KiB\", \"10 us\"]]";
        let rates = if inter_socket { rates } else { "" };
        let jobs = ["all-to-all:4:rate=90,length=1MB,messages=30", UNEVEN[1]];
        let (cluster, workload) = (cluster(3, 2, rates, ["contexts = 3"; 2]), workload(&jobs));
        let problem = problem(&cluster, &workload);
        let device_slots = DeviceSlots::with_devices(&problem).unwrap();
        let start: Vec<usize> = (0..7).map(|slot| device_slots.at(slot, slot / 2)).collect();
        let budget = Budget::default();
        let search =
            Search::new(Objective::Balanced, &problem, &device_slots, &budget, vec![start.clone()]);
        let Search { mut offered, .. } = search.unwrap();
        let mut layout = Layout::new(&problem, &device_slots, &start);
        let mut neighbourhood = Neighbourhood::new(&problem, problem.slots_of_nodes());
        let mut random = Generator::new(seed);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-9);
        let (mut steps, mut far) = (0, 0.0_f64);
        while steps < 60 {
            let moves = neighbourhood.step(&layout, &offered, &mut random);
            if moves.is_empty() {
                continue;
            }
            steps += 1;
            let before = (offered.waiting(), offered.far(), offered.mapping().clone());
            offered.change(moves);
            if steps % 3 == 0 {
                offered.undo();
                prop_assert_eq!(before, (offered.waiting(), offered.far(), offered.mapping().clone()));
                continue;
            }
            layout.apply(moves);
            prop_assert_eq!(offered.mapping().as_indices(), layout.device_slot_of());
            prop_assert!(device_slots.users(layout.device_slot_of()).iter().all(|users| *users <= 3));
            let mut fresh = offered.clone();
            fresh.restart(&layout.device_slot_of().into());
            prop_assert!(near(fresh.waiting().0, offered.waiting().0));
            prop_assert!((fresh.far().0 - offered.far().0).abs() < 1e-9);
            far = far.max(offered.far().0);
        }
        prop_assert_eq!(far > 0.0, inter_socket);
    }
}

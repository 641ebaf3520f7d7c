//! The static prediction of placements.

use std::path::Path;

use proptest::prelude::*;
use rankwright::cluster::read::toml;
use rankwright::cluster::{Cluster, ClusterDescription, Levels, Nic};
use rankwright::estimate::{Direction, Load};
use rankwright::map::{Budget, Problem, Strategy};
use rankwright::placement::{Granularity, JobPlacement, JobShape, Placement, RankPlacement};
use rankwright::traffic::Workload;
use rankwright::units::{Bytes, Seconds};

use crate::clusters::{Kind, cluster, four_by_four, with_switches, with_two_nics};
use crate::workloads::{flow, job, ring, scattered_halo, workload};

fn placed(cluster: &Cluster, workload: &Workload, strategy: &str) -> (Placement, Load) {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).unwrap();
    let mapping = strategy.parse::<Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
    let shapes = JobShape::of(workload);
    let slots = problem.slots();
    let placement =
        Placement::from_slots(cluster, &shapes, strategy, slots, mapping.as_indices()).unwrap();
    let load = Load::new(cluster, problem.levels(), workload, &placement);
    (placement, load)
}

#[test]
fn a_ring_in_blocks_crosses_once_per_node() {
    let cluster = four_by_four();
    let (_, load) = placed(&cluster, &workload(vec![ring("a", 16, 1000)]), "blocked");
    assert_eq!((load.total, load.inter_node), (Bytes(16_000), Bytes(4000)));
    assert_eq!(load.inter_node_messages, 4);
    assert_eq!(load.hop_bytes, 12 * 1000 * 2 + 4 * 1000 * 4);
    let cuts: Vec<(String, u64)> =
        load.cuts.iter().map(|cut| (cut.level.to_string(), cut.bytes.0)).collect();
    assert_eq!(cuts, [("core".to_owned(), 16_000), ("node".to_owned(), 4000)]);
    let busiest = load.busiest_nic().unwrap();
    assert_eq!((busiest.node.0, busiest.direction), (0, Direction::Out));
    assert_eq!((busiest.bytes, busiest.time), (Bytes(1000), Seconds(1e-6)));
    // Each rank sends 1000 and receives 1000.
    assert!(load.memories.iter().all(|memory| memory.bytes == Bytes(8000)));
}

#[test]
fn self_messages_use_nothing() {
    let jobs = workload(vec![job("a", 2, vec![flow(0, 0, 99), flow(0, 1, 5)])]);
    let (_, load) = placed(&cluster(&[(2, Kind(1, 1, 1, 1))]), &jobs, "blocked");
    assert_eq!((load.total, load.inter_node), (Bytes(5), Bytes(5)));
}

#[test]
fn one_node_needs_no_nic() {
    let jobs = workload(vec![ring("a", 4, 1000)]);
    let (_, load) = placed(&cluster(&[(1, Kind(2, 1, 2, 1))]), &jobs, "blocked");
    assert_eq!((load.busiest_nic(), load.busiest_nic_time()), (None, Seconds(0.0)));
    assert_eq!(load.inter_node_share(), 0.0);
}

#[test]
fn ranks_load_the_devices_they_name() {
    let cluster = with_two_nics(cluster(&[(2, Kind(1, 1, 2, 1))]));
    // Rank 0 -> 2: 4000, rank 1 -> 3: 800.
    let jobs = workload(vec![job("a", 4, vec![flow(0, 2, 4000), flow(1, 3, 800)])]);
    let (placement, whole) = placed(&cluster, &jobs, "blocked");
    assert_eq!(whole.nics.len(), 2);
    assert_eq!(whole.busiest_nic().unwrap().bandwidth.0, 4e9);
    let with_nics = |nics: [&[&str]; 4]| {
        let name = |nics: &[&str]| nics.iter().map(|nic| (*nic).to_owned()).collect();
        let places = placement.ranks().zip(nics);
        let ranks = places.map(|(place, nics)| RankPlacement { nics: name(nics), ..place.clone() });
        let job = JobPlacement { name: "a".to_owned(), ranks: ranks.collect() };
        let shapes = JobShape::of(&jobs);
        let placement = Placement::new(&cluster, &shapes, "x", vec![job]).unwrap();
        let load = Load::new(&cluster, &Levels::new(&cluster), &jobs, &placement);
        load.nics.iter().map(|nic| (nic.out.0, nic.incoming.0)).collect::<Vec<_>>()
    };
    // Node 1's ranks name nothing: both devices together.
    let named = with_nics([&["slow"], &["fast"], &[], &[]]);
    assert_eq!(named, [(800, 0), (4000, 0), (0, 4800)]);
    // Two rails equally; unnamed beside named in proportion to the rates.
    let rails = with_nics([&["fast", "slow"], &[], &["slow"], &[]]);
    assert_eq!(rails, [(2000 + 600, 0), (2000 + 200, 0), (0, 600), (0, 4000 + 200)]);
}

#[test]
fn ranks_without_a_device_load_no_management_device() {
    let mut cluster = with_two_nics(cluster(&[(2, Kind(1, 1, 2, 1))]));
    let management = |parts: &mut ClusterDescription| {
        parts.groups[0].machine.nics.insert(0, Nic { mpi: Some(false), ..Nic::new("eno1") });
    };
    cluster = cluster.edit(management).unwrap();
    let jobs = workload(vec![job("a", 4, vec![flow(0, 2, 4000), flow(1, 3, 800)])]);
    let (placement, whole) = placed(&cluster, &jobs, "blocked");
    assert_eq!(whole.busiest_nic().unwrap().bandwidth.0, 4e9);
    let devices = vec![vec!["slow".to_owned()], vec![], vec![], vec![]];
    let placement = placement.with_devices(&cluster, devices).unwrap();
    let load = Load::new(&cluster, &Levels::new(&cluster), &jobs, &placement);
    let out: Vec<u64> = load.nics.iter().map(|nic| nic.out.0).collect();
    // Node 1's devices together send nothing.
    assert_eq!(out, [0, 600, 4000 + 200, 0]);
}

#[test]
fn a_far_device_needs_longer_for_the_same_bytes() {
    let far = |rates: &str| {
        let text = format!(
            "{rates}[[node]]\nnames = \"n[0-1]\"\ntopology = \"pack:2 numa:1 core:1 pu:1\"\n\
             nic = [{{ name = \"x0\", near = \"numa:0\", bandwidth = \"1 GB/s\" }}]\n"
        );
        let cluster = toml::parse(&text, "c.toml", Path::new("")).unwrap();
        // Rank 0 beside the device and rank 1 beside the other memory send to the other node.
        let jobs = workload(vec![job("a", 4, vec![flow(0, 2, 3000), flow(1, 2, 1000)])]);
        let (placement, whole) = placed(&cluster, &jobs, "blocked");
        assert_eq!(whole.busiest_nic_time(), Seconds(4e-6));
        let named = placement.with_devices(&cluster, vec![vec!["x0".to_owned()]; 4]).unwrap();
        let load = Load::new(&cluster, &Levels::new(&cluster), &jobs, &named);
        let busiest = load.busiest_nic().unwrap();
        assert_eq!((busiest.bytes, busiest.direction), (Bytes(4000), Direction::Out));
        assert_eq!((load.nics[1].in_time, load.nics[1].out), (Seconds(4e-6), Bytes(0)));
        (busiest.time, busiest.is_far_from_some())
    };
    assert_eq!(far("[rates]\nremote_memory_factor = 1.5\n"), (Seconds(4.5e-6), true));
    // What the core has to do keeps the device no longer busy.
    let core = "[rates]\ninter_socket = [[\"1 kB\", \"1 ms\"]]\n";
    assert_eq!(far(core), (Seconds(4e-6), false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_leaves_enters_and_cuts_shrink_on_the_way_up(
        flows in prop::collection::vec((0_u32..20, 0_u32..20, 0_u64..1 << 40), 0..60),
        seed in 0_u32..1000,
        nics in any::<bool>(),
    ) {
        let mut cluster = with_switches(cluster(&[(2, Kind(2, 2, 2, 1)), (3, Kind(1, 1, 2, 1))]), 2);
        if nics {
            cluster = with_two_nics(cluster);
        }
        let flows = flows.into_iter().map(|(a, b, bytes)| flow(a, b, bytes)).collect();
        let jobs = workload(vec![job("a", 20, flows)]);
        let (_, load) = placed(&cluster, &jobs, &format!("random:seed={seed}"));
        let sum = |bytes: fn(&rankwright::estimate::NicLoad) -> Bytes| {
            load.nics.iter().map(|nic| bytes(nic).0).sum::<u64>()
        };
        prop_assert_eq!(sum(|nic| nic.out), load.inter_node.0);
        prop_assert_eq!(sum(|nic| nic.incoming), load.inter_node.0);
        prop_assert!(load.cuts.is_sorted_by(|below, above| below.bytes >= above.bytes));
        prop_assert_eq!(load.cuts[0].bytes, load.total);
        prop_assert_eq!(load.memories.iter().map(|m| m.bytes.0).sum::<u64>(), 2 * load.total.0);
        let node = load.cuts.iter().find(|cut| cut.level.to_string() == "node").unwrap();
        prop_assert_eq!(node.bytes, load.inter_node);
        // Two hops for every border.
        let borders: u128 = load.cuts.iter().map(|cut| u128::from(cut.bytes.0)).sum();
        prop_assert_eq!(load.hop_bytes, 2 * borders);
    }
}

#[test]
fn the_halo_in_tiles_loads_nics_less_than_in_blocks() {
    let cluster = four_by_four();
    let jobs = workload(vec![scattered_halo(4, 1000)]);
    let (_, blocked) = placed(&cluster, &jobs, "blocked");
    let (_, kway) = placed(&cluster, &jobs, "kway");
    assert_eq!(kway.busiest_nic_time(), Seconds(4e-6));
    assert!(blocked.busiest_nic_time().0 > 1.5 * kway.busiest_nic_time().0);
}

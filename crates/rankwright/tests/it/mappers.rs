//! One battery over all strategies, and what each of them must find.

use std::num::NonZeroUsize;
use std::thread;

use rankwright::choose::{Search, candidates};
use rankwright::cluster::Cluster;
use rankwright::map::{Budget, MAPPERS, Problem, Strategy, find};
use rankwright::placement::{Granularity, JobShape, Placement, PlacementError};
use rankwright::traffic::Workload;

use crate::clusters::{Kind, cluster, four_by_four, with_switches, without_cores};
use crate::workloads::{cliques, flow, job, ring, scattered_halo, workload};

struct Case {
    name: &'static str,
    cluster: Cluster,
    workload: Workload,
    granularity: Granularity,
}

fn case(
    name: &'static str,
    cluster: Cluster,
    workload: Workload,
    granularity: Granularity,
) -> Case {
    Case { name, cluster, workload, granularity }
}

fn cases() -> Vec<Case> {
    clusters_of_all_kinds().into_iter().chain(workloads_of_all_kinds()).collect()
}

fn clusters_of_all_kinds() -> Vec<Case> {
    let one = Granularity::Cores(1);
    let halo = || workload(vec![scattered_halo(4, 1000)]);
    let mixed = || cluster(&[(2, Kind(1, 1, 3, 1)), (2, Kind(2, 2, 2, 2)), (1, Kind(1, 1, 1, 1))]);
    vec![
        case("all cores", four_by_four(), halo(), one),
        case(
            "several jobs",
            four_by_four(),
            workload(vec![ring("a", 5, 10), cliques(2, 3), ring("c", 1, 1)]),
            one,
        ),
        case(
            "1024 ranks",
            cluster(&[(32, Kind(2, 2, 8, 1))]),
            workload(vec![scattered_halo(32, 1000)]),
            one,
        ),
        case("nodes of three kinds", mixed(), workload(vec![ring("a", 23, 10)]), one),
        case("nodes of three kinds, fewer ranks", mixed(), workload(vec![ring("a", 9, 10)]), one),
        case("PUs", mixed(), workload(vec![ring("a", 39, 10)]), Granularity::Pu),
        case("2 cores per rank", mixed(), workload(vec![ring("a", 10, 10)]), Granularity::Cores(2)),
        case("3 cores per rank", mixed(), workload(vec![ring("a", 6, 10)]), Granularity::Cores(3)),
        case(
            "taken cores",
            without_cores(four_by_four(), &[0, 2]),
            workload(vec![ring("a", 8, 10)]),
            one,
        ),
        case(
            "switches",
            with_switches(cluster(&[(6, Kind(1, 1, 2, 1))]), 4),
            workload(vec![cliques(3, 4)]),
            one,
        ),
        case(
            "nodes of one core",
            cluster(&[(9, Kind(1, 1, 1, 1))]),
            workload(vec![ring("a", 9, 1)]),
            one,
        ),
        case("one node", cluster(&[(1, Kind(2, 1, 4, 1))]), workload(vec![ring("a", 8, 1)]), one),
    ]
}

fn workloads_of_all_kinds() -> Vec<Case> {
    let one = Granularity::Cores(1);
    let largest = (1 << 63) - 1;
    vec![
        case("one rank", four_by_four(), workload(vec![ring("a", 1, 1)]), one),
        case("two ranks", four_by_four(), workload(vec![ring("a", 2, 1)]), one),
        case("no traffic", four_by_four(), workload(vec![job("a", 13, vec![])]), one),
        case("empty messages", four_by_four(), workload(vec![ring("a", 13, 0)]), one),
        case("a disconnected graph", four_by_four(), workload(vec![cliques(8, 2)]), one),
        case("one edge", four_by_four(), workload(vec![job("a", 16, vec![flow(3, 12, 5)])]), one),
        case("the largest weights", four_by_four(), workload(vec![ring("a", 16, largest)]), one),
        case(
            "very different weights",
            four_by_four(),
            workload(vec![job(
                "a",
                16,
                (0..15).map(|rank| flow(rank, rank + 1, 1 << (4 * rank))).collect(),
            )]),
            one,
        ),
        case("everyone with everyone", four_by_four(), workload(vec![cliques(1, 16)]), one),
    ]
}

fn strategies() -> impl Iterator<Item = Strategy> {
    MAPPERS.iter().map(|entry| entry.name.parse().expect("a plain name is a strategy"))
}

#[test]
fn every_strategy_gives_a_valid_placement_in_every_case() {
    for case in cases() {
        let problem =
            Problem::new(&case.cluster, &case.workload, case.granularity).expect(case.name);
        for strategy in strategies() {
            let slot_of = strategy.map(&problem, &Budget::default());
            let slot_of = slot_of.unwrap_or_else(|e| panic!("{}, {strategy}: {e}", case.name));
            let shapes = JobShape::of(&case.workload);
            let slots = problem.slots();
            let placement = Placement::from_slots(&case.cluster, &shapes, "x", slots, &slot_of);
            placement.unwrap_or_else(|error| panic!("{}, {strategy}: {error}", case.name));
        }
    }
}

#[test]
fn every_strategy_gives_the_same_answer_again_and_from_many_threads() {
    for case in cases() {
        let problem =
            Problem::new(&case.cluster, &case.workload, case.granularity).expect(case.name);
        for strategy in strategies() {
            let first = strategy.map(&problem, &Budget::default()).expect(case.name);
            thread::scope(|scope| {
                let again = || strategy.map(&problem, &Budget::default()).expect(case.name);
                let others: Vec<_> = (0..4).map(|_| scope.spawn(again)).collect();
                for other in others {
                    assert_eq!(other.join().unwrap(), first, "{}, {strategy}", case.name);
                }
            });
        }
    }
}

#[test]
fn candidates_do_not_depend_on_the_number_of_threads() {
    let (cluster, jobs) = (four_by_four(), workload(vec![scattered_halo(4, 1000)]));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let all: Vec<Strategy> = strategies().collect();
    let with = |threads| {
        let threads = NonZeroUsize::new(threads).expect("not 0");
        candidates(&problem, &all, &Search { threads, ..Search::default() }).candidates
    };
    assert_eq!(with(1), with(8));
}

/// How many bytes cross between nodes.
fn bytes_between_nodes(problem: &Problem, slot_of: &[usize]) -> u128 {
    let node = |rank: usize| problem.slots()[slot_of[rank]].node;
    problem.graph().cost(|a, b| u64::from(node(a) != node(b)))
}

/// The strategies that look at the traffic.
fn searching() -> Vec<Strategy> {
    strategies().filter(|strategy| ["drb", "kway"].contains(&strategy.name())).collect()
}

#[test]
fn tiles_of_a_scattered_halo_are_found() {
    // 4 x 4 ranks on 4 nodes of 4 cores:  0 0|1 1   8 of the 24 edges cross at least, 2 x 1000
    //                                     0 0|1 1   bytes each. Blocked and cyclic order cut more.
    //                                     ---+---
    //                                     2 2|3 3
    //                                     2 2|3 3
    let (cluster, jobs) = (four_by_four(), workload(vec![scattered_halo(4, 1000)]));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    for strategy in searching() {
        let slot_of = strategy.map(&problem, &Budget::default()).unwrap();
        assert_eq!(bytes_between_nodes(&problem, &slot_of), 16_000, "{strategy}");
    }
}

#[test]
fn cliques_are_kept_together_like_exhaustive_search_does() {
    // Two cliques of three on two nodes of three cores; also with a spare node, and beside an edge.
    let weak = |mut clique: rankwright::traffic::Job| {
        clique.flows.push(flow(0, 1, 1));
        job("weak", clique.ranks, clique.flows)
    };
    for (nodes, jobs) in [(2, cliques(2, 3)), (3, cliques(2, 3)), (2, weak(cliques(2, 3)))] {
        let (cluster, jobs) = (cluster(&[(nodes, Kind(1, 1, 3, 1))]), workload(vec![jobs]));
        let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
        let least = permutations(6).iter().map(|slots| problem.cost(slots)).min();
        for strategy in searching() {
            let slot_of = strategy.map(&problem, &Budget::default()).unwrap();
            assert_eq!(Some(problem.cost(&slot_of)), least, "{strategy}, {nodes} nodes");
        }
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(count - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, count - 1);
        order
    };
    shorter.iter().flat_map(|order| (0..count).map(move |at| insert(order, at))).collect()
}

#[test]
fn cores_inside_nodes_are_used_by_closeness() {
    // One node, 4 packages of 2 cores, 4 pairs: each pair in one package.
    let (cluster, jobs) = (cluster(&[(1, Kind(4, 1, 2, 1))]), workload(vec![cliques(4, 2)]));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    for strategy in searching() {
        let slot_of = strategy.map(&problem, &Budget::default()).unwrap();
        assert_eq!(problem.cost(&slot_of), 4 * 2 * 2000, "{strategy}");
    }
}

#[test]
fn blocked_and_cyclic_are_what_launchers_do() {
    let cluster = cluster(&[(1, Kind(1, 1, 1, 1)), (2, Kind(1, 1, 3, 1))]);
    let jobs = workload(vec![ring("a", 2, 1), ring("b", 4, 1)]);
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let map =
        |name: &str| name.parse::<Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
    assert_eq!(map("blocked"), [0, 1, 2, 3, 4, 5]);
    // The turn goes on at the third node with the second job, and passes over the full first node.
    assert_eq!(map("cyclic"), [0, 1, 4, 2, 5, 3]);
    assert_eq!(map("random:seed=5"), map("random:seed=5"));
    assert_ne!(map("random:seed=5"), map("random:seed=6"));
}

#[test]
fn spare_nodes_stay_empty_where_the_traffic_is_looked_at() {
    let (cluster, jobs) = (four_by_four(), workload(vec![ring("a", 5, 10)]));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let nodes_used = |strategy: &Strategy| {
        let slot_of = strategy.map(&problem, &Budget::default()).unwrap();
        let mut nodes: Vec<u32> = slot_of.iter().map(|s| problem.slots()[*s].node.0).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    };
    for strategy in searching() {
        assert_eq!(nodes_used(&strategy), [0, 1], "{strategy}");
    }
    assert_eq!(nodes_used(&"cyclic".parse().unwrap()), [0, 1, 2, 3]);
}

#[test]
fn more_ranks_than_cores_is_an_error_with_both_numbers() {
    let (cluster, jobs) = (four_by_four(), workload(vec![ring("a", 17, 10)]));
    let error = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap_err();
    assert!(matches!(error, PlacementError::TooFewPlaces { ranks: 17, places: 16, .. }));
}

#[test]
fn several_ranks_share_a_slot_within_the_limit() {
    let cluster = four_by_four();
    for (loads, limit) in [(vec![1; 100], 7), ((1..=64).collect(), 193)] {
        let jobs = workload(vec![ring("a", loads.len() as u32, 10)]);
        let sum: u64 = loads.iter().sum();
        let one = Granularity::Cores(1);
        let problem = Problem::sharing(&cluster, &jobs, one, loads.clone(), 0.03).unwrap();
        for strategy in strategies() {
            let slot_of = strategy.map(&problem, &Budget::default()).unwrap();
            let mut filled = [0; 16];
            slot_of.iter().zip(&loads).for_each(|(slot, load)| filled[*slot] += load);
            assert!(filled.iter().all(|held| *held <= limit), "{strategy}: {filled:?} of {sum}");
        }
    }
}

#[test]
fn every_named_strategy_is_found() {
    for name in ["blocked", "cyclic", "random", "kway"] {
        assert!(find(name).is_some(), "{name}");
    }
    assert_eq!(find("drb").is_some(), cfg!(feature = "scotch"));
}

#[test]
fn a_rank_stays_inside_one_numa_node_where_it_fits() {
    // Two NUMA nodes of three cores: of three pairs of cores one crosses the border.
    let cluster = cluster(&[(2, Kind(2, 1, 3, 1))]);
    for (ranks, crossing) in [(1, 0), (4, 0), (5, 1), (6, 2)] {
        let jobs = workload(vec![ring("a", ranks, 10)]);
        let problem = Problem::new(&cluster, &jobs, Granularity::Cores(2)).unwrap();
        for entry in MAPPERS {
            let slot_of =
                entry.name.parse::<Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
            let crosses = |slot: &&usize| problem.slots()[**slot].numa.is_none();
            assert_eq!(slot_of.iter().filter(crosses).count(), crossing, "{}", entry.name);
        }
    }
}

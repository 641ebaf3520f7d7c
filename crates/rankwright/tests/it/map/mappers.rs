//! What strategies must find.

use std::ops::ControlFlow;

use rankwright::choose;
use rankwright::map::{Budget, Problem, Strategy, find};
use rankwright::placement::{Granularity, PlacementError};

use super::mapper_battery::strategies;
use crate::clusters::{Kind, cluster, four_by_four};
use crate::workloads::{cliques, flow, job, ring, scattered_halo, workload};

/// How many bytes cross between nodes.
fn bytes_between_nodes(problem: &Problem, slot_of: &[usize]) -> u128 {
    let node = |rank: usize| problem.slots()[slot_of[rank]].node;
    problem.graph().cost(|a, b| u64::from(node(a) != node(b)))
}

/// The strategies that look at the traffic.
fn searching() -> Vec<Strategy> {
    let names = ["drb", "kway", "treematch", "multisection"].into_iter();
    names.filter(|name| find(name).is_some()).map(|name| name.parse().unwrap()).collect()
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
        let mapping = strategy.map(&problem, &Budget::default()).unwrap();
        // Groups from the bottom up do not fit together everywhere.
        let most = if strategy.name() == "treematch" { 20_000 } else { 16_000 };
        assert!(bytes_between_nodes(&problem, mapping.as_indices()) <= most, "{strategy}");
    }
}

/// A graph for which Scotch runs for seconds; it has no call to interrupt it.
#[test]
fn a_search_that_is_ended_has_a_mapping() {
    let (cluster, jobs) = (cluster(&[(40, Kind(1, 1, 16, 1))]), workload(vec![cliques(1, 600)]));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let ends = |_| ControlFlow::Break(());
    for strategy in searching() {
        let mapping = strategy.map(&problem, &Budget::default().with_observer(&ends)).unwrap();
        let mut slots = mapping.into_indices();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 600, "{strategy}");
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
            let mapping = strategy.map(&problem, &Budget::default()).unwrap();
            assert_eq!(
                Some(problem.cost(mapping.as_indices())),
                least,
                "{strategy}, {nodes} nodes"
            );
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
        let mapping = strategy.map(&problem, &Budget::default()).unwrap();
        assert_eq!(problem.cost(mapping.as_indices()), 4 * 2 * 2000, "{strategy}");
    }
}

#[test]
fn groups_fit_nodes_of_any_size() {
    // Cliques of 6, 4 and 2 ranks on nodes that have 2, 6 and 4 free cores, in two packages each.
    let sizes = [6_u32, 4, 2];
    let all = [(1, Kind(2, 1, 1, 1)), (1, Kind(2, 1, 3, 1)), (1, Kind(2, 1, 2, 1))];
    let jobs = workload(sizes.map(|size| cliques(1, size)).into());
    let cluster = cluster(&all);
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    for strategy in searching() {
        let mapping = strategy.map(&problem, &Budget::default()).unwrap();
        assert_eq!(bytes_between_nodes(&problem, mapping.as_indices()), 0, "{strategy}");
    }
}

#[test]
fn blocked_and_cyclic_are_what_launchers_do() {
    let cluster = cluster(&[(1, Kind(1, 1, 1, 1)), (2, Kind(1, 1, 3, 1))]);
    let jobs = workload(vec![ring("a", 2, 1), ring("b", 4, 1)]);
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let map = |name: &str| {
        let strategy: Strategy = name.parse().unwrap();
        strategy.map(&problem, &Budget::default()).unwrap().into_indices()
    };
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
        let mapping = strategy.map(&problem, &Budget::default()).unwrap();
        let mut nodes: Vec<u32> =
            mapping.iter().map(|(_, s)| problem.slots()[s.index()].node.0).collect();
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
    assert!(matches!(error, PlacementError::TooFewSlots { ranks: 17, slots: 16, .. }));
}

#[test]
fn every_named_strategy_is_found() {
    for name in ["blocked", "cyclic", "random", "kway", "treematch"] {
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
        // One that searches takes any core that makes no message wait.
        for strategy in strategies().into_iter().filter(|strategy| !strategy.starts_from_others()) {
            let mapping = strategy.map(&problem, &Budget::default()).unwrap();
            let crosses = |slot: &&usize| problem.slots()[**slot].numa.is_none();
            let slots = mapping.as_indices().iter();
            assert_eq!(slots.filter(crosses).count(), crossing, "{strategy}");
        }
    }
}

#[test]
fn ranks_without_load_find_a_place_when_all_slots_are_full() {
    let (cluster, jobs) = (four_by_four(), workload(vec![ring("a", 18, 1)]));
    let loads = [vec![1; 16], vec![0; 2]].concat();
    let problem = Problem::sharing(&cluster, &jobs, Granularity::Cores(1), loads, 0.0).unwrap();
    for strategy in strategies() {
        let mapping = choose::map(&problem, &strategy, &Budget::default());
        assert_eq!(mapping.map(|mapping| mapping.len()), Ok(18), "{strategy}");
    }
}

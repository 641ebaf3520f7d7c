//! Placements that keep the ranks of a node together.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use rankwright::choose::{ChooseOptions, candidates};
use rankwright::cluster::Cluster;
use rankwright::map::{Budget, MAPPERS, NodeGroups, Problem, Strategy};
use rankwright::placement::{Granularity, JobShape, Placement, PlacementError};
use rankwright::traffic::{Job, Workload};
use rankwright::units::PerSecond;

use super::mapper_battery::strategies;
use crate::clusters::{Kind, cluster, four_by_four, with_switches, without_cores};
use crate::workloads::{flow, job, ring, scattered_halo, workload};

fn problem<'a>(cluster: &'a Cluster, workload: &'a Workload) -> Problem<'a> {
    Problem::new(cluster, workload, Granularity::Cores(1)).unwrap()
}

fn in_block_order<'a>(cluster: &'a Cluster, workload: &'a Workload) -> (Problem<'a>, NodeGroups) {
    let problem = problem(cluster, workload);
    let groups = NodeGroups::in_block_order(cluster, workload, problem.slots());
    (problem.keeping(groups.clone()).unwrap(), groups)
}

fn on_hosts(job: Job, host: impl Fn(u32) -> u32) -> Job {
    let hosts = (0..job.ranks).map(|rank| format!("host{}", host(rank))).collect();
    Job { seen: rankwright::traffic::Seen { hosts, ..Default::default() }, ..job }
}

fn recorded(cluster: &Cluster, workload: &Workload) -> Result<NodeGroups, PlacementError> {
    let problem = problem(cluster, workload);
    let groups = NodeGroups::recorded(cluster, workload, problem.slots()).expect("known hosts");
    problem.keeping(groups.clone()).map(|_| groups)
}

/// Every strategy keeps the groups, also with starts from other strategies.
fn all_keep(cluster: &Cluster, workload: &Workload, problem: &Problem, groups: &NodeGroups) {
    let candidates = candidates(problem, &strategies(), &ChooseOptions::default()).results;
    assert_eq!(candidates.len(), MAPPERS.len());
    for candidate in candidates {
        let candidate = candidate.unwrap();
        let shapes = JobShape::of(workload);
        let (slots, slot_of) = (problem.slots(), candidate.mapping.as_indices());
        let placement = Placement::from_slots(cluster, &shapes, "x", slots, slot_of).unwrap();
        assert_eq!(groups.changed(&placement), 0, "{}", candidate.strategy);
    }
}

#[test]
fn groups_that_talk_come_below_one_switch() {
    // Nodes of four; ranks 0-3 talk with 8-11, and 4-7 with 12-15.
    let cluster = with_switches(four_by_four(), 2);
    let talk = (0..8_u32).map(|rank| flow(rank, rank + 8, 1000)).collect();
    let jobs = workload(vec![job("a", 16, talk)]);
    let (kept, groups) = in_block_order(&cluster, &jobs);
    assert_eq!(groups.count(), 4);
    let cost = |name: &str| {
        let strategy: Strategy = name.parse().unwrap();
        kept.cost(strategy.map(&kept, &Budget::default()).unwrap().as_indices())
    };
    // Up to the node and to the first switch, instead of to the second.
    assert!(cost("kway") < cost("blocked"), "{} {}", cost("kway"), cost("blocked"));
    all_keep(&cluster, &jobs, &kept, &groups);
}

#[test]
fn ranks_change_places_inside_their_node() {
    // Two packages of two cores; rank 0 talks with 2 and 1 with 3.
    let cluster = cluster(&[(2, Kind(2, 1, 2, 1))]);
    let flows = [0, 4].iter().flat_map(|r| [flow(*r, r + 2, 9), flow(r + 1, r + 3, 9)]).collect();
    let jobs = workload(vec![job("a", 8, flows)]);
    let (kept, groups) = in_block_order(&cluster, &jobs);
    let strategy: Strategy = "kway".parse().unwrap();
    let mapping = strategy.map(&kept, &Budget::default()).unwrap();
    assert_eq!(kept.cost(mapping.as_indices()), 4 * 9 * 2);
    all_keep(&cluster, &jobs, &kept, &groups);
}

#[test]
fn different_nodes_and_several_jobs() {
    let cluster = cluster(&[(2, Kind(1, 1, 6, 1)), (3, Kind(1, 2, 2, 1))]);
    let cluster = without_cores(with_switches(cluster, 2), &[0]);
    let clocked = scattered_halo(3, 500).at_rate(PerSecond(10.0), 1.0);
    let jobs = workload(vec![ring("a", 7, 1000), clocked, ring("c", 2, 10)]);
    let (kept, groups) = in_block_order(&cluster, &jobs);
    all_keep(&cluster, &jobs, &kept, &groups);
    // Two jobs share the second node; they are two groups.
    assert_eq!(groups.count(), 6);
}

#[test]
fn recorded_hosts_are_kept_on_other_nodes() {
    let cluster = cluster(&[(3, Kind(1, 1, 2, 1)), (2, Kind(1, 1, 4, 1))]);
    // Three and two on a host: only the large nodes have room for the three.
    let jobs = workload(vec![on_hosts(ring("a", 5, 100), |rank| u32::from(rank >= 3))]);
    let groups = recorded(&cluster, &jobs).unwrap();
    let problem = problem(&cluster, &jobs);
    let kept = problem.keeping(groups.clone()).unwrap();
    all_keep(&cluster, &jobs, &kept, &groups);
    // Nothing is known of one host, nor of none.
    for jobs in
        [workload(vec![on_hosts(ring("a", 5, 100), |_| 0)]), workload(vec![ring("a", 5, 1)])]
    {
        let slots = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
        assert!(NodeGroups::recorded(&cluster, &jobs, slots.slots()).is_none());
    }
}

#[test]
fn groups_that_do_not_fit_say_why() {
    let cluster = four_by_four();
    let why = |job: Job| recorded(&cluster, &workload(vec![job])).unwrap_err().to_string();
    assert_eq!(
        why(on_hosts(ring("a", 8, 100), |rank| u32::from(rank >= 5))),
        "the ranks that share a node cannot be kept together: 5 ranks of job `a` shared a host in \
         the recorded run (host0), but no node has more than 4 slots"
    );
    assert_eq!(
        why(on_hosts(ring("a", 10, 100), |rank| rank / 2)),
        "the ranks that share a node cannot be kept together: the ranks of job `a` come from 5 \
         hosts, but there are 4 nodes: ranks that did not share a node would have to"
    );
    let three = |name: &str| on_hosts(ring(name, 6, 100), |rank| rank / 3);
    let jobs = workload(vec![three("a"), three("b"), ring("c", 4, 10)]);
    // Four nodes have room for three, but then none for the four of the third job.
    let mut jobs_of_all = jobs;
    jobs_of_all.jobs[2] = on_hosts(ring("c", 4, 10), |rank| u32::from(rank > 1));
    let error = recorded(&cluster, &jobs_of_all).unwrap_err().to_string();
    assert!(error.contains("found no nodes where all 6 groups"), "{error}");
}

fn any_case() -> impl proptest::strategy::Strategy<Value = (Cluster, Workload)> {
    let kinds = prop::collection::vec((1_usize..4, 1_u32..3, 1_u32..4), 1..3);
    (kinds, prop::collection::vec(1_u32..9, 1..4), any::<bool>()).prop_map(
        |(kinds, sizes, tree)| {
            let kinds: Vec<(usize, Kind)> = kinds
                .into_iter()
                .map(|(nodes, numa, cores)| (nodes, Kind(1, numa, cores, 1)))
                .collect();
            let made = cluster(&kinds);
            let made = if tree { with_switches(made, 2) } else { made };
            let mut room = made.core_count() as u32;
            let mut jobs = Vec::new();
            for (number, size) in sizes.into_iter().enumerate() {
                let size = size.min(room);
                if size > 0 {
                    jobs.push(ring(&format!("job{number}"), size, 1000));
                    room -= size;
                }
            }
            (made, workload(jobs))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn block_order_can_always_be_kept((cluster, jobs) in any_case()) {
        let (kept, groups) = in_block_order(&cluster, &jobs);
        all_keep(&cluster, &jobs, &kept, &groups);
    }
}

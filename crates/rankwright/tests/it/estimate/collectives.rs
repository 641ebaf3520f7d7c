//! What collective operations cost under placements.

use rankwright::choose::PermutationEffects;
use rankwright::cluster::{Cluster, Levels};
use rankwright::estimate::{CollectiveCost, CollectivePrices, Load};
use rankwright::ids::Rank;
use rankwright::map::{Budget, Problem, Strategy};
use rankwright::placement::{Granularity, JobShape, Placement};
use rankwright::traffic::Workload;
use rankwright::traffic::collectives::{CollectiveCalls, Collectives, Form, Operation};
use rankwright::traffic::communicator::Communicator;
use rankwright::traffic::expansion::{EXPANSIONS, Expansion, expand};
use rankwright::units::Seconds;

use crate::clusters::{Kind, cluster, four_by_four, with_two_nics};
use crate::workloads::{job, workload};

/// All ranks call an operation once, each with this number of bytes.
fn called(ranks: u32, operation: Operation, bytes: u64, expansion: Expansion) -> Workload {
    use Operation as O;
    let rooted = matches!(operation, O::Bcast | O::Gather | O::Scatter | O::Reduce)
        || matches!(operation, O::Gatherv | O::Scatterv);
    let call = |rank| CollectiveCalls {
        rank: Rank(rank),
        communicator: 0,
        operation,
        form: Form::Blocking,
        root: rooted.then_some(Rank(0)),
        calls: 1,
        bytes,
        seconds: 0.0,
        first: 0.0,
        last: 0.0,
        row: Vec::new(),
    };
    let members = (0..ranks).map(|rank| Some(Rank(rank))).collect();
    let world = Communicator { members, created: 1, ..Communicator::default() };
    let calls: Vec<CollectiveCalls> = (0..ranks).map(call).collect();
    let communicators = vec![world];
    let mut job = job("job", ranks, expand(&calls, &communicators, expansion));
    job.collectives = Collectives { calls, communicators, expansion, ..Collectives::default() };
    workload(vec![job])
}

fn placed(cluster: &Cluster, workload: &Workload, strategy: &str) -> Placement {
    let problem = Problem::new(cluster, workload, Granularity::Cores(1)).unwrap();
    let mapping = strategy.parse::<Strategy>().unwrap().map(&problem, &Budget::default()).unwrap();
    let shapes = JobShape::of(workload);
    Placement::from_slots(cluster, &shapes, strategy, problem.slots(), mapping.as_indices())
        .unwrap()
}

fn cost(cluster: &Cluster, workload: &Workload, strategy: &str) -> CollectiveCost {
    CollectivePrices::new(workload).cost(cluster, &placed(cluster, workload, strategy))
}

#[test]
fn a_broadcast_tree_crosses_more_nodes_out_of_order() {
    let cluster = four_by_four();
    let jobs = called(16, Operation::Bcast, 1_000_000, Expansion::Default);
    // Rank 0 sends to 8, both to the ranks 4 behind them; all else stays inside.
    let in_order = cost(&cluster, &jobs, "blocked");
    assert_eq!((in_order.bytes.0, in_order.inter_node.0), (15_000_000, 3_000_000));
    // Two messages between nodes after each other; then one, then two inside each node, twice
    // through its memory.
    let expected = 2.0 * (1e-3 + 100e-9) + 0.5e-3 + 1e-3;
    assert!((in_order.time.0 - expected).abs() < 1e-12, "{:?}", in_order.time);
    // In turn it is the long steps that stay inside.
    let in_turn = cost(&cluster, &jobs, "cyclic");
    assert_eq!(in_turn.inter_node.0, 12_000_000);
    assert!(in_turn.time > in_order.time);
    assert_eq!(in_turn.operations.len(), 1);
    assert_eq!(in_turn.operations[0].operation, "Bcast");
    assert_eq!(in_turn.operations[0].time, in_turn.time);
}

#[test]
fn a_ring_takes_as_long_as_its_slowest_link_each_time() {
    let cluster = four_by_four();
    let jobs = called(16, Operation::Allgather, 1000, Expansion::Default);
    // 15 times 1000 bytes over each link; the links between nodes are the slow ones.
    let in_order = cost(&cluster, &jobs, "blocked");
    assert_eq!(in_order.inter_node.0, 4 * 15_000);
    assert!((in_order.time.0 - 15.0 * (1e-6 + 100e-9)).abs() < 15.0 * 1e-6, "{in_order:?}");
    assert_eq!(cost(&cluster, &jobs, "cyclic").inter_node.0, 16 * 15_000);
}

#[test]
fn what_is_priced_is_what_is_sent() {
    let cluster = with_two_nics(cluster(&[(2, Kind(1, 2, 2, 1)), (2, Kind(1, 1, 3, 1))]));
    let levels = Levels::new(&cluster);
    for operation in (0..22).filter_map(Operation::from_number) {
        for (name, expansion) in EXPANSIONS {
            for strategy in ["blocked", "cyclic", "random"] {
                let jobs = called(13, operation, 1300, expansion);
                let placement = placed(&cluster, &jobs, strategy);
                let load = Load::new(&cluster, &levels, &jobs, &placement);
                let cost = CollectivePrices::new(&jobs).cost(&cluster, &placement);
                let what = format!("{operation:?} {name} {strategy}");
                assert_eq!((cost.bytes, cost.inter_node), (load.total, load.inter_node), "{what}");
                let (nic, expected) = (cost.busiest_nic_time.0, load.busiest_nic_time().0);
                assert!((nic - expected).abs() < 1e-15, "{what}: {nic}, not {expected}");
                assert!(cost.time.0 >= nic, "{what}");
            }
        }
    }
}

#[test]
fn operations_of_different_ranks_run_side_by_side() {
    let cluster = four_by_four();
    let mut jobs = called(16, Operation::Bcast, 1000, Expansion::Default);
    let alone = cost(&cluster, &jobs, "blocked").time;
    jobs.jobs[0].collectives = {
        let half = |first: u32| {
            let members = (first..first + 8).map(|rank| Some(Rank(rank))).collect();
            Communicator { members, created: 1, ..Communicator::default() }
        };
        let mut calls = jobs.jobs[0].collectives.calls.clone();
        for call in &mut calls {
            call.communicator = (call.rank.0 / 8) as usize;
            call.root = Some(Rank(8 * (call.rank.0 / 8)));
        }
        let expansion = Expansion::Default;
        Collectives {
            calls,
            communicators: vec![half(0), half(8)],
            expansion,
            ..Collectives::default()
        }
    };
    // One step less than over all ranks, not twice as long.
    let halves = cost(&cluster, &jobs, "blocked").time;
    assert!(halves < alone && halves > Seconds(0.0), "{halves:?} {alone:?}");
}

#[test]
fn effects_are_measured_against_block_order() {
    let cluster = four_by_four();
    let jobs = called(16, Operation::Bcast, 1_000_000, Expansion::Default);
    let effects = |jobs: &Workload, strategy: &str| {
        let placement = placed(&cluster, jobs, strategy);
        PermutationEffects::new(&cluster, jobs, Granularity::Cores(1), &placement).unwrap()
    };
    let in_order = effects(&jobs, "blocked");
    assert_eq!((in_order.ranks, in_order.changed_ranks), (16, 0));
    let in_turn = effects(&jobs, "cyclic");
    assert_eq!(in_turn.changed_ranks, 16);
    assert!(in_turn.aware_jobs.is_empty() && !in_turn.expected.is_recorded());
    let collectives = in_turn.collectives.unwrap();
    assert_eq!(collectives.in_block_order, in_order.collectives.unwrap().placed);
    assert_eq!(collectives.placed.inter_node.0, 4 * collectives.in_block_order.inter_node.0);

    // The run was in turn, and had a communicator for each host.
    let mut recorded = jobs;
    let job = &mut recorded.jobs[0];
    job.seen.hosts = (0..16).map(|rank| format!("host{}", rank % 4)).collect();
    assert_eq!(effects(&recorded, "cyclic").changed_ranks, 0);
    assert!(effects(&recorded, "cyclic").aware_jobs.is_empty());
    let job = &mut recorded.jobs[0];
    for host in 0..4 {
        let members = (0..4).map(|position| Some(Rank(4 * position + host))).collect();
        let communicator = Communicator { members, created: 1, ..Communicator::default() };
        job.collectives.communicators.push(communicator);
    }
    let blocked = effects(&recorded, "blocked");
    assert!(blocked.expected.is_recorded());
    assert_eq!((blocked.changed_ranks, blocked.aware_jobs), (16, vec!["job".to_owned()]));
}

//! One battery over all strategies: whatever they are asked, they answer with a valid placement, and
//! again with the same.

use std::num::{NonZeroU32, NonZeroUsize};
use std::thread;

use proptest::prelude::*;
use rankwright::choose::{self, ChooseOptions, candidates};
use rankwright::cluster::Cluster;
use rankwright::map::{Budget, Clock, MAPPERS, MapError, Problem, Start, Strategy};
use rankwright::placement::{
    Granularity, JobShape, Mapping, Placement, ProgramRanks, RanksPer, Share,
};
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::{Job, Workload};

use crate::clusters::{Kind, cluster, four_by_four, with_switches, with_two_nics, without_cores};
use crate::random_problems::{problems, random_cluster, random_granularity, random_jobs};
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
    let one = || Granularity::Cores(1);
    let halo = || workload(vec![scattered_halo(4, 1000)]);
    let mixed = || cluster(&[(2, Kind(1, 1, 3, 1)), (2, Kind(2, 2, 2, 2)), (1, Kind(1, 1, 1, 1))]);
    vec![
        case("all cores", four_by_four(), halo(), one()),
        case(
            "several jobs",
            four_by_four(),
            workload(vec![ring("a", 5, 10), cliques(2, 3), ring("c", 1, 1)]),
            one(),
        ),
        case(
            "1024 ranks",
            cluster(&[(32, Kind(2, 2, 8, 1))]),
            workload(vec![scattered_halo(32, 1000)]),
            one(),
        ),
        case("nodes of three kinds", mixed(), workload(vec![ring("a", 23, 10)]), one()),
        case("nodes of three kinds, fewer ranks", mixed(), workload(vec![ring("a", 9, 10)]), one()),
        case("PUs", mixed(), workload(vec![ring("a", 39, 10)]), Granularity::Pu),
        case("2 ranks per node", mixed(), workload(vec![ring("a", 7, 10)]), per_node(2)),
        case("programs", mixed(), workload(vec![ring("a", 6, 10)]), programs(false)),
        case("programs apart", mixed(), workload(vec![ring("a", 6, 10)]), programs(true)),
        case("2 cores per rank", mixed(), workload(vec![ring("a", 10, 10)]), Granularity::Cores(2)),
        case("3 cores per rank", mixed(), workload(vec![ring("a", 6, 10)]), Granularity::Cores(3)),
        case(
            "taken cores",
            without_cores(four_by_four(), &[0, 2]),
            workload(vec![ring("a", 8, 10)]),
            one(),
        ),
        case(
            "switches",
            with_switches(cluster(&[(6, Kind(1, 1, 2, 1))]), 4),
            workload(vec![cliques(3, 4)]),
            one(),
        ),
        case(
            "nodes of one core",
            cluster(&[(9, Kind(1, 1, 1, 1))]),
            workload(vec![ring("a", 9, 1)]),
            one(),
        ),
        case("one node", cluster(&[(1, Kind(2, 1, 4, 1))]), workload(vec![ring("a", 8, 1)]), one()),
    ]
}

/// Four ranks of one core, two of two.
fn programs(own_nodes: bool) -> Granularity {
    let program =
        |ranks, cores| ProgramRanks { ranks, cores: NonZeroU32::new(cores).expect("from 1") };
    Granularity::Programs { programs: vec![program(4, 1), program(2, 2)], own_nodes }
}

fn per_node(ranks: u32) -> Granularity {
    let ranks = RanksPer::Node(NonZeroU32::new(ranks).expect("from 1"));
    Granularity::Part { ranks, share: Share::Cores }
}

fn workloads_of_all_kinds() -> Vec<Case> {
    let one = || Granularity::Cores(1);
    let largest = (1 << 63) - 1;
    vec![
        case("one rank", four_by_four(), workload(vec![ring("a", 1, 1)]), one()),
        case("two ranks", four_by_four(), workload(vec![ring("a", 2, 1)]), one()),
        case("no traffic", four_by_four(), workload(vec![job("a", 13, vec![])]), one()),
        case("empty messages", four_by_four(), workload(vec![ring("a", 13, 0)]), one()),
        case("a disconnected graph", four_by_four(), workload(vec![cliques(8, 2)]), one()),
        case("one edge", four_by_four(), workload(vec![job("a", 16, vec![flow(3, 12, 5)])]), one()),
        case("the largest weights", four_by_four(), workload(vec![ring("a", 16, largest)]), one()),
        case(
            "very different weights",
            four_by_four(),
            workload(vec![job(
                "a",
                16,
                (0..15).map(|rank| flow(rank, rank + 1, 1 << (4 * rank))).collect(),
            )]),
            one(),
        ),
        case("everyone with everyone", four_by_four(), workload(vec![cliques(1, 16)]), one()),
        case("self loops", four_by_four(), workload(vec![job("a", 9, loops_and_a_ring())]), one()),
        case(
            "self loops alone",
            four_by_four(),
            workload(vec![job("a", 9, (0..9).map(|rank| flow(rank, rank, 10)).collect())]),
            one(),
        ),
        case(
            "duplicate edges",
            four_by_four(),
            workload(vec![job("a", 9, [loops_and_a_ring(), loops_and_a_ring()].concat())]),
            one(),
        ),
        case(
            "one direction only",
            four_by_four(),
            workload(vec![job("a", 12, (1..12).map(|rank| flow(rank, rank / 2, 10)).collect())]),
            one(),
        ),
        case(
            "sums beyond 64 bits",
            four_by_four(),
            workload(vec![job("a", 16, everyone_to_everyone(16, u64::MAX))]),
            one(),
        ),
        case("jobs with rates", four_by_four(), workload(patterns()), one()),
        case(
            "jobs with rates, links and two devices",
            with_two_nics(with_switches(cluster(&[(6, Kind(2, 1, 2, 1))]), 2)),
            workload(patterns()),
            one(),
        ),
        case(
            "jobs with and without rates",
            four_by_four(),
            workload(patterns().into_iter().take(1).chain([ring("quiet", 4, 10)]).collect()),
            one(),
        ),
    ]
}

fn loops_and_a_ring() -> Vec<rankwright::traffic::Flow> {
    (0..9).flat_map(|rank| [flow(rank, rank, 1000), flow(rank, (rank + 1) % 9, 10)]).collect()
}

fn everyone_to_everyone(ranks: u32, bytes: u64) -> Vec<rankwright::traffic::Flow> {
    let others = |a| (0..ranks).filter(move |b| a != *b).map(move |b| flow(a, b, bytes));
    (0..ranks).flat_map(others).collect()
}

/// 16 ranks that say when they send: overloaded, busy and nearly idle.
fn patterns() -> Vec<Job> {
    let texts = [
        "all-to-all:6:rate=100,length=2MiB,messages=20",
        "gather:5:rate=50,length=64KiB,messages=20,cv=2",
        "linear:5:rate=1,length=1KiB,messages=20",
    ];
    texts.iter().map(|text| Pattern::parse(text).unwrap().job().unwrap()).collect()
}

/// All strategies; those that search make few moves.
pub(crate) fn strategies() -> Vec<Strategy> {
    let short = |name: &str| {
        let strategy: Strategy = name.parse().expect("a plain name is a strategy");
        let strategy = strategy.with_default("effort", "fast").expect("what all searches know");
        strategy.with_default("moves", "400").expect("what all searches know")
    };
    MAPPERS.iter().map(|entry| short(entry.name)).collect()
}

fn problem(case: &Case) -> Problem<'_> {
    Problem::new(&case.cluster, &case.workload, case.granularity.clone()).expect(case.name)
}

/// The mappings of the strategies that do not start from others.
fn starts(problem: &Problem) -> Vec<Start> {
    let independent = strategies().into_iter().filter(|strategy| !strategy.starts_from_others());
    let start = |strategy: Strategy| Start {
        strategy: strategy.name().parse().expect("a plain name is a strategy"),
        mapping: strategy.map(problem, &Budget::default()).expect("a mapping"),
    };
    independent.map(start).collect()
}

/// The mappings of any strategy; of one that chooses among others, the one that it takes.
fn mappings(
    strategy: &Strategy,
    problem: &Problem,
    budget: &Budget,
) -> Result<Vec<Mapping>, MapError> {
    if strategy.chooses() {
        return Ok(vec![choose::map(problem, strategy, budget)?]);
    }
    strategy.mappings(problem, budget)
}

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not 0")
}

#[test]
fn every_strategy_gives_a_valid_placement_in_every_case_and_again_the_same() {
    for case in cases() {
        let problem = problem(&case);
        for strategy in strategies() {
            let map = || mappings(&strategy, &problem, &Budget::default());
            let first = map().unwrap_or_else(|e| panic!("{}, {strategy}: {e}", case.name));
            assert!(!first.is_empty(), "{}, {strategy}", case.name);
            for mapping in &first {
                let shapes = JobShape::of(&case.workload);
                let slots = problem.slots();
                let placement =
                    Placement::from_slots(&case.cluster, &shapes, "x", slots, mapping.as_indices());
                placement.unwrap_or_else(|error| panic!("{}, {strategy}: {error}", case.name));
            }
            // Beside others, which must not share anything that changes.
            thread::scope(|scope| {
                let others: Vec<_> = (0..2).map(|_| scope.spawn(map)).collect();
                for other in others {
                    let other = other.join().unwrap().expect(case.name);
                    assert_eq!(other, first, "{}, {strategy}", case.name);
                }
            });
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    for case in cases() {
        let problem = problem(&case);
        let starts = starts(&problem);
        for strategy in strategies() {
            let with = |count| {
                let budget = Budget::default().with_threads(threads(count)).with_starts(&starts);
                (mappings(&strategy, &problem, &budget).expect(case.name), budget.moves())
            };
            let expected = with(1);
            assert_eq!(with(2), expected, "{}, {strategy}, 2 threads", case.name);
            assert_eq!(with(8), expected, "{}, {strategy}, 8 threads", case.name);
        }
    }
}

#[test]
fn a_search_whose_time_is_over_answers_at_once() {
    let over = || 1.0;
    let over: &Clock = &over;
    for case in cases() {
        let problem = problem(&case);
        let starts = starts(&problem);
        for strategy in strategies() {
            for starts in [&starts[..], &[]] {
                let budget = Budget::default().with_clock(over).with_starts(starts);
                let answer = choose::map(&problem, &strategy, &budget);
                assert!(answer.is_ok(), "{}, {strategy}: {answer:?}", case.name);
            }
        }
    }
}

#[test]
fn candidates_do_not_depend_on_the_number_of_threads() {
    let (cluster, jobs) = (four_by_four(), workload(patterns()));
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let with = |count| {
        let options = ChooseOptions { threads: threads(count), ..ChooseOptions::default() };
        candidates(&problem, &strategies(), &options).results
    };
    assert_eq!(with(1), with(8));
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
            let mapping = choose::map(&problem, &strategy, &Budget::default()).unwrap();
            let mut filled = [0; 16];
            mapping.iter().zip(&loads).for_each(|((_, slot), load)| filled[slot.index()] += load);
            assert!(filled.iter().all(|held| *held <= limit), "{strategy}: {filled:?} of {sum}");
        }
    }
}

/// Scotch left such answers to what its memory held before.
#[test]
fn jobs_that_need_no_cut_are_placed_the_same_every_time() {
    let cluster = four_by_four();
    let silent = |ranks| ring("silent", ranks, 0);
    for jobs in [vec![ring("a", 2, 10), silent(1)], vec![ring("a", 3, 10), ring("b", 5, 10)]] {
        let jobs = workload(jobs);
        let loads: Vec<u64> = (0..jobs.rank_count() as u64).map(|rank| 1 + rank / 2).collect();
        for imbalance in [0.03, 1.0, 3.0] {
            let one = Granularity::Cores(1);
            let problem = Problem::sharing(&cluster, &jobs, one, loads.clone(), imbalance).unwrap();
            let drb: Strategy = "drb".parse().unwrap();
            let first = drb.map(&problem, &Budget::default());
            for _ in 0..50 {
                assert_eq!(drb.map(&problem, &Budget::default()), first);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_strategy_places_any_jobs_on_any_cluster(
        cluster in random_cluster(),
        switches in 0_usize..3,
        granularity in random_granularity(),
        jobs in random_jobs(),
    ) {
        let cluster = match switches {
            0 => cluster,
            each => with_switches(cluster, each),
        };
        for problem in problems(&cluster, &jobs, granularity) {
            let starts = starts(&problem);
            for strategy in strategies() {
                let budget = || Budget::default().with_starts(&starts);
                // It checks the answer.
                let mapping = choose::map(&problem, &strategy, &budget());
                prop_assert!(mapping.is_ok(), "{}: {:?}", strategy, mapping);
                let again = choose::map(&problem, &strategy, &budget().with_threads(threads(2)));
                prop_assert_eq!(again, mapping, "{}", strategy);
            }
        }
    }
}

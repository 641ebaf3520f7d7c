//! Searches on small clusters, where everything can be tried.

use std::num::NonZeroUsize;
use std::path::Path;

use proptest::prelude::*;

use super::device_slots::DeviceSlots;
use super::{HEATS, Objective, Search, exactly};
use crate::cluster::{Cluster, NodeGroup};
use crate::estimate::{Fluid, RoundTrips};
use crate::map::{Budget, Problem, Start, Strategy};
use crate::placement::{Granularity, Mapping};
use crate::random::Generator;
use crate::ranking::{ObjectiveRule, Rule, Score, rank};
use crate::traffic::Workload;
use crate::traffic::generate::pattern::Pattern;
use crate::units::Seconds;

/// A cluster with these numbers of nodes, sockets per node and cores per socket.
pub(super) fn cluster(nodes: u32, sockets: u32, cores: u32, free: &str) -> Cluster {
    let text = format!(
        "name = \"test\"\nrates = \"paper-2013\"\n[[node]]\nnames = \"n[0-{}]\"\n\
         topology = \"pack:{sockets} numa:1 core:{cores} pu:1\"\n{free}\n\
         [[node.nic]]\nname = \"nic0\"\nbandwidth = \"1 GB/s\"\n",
        nodes - 1
    );
    crate::cluster::read::toml::parse(&text, "test.toml", Path::new(".")).unwrap()
}

pub(super) fn workload(patterns: &[&str]) -> Workload {
    let job = |text: &&str| Pattern::parse(text).unwrap().job().unwrap();
    Workload { name: "test".to_owned(), jobs: patterns.iter().map(job).collect() }
}

pub(super) fn problem<'a>(cluster: &'a Cluster, workload: &'a Workload) -> Problem<'a> {
    Problem::new(cluster, workload, Granularity::Cores(1)).unwrap()
}

pub(super) fn map(problem: &Problem, strategy: &str) -> Vec<usize> {
    let mapping = strategy.parse::<Strategy>().unwrap().map(problem, &Budget::default());
    mapping.unwrap().into_indices()
}

/// The costs of placements relative to the first.
fn costs(problem: &Problem, objective: Objective, placements: &[Vec<usize>]) -> Vec<f64> {
    let budget = Budget::default();
    let (starts, device_slots) = (vec![placements[0].clone()], DeviceSlots::of_slots(problem));
    let mut search = Search::new(objective, problem, &device_slots, &budget, starts).unwrap();
    let mut cost = |slot_of: &Vec<usize>| {
        search.offered.restart(&Mapping::from(&slot_of[..]));
        search.objective.cost(&exactly(&mut search.fluid, &search.offered, &mut search.trips))
    };
    placements.iter().map(&mut cost).collect()
}

/// All placements of ranks on nodes with equivalent cores.
pub(super) fn placements(ranks: usize, nodes: usize, cores: usize) -> Vec<Vec<usize>> {
    if ranks == 0 {
        return vec![Vec::new()];
    }
    let extend = |slot_of: Vec<usize>| {
        let held = |node: usize| slot_of.iter().filter(|slot| *slot / cores == node).count();
        let free: Vec<usize> = (0..nodes).filter(|node| held(*node) < cores).collect();
        let slots: Vec<usize> = free.iter().map(|node| node * cores + held(*node)).collect();
        slots.into_iter().map(move |slot| [&slot_of[..], &[slot]].concat())
    };
    placements(ranks - 1, nodes, cores).into_iter().flat_map(extend).collect()
}

const SATURATED: [&str; 2] =
    ["all-to-all:4:rate=300,length=1MB,messages=100", "linear:3:rate=500,length=2MB,messages=200"];

#[test]
fn the_optimum_of_few_ranks_is_found() {
    let (cluster, workload) = (cluster(3, 1, 3, ""), workload(&SATURATED));
    let problem = problem(&cluster, &workload);
    let all = placements(7, 3, 3);
    for (name, objective) in [
        ("waiting", Objective::Waiting),
        ("finish", Objective::Finish),
        ("balanced", Objective::Balanced),
    ] {
        let mapping = map(&problem, &format!("contention:moves=8000,objective={name}"));
        // Costs are relative to the same starts as in the search.
        let budget = Budget::default();
        let starts = super::starts::starts(&problem, &budget).unwrap();
        let device_slots = DeviceSlots::of_slots(&problem);
        let starts = starts.into_iter().map(Mapping::into_indices).collect();
        let mut search = Search::new(objective, &problem, &device_slots, &budget, starts).unwrap();
        let mut cost = |slot_of: &Vec<usize>| {
            search.offered.restart(&Mapping::from(&slot_of[..]));
            search.objective.cost(&exactly(&mut search.fluid, &search.offered, &mut search.trips))
        };
        let least = all.iter().map(&mut cost).fold(f64::INFINITY, f64::min);
        let cost = cost(&mapping);
        assert!(cost <= least + 1e-9, "{name}: {cost}, the optimum is {least}");
    }
}

#[test]
fn idle_cores_are_used_where_that_lets_messages_wait_less() {
    // Two rings that do not fit on one node each: alone on two nodes each they wait least.
    let ring = "linear:2:rate=900,length=1MB,messages=500";
    let (cluster, workload) = (cluster(8, 1, 1, ""), workload(&[ring, ring]));
    let idle = self::cluster(4, 2, 2, "");
    let apart = problem(&idle, &workload);
    let blocked = map(&apart, "blocked");
    let mapping = map(&apart, "contention:moves=2000");
    let cost = costs(&apart, Objective::Waiting, &[blocked, mapping]);
    assert!(cost[1] <= cost[0]);
    // One core per node: all placements are equivalent.
    let alone = problem(&cluster, &workload);
    let cost = costs(
        &alone,
        Objective::Waiting,
        &[map(&alone, "blocked"), map(&alone, "contention:moves=2000")],
    );
    assert!(cost[1] <= cost[0] + 1e-9);
    // Three senders share a memory unless one goes to the idle socket.
    let senders = self::workload(&["ring:3:rate=1500,length=2MB,messages=500"]);
    let node = self::cluster(1, 2, 3, "");
    let node = problem(&node, &senders);
    let mapping = map(&node, "contention:moves=2000");
    let sockets = |slot_of: &[usize]| slot_of.iter().filter(|slot| **slot < 3).count();
    assert_eq!(sockets(&map(&node, "blocked")), 3);
    assert!((1..3).contains(&sockets(&mapping)), "{mapping:?}");
}

#[test]
fn taken_cores_are_not_used() {
    let (cluster, workload) = (cluster(3, 2, 2, "free = \"0,2-3\""), workload(&SATURATED));
    let problem = problem(&cluster, &workload);
    assert_eq!(problem.slots().len(), 9);
    let mapping = map(&problem, "contention:moves=4000");
    let cores = mapping.iter().map(|slot| problem.slots()[*slot].cores[0].0);
    assert!(cores.into_iter().all(|core| core != 1));
}

/// Ranks that compute for one to eight seconds, many of them longer than the slow nodes allow.
fn computing(number: u64) -> Workload {
    let texts = [
        format!("all-to-all:6:rate={},length=1MB,messages=60", 100 + 30 * number),
        format!("linear:5:rate={},length=2MB,messages=100", 600 - 20 * number),
        "gather:4:rate=300,length=500kB,messages=100".to_owned(),
    ];
    let mut workload = workload(&texts.each_ref().map(String::as_str));
    let mut state = number;
    for job in &mut workload.jobs {
        let time = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040);
            Seconds((1 + (state >> 61)) as f64)
        };
        job.compute = (0..job.ranks).map(time).collect();
    }
    workload
}

#[test]
fn ranks_that_compute_long_stay_on_fast_nodes() {
    let cluster = cluster(4, 2, 2, "").edit(|parts| {
        parts.groups.push(NodeGroup { speed: 2.0, ..parts.groups[0].clone() });
        parts.nodes[2..].iter_mut().for_each(|node| node.group = 1);
    });
    let cluster = cluster.unwrap();
    for number in 0..20 {
        let workload = computing(number);
        let problem = problem(&cluster, &workload);
        let balance = problem.compute_balance().unwrap();
        let strategy = "contention:moves=800,objective=waiting".parse::<Strategy>().unwrap();
        let mappings = strategy.mappings(&problem, &Budget::default()).unwrap();
        for mapping in &mappings {
            assert!(
                balance.makespan(mapping.as_indices()).0
                    <= 1.02 * balance.lower_bound().0 * (1.0 + 1e-6)
            );
        }
        let others = ["blocked", "cyclic", "drb", "kway", "multisection", "mapping-2013"];
        let others = others.map(|name| map(&problem, name));
        let mut all = vec![mappings[0].as_indices().to_vec()];
        all.extend(others.into_iter().filter(|slot_of| balance.is_met(slot_of)));
        assert!(all.len() > 1);
        let mut fluid = Fluid::new(&cluster, &workload, problem.slots()).unwrap();
        let waiting =
            all.iter().map(|slot_of| fluid.evaluate(&Mapping::from(&slot_of[..])).total_waiting.0);
        let waiting: Vec<f64> = waiting.collect();
        // The finish decides between placements with almost equal waiting.
        assert!(waiting.iter().all(|other| waiting[0] <= 1.005 * other), "{waiting:?}");
    }
}

#[test]
fn objectives_differ_and_each_is_best_at_its_own() {
    let (cluster, workload) = (
        cluster(4, 2, 2, ""),
        workload(&[
            "all-to-all:8:rate=200,length=1MB,messages=60",
            "gather:5:rate=400,length=2MB,messages=100",
        ]),
    );
    let problem = problem(&cluster, &workload);
    let mappings: Vec<Vec<usize>> = ["waiting", "finish"]
        .iter()
        .map(|name| map(&problem, &format!("contention:moves=20000,objective={name}")))
        .collect();
    let waiting = costs(&problem, Objective::Waiting, &mappings);
    let finish = costs(&problem, Objective::Finish, &mappings);
    assert!(waiting[0] <= waiting[1] + 1e-9 && finish[1] <= finish[0] + 1e-9);
}

#[test]
fn threads_and_starts_of_the_caller_change_nothing() {
    let (cluster, workload) = (cluster(4, 2, 2, ""), workload(&SATURATED));
    let problem = problem(&cluster, &workload);
    let strategy: Strategy = "contention:moves=4000".parse().unwrap();
    let alone = strategy.mappings(&problem, &Budget::default()).unwrap();
    assert!(alone.len() <= HEATS.len() + 1);
    for threads in [2, 3, 8] {
        let budget = Budget::default().with_threads(NonZeroUsize::new(threads).unwrap());
        assert_eq!(strategy.mappings(&problem, &budget).unwrap(), alone);
        assert!(budget.moves() >= 4000);
    }
    let mapping = map(&problem, "kway").into();
    let starts = [Start { strategy: "kway".parse().unwrap(), mapping }];
    let budget = Budget::default().with_starts(&starts);
    assert_eq!(strategy.mappings(&problem, &budget).unwrap(), alone);
}

#[test]
fn without_time_a_start_is_the_mapping_and_without_moves_the_best_one() {
    let (cluster, workload) = (cluster(4, 2, 2, ""), workload(&SATURATED));
    let problem = problem(&cluster, &workload);
    let over = || 1.0;
    let late = Budget::default().with_clock(&over);
    let strategy: Strategy = "contention".parse().unwrap();
    let starts = super::starts::starts(&problem, &Budget::default()).unwrap();
    assert!(starts.contains(&strategy.map(&problem, &late).unwrap()));
    let best = map(&problem, "contention:moves=0");
    let starts: Vec<Vec<usize>> = starts.into_iter().map(Mapping::into_indices).collect();
    let costs = costs(&problem, Objective::Balanced, &starts);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let at = starts.iter().position(|start| *start == best).expect("a start");
    assert!(costs[at] <= least + 1e-9, "{costs:?}");
}

#[test]
fn under_a_time_limit_strategies_that_the_caller_had_no_time_for_are_not_run() {
    let (cluster, workload) = (cluster(4, 2, 2, ""), workload(&SATURATED));
    let problem = problem(&cluster, &workload);
    let starts = ["blocked", "cyclic"]
        .map(|name| Start { strategy: name.parse().unwrap(), mapping: map(&problem, name).into() });
    let count = |budget: Budget| super::starts::starts(&problem, &budget).unwrap().len();
    assert!(count(Budget::default().with_starts(&starts)) > 2);
    let begun = || 0.1;
    assert_eq!(count(Budget::default().with_starts(&starts).with_clock(&begun)), 2);
    assert!(count(Budget::default().with_clock(&begun)) > 2);
}

#[test]
fn edges_are_handled() {
    let cluster = cluster(2, 1, 2, "");
    for jobs in [
        vec!["ring:1"],
        vec!["ring:2:length=0B"],
        vec!["ring:2"],
        vec!["ring:1:rate=5", "ring:1:rate=5"],
        vec!["halo-2d:4:length=1MiB", "ring:2:rate=10"],
    ] {
        let workload = workload(&jobs);
        let Ok(problem) = Problem::new(&cluster, &workload, Granularity::Cores(1)) else {
            assert_eq!(workload.rank_count(), 6);
            continue;
        };
        assert_eq!(map(&problem, "contention:moves=500").len(), workload.rank_count());
    }
}

#[test]
fn ranks_that_wait_for_distant_peers_are_brought_together() {
    // No server is saturated: the chain is delayed only by the latency of its messages.
    let chain = "linear:4:rate=20000,length=64kB,messages=400,renumber=true,seed=3";
    let beside = "gather:10:rate=1000,length=1kB,messages=2";
    let (cluster, workload) = (cluster(4, 1, 4, ""), workload(&[chain, beside]));
    let problem = problem(&cluster, &workload).with_closed_loop(true);
    let slots = problem.slots();
    let mut trips = RoundTrips::new(&cluster, &workload, slots).unwrap();
    let mut longest = |slot_of: &[usize]| trips.evaluate(&slot_of.into()).longest.0;
    let cyclic = map(&problem, "cyclic");
    let mapping = map(&problem, "contention:moves=4000");
    let best = placements(4, 4, 4).into_iter().map(|four| {
        let others = (0..16).filter(|slot| !four.contains(slot)).take(10);
        longest(&four.iter().copied().chain(others).collect::<Vec<_>>())
    });
    let best = best.fold(f64::INFINITY, f64::min);
    let (time, cyclic) = (longest(&mapping), longest(&cyclic));
    assert!(time <= best * 1.001 && best < cyclic, "{best} {time} {cyclic}");
}

#[test]
fn more_moves_are_never_worse_than_the_starts() {
    let (cluster, workload) = (cluster(4, 2, 2, ""), workload(&SATURATED));
    let problem = problem(&cluster, &workload).with_closed_loop(true);
    let forms = [0, 100, 1000, 10_000].map(|moves| format!("contention:moves={moves}"));
    let mappings: Vec<Vec<usize>> = forms.iter().map(|form| map(&problem, form)).collect();
    let cost = costs(&problem, Objective::Balanced, &mappings);
    assert!(cost.iter().all(|later| *later <= cost[0] + 1e-9), "{cost:?}");
}

/// Similar mappings: random ones, each with others a few swaps away.
fn neighbours(problem: &Problem, random: &mut Generator) -> Vec<Vec<usize>> {
    let ranks = problem.rank_count();
    let mut mapping: Vec<usize> = (0..ranks).collect();
    let mut mappings = Vec::new();
    for number in 0..24 {
        let swaps = if number % 8 == 0 { 100 } else { 2 };
        (0..swaps).for_each(|_| mapping.swap(random.below(ranks), random.below(ranks)));
        mappings.push(mapping.clone());
    }
    mappings
}

/// The number of pairs of mappings that the cost of the search and the ranking order alike, and the
/// number of all pairs that the ranking tells apart.
fn agreement(workload: &Workload, closed: bool, objective: Objective) -> (u32, u32) {
    let cluster = cluster(4, 2, 2, "");
    let problem = problem(&cluster, workload).with_closed_loop(closed);
    let mappings = neighbours(&problem, &mut Generator::new(1));
    let (budget, device_slots) = (Budget::default(), DeviceSlots::of_slots(&problem));
    let starts = mappings.clone();
    let search = Search::new(objective, &problem, &device_slots, &budget, starts).unwrap();
    let Search { objective: smooth, mut fluid, mut offered, mut trips, .. } = search;
    let score = |mapping: &Vec<usize>| {
        offered.restart(&Mapping::from(&mapping[..]));
        exactly(&mut fluid, &offered, &mut trips)
    };
    let scores: Vec<Score> = mappings.iter().map(score).collect();
    let ranks = problem.rank_count();
    let rule = Rule::Objective(ObjectiveRule { objective, closed_loop: closed, ranks });
    let (mut alike, mut all) = (0, 0);
    for (at, a) in scores.iter().enumerate() {
        for b in &scores[..at] {
            let ranking = rank(&[*a, *b], &rule);
            if ranking.loss(0) != ranking.loss(1) {
                let first_costs_less = smooth.cost(a) < smooth.cost(b);
                alike += u32::from(first_costs_less == (ranking.best() == 0));
                all += 1;
            }
        }
    }
    (alike, all)
}

/// Measured agreement: 97.2 to 100 % of the pairs.
#[test]
fn the_search_prefers_what_the_ranking_prefers() {
    let workloads: [&[&str]; 3] = [
        &[
            "all-to-all:8:rate=200,length=1MB,messages=60",
            "gather:5:rate=400,length=2MB,messages=100",
        ],
        &[
            "halo-2d:8:renumber,rate=300,length=1MB,messages=60",
            "ring:8:rate=500,length=2MB,messages=30",
        ],
        &SATURATED,
    ];
    let workloads = workloads.map(workload);
    for objective in [Objective::Waiting, Objective::Finish, Objective::Balanced] {
        for closed in [false, true] {
            let counts =
                workloads.each_ref().map(|workload| agreement(workload, closed, objective));
            let sum = |count: fn(&(u32, u32)) -> u32| counts.iter().map(count).sum::<u32>();
            let share = f64::from(sum(|(alike, _)| *alike)) / f64::from(sum(|(_, all)| *all));
            assert!(share > 0.965, "{objective}, closed loop: {closed}: {counts:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn mappings_are_valid_and_no_worse_than_any_start(
        shapes in prop::collection::vec((0_usize..4, 2_u32..6, 1.0..2000.0_f64, 1_u32..3000), 1..4),
        closed in any::<bool>(),
        seed in 0_u32..100,
    ) {
        let names = ["all-to-all", "gather", "halo-2d", "linear"];
        let texts: Vec<String> = shapes
            .iter()
            .map(|(shape, ranks, rate, length)| {
                format!("{}:{ranks}:rate={rate},length={length}kB,messages=40", names[*shape])
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (cluster, workload) = (cluster(4, 2, 2, ""), workload(&texts));
        let problem = problem(&cluster, &workload).with_closed_loop(closed);
        // `mappings` checks every mapping.
        let strategy: Strategy = format!("contention:moves=800,seed={seed}").parse().unwrap();
        let mut all = strategy.mappings(&problem, &Budget::default()).unwrap();
        let starts = super::starts::starts(&problem, &Budget::default()).unwrap();
        all.extend(starts.clone());
        let starts = starts.into_iter().map(Mapping::into_indices).collect();
        let budget = Budget::default();
        let device_slots = DeviceSlots::of_slots(&problem);
        let search = Search::new(Objective::Balanced, &problem, &device_slots, &budget, starts);
        let search = search.unwrap();
        let objective = search.objective;
        let (mut fluid, mut offered, mut trips) = (search.fluid, search.offered, search.trips);
        let costs: Vec<f64> = all
            .iter()
            .map(|mapping| {
                offered.restart(mapping);
                objective.cost(&exactly(&mut fluid, &offered, &mut trips))
            })
            .collect();
        prop_assert!(costs.iter().all(|cost| costs[0] <= cost + 1e-9), "{costs:?}");
    }
}

#[test]
fn on_an_idle_network_ranks_do_not_spread_further_than_helps() {
    let text = "name = \"test\"\n[[node]]\nnames = \"n[0-7]\"\n\
                topology = \"pack:1 numa:4 l3:2 core:2 pu:1\"\nfree = \"2-15\"\n\
                nic = [{ name = \"hsn0\", near = \"numa:0\" }, { name = \"hsn1\", near = \"numa:1\" }]\n";
    let parse = |text: &str| crate::cluster::read::toml::parse(text, "test.toml", Path::new("."));
    let (all, workload) = (parse(text).unwrap(), workload(&["halo-2d:32:rate=100"]));
    let few = parse(&text.replace("n[0-7]", "n[0-3]")).unwrap();
    let [all, few] = [&all, &few].map(|cluster| {
        let problem = problem(cluster, &workload);
        let mapping = map(&problem, "contention:effort=fast");
        let mut fluid = Fluid::new(cluster, &workload, problem.slots()).unwrap();
        fluid.evaluate(&mapping.into()).total_waiting.0
    });
    assert!(all <= 1.05 * few, "{all} {few}");
}

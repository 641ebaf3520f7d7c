//! Answers settled by simulation, and the strategy `auto`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use rankwright::choose::{
    By, Candidate, Found, Search, Settled, Unsettled, candidates, judge, verdict,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Cost, Objective, Problem, Strategy};
use rankwright::placement::Granularity;
use rankwright::report::Comparison;
use rankwright::sim::{Options, Pacing, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;

use crate::clusters::{Kind, cluster, four_by_four};
use crate::workloads::{cliques, workload};

fn jobs(patterns: &[&str]) -> Workload {
    let job = |pattern: &&str| Pattern::parse(pattern).unwrap().job().unwrap();
    let mut together = Workload { name: "test".to_owned(), jobs: Vec::new() };
    patterns.iter().map(job).for_each(|job| together.push(job));
    together
}

fn strategies(names: &[&str]) -> Vec<Strategy> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn find(cluster: &Cluster, jobs: &Workload, names: &[&str], search: &Search) -> Found {
    let closed = search.simulation.pacing != Pacing::Open;
    let problem = Problem::new(cluster, jobs, Granularity::Cores(1)).unwrap();
    candidates(&problem.with_closed_loop(closed), &strategies(names), search)
}

fn whole(found: &Found) -> Vec<Candidate> {
    found.candidates.iter().map(|candidate| candidate.clone().unwrap()).collect()
}

fn settled(found: &Found) -> &Settled {
    found.settled.as_ref().expect("it was settled")
}

/// Neighbours on a scattered grid and a job in which all talk with all, with rates that keep the
/// network devices busy.
const MIXED: [&str; 2] = [
    "halo-2d:8:renumber,rate=200,length=64kB,messages=40",
    "all-to-all:8:rate=100,length=64kB,messages=40",
];

#[test]
fn a_clear_winner_needs_one_run() {
    let jobs = jobs(&["ring:16:rate=300,length=1MB,messages=100"]);
    let search = Search { judge_all: true, ..Search::default() };
    let found = find(&four_by_four(), &jobs, &["blocked", "cyclic"], &search);
    let settled = settled(&found);
    assert_eq!((settled.best, settled.share, settled.by()), (0, 1.0, By::Simulation));
    assert_eq!(settled.simulated, 2 * jobs.clocked_messages());
    assert_eq!(settled.measures[0].loss, 1.0);
    assert!(settled.measures[1].loss > 2.0);
    let versus = settled.versus(0, 1);
    assert_eq!((versus.seeds, versus.wins), (1, 1));
    assert!(versus.waiting.mean > 0.5 && versus.waiting.half_width.is_infinite());
    let verdict = verdict(&four_by_four(), &whole(&found), found.settled.as_ref());
    assert_eq!((verdict.best, verdict.matters), (0, true));
}

#[test]
fn close_answers_are_run_with_more_seeds() {
    // All talk with all, so only chance tells two orders of the ranks apart.
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=40"]);
    let search = Search { judge_all: true, ..Search::default() };
    let found = find(&four_by_four(), &jobs, &["random:seed=1", "random:seed=2"], &search);
    let settled = settled(&found);
    let seeds = settled.versus(0, 1).seeds;
    assert!((2..=48).contains(&seeds), "{seeds}");
    let costs: Vec<Cost> = settled.measures.iter().map(|one| one.times.cost()).collect();
    assert_eq!(settled.best, settled.criterion.best(&costs));
}

#[test]
fn measures_are_those_of_the_simulator() {
    let (cluster, jobs) = (four_by_four(), jobs(&MIXED));
    let search = Search { judge_all: true, ..Search::default() };
    let found = find(&cluster, &jobs, &["kway"], &search);
    let measure = &settled(&found).measures[0];
    let placement = &whole(&found)[0].placement;
    let outcome = |seed| {
        let options = Options { seed, ..Options::default() };
        let mut go_on = |_: &_| ControlFlow::Continue(());
        simulate(&cluster, &jobs, placement, &options, &mut go_on).unwrap()
    };
    // Other seeds, so not the same.
    let waiting = outcome(1).total_waiting.0;
    assert!((measure.times.waiting / waiting - 1.0).abs() < 0.3, "{waiting} {measure:?}");
    assert!((measure.times.finish / outcome(1).workload_finish.0 - 1.0).abs() < 0.3);
}

#[test]
fn a_small_budget_simulates_a_part() {
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=400"]);
    let names = ["blocked", "cyclic", "random", "kway"];
    let all = jobs.clocked_messages();
    for pacing in [Pacing::Open, Pacing::AfterArrival] {
        let simulation = Options { pacing, ..Options::default() };
        let search = Search { judge_all: true, simulation, ..Search::default() };
        let full = find(&four_by_four(), &jobs, &names, &search);
        let part = find(&four_by_four(), &jobs, &names, &Search { messages: all, ..search });
        let (full, part) = (settled(&full), settled(&part));
        assert!(part.share > 0.05 && part.share < 1.0, "{}", part.share);
        assert!(part.simulated <= all, "{}", part.simulated);
        for (a, b) in full.measures.iter().zip(&part.measures) {
            assert!((b.times.waiting / a.times.waiting - 1.0).abs() < 0.3, "{a:?}\n{b:?}");
            assert!((b.times.finish / a.times.finish - 1.0).abs() < 0.3, "{a:?}\n{b:?}");
        }
    }
}

#[test]
fn what_cannot_be_simulated_is_judged_otherwise() {
    let jobs = jobs(&MIXED);
    let names = ["blocked", "cyclic", "auto"];
    let of = |search: &Search| {
        let found = find(&four_by_four(), &jobs, &names, search);
        let candidates = whole(&found);
        let best = verdict(&four_by_four(), &candidates, found.settled.as_ref()).best;
        (found.settled.map(|settled| settled.by()), found.unsettled, best, candidates)
    };
    let (by, why, _, _) = of(&Search { messages: 100, ..Search::default() });
    assert_eq!((by, why), (Some(By::Model), Some(Unsettled::TooMany)));
    let (by, why, _, _) = of(&Search { clock: Some(&|| 1.0), ..Search::default() });
    assert_eq!((by, why), (Some(By::Model), Some(Unsettled::Late)));
    let (by, why, _, _) = of(&Search { messages: 0, ..Search::default() });
    assert_eq!((by, why), (Some(By::Model), None));
    let simulation = Options { pacing: Pacing::AfterArrival, ..Options::default() };
    let (by, why, best, candidates) = of(&Search { messages: 0, simulation, ..Search::default() });
    assert_eq!((by, why), (None, None));
    assert_eq!(best, judge(&four_by_four(), &candidates).best);
    let (by, why, _, _) =
        of(&Search { observer: &|_| ControlFlow::Break(()), ..Search::default() });
    assert_eq!((by, why), (Some(By::Model), Some(Unsettled::Stopped)));
}

#[test]
fn an_interrupt_ends_it_in_the_middle() {
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=4000"]);
    let calls = AtomicU32::new(0);
    let observer = |_| match calls.fetch_add(1, Ordering::Relaxed) {
        0..5 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let search = Search { judge_all: true, observer: &observer, ..Search::default() };
    let found = find(&four_by_four(), &jobs, &["blocked", "cyclic"], &search);
    assert_eq!(found.unsettled, Some(Unsettled::Stopped));
    assert!(calls.load(Ordering::Relaxed) < 12, "{calls:?}");
}

#[test]
fn auto_says_whose_answer_it_takes_and_each_strategy_runs_once() {
    let jobs = jobs(&MIXED);
    let found = find(
        &four_by_four(),
        &jobs,
        &["auto"],
        &Search { messages: 1_000_000, ..Search::default() },
    );
    let auto = &whole(&found)[0];
    assert_eq!(auto.strategy.name(), "auto");
    let others = strategies(&["auto"])[0].others().unwrap();
    assert!(others.iter().any(|other| *other.id() == auto.made_by), "{}", auto.made_by);
    assert!(settled(&found).measures.len() <= others.len());
    // Its options are theirs.
    let seeded = strategies(&["auto:seed=7,objective=waiting"]);
    let others: Vec<String> = seeded[0].others().unwrap().iter().map(Strategy::to_string).collect();
    assert!(others.contains(&"random:seed=7".to_owned()), "{others:?}");
    assert!(others.contains(&"blocked".to_owned()), "{others:?}");
    assert_eq!(seeded[0].objective(), Some(Objective::Waiting));
}

#[test]
fn without_clocks_the_static_judge_decides() {
    let jobs = workload(vec![cliques(4, 4)]);
    let found = find(
        &four_by_four(),
        &jobs,
        &["blocked", "auto"],
        &Search { messages: 1_000_000, ..Search::default() },
    );
    assert!(found.settled.is_none() && found.unsettled.is_none());
    let candidates = whole(&found);
    assert_eq!(candidates[1].load.inter_node.0, 0);
    assert_eq!(judge(&four_by_four(), &candidates).best, 1);
}

#[test]
fn strategies_on_more_nodes_are_not_compared_by_traffic() {
    // Eight of sixteen cores: two nodes, or with cyclic all four with less at each device.
    let jobs = workload(vec![cliques(1, 8)]);
    let found = find(&four_by_four(), &jobs, &["blocked", "cyclic"], &Search::default());
    let verdict = judge(&four_by_four(), &whole(&found));
    assert_eq!(verdict.best, 0);
    insta::assert_snapshot!(verdict.reason);
}

#[test]
fn a_verdict_says_how_sure_it_is() {
    let cluster = four_by_four();
    let verdict_of = |patterns: &[&str], names: &[&str]| {
        let found = find(
            &cluster,
            &jobs(patterns),
            names,
            &Search { judge_all: true, messages: 1_000_000, ..Search::default() },
        );
        let candidates = whole(&found);
        let verdict = verdict(&cluster, &candidates, found.settled.as_ref());
        let comparison = Comparison::settled(&cluster, &candidates, &verdict, settled(&found));
        (verdict, comparison)
    };
    let (verdict, comparison) =
        verdict_of(&MIXED, &["cyclic", "random", "kway", "blocked", "auto"]);
    insta::assert_snapshot!(verdict.reason);
    insta::assert_snapshot!(comparison.to_json());
    let quiet = ["ring:16:rate=1,length=1kB,messages=50"];
    let (verdict, _) = verdict_of(&quiet, &["cyclic", "kway", "blocked"]);
    assert!(!verdict.matters);
    insta::assert_snapshot!(verdict.reason);
    assert!(verdict_of(&quiet, &["kway"]).0.matters);
}

/// Patterns with rates from light to saturated.
fn pattern() -> impl proptest::strategy::Strategy<Value = String> {
    let kind = prop_oneof![Just("ring"), Just("all-to-all"), Just("halo-2d"), Just("linear")];
    let length = prop_oneof![Just("1kB"), Just("64kB"), Just("1MB")];
    (kind, 2_u32..9, 1_u32..2000, length, 3_u32..20).prop_map(
        |(kind, ranks, rate, length, count)| {
            let ranks = if kind == "halo-2d" { ranks / 2 * 2 } else { ranks };
            format!("{kind}:{ranks}:rate={rate},length={length},messages={count}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_other_is_better_than_auto(
        patterns in prop::collection::vec(pattern(), 1..4),
        nodes in 1_usize..4,
        cores in 4_u32..7,
        pacing in prop_oneof![Just(Pacing::Open), Just(Pacing::AfterArrival)],
        objective in prop_oneof![
            Just(Objective::Waiting), Just(Objective::Finish), Just(Objective::Balanced)
        ],
        messages in prop_oneof![Just(3000_u64), Just(100_000_000)],
    ) {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let jobs = jobs(&patterns);
        let cluster = cluster(&[(nodes, Kind(1, 2, cores, 1)), (2, Kind(2, 1, 4, 1))]);
        let names = ["blocked", "cyclic", "random", "kway", "mapping-2013", "auto"];
        let simulation = Options { pacing, ..Options::default() };
        let search = Search { objective, messages, simulation, ..Search::default() };
        let threads = NonZeroUsize::new(3).unwrap();
        let found = find(&cluster, &jobs, &names, &search);
        let again = find(&cluster, &jobs, &names, &Search { threads, ..search });
        prop_assert_eq!(&found.settled, &again.settled);
        prop_assert_eq!(&found.candidates, &again.candidates);
        let candidates = whole(&found);
        if let Some(settled) = &found.settled {
            let cost = |one: &Candidate| one.judged.as_ref().unwrap().1.times.cost();
            let costs: Vec<Cost> = candidates.iter().map(cost).collect();
            let losses = settled.criterion.losses(&costs);
            for loss in &losses {
                prop_assert!(losses[5] <= *loss, "{:?}", losses);
            }
            let best = verdict(&cluster, &candidates, Some(settled)).best;
            prop_assert_eq!(losses[best], losses[5]);
        }
    }
}

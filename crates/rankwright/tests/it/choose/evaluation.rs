//! Mappings evaluated by simulation, and the strategy `auto`.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use rankwright::choose::{
    Basis, Candidate, Candidates, ChooseOptions, Evaluation, NotSimulated, PlanProgress,
    candidates, rank_by_bytes, rank_candidates,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy};
use rankwright::placement::Granularity;
use rankwright::ranking::{Objective, Rule, Score, rank};
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

fn choose(
    cluster: &Cluster,
    jobs: &Workload,
    names: &[&str],
    options: &ChooseOptions,
) -> Candidates {
    let closed = options.simulation.pacing != Pacing::Open;
    let problem = Problem::new(cluster, jobs, Granularity::Cores(1)).unwrap();
    candidates(&problem.with_closed_loop(closed), &strategies(names), options)
}

fn whole(made: &Candidates) -> Vec<Candidate> {
    made.results.iter().map(|candidate| candidate.clone().unwrap()).collect()
}

fn evaluation(made: &Candidates) -> &Evaluation {
    made.evaluation.as_ref().expect("it was evaluated")
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
    let options = ChooseOptions { evaluate_all: true, ..ChooseOptions::default() };
    let made = choose(&four_by_four(), &jobs, &["blocked", "cyclic"], &options);
    let evaluation = evaluation(&made);
    let of_all = (evaluation.best, evaluation.share, evaluation.basis());
    assert_eq!(of_all, (0, 1.0, Basis::Simulation));
    assert_eq!(evaluation.simulated_messages, 2 * jobs.clocked_messages());
    assert_eq!(evaluation.mappings[0].loss, 1.0);
    assert!(evaluation.mappings[1].loss > 2.0);
    let by_seeds = evaluation.by_seeds(0, 1);
    assert_eq!((by_seeds.seeds, by_seeds.wins), (1, 1));
    assert!(by_seeds.waiting.mean > 0.5 && by_seeds.waiting.half_width.is_infinite());
    let ranked = rank_candidates(&whole(&made), made.evaluation.as_ref());
    assert_eq!((ranked.best(), ranked.ranking.matters()), (0, true));
}

#[test]
fn close_answers_are_run_with_more_seeds() {
    // All talk with all, so only chance tells two orders of the ranks apart.
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=40"]);
    let options = ChooseOptions { evaluate_all: true, ..ChooseOptions::default() };
    let made = choose(&four_by_four(), &jobs, &["random:seed=1", "random:seed=2"], &options);
    let evaluation = evaluation(&made);
    let seeds = evaluation.by_seeds(0, 1).seeds;
    assert!((2..=48).contains(&seeds), "{seeds}");
    let scores: Vec<Score> = evaluation.mappings.iter().map(|mapping| mapping.score).collect();
    assert_eq!(evaluation.best, rank(&scores, &Rule::Objective(evaluation.rule)).best());
}

#[test]
fn measures_are_those_of_the_simulator() {
    let (cluster, jobs) = (four_by_four(), jobs(&MIXED));
    let options = ChooseOptions { evaluate_all: true, ..ChooseOptions::default() };
    let made = choose(&cluster, &jobs, &["kway"], &options);
    let score = &evaluation(&made).mappings[0].score;
    let placement = &whole(&made)[0].placement;
    let outcome = |seed| {
        let options = Options { seed, ..Options::default() };
        let mut go_on = |_: &_| ControlFlow::Continue(());
        simulate(&cluster, &jobs, placement, &options, &mut go_on).unwrap()
    };
    // Other seeds, so not the same.
    let waiting = outcome(1).total_waiting.0;
    assert!((score.total_waiting().0 / waiting - 1.0).abs() < 0.3, "{waiting} {score:?}");
    assert!((score.last_arrival().0 / outcome(1).workload_finish.0 - 1.0).abs() < 0.3);
}

#[test]
fn a_small_budget_simulates_a_part() {
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=400"]);
    let names = ["blocked", "cyclic", "random", "kway"];
    let all = jobs.clocked_messages();
    for pacing in [Pacing::Open, Pacing::AfterArrival] {
        let simulation = Options { pacing, ..Options::default() };
        let options = ChooseOptions { evaluate_all: true, simulation, ..ChooseOptions::default() };
        let full = choose(&four_by_four(), &jobs, &names, &options);
        let options = ChooseOptions { messages: all, ..options };
        let part = choose(&four_by_four(), &jobs, &names, &options);
        let (full, part) = (evaluation(&full), evaluation(&part));
        assert!(part.share > 0.05 && part.share < 1.0, "{}", part.share);
        assert!(part.simulated_messages <= all, "{}", part.simulated_messages);
        for (a, b) in full.mappings.iter().zip(&part.mappings) {
            let ratio = |time: fn(&Score) -> f64| time(&b.score) / time(&a.score);
            assert!((ratio(|score| score.total_waiting().0) - 1.0).abs() < 0.3, "{a:?}\n{b:?}");
            assert!((ratio(|score| score.last_arrival().0) - 1.0).abs() < 0.3, "{a:?}\n{b:?}");
        }
    }
}

/// Clocks say when the last message is sent, so that all mappings end together. Parts of this workload,
/// whose messages come in bursts, are extrapolated to another end than longer parts.
#[test]
fn times_from_runs_of_different_length_are_comparable() {
    let jobs = rankwright::traffic::open("nas:cg.W.32").unwrap();
    let names = ["blocked", "cyclic", "random:seed=1", "random:seed=2", "random:seed=3", "kway"];
    let mut eliminated = 0;
    for part in [2, 4, 8, 16] {
        let messages = jobs.clocked_messages() / part * names.len() as u64;
        let options = ChooseOptions { evaluate_all: true, messages, ..ChooseOptions::default() };
        let made = choose(&cluster(&[(8, Kind(2, 1, 2, 1))]), &jobs, &names, &options);
        let evaluation = evaluation(&made);
        let mappings = || evaluation.mappings.iter();
        eliminated += mappings().filter(|mapping| mapping.runs.iter().all(Option::is_none)).count();
        let ends = || mappings().map(|mapping| mapping.score.last_arrival().0);
        let (first, last) = (ends().fold(f64::MAX, f64::min), ends().fold(0.0, f64::max));
        assert!(last < 1.05 * first, "{first} to {last}");
    }
    assert!(eliminated > 0);
}

#[test]
fn what_cannot_be_simulated_is_evaluated_otherwise() {
    let jobs = jobs(&MIXED);
    let names = ["blocked", "cyclic", "auto"];
    let with = |options: &ChooseOptions| {
        let made = choose(&four_by_four(), &jobs, &names, options);
        let candidates = whole(&made);
        let best = rank_candidates(&candidates, made.evaluation.as_ref()).best();
        let basis = made.evaluation.map(|evaluation| evaluation.basis());
        (basis, made.not_simulated, best, candidates)
    };
    let plain = ChooseOptions::default();
    let (basis, why, _, _) = with(&ChooseOptions { messages: 100, ..plain });
    assert_eq!((basis, why), (Some(Basis::Model), Some(NotSimulated::TooMany)));
    let (basis, why, _, _) = with(&ChooseOptions { clock: Some(&|| 1.0), ..plain });
    assert_eq!((basis, why), (None, Some(NotSimulated::Late)), "no time for the fluid");
    let (basis, why, _, _) = with(&ChooseOptions { messages: 0, ..plain });
    assert_eq!((basis, why), (Some(Basis::Model), None));
    let simulation = Options { pacing: Pacing::AfterArrival, ..Options::default() };
    let (basis, why, best, candidates) = with(&ChooseOptions { messages: 0, simulation, ..plain });
    assert_eq!((basis, why), (None, None));
    assert_eq!(best, rank_by_bytes(&candidates).best());
    let in_simulations = |progress: &PlanProgress| match progress {
        PlanProgress::Simulation { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let (basis, why, _, _) = with(&ChooseOptions { observer: &in_simulations, ..plain });
    assert_eq!((basis, why), (Some(Basis::Model), Some(NotSimulated::Stopped)));
}

#[test]
fn an_interrupt_ends_it_in_the_middle() {
    let jobs = jobs(&["all-to-all:16:rate=100,length=64kB,messages=4000"]);
    let calls = AtomicU32::new(0);
    let observer = |progress: &PlanProgress| {
        if !matches!(progress, PlanProgress::Simulation { .. }) {
            return ControlFlow::Continue(());
        }
        match calls.fetch_add(1, Ordering::Relaxed) {
            0..5 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    };
    let options =
        ChooseOptions { evaluate_all: true, observer: &observer, ..ChooseOptions::default() };
    let made = choose(&four_by_four(), &jobs, &["blocked", "cyclic"], &options);
    assert!(made.stopped);
    assert_eq!(made.not_simulated, Some(NotSimulated::Stopped));
    assert!(calls.load(Ordering::Relaxed) < 12, "{calls:?}");
}

#[test]
fn auto_says_whose_mapping_it_takes_and_each_strategy_runs_once() {
    let jobs = jobs(&MIXED);
    let options = ChooseOptions { messages: 1_000_000, ..ChooseOptions::default() };
    let made = choose(&four_by_four(), &jobs, &["auto"], &options);
    let auto = &whole(&made)[0];
    assert_eq!(auto.strategy.name(), "auto");
    let others = strategies(&["auto"])[0].others().unwrap();
    assert!(others.iter().any(|other| *other.id() == auto.made_by), "{}", auto.made_by);
    assert!(evaluation(&made).mappings.len() <= others.len());
    // Its options are theirs.
    let seeded = strategies(&["auto:seed=7,objective=waiting"]);
    let others: Vec<String> = seeded[0].others().unwrap().iter().map(Strategy::to_string).collect();
    assert!(others.contains(&"random:seed=7".to_owned()), "{others:?}");
    assert!(others.contains(&"blocked".to_owned()), "{others:?}");
    assert_eq!(seeded[0].objective(), Some(Objective::Waiting));
}

#[test]
fn without_message_timing_bytes_decide() {
    let jobs = workload(vec![cliques(4, 4)]);
    let options = ChooseOptions { messages: 1_000_000, ..ChooseOptions::default() };
    let made = choose(&four_by_four(), &jobs, &["blocked", "auto"], &options);
    assert!(made.evaluation.is_none() && made.not_simulated.is_none());
    let candidates = whole(&made);
    assert_eq!(candidates[1].load.inter_node.0, 0);
    assert_eq!(rank_by_bytes(&candidates).best(), 1);
}

#[test]
fn strategies_on_more_nodes_are_not_compared_by_traffic() {
    // Eight of sixteen cores: two nodes, or with cyclic all four with less at each device.
    let jobs = workload(vec![cliques(1, 8)]);
    let cluster = four_by_four();
    let made = choose(&cluster, &jobs, &["blocked", "cyclic"], &ChooseOptions::default());
    let candidates = whole(&made);
    let ranked = rank_by_bytes(&candidates);
    assert_eq!(ranked.best(), 0);
    insta::assert_snapshot!(Comparison::new(&cluster, &candidates, &ranked, None).reason);
}

#[test]
fn the_reason_says_how_sure_it_is() {
    let cluster = four_by_four();
    let compared = |patterns: &[&str], names: &[&str]| {
        let messages = 1_000_000;
        let options = ChooseOptions { evaluate_all: true, messages, ..ChooseOptions::default() };
        let made = choose(&cluster, &jobs(patterns), names, &options);
        let (candidates, evaluation) = (whole(&made), made.evaluation.as_ref());
        let ranked = rank_candidates(&candidates, evaluation);
        Comparison::new(&cluster, &candidates, &ranked, evaluation)
    };
    let comparison = compared(&MIXED, &["cyclic", "random", "kway", "blocked", "auto"]);
    insta::assert_snapshot!(comparison.reason);
    insta::assert_snapshot!(comparison.to_json());
    let quiet = ["ring:16:rate=1,length=1kB,messages=50"];
    let comparison = compared(&quiet, &["cyclic", "kway", "blocked"]);
    assert!(!comparison.matters);
    insta::assert_snapshot!(comparison.reason);
    assert!(compared(&quiet, &["kway"]).matters);
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
        let options = ChooseOptions { objective, messages, simulation, ..ChooseOptions::default() };
        let threads = NonZeroUsize::new(3).unwrap();
        let made = choose(&cluster, &jobs, &names, &options);
        let again = choose(&cluster, &jobs, &names, &ChooseOptions { threads, ..options });
        prop_assert_eq!(&made.evaluation, &again.evaluation);
        prop_assert_eq!(&made.results, &again.results);
        let candidates = whole(&made);
        if made.evaluation.is_some() {
            let ranking = rank_candidates(&candidates, made.evaluation.as_ref()).ranking;
            prop_assert_eq!(ranking.loss(5), 1.0, "{:?}", ranking);
            // The launcher's default also wins where it is hardly worse.
            let is_default = candidates[ranking.best()].score.launcher_default;
            prop_assert!(ranking.loss(ranking.best()) == 1.0 || is_default);
        }
    }
}

use std::ops::ControlFlow;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::cluster::read::built_in;
use crate::statistics::Estimate;
use crate::traffic::Job;
use crate::traffic::read::events::sample::{Payload, write_files, write_profile};
use crate::traffic::read::events::store;
use crate::units::{Bytes, Seconds};

const NAMES: [&str; 8] = ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"];

/// Table II of Koop, Luo and Panda 2009: seconds in Exclusive-Full mode, then in Exclusive-Half mode.
const SECONDS: [(f64, f64); 8] = [
    (198.22, 196.71),
    (34.82, 26.17),
    (28.53, 29.07),
    (44.19, 38.89),
    (3.10, 2.29),
    (180.46, 179.86),
    (15.14, 14.78),
    (196.29, 188.84),
];

/// Its Table III.
const PERCENT: [f64; 64] = [
    99.1, 77.3, 100.2, 91.9, 81.6, 99.7, 98.4, 96.6, //
    100.5, 101.8, 100.5, 96.0, 90.2, 100.9, 100.8, 102.0, //
    98.8, 75.2, 99.6, 93.8, 80.1, 100.1, 97.9, 97.2, //
    99.4, 84.3, 99.9, 89.6, 87.6, 100.5, 99.5, 98.9, //
    100.2, 79.0, 99.1, 91.0, 84.4, 99.6, 98.8, 96.2, //
    99.2, 76.2, 100.0, 88.0, 80.7, 100.4, 98.9, 97.0, //
    99.0, 77.3, 100.4, 89.4, 73.9, 99.6, 98.1, 100.5, //
    99.6, 79.2, 100.4, 93.2, 86.7, 100.3, 97.6, 99.5,
];

fn facts() -> Vec<JobFacts> {
    let job = |(name, (full, half)): (&&str, &(f64, f64))| JobFacts {
        seconds: Some(*full),
        half: Some(100.0 * half / full),
        ..JobFacts::named(*name)
    };
    NAMES.iter().zip(&SECONDS).map(job).collect()
}

fn table_3() -> JobSet {
    JobSet::new(facts(), Slowdowns::new(8, PERCENT.to_vec()))
}

fn by(objective: Objective) -> PairOptions {
    PairOptions { objective, ..PairOptions::default() }
}

/// `BT-SP CG-EP`.
fn shown(jobs: &JobSet, pairing: &Pairing) -> String {
    let group = |group: &Group| group.names(jobs).join("-");
    pairing.groups.iter().map(group).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_near(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

#[test]
fn the_pairs_of_the_papers_table() {
    let jobs = table_3();
    for (objective, pairs, cost, baseline, mean, worst) in [
        (Objective::Sum, "BT-SP CG-EP FT-LU IS-MG", 733.1, 800.0, 750.1, 760.7),
        (Objective::Runtime, "BT-LU CG-EP FT-MG IS-SP", 677.5, 700.75, 684.9, 694.1),
        (Objective::Worst, "BT-MG CG-IS EP-LU FT-SP", 388.2, 400.0, 396.3, 403.1),
    ] {
        let pairing = pair(&jobs, &by(objective));
        assert_eq!(shown(&jobs, &pairing), pairs, "{objective}");
        assert_near(pairing.cost, cost, 0.05);
        assert_near(pairing.baseline, baseline, 1e-9);
        assert_near(pairing.random_mean, mean, 0.05);
        assert_near(pairing.random_worst.unwrap(), worst, 0.05);
        assert_eq!((pairing.answer, pairing.alone.len()), (Answer::Share, 0));
    }
    let speedup = pair(&jobs, &by(Objective::WeightedSpeedup));
    assert_near(speedup.cost, 1.1076, 5e-5);
    assert_near(speedup.random_mean, 1.0761, 5e-5);
    assert_near(speedup.random_worst.unwrap(), 1.0558, 5e-5);
    let makespan = pair(&jobs, &by(Objective::Makespan));
    // BT takes longest, and nobody speeds it up by more than EP.
    assert_near(makespan.cost, 198.22 * 0.988, 1e-9);
}

#[test]
fn two_copies_of_each_job_may_share_with_themselves() {
    let jobs = table_3().copies(2);
    let pairing = pair(&jobs, &by(Objective::Sum));
    assert_near(pairing.cost, 1466.2, 0.05);
    assert_eq!((jobs.len(), pairing.groups.len()), (16, 8));
}

#[test]
fn one_pressure_per_job_predicts_the_table() {
    let jobs = table_3();
    let half: Vec<f64> = (0..8).map(|job| jobs.half(job)).collect();
    let pressures = jobs.slowdowns().pressures(&half);
    let expected = [0.21, 0.83, 0.17, 0.43, 0.28, 0.15, 0.06, 0.35];
    for (found, expected) in pressures.iter().zip(expected) {
        assert_near(*found, expected, 0.02);
    }
    let predicted = JobSet::new(facts(), Slowdowns::from_pressures(&half, &pressures));
    let pairs = |jobs: &JobSet| shown(jobs, &pair(jobs, &by(Objective::Sum)));
    assert_eq!(pairs(&predicted), pairs(&jobs));
}

#[test]
fn the_papers_classes_have_names() {
    let jobs = table_3();
    let class = |a, b| Compatibility::of_group(&jobs, &[a, b]);
    assert_eq!(class(1, 2), Compatibility::Compatible);
    assert_eq!(
        Compatibility::of_group(&jobs.clone().copies(2), &[2, 3]),
        Compatibility::DualIntensive
    );
    assert_eq!(class(0, 5), Compatibility::DualInfrequent);
    // They gain nothing on half of the cores, but lose much beside each other.
    let facts = ["a", "b"].map(|name| JobFacts { half: Some(99.0), ..JobFacts::named(name) });
    let busy = JobSet::new(facts.to_vec(), Slowdowns::new(2, vec![160.0; 4]));
    assert_eq!(Compatibility::of_group(&busy, &[0, 1]), Compatibility::DualIntensive);
    // A gain on the whole that one of them pays for.
    let facts = ["a", "b"].map(|name| JobFacts { half: Some(80.0), ..JobFacts::named(name) });
    let slowdowns = Slowdowns::new(2, vec![160.0, 109.6, 75.0, 160.0]);
    let uneven = JobSet::new(facts.to_vec(), slowdowns);
    assert_eq!(Compatibility::of_group(&uneven, &[0, 1]), Compatibility::OneSided);
}

#[test]
fn an_odd_job_stays_alone_and_so_do_jobs_that_must_not_share() {
    let three = |percent: f64| {
        let facts = ["a", "b", "c"].map(JobFacts::named).to_vec();
        JobSet::new(facts, Slowdowns::new(3, vec![percent; 9]))
    };
    let pairing = pair(&three(90.0), &by(Objective::Sum));
    assert_eq!((pairing.groups.len(), pairing.alone.len()), (1, 1));
    assert_near(pairing.cost, 280.0, 1e-9);
    let parted = three(90.0).never(0, 1).never(0, 2).never(1, 2);
    assert_eq!(pair(&parted, &by(Objective::Sum)).answer, Answer::DoNotShare);
    let parted = pair(&three(90.0).never(0, 1), &by(Objective::Sum));
    assert!(parted.groups[0].members.iter().any(|member| member.job == 2));
    for (percent, answer) in [(101.5, Answer::DoNotShare), (100.5, Answer::NoDifference)] {
        for objective in Objective::ALL.map(|(_, objective)| objective) {
            assert_eq!(pair(&three(percent), &by(objective)).answer, answer, "{objective}");
        }
    }
}

#[test]
fn jobs_share_only_if_their_memory_suffices() {
    let job = |name: &str, gigabytes: u64| JobFacts {
        memory_per_rank: Bytes(gigabytes << 30),
        ..JobFacts::named(name)
    };
    let facts = vec![job("a", 6), job("b", 6), job("c", 1), job("d", 2)];
    let jobs = JobSet::new(facts, Slowdowns::new(4, vec![90.0; 16]))
        .on_nodes(Some(NodeMemory { cores: 16, memory: Bytes(64 << 30) }));
    // a and b together need 96 GiB.
    assert_eq!(shown(&jobs, &pair(&jobs, &by(Objective::Sum))), "a-c b-d");
}

#[test]
fn more_jobs_per_node_gain_where_they_hinder_each_other_little() {
    let jobs = table_3().copies(2);
    let four = PairOptions { per_node: NonZeroUsize::new(4).unwrap(), ..by(Objective::Sum) };
    let pairing = pair(&jobs, &four);
    assert!(pairing.groups.iter().all(|group| (2..=4).contains(&group.members.len())));
    assert!(pairing.cost < pair(&jobs, &by(Objective::Sum)).cost);
    let members: usize = pairing.groups.iter().map(|group| group.members.len()).sum();
    assert_eq!(members + pairing.alone.len(), 16);
    let start = groups::repeated_matching(&jobs, &four);
    let cost: f64 = start.iter().map(|group| jobs.cost(&four, group)).sum();
    assert!(pairing.cost <= cost);
}

#[test]
fn a_job_with_fewer_cores_of_a_node_hinders_less() {
    let mut facts = facts();
    facts[1].ranks = 3;
    let jobs = JobSet::new(facts, Slowdowns::new(8, PERCENT.to_vec()));
    // CG on three quarters of the cores: it needs the network more often, IS less.
    assert_near(jobs.share_in(1, &[1, 4]), 0.75, 1e-12);
    let equal = table_3();
    assert!(jobs.percent_in(1, &[1, 4]) > equal.percent_in(1, &[1, 4]));
    assert!(jobs.percent_in(4, &[1, 4]) < equal.percent_in(4, &[1, 4]));
}

/// The least objective over all pairings, tried one after the other.
fn brute_force(jobs: &JobSet, options: &PairOptions, left: &[usize], costs: &mut Vec<f64>) -> f64 {
    let Some((first, others)) = left.split_first() else {
        let worth = options.objective.value(jobs, costs.iter().copied());
        return if options.objective == Objective::WeightedSpeedup { -worth } else { worth };
    };
    let alone = |job: usize| jobs.cost(options, &[job]);
    let mut best = f64::INFINITY;
    for (at, other) in others.iter().enumerate() {
        let rest: Vec<usize> = [&others[..at], &others[at + 1..]].concat();
        let single = matching::apart(options, alone(*first), alone(*other));
        let pair = jobs.cost(options, &[*first, *other]);
        let shares =
            jobs.may_share(&[*first, *other]) && pair <= single + options.tolerance * single.abs();
        costs.push(if shares { pair } else { single });
        best = best.min(brute_force(jobs, options, &rest, costs));
        costs.pop();
    }
    if left.len() % 2 == 1 {
        costs.push(alone(*first));
        best = best.min(brute_force(jobs, options, others, costs));
        costs.pop();
    }
    best
}

proptest! {
    #[test]
    fn pairs_are_as_good_as_the_best_of_all(
        count in 2_usize..=8,
        percent in prop::collection::vec(60.0_f64..140.0, 64),
        seconds in prop::collection::vec(1.0_f64..100.0, 8),
        never in prop::collection::vec((0_usize..8, 0_usize..8), 0..4),
        objective in 0_usize..5,
    ) {
        let facts = (0..count)
            .map(|job| JobFacts { seconds: Some(seconds[job]), ..JobFacts::named(format!("j{job}")) });
        let mut jobs =
            JobSet::new(facts.collect(), Slowdowns::new(count, percent[..count * count].to_vec()));
        for (a, b) in never.into_iter().filter(|(a, b)| a != b && *a < count && *b < count) {
            jobs = jobs.never(a, b);
        }
        let options = by(Objective::ALL[objective].1);
        let pairing = pair(&jobs, &options);
        let all: Vec<usize> = (0..count).collect();
        let best = brute_force(&jobs, &options, &all, &mut Vec::new());
        let found = match options.objective {
            Objective::WeightedSpeedup => -pairing.cost,
            _ => pairing.cost,
        };
        prop_assert!((found - best).abs() <= 1e-9 * best.abs(), "{found} {best}");
    }
}

/// A prediction for two jobs that was replayed with this spread, in percent.
fn predicted(half_width: f64) -> Prediction {
    let alone = Alone {
        full: Seconds(10.0),
        half: Seconds(10.0),
        communicating: 0.5,
        device_use: 0.5,
        nodes: (1, 2),
        messages: 1,
        memory: None,
    };
    Prediction {
        alone: vec![alone; 2],
        beside: vec![Estimate { mean: 97.0, half_width }; 4],
        first_order: vec![97.0; 4],
        not_replayed: Vec::new(),
        losses: Vec::new(),
    }
}

#[test]
fn a_gain_within_its_interval_is_no_difference() {
    let answer = |half_width: f64, options: &PairOptions| {
        let prediction = predicted(half_width);
        let names = ["a".to_owned(), "b".to_owned()];
        let jobs = JobSet::new(prediction.facts(&names), prediction.slowdowns());
        let pairing = pair(&jobs, options);
        assert_eq!(pairing.answer, Answer::Share);
        let width = prediction.gain_half_width(&pairing, options.objective, 1);
        (width, pairing.answer_within(width))
    };
    let sum = by(Objective::Sum);
    let (width, known) = answer(1.0, &sum);
    // Two independent runs, averaged over two jobs.
    assert_near(width.unwrap(), 0.01 / 2.0_f64.sqrt(), 1e-12);
    assert_eq!(known, Answer::Share);
    assert_eq!(answer(9.0, &sum).1, Answer::NoDifference);
    assert_eq!(answer(f64::INFINITY, &sum), (None, Answer::Share));
    assert_eq!(answer(9.0, &by(Objective::Worst)), (None, Answer::Share));
}

#[test]
fn the_gain_of_no_pair_is_exact() {
    let apart = JobSet::new(facts()[..2].to_vec(), Slowdowns::new(2, vec![120.0; 4]));
    let pairing = pair(&apart, &by(Objective::Sum));
    assert!(pairing.groups.is_empty());
    let width = predicted(1.0).gain_half_width(&pairing, Objective::Sum, 1).unwrap();
    assert!(width == 0.0 && width.is_sign_positive(), "{width}");
}

#[test]
fn copies_do_not_narrow_the_interval_of_the_gain() {
    // Best are pairs of different jobs; then those of a job with its copy.
    for means in [[100.0, 97.0, 97.0, 100.0], [97.0, 100.0, 100.0, 97.0]] {
        let mut prediction = predicted(1.0);
        prediction.beside.iter_mut().zip(means).for_each(|(cell, mean)| cell.mean = mean);
        let names = ["a".to_owned(), "b".to_owned()];
        for copies in [2, 4, 16] {
            let jobs = JobSet::new(prediction.facts(&names), prediction.slowdowns());
            let pairing = pair(&jobs.copies(copies), &by(Objective::Sum));
            let width = prediction.gain_half_width(&pairing, Objective::Sum, copies);
            assert_near(width.unwrap(), 0.01 / 2.0_f64.sqrt(), 1e-12);
        }
    }
}

/// A job of two ranks, recorded, with the clocks of this workload.
fn recorded(folder: &Path, payload: &Payload, clocks: &str) -> Job {
    std::fs::create_dir(folder).unwrap();
    let profile = write_profile(folder, 2);
    let payloads = [payload.clone(), payload.clone()];
    store::add(&profile, &write_files(folder, &payloads)).unwrap();
    let mut job = crate::traffic::open(clocks).unwrap().jobs.remove(0);
    job.seen.events = Some(profile);
    job
}

#[test]
fn jobs_with_one_sided_calls_are_replayed_by_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let clocks = "pattern:all-to-all:2:rate=1000,length=1MB,messages=20,in_step=true";
    let one_sided = Payload::new(2).event(12, &[3]).event(12, &[3]);
    let barrier = Payload::new(2).event(9, &[0, 0, 0, 0, 0]);
    let mut silent = recorded(&folder.path().join("silent"), &one_sided, clocks);
    silent.sources.clear();
    let jobs = [
        recorded(&folder.path().join("rma"), &one_sided, clocks),
        recorded(&folder.path().join("barrier"), &barrier, clocks),
        silent,
    ];
    let names = ["rma", "barrier", "silent"].map(str::to_owned);
    let known = KnownUse::new(&[], &names, &jobs, &mut |_| Ok(String::new())).unwrap();
    let cluster = built_in::find("paper:2013").unwrap().cluster();
    let options = PredictOptions::default();
    let mut observer = |_: usize, _: &crate::sim::Progress| ControlFlow::Continue(());
    let found =
        Recorded::replay(&cluster, (&jobs, names.into()), known, &options, &mut observer).unwrap();
    let by_clocks: Vec<usize> = found.by_clocks.iter().map(|by| by.job).collect();
    assert_eq!(by_clocks, [0]);
    let note = "replayed by clocks, because the replay would leave out 4 one-sided calls: rma";
    assert_eq!(found.notes[0], note);
    // All messages of the clocks, and the calls of the others.
    let messages: Vec<u64> = found.prediction.alone.iter().map(|alone| alone.messages).collect();
    assert_eq!(messages, [40, 2, 0]);
}

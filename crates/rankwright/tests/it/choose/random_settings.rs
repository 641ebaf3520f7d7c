//! Random workloads on random clusters, as `benchmarks/waiting` compares strategies on them: a few.

use std::ops::ControlFlow;
use std::path::Path;

use rankwright::choose;
use rankwright::cluster::Cluster;
use rankwright::cluster::read::toml;
use rankwright::map::{Budget, MAPPERS, Problem, Strategy};
use rankwright::placement::{Granularity, JobShape, Placement};
use rankwright::sim::{Options, simulate};
use rankwright::traffic::Workload;
use rankwright::traffic::read::jobs_file;

#[path = "../../../examples/random_workloads/settings.rs"]
mod settings;

use settings::Setting;

fn read(setting: &Setting) -> (Cluster, Workload) {
    let cluster = toml::parse(&setting.cluster, "cluster.toml", Path::new("."));
    let jobs = jobs_file::parse(&setting.jobs, "jobs.toml", Path::new("."));
    (cluster.expect("a cluster"), jobs.expect("jobs"))
}

#[test]
fn all_kinds_of_load_and_cluster_are_among_them() {
    let settings: Vec<Setting> = (1..=100).map(Setting::random).collect();
    let count = |condition: fn(&Setting) -> bool| settings.iter().filter(|s| condition(s)).count();
    assert!(count(|setting| setting.load < 0.3) > 20, "light");
    assert!(count(|setting| setting.load > 1.0) > 20, "saturated");
    assert!(count(|setting| setting.cluster.contains("uplink")) > 10, "links");
    assert!(count(|setting| setting.cluster.contains("free")) > 10, "taken cores");
    assert!(count(|setting| setting.cluster.matches("[[node]]").count() > 1) > 40, "node types");
    for setting in &settings {
        let (cluster, workload) = read(setting);
        assert!((2..=6).contains(&workload.jobs.len()));
        Problem::new(&cluster, &workload, Granularity::Cores(1)).expect("enough cores");
    }
}

#[test]
fn a_seed_gives_the_same_again() {
    let (first, again) = (Setting::random(7), Setting::random(7));
    assert_eq!((first.cluster, first.jobs), (again.cluster, again.jobs));
    assert_ne!(Setting::random(8).jobs, Setting::random(7).jobs);
}

/// The workload with a few rounds of each clock.
fn shortened(mut workload: Workload) -> Workload {
    for source in workload.jobs.iter_mut().flat_map(|job| &mut job.sources) {
        source.rounds = source.rounds.min(3);
    }
    workload
}

fn every_strategy_can_be_simulated_on(seed: u64) {
    let (cluster, workload) = read(&Setting::random(seed));
    let workload = shortened(workload);
    let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
    let mut messages = Vec::new();
    for entry in MAPPERS {
        let strategy: Strategy = entry.name.parse().unwrap();
        let strategy = strategy.with_default("effort", "fast").unwrap();
        let mapping = choose::map(&problem, &strategy, &Budget::default()).unwrap();
        let (shapes, slots) = (JobShape::of(&workload), problem.slots());
        let placement =
            Placement::from_slots(&cluster, &shapes, "test", slots, mapping.as_indices());
        let mut observer = |_: &_| ControlFlow::Continue(());
        let options = Options { seed: 1001, ..Options::default() };
        let placement = placement.expect("a valid placement");
        let outcome = simulate(&cluster, &workload, &placement, &options, &mut observer);
        messages.push(outcome.expect("a simulation").messages);
    }
    assert!(messages[0] > 0 && messages.iter().all(|count| *count == messages[0]));
}

// A test each: they take long and run side by side.

#[test]
fn every_strategy_can_be_simulated_on_the_first() {
    every_strategy_can_be_simulated_on(1);
}

#[test]
fn every_strategy_can_be_simulated_on_the_second() {
    every_strategy_can_be_simulated_on(2);
}

#[test]
fn every_strategy_can_be_simulated_on_the_third() {
    every_strategy_can_be_simulated_on(3);
}

#[test]
fn every_strategy_can_be_simulated_on_the_fourth() {
    every_strategy_can_be_simulated_on(4);
}

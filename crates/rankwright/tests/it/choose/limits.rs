//! Plans whose time is limited, or that are ended by their observer: always a valid placement.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rankwright::Planner;
use rankwright::choose::{Plan, PlanProgress};
use rankwright::map::{MAPPERS, Strategy};
use rankwright::rails::Selection;
use rankwright::sim::{Options, Pacing};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;

use crate::clusters::{four_by_four, with_two_nics};
use crate::workloads::{ring, workload};

fn timed() -> Workload {
    let halo = "halo-2d:16:renumber,rate=200,length=64kB,messages=40";
    workload(vec![Pattern::parse(halo).unwrap().job().unwrap()])
}

fn untimed() -> Workload {
    workload(vec![ring("ring", 16, 1000)])
}

/// That every rank of the plan has a place.
fn assert_valid(plan: &Plan, what: &str) {
    assert_eq!(plan.placement.ranks().count(), 16, "{what}");
    assert!(!plan.candidates.is_empty(), "{what}");
}

#[test]
fn a_spent_budget_still_gives_a_placement() {
    let cluster = four_by_four();
    let over = || 7.0;
    for jobs in [timed(), untimed()] {
        for pacing in [Pacing::Open, Pacing::AfterArrival] {
            let simulation = Options { pacing, ..Options::default() };
            let planner = Planner::new(&cluster, &jobs).simulation(simulation).clock(Some(&over));
            assert_valid(&planner.plan().unwrap(), "all strategies");
            for entry in MAPPERS {
                let strategies: Vec<Strategy> =
                    vec![entry.name.parse().unwrap(), "blocked".parse().unwrap()];
                let default = "blocked".parse::<Strategy>().unwrap();
                let alone = if entry.name == "blocked" { &strategies[1..] } else { &strategies };
                // The launcher's default cannot win, so that the other must have a mapping.
                let reference = entry.name != "blocked";
                let planner =
                    planner.clone().strategies(alone).launcher_default(default.id(), reference);
                assert_valid(&planner.plan().unwrap(), entry.name);
            }
        }
    }
}

#[test]
fn a_spent_budget_still_chooses_devices() {
    let cluster = with_two_nics(four_by_four());
    let jobs = timed();
    let over = || 1.0;
    let by_load: Selection = "by-load".parse().unwrap();
    let plan = Planner::new(&cluster, &jobs).devices(by_load).clock(Some(&over)).plan().unwrap();
    assert_valid(&plan, "by-load");
    assert!(plan.placement.ranks().all(|place| !place.nics.is_empty()));
}

#[test]
fn each_stage_obtains_a_share_of_the_budget() {
    let (cluster, jobs) = (four_by_four(), timed());
    // The clock ticks when it is read: time is work, on any machine.
    let ticks = AtomicU32::new(0);
    let clock = || f64::from(ticks.fetch_add(1, Ordering::Relaxed)) / 20_000.0;
    let now = || f64::from(ticks.load(Ordering::Relaxed)) / 20_000.0;
    let (strategies, simulations) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let observer = |progress: &PlanProgress| {
        match progress {
            PlanProgress::Strategy { strategy, .. } => {
                strategies.lock().unwrap().push((strategy.to_string(), now()));
            }
            PlanProgress::Simulation { done, .. } => {
                assert!((0.0..=1.0).contains(done), "{done}");
                simulations.lock().unwrap().push(now());
            }
            _ => (),
        }
        ControlFlow::Continue(())
    };
    let planner = Planner::new(&cluster, &jobs).clock(Some(&clock)).observer(&observer);
    let plan = planner.plan().unwrap();
    assert!(!plan.stopped && plan.left_out.is_empty(), "{:?}", plan.left_out);
    let strategies = strategies.into_inner().unwrap();
    for searching in ["multisection", "contention"] {
        let its = strategies.iter().filter(|(name, _)| name == searching).map(|(_, at)| *at);
        let (first, last) = its.fold((f64::INFINITY, 0.0_f64), |(a, b), at| (a.min(at), b.max(at)));
        assert!(first < 0.7 && last <= 0.75, "{searching} from {first} to {last}");
    }
    let simulations = simulations.into_inner().unwrap();
    assert!(simulations[0] <= 0.75, "simulations begin at {}", simulations[0]);
    assert!(plan.evaluation.is_some_and(|evaluation| evaluation.share > 0.0));
}

#[test]
fn what_was_found_in_time_is_not_dropped() {
    let (cluster, jobs) = (four_by_four(), untimed());
    let ticks = AtomicU32::new(0);
    let clock = || f64::from(ticks.fetch_add(1, Ordering::Relaxed)) / 5_000.0;
    let plan = Planner::new(&cluster, &jobs).clock(Some(&clock)).plan().unwrap();
    assert!(clock() >= 1.0, "searches take all of the time");
    assert!(plan.left_out.is_empty(), "{:?}", plan.left_out);
}

#[test]
fn an_observer_ends_a_plan_at_any_point_and_gets_the_best_so_far() {
    let (cluster, jobs) = (four_by_four(), timed());
    let strategies: Vec<Strategy> = ["blocked", "kway", "multisection", "contention:moves=20000"]
        .map(|it| it.parse().unwrap())
        .into();
    let run = |calls: u32| {
        let called = AtomicU32::new(0);
        let observer = |_: &PlanProgress| match called.fetch_add(1, Ordering::Relaxed) < calls {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let planner = Planner::new(&cluster, &jobs).strategies(&strategies).observer(&observer);
        let plan = planner.plan().unwrap();
        (plan, called.into_inner())
    };
    let (whole, all) = run(u32::MAX);
    assert!(!whole.stopped);
    for calls in [0, 1, 2, 3, 5, 10, all / 4, all / 2, all - 1] {
        let (plan, called) = run(calls);
        assert!(plan.stopped, "after {calls} of {all} calls");
        assert_valid(&plan, "stopped");
        assert!(called <= calls + 60, "{called} calls, the observer ended it after {calls}");
    }
}

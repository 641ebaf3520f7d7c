//! Pack or spread.

use rankwright::Planner;
use rankwright::choose::{
    MemoryTraffic, PlanError, Population, Preference, TimeEstimate, populations,
};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy, StrategyId};
use rankwright::placement::Granularity;
use rankwright::report::PopulationReport;
use rankwright::traffic::Workload;
use rankwright::units::{BytesPerSecond, PerSecond, Seconds};

use super::answers::recorded;
use crate::clusters::{Kind, cluster, four_by_four};
use crate::workloads::{ring, workload};

fn compared(
    cluster: &Cluster,
    jobs: &Workload,
    counts: &[usize],
    traffic: MemoryTraffic,
) -> Vec<Population> {
    estimated(cluster, jobs, counts, traffic).1
}

fn estimated(
    cluster: &Cluster,
    jobs: &Workload,
    counts: &[usize],
    traffic: MemoryTraffic,
) -> (TimeEstimate, Vec<Population>) {
    let strategies = ["blocked".parse().unwrap(), "cyclic".parse().unwrap()];
    let planner = Planner::new(cluster, jobs).strategies(&strategies);
    let planner = planner.evaluate_all(jobs.is_recorded());
    let mut plan = |problem: Problem, _| planner.plan_in(problem);
    let default = strategies[0].id();
    populations((cluster, jobs), Granularity::Cores(1), counts, &mut plan, default, traffic)
}

fn blocked() -> StrategyId {
    "blocked".parse::<Strategy>().unwrap().id().clone()
}

fn times(populations: &[Population]) -> Vec<f64> {
    populations.iter().map(|population| population.best.as_ref().unwrap().estimate.time.0).collect()
}

#[test]
fn ranks_are_spread_evenly_over_nodes_and_memories() {
    let cluster = cluster(&[(1, Kind(2, 1, 4, 1)), (3, Kind(1, 1, 2, 1))]);
    let jobs = workload(vec![ring("a", 9, 1000)]);
    let rows = compared(&cluster, &jobs, &[1, 2, 3, 4], MemoryTraffic::Unknown);
    assert_eq!(
        rows[0].best.as_ref().unwrap_err().to_string(),
        "9 ranks need 9 free cores, but cluster `test` offers 8"
    );
    let few = compared(&cluster, &workload(vec![ring("a", 2, 1)]), &[3], MemoryTraffic::Unknown);
    assert_eq!(few[0].best.as_ref().unwrap_err().to_string(), "2 ranks would use only 2 of them");
    // Small nodes are filled.
    let per_node = |at: usize| rows[at].best.as_ref().unwrap().ranks_per_node;
    assert_eq!([per_node(1), per_node(2), per_node(3)], [(2, 7), (2, 5), (2, 3)]);
    let three: Vec<u32> = {
        let placement = &rows[3].best.as_ref().unwrap().candidate.placement;
        let on_first = placement.ranks().filter(|place| place.node.0 == 0);
        on_first.map(|place| place.cores[0].0).collect()
    };
    // Two of one memory, one of the other.
    assert_eq!(three.len(), 3);
    assert_eq!(three.iter().filter(|core| **core < 4).count(), 2);
}

#[test]
fn without_memory_traffic_packing_wins_with_it_spreading() {
    // A ring that fits one node needs no network there.
    let cluster = four_by_four();
    let jobs = workload(vec![ring("a", 4, 1_000_000).at_rate(PerSecond(1.0), 1.0)]);
    let counts = [1, 2, 4];
    let packed = compared(&cluster, &jobs, &counts, MemoryTraffic::Unknown);
    assert_eq!(Population::preferred(&packed, Preference::Time), Some(0));
    assert_eq!(packed[0].best.as_ref().unwrap().estimate.memory_utilisation, None);
    // Four ranks that ask for 3 GB/s each of a memory that gives 4 GB/s.
    let traffic = MemoryTraffic::PerRank(BytesPerSecond(3e9));
    let rows = compared(&cluster, &jobs, &counts, traffic);
    let [on_1, on_2, on_4] = times(&rows)[..] else { panic!("three") };
    assert!(
        (on_1 / on_4 - 3.0).abs() < 0.1 && (on_2 / on_4 - 1.5).abs() < 0.1,
        "{on_1} {on_2} {on_4}"
    );
    assert_eq!(Population::preferred(&rows, Preference::Time), Some(2));
    // 1 x 3, 2 x 1.5, 4 x 1: the first two cost the same, and the second is faster.
    assert_eq!(Population::preferred(&rows, Preference::NodeHours), Some(1));
    let asked = rows[0].best.as_ref().unwrap().estimate.memory_utilisation.unwrap();
    assert!((asked - 3.0).abs() < 0.01, "{asked}");
    let report = PopulationReport::new(
        &cluster,
        &rows,
        Preference::Time,
        (TimeEstimate::Fluid, traffic),
        &blocked(),
    );
    assert_eq!(report.best, Some(4));
    insta::assert_snapshot!(format!("{}\n{}", report.reason, report.remarks()));
}

#[test]
fn recorded_time_outside_mpi_counts_where_no_clocks_are_known() {
    let cluster = four_by_four();
    let mut jobs = workload(vec![ring("a", 4, 1_000_000)]);
    assert_eq!(TimeEstimate::of(&jobs), TimeEstimate::Bytes);
    jobs.jobs[0].compute = vec![Seconds(10.0); 4];
    assert_eq!(TimeEstimate::of(&jobs), TimeEstimate::ComputeAndBytes);
    let traffic = MemoryTraffic::PerRank(BytesPerSecond(2e9));
    let times = times(&compared(&cluster, &jobs, &[1, 2], traffic));
    let [on_1, on_2] = times[..] else { panic!("two") };
    // The memory of one node has a utilisation of 2, and there are 8 MB of messages.
    assert!((on_1 - (20.0 + 8e6 / 4e9)).abs() < 1e-9, "{on_1}");
    assert!((on_2 - (10.0 + 1e-3 + 4e6 / 4e9)).abs() < 1e-9, "{on_2}");
}

#[test]
fn recorded_runs_are_simulated_as_for_a_single_number() {
    let cluster = four_by_four();
    let jobs = recorded("ring:8:rate=10,length=1MB,messages=10", &["node0", "node1"], 1.0, 0.5);
    let (by, rows) = estimated(&cluster, &jobs, &[2, 4], MemoryTraffic::Unknown);
    assert_eq!(by, TimeEstimate::Simulation);
    let strategies = ["blocked".parse().unwrap(), "cyclic".parse().unwrap()];
    let two = cluster.clone().first_nodes(2);
    let plan = Planner::new(&two, &jobs).strategies(&strategies).plan().unwrap();
    let populated = rows[0].best.as_ref().unwrap();
    assert_eq!(Some(populated.estimate.time), plan.best().score.finish);
    // Its memory is asked for twice what it gives, and a little by messages: computing takes .5 s more.
    let traffic = MemoryTraffic::PerRank(BytesPerSecond(2e9));
    let slowed = estimated(&cluster, &jobs, &[2], traffic).1;
    let more = times(&slowed)[0] - populated.estimate.time.0;
    assert!((0.5..0.53).contains(&more), "{more}");
    // Where the computing is unknown, all the time is slowed down.
    let mut unknown = jobs;
    unknown.jobs[0].compute.clear();
    let plain = times(&estimated(&cluster, &unknown, &[2], MemoryTraffic::Unknown).1)[0];
    let ratio = times(&estimated(&cluster, &unknown, &[2], traffic).1)[0] / plain;
    assert!((2.0..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn simulated_times_are_in_proportion_to_replays() {
    let cluster = four_by_four();
    let jobs = recorded("ring:8:rate=10,length=1MB,messages=10", &["node0", "node1"], 1.0, 0.5);
    let strategies = ["blocked".parse().unwrap()];
    let planner = Planner::new(&cluster, &jobs).strategies(&strategies).evaluate_all(true);
    let compared = |replayed: usize| {
        let mut plan = |problem: Problem, (number, _)| {
            let mut plan = planner.plan_in(problem)?;
            if let Some(evaluation) = plan.evaluation.as_mut().filter(|_| number < replayed) {
                (evaluation.replayed, evaluation.replay_to_simulation) = (true, 3.0);
            }
            Ok::<_, PlanError>(plan)
        };
        let (one, unknown) = (Granularity::Cores(1), MemoryTraffic::Unknown);
        populations((&cluster, &jobs), one, &[2, 4], &mut plan, &blocked(), unknown)
    };
    let (by, simulated) = compared(0);
    let (mixed_by, mixed) = compared(1);
    assert_eq!([by, mixed_by], [TimeEstimate::Simulation; 2]);
    let (simulated, mixed) = (times(&simulated), times(&mixed));
    assert!((mixed[0] / simulated[0] - 1.0).abs() < 1e-9, "{mixed:?} {simulated:?}");
    assert!((mixed[1] / simulated[1] - 3.0).abs() < 1e-9, "{mixed:?} {simulated:?}");
}

#[test]
fn the_first_line_is_about_what_is_preferred() {
    let cluster = four_by_four();
    let jobs = workload(vec![ring("a", 4, 1_000_000).at_rate(PerSecond(1.0), 1.0)]);
    let traffic = MemoryTraffic::PerRank(BytesPerSecond(3e9));
    let reason = |counts: &[usize]| {
        let rows = compared(&cluster, &jobs, counts, traffic);
        let by = TimeEstimate::Fluid;
        PopulationReport::new(&cluster, &rows, Preference::NodeHours, (by, traffic), &blocked())
            .reason
    };
    insta::assert_snapshot!(format!("{}\n{}", reason(&[2, 4]), reason(&[2])));
}

#[test]
fn no_population_at_all_is_said() {
    let jobs = workload(vec![ring("a", 17, 1)]);
    let rows = compared(&four_by_four(), &jobs, &[3, 4], MemoryTraffic::Unknown);
    assert_eq!(Population::preferred(&rows, Preference::Time), None);
    let report = PopulationReport::new(
        &four_by_four(),
        &rows,
        Preference::Time,
        (TimeEstimate::Bytes, MemoryTraffic::Unknown),
        &blocked(),
    );
    assert_eq!(report.best, None);
    insta::assert_snapshot!(format!("{}\n{}", report.reason, report.remarks()));
}

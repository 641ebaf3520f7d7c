//! What `place` says first: whether a placement pays, and by how much.

use rankwright::Planner;
use rankwright::choose::{Plan, PlanError};
use rankwright::cluster::Cluster;
use rankwright::launch;
use rankwright::map::{Effort, MapError, Strategy};
use rankwright::report::{Answer, Role, Verdict};
use rankwright::traffic::Workload;
use rankwright::traffic::generate::pattern::Pattern;
use rankwright::traffic::profile::RoughComputing;
use rankwright::units::Seconds;

use crate::clusters::{Kind, cluster};

/// Two nodes of two packages with four cores each.
fn two_nodes() -> Cluster {
    cluster(&[(2, Kind(2, 1, 4, 1))])
}

/// A pattern, and the run in which it was recorded: the host of each rank, the run time, and how long
/// each rank computed.
pub(super) fn recorded(pattern: &str, hosts: &[&str], wall: f64, compute: f64) -> Workload {
    let mut job = Pattern::parse(pattern).unwrap().job().unwrap();
    let ranks = job.ranks as usize;
    job.seen.hosts = (0..ranks).map(|rank| hosts[rank * hosts.len() / ranks].to_owned()).collect();
    job.seen.wall = Some(Seconds(wall));
    job.compute = vec![Seconds(compute); ranks];
    Workload::single(job)
}

fn plan(cluster: &Cluster, workload: &Workload, strategies: &[&str]) -> Plan {
    let strategies: Vec<Strategy> = strategies.iter().map(|name| name.parse().unwrap()).collect();
    Planner::new(cluster, workload).strategies(&strategies).plan().unwrap()
}

fn answer(workload: &Workload, strategies: &[&str]) -> Answer {
    let cluster = two_nodes();
    let plan = plan(&cluster, workload, strategies);
    Answer::new(&cluster, workload, &plan, launch::find("mpich").unwrap(), None)
}

/// The answer as a person sees it.
fn shown(workload: &Workload, strategies: &[&str]) -> String {
    let answer = answer(workload, strategies);
    let (header, rows) = answer.table();
    let lines = rows.iter().map(|row| row.join(" | "));
    let table: Vec<String> = [header.join(" | ")].into_iter().chain(lines).collect();
    format!("{}\n{}\n{}", answer.text, table.join("\n"), answer.remarks())
}

/// Heavy traffic between ranks that are apart in rank order.
const APART: &str = "halo-2d:16:renumber,rate=2000,length=256KiB,messages=2000";

const ALL: [&str; 3] = ["blocked", "kway", "multisection"];

#[test]
fn the_table_of_all_ends_with_the_other_strategies() {
    let strategies = ["blocked", "cyclic", "random", "kway", "multisection"];
    let answer = answer(&recorded(APART, &["a", "b"], 1.9, 0.8), &strategies);
    let ((header, rows), (same, all)) = (answer.table(), answer.table_of_all());
    assert_eq!((header.clone(), &rows[..]), (same, &all[..rows.len()]));
    assert_eq!(all.len(), strategies.len());
    let run_time = header.iter().position(|title| *title == "run time").unwrap();
    for row in &all[rows.len()..] {
        assert!(strategies.contains(&row[0].as_str()) && row[run_time].ends_with('s'), "{row:?}");
    }
}

#[test]
fn a_run_on_the_same_nodes_has_an_expected_time() {
    let workload = recorded(APART, &["a", "b"], 1.9, 0.8);
    insta::assert_snapshot!(shown(&workload, &ALL));
}

#[test]
fn a_run_on_one_node_counts_as_free_of_contention() {
    let workload = recorded(APART, &["a"], 1.1, 0.8);
    insta::assert_snapshot!(shown(&workload, &ALL));
}

#[test]
fn after_a_run_with_shared_pus_only_the_ratio_is_known() {
    let mut workload = recorded(APART, &["a", "b"], 1.9, 0.8);
    workload.jobs[0].seen.shared_pus = true;
    insta::assert_snapshot!(shown(&workload, &ALL));
}

#[test]
fn after_a_disturbed_run_the_simulated_times_are_those_of_an_undisturbed_one() {
    let mut workload = recorded(APART, &["a", "b"], 19.0, 0.8);
    workload.jobs[0].seen.undisturbed = Some(Seconds(0.8));
    workload.jobs[0].seen.rough = Some(RoughComputing::Threads);
    insta::assert_snapshot!(shown(&workload, &ALL));
}

#[test]
fn threads_without_cores_are_told() {
    let mut workload = recorded(APART, &["a", "b"], 1.9, 0.8);
    let told = |workload: &Workload| {
        let weaknesses = answer(workload, &ALL).weaknesses;
        weaknesses.iter().find(|it| it.code == "threads-without-cores").map(ToString::to_string)
    };
    assert_eq!(told(&workload), None);
    workload.jobs[0].seen.threaded = true;
    insta::assert_snapshot!(told(&workload).unwrap());
}

#[test]
fn little_communication_leaves_nothing_to_gain() {
    let answer = answer(&recorded(APART, &["a", "b"], 1.9, 1.89), &ALL);
    assert_eq!(answer.text, "No placement helps here: 0.5 % of the run time is communication.");
    assert_eq!(answer.verdict, Verdict::NoGain);
    let best = &answer.rows[0];
    assert_eq!(best.strategy.to_string(), "blocked");
}

#[test]
fn traffic_beside_mpi_makes_the_run_time_unknown() {
    let mut workload = recorded(APART, &["a", "b"], 1.9, 0.8);
    workload.jobs[0].seen.beside_mpi = vec!["NCCL".to_owned()];
    let answer = answer(&workload, &ALL);
    assert_eq!(answer.verdict, Verdict::Unknown);
    assert_eq!(
        answer.text,
        "Unknown: traffic beside MPI (NCCL). 67 % fewer bytes between nodes than with the \
         launcher's default; of MPI alone."
    );
    // The time in NCCL is not computing.
    workload.jobs[0].compute = vec![Seconds(1.89); 16];
    assert_eq!(self::answer(&workload, &ALL).verdict, Verdict::Unknown);
    assert_eq!(plan(&two_nodes(), &workload, &ALL).best().strategy.name(), "kway");
}

#[test]
fn a_profile_that_was_not_simulated_has_no_run_time() {
    let workload = recorded(APART, &["a", "b"], 1.9, 0.8);
    let cluster = two_nodes();
    let strategies: Vec<Strategy> = ALL.map(|name| name.parse().unwrap()).into();
    let planner = Planner::new(&cluster, &workload).strategies(&strategies).effort(Effort::Fast);
    let launcher = launch::find("mpich").unwrap();
    let answer = Answer::new(&cluster, &workload, &planner.plan().unwrap(), launcher, None);
    assert!(answer.text.ends_with("; not simulated, so no run time."), "{}", answer.text);
}

#[test]
fn a_gain_within_the_error_is_not_proven() {
    let light = "halo-2d:16:renumber,rate=150,length=256KiB,messages=150";
    let answer = answer(&recorded(light, &["a", "b"], 1.2, 0.8), &ALL);
    assert_eq!(answer.verdict, Verdict::NotProven, "{}", answer.text);
    assert_eq!(answer.rows[0].role, Role::DefaultAndBest);
    insta::assert_snapshot!(answer.text);
}

#[test]
fn a_gain_of_zero_leaves_the_default() {
    let light = "halo-2d:16:renumber,rate=20,length=1KiB,messages=20";
    let answer = answer(&recorded(light, &["a", "b"], 1.9, 0.8), &ALL);
    assert_eq!(answer.verdict, Verdict::NoGain, "{}", answer.text);
    assert_eq!(answer.rows[0].role, Role::DefaultAndBest);
}

/// Devices are far from saturated, but a rank computes only when its messages have arrived.
#[test]
fn messages_cost_time_before_devices_are_saturated() {
    let pattern = "halo-2d:16:renumber,rate=100,length=256KiB,messages=100,cv=0";
    let told = answer(&recorded(pattern, &["a"], 1.0, 0.9), &ALL);
    let idle = answer(&recorded(&pattern.replace("256KiB", "1KiB"), &["a"], 1.0, 0.9), &ALL);
    insta::assert_snapshot!(format!("{}\n{}", told.text, idle.text));
}

#[test]
fn little_waiting_is_told_where_less_of_it_is_no_gain() {
    let light = "halo-2d:16:renumber,rate=20,length=4KiB,messages=50";
    let answer = answer(&Workload::single(Pattern::parse(light).unwrap().job().unwrap()), &ALL);
    let least = "No placement helps here: with the launcher's default messages wait for 0.0";
    assert!(answer.text.starts_with(least), "{}", answer.text);
    assert!(answer.rows[1].total_waiting_s < answer.rows[0].total_waiting_s);
}

#[test]
fn where_the_default_is_best_nothing_is_gained() {
    let in_order = "halo-2d:16:rate=200,length=64KiB,messages=100";
    insta::assert_snapshot!(shown(
        &Workload::single(Pattern::parse(in_order).unwrap().job().unwrap()),
        &ALL
    ));
}

#[test]
fn rates_give_waiting_and_bare_traffic_gives_bytes() {
    let job = |pattern: &str| Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    insta::assert_snapshot!(shown(&job(APART), &ALL));
    insta::assert_snapshot!(shown(&job("halo-2d:16:renumber,length=256KiB,messages=200"), &ALL));
    // All on one node: fewer bytes between packages.
    insta::assert_snapshot!(shown(&job("halo-2d:8:renumber,length=256KiB,messages=200"), &ALL));
}

#[test]
fn where_nothing_is_sent_that_is_the_answer() {
    let mut job = Pattern::parse("ring:16").unwrap().job().unwrap();
    job.flows.clear();
    let text = answer(&Workload::single(job), &ALL).text;
    assert_eq!(text, "No placement helps here: ring-16 has no messages between ranks.");
}

#[test]
fn a_search_without_time_does_not_say_that_no_placement_helps() {
    let cluster = two_nodes();
    let job = Pattern::parse("halo-2d:16:length=256KiB,messages=200").unwrap().job().unwrap();
    let workload = Workload::single(job);
    let mut plan = plan(&cluster, &workload, &["blocked", "cyclic"]);
    let mpich = launch::find("mpich").unwrap();
    let text = |plan: &Plan| Answer::new(&cluster, &workload, plan, mpich, None).text;
    assert!(text(&plan).starts_with("No placement helps here: "), "{}", text(&plan));
    let strategy: Strategy = "kway".parse().unwrap();
    let late = PlanError::Map { strategy: strategy.id().clone(), error: MapError::NoTime };
    plan.left_out.push((strategy.id().clone(), late));
    let told = "No better placement was found in this time: 1 of 3 strategies had none left, ";
    assert!(text(&plan).starts_with(told), "{}", text(&plan));
}

#[test]
fn bytes_between_numa_nodes_are_called_so() {
    let cluster = cluster(&[(1, Kind(1, 4, 4, 1))]);
    let pattern = "halo-2d:16:renumber,length=256KiB,messages=200";
    let workload = Workload::single(Pattern::parse(pattern).unwrap().job().unwrap());
    let plan = plan(&cluster, &workload, &ALL);
    let mpich = launch::find("mpich").unwrap();
    let text = Answer::new(&cluster, &workload, &plan, mpich, None).text;
    assert!(text.contains(" % fewer bytes between NUMA nodes than with"), "{text}");
}

#[test]
fn a_reference_is_compared_with_and_never_wins() {
    let cluster = two_nodes();
    let workload = Workload::single(Pattern::parse(APART).unwrap().job().unwrap());
    let strategies: Vec<Strategy> = ["cyclic", "blocked"].map(|name| name.parse().unwrap()).into();
    let default = strategies[1].id().clone();
    let planner = Planner::new(&cluster, &workload).strategies(&strategies);
    let plan = planner.launcher_default(&default, true).plan().unwrap();
    assert_eq!(plan.best().strategy.name(), "cyclic");
    let answer = Answer::new(&cluster, &workload, &plan, launch::find("flux").unwrap(), None);
    assert_eq!(answer.rows.len(), 2);
    assert_eq!(answer.rows[0].strategy, default);
    assert!(answer.weaknesses.iter().any(|weakness| weakness.code == "default-assumed"));
}

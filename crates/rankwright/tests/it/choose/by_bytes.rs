//! Which candidate is the best by bytes alone, why, and how that is shown.

use rankwright::choose::{Candidate, ChooseOptions, candidates, rank_by_bytes, rank_candidates};
use rankwright::cluster::Cluster;
use rankwright::map::{Problem, Strategy};
use rankwright::placement::Granularity;
use rankwright::report::Comparison;
use rankwright::traffic::Workload;
use rankwright::units::Seconds;

use crate::clusters::{Kind, cluster, four_by_four};
use crate::workloads::{cliques, job, ring, scattered_halo, workload};

fn compared(cluster: &Cluster, jobs: &Workload, names: &[&str]) -> Comparison {
    let problem = Problem::new(cluster, jobs, Granularity::Cores(1)).unwrap();
    let strategies: Vec<Strategy> = names.iter().map(|name| name.parse().unwrap()).collect();
    let made = candidates(&problem, &strategies, &ChooseOptions::default());
    let candidates: Vec<Candidate> = made.results.into_iter().map(Result::unwrap).collect();
    Comparison::new(cluster, &candidates, &rank_by_bytes(&candidates), None)
}

/// Whether a strategy is the best, and whether that makes a difference.
fn best(comparison: &Comparison) -> (&'static str, bool) {
    (comparison.best.name(), comparison.matters)
}

#[test]
fn the_least_time_at_the_busiest_nic_wins() {
    let jobs = workload(vec![scattered_halo(4, 1_000_000)]);
    let comparison = compared(&four_by_four(), &jobs, &["blocked", "cyclic", "kway"]);
    assert_eq!(best(&comparison), ("kway", true));
    insta::assert_snapshot!(comparison.reason);
}

#[test]
fn with_equal_nics_hops_decide() {
    // Pairs 0-4, 1-5, ..: blocked and kway keep all in the node, kway also in one package.
    let jobs = workload(vec![cliques(4, 2)]);
    let comparison = compared(&cluster(&[(1, Kind(4, 1, 2, 1))]), &jobs, &["blocked", "kway"]);
    assert_eq!(best(&comparison), ("kway", true));
    insta::assert_snapshot!(comparison.reason);
}

#[test]
fn blocked_is_preferred_among_equals() {
    let jobs = workload(vec![ring("a", 16, 1000)]);
    let comparison = compared(&four_by_four(), &jobs, &["cyclic", "kway", "blocked"]);
    assert_eq!(best(&comparison), ("blocked", true));
    insta::assert_snapshot!(comparison.reason);
}

#[test]
fn without_traffic_it_does_not_matter() {
    let jobs = workload(vec![job("a", 16, vec![])]);
    let comparison = compared(&four_by_four(), &jobs, &["cyclic", "blocked", "kway"]);
    assert_eq!(best(&comparison), ("blocked", false));
    insta::assert_snapshot!(comparison.reason);
}

#[test]
fn a_single_candidate_wins() {
    let jobs = workload(vec![ring("a", 16, 1000)]);
    let comparison = compared(&four_by_four(), &jobs, &["cyclic"]);
    assert_eq!(comparison.reason, "cyclic is the only strategy that was tried.");
}

#[test]
fn a_comparison_has_a_stable_json_form() {
    let cluster = cluster(&[(2, Kind(1, 1, 2, 1))]);
    let jobs = workload(vec![cliques(2, 2)]);
    let comparison = compared(&cluster, &jobs, &["blocked", "kway:seed=3"]);
    insta::assert_snapshot!(comparison.to_json());
    assert_eq!(comparison.caveat(), "static estimate, rates assumed: paper-2013");
}

#[test]
fn who_lets_ranks_compute_longer_than_they_must_cannot_win() {
    // Rank 0 computes four times as long as the others, and node 1 is twice as fast as node 0.
    let cluster = cluster(&[(1, Kind(1, 1, 2, 1)), (1, Kind(1, 1, 2, 1))]);
    let cluster = cluster.edit(|parts| parts.groups[1].speed = 2.0).unwrap();
    let mut jobs = workload(vec![ring("a", 4, 1000)]);
    jobs.jobs[0].compute = [4.0, 1.0, 1.0, 1.0].map(Seconds).to_vec();
    let problem = Problem::new(&cluster, &jobs, Granularity::Cores(1)).unwrap();
    let strategies = ["blocked", "kway"].map(|name| name.parse::<Strategy>().unwrap());
    let made = candidates(&problem, &strategies, &ChooseOptions::default());
    let candidates: Vec<Candidate> = made.results.into_iter().flatten().collect();
    let makespans = candidates.iter().map(|candidate| candidate.computing.unwrap().makespan);
    assert_eq!(makespans.collect::<Vec<_>>(), [Seconds(4.0), Seconds(2.0)]);
    let ranked = rank_candidates(&candidates, None);
    assert_eq!((ranked.best(), ranked.ranking.matters()), (1, true));
    assert_eq!(
        Comparison::new(&cluster, &candidates, &ranked, None).reason,
        "Only kway balances the computing times. Under blocked ranks compute for up to 4.00 s, where \
         2.00 s is possible, so it cannot win."
    );
}

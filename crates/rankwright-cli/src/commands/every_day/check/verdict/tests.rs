//! Tests of verdicts.

use super::super::shown::{render, sentence, wrong};
use super::*;
use crate::options::Format;

const PLACEMENT: &str = r#"{
    "format": 1, "strategy": "by hand", "workload_digest": "",
    "cluster": {"name": "c", "digest": "", "emulated": false},
    "nodes": [{"name": "n0", "cores": 4, "pus": 4, "numa_os": [0, 8]}],
    "jobs": [{"name": "j", "ranks": [
        {"rank": 0, "node": "n0", "cores": [2], "pus": [2], "numa": 1},
        {"rank": 1, "node": "n0", "cores": [0, 1], "pus": [0, 1], "numa": 0, "bound": false}
    ]}]
}"#;

fn report(rank: Option<u32>, host: &str, pus: &str, numa: &str, memory: &str) -> ReportLine {
    ReportLine {
        rank,
        host: host.to_owned(),
        pus: pus.to_owned(),
        pu: Some(0),
        numa: numa.to_owned(),
        memory: memory.to_owned(),
        cpuset: "0-3".to_owned(),
        variables: Vec::new(),
        missing_devices: Vec::new(),
        untold_devices: Vec::new(),
    }
}

fn of_faults(faults: Vec<Vec<String>>) -> Vec<Remarks> {
    faults.into_iter().map(Remarks::of_faults).collect()
}

/// Per verdict: the rank and what differs.
fn differences_of(reports: &[ReportLine]) -> Vec<(Option<u32>, String)> {
    let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
    let shared = shared(&placement, &placement.jobs[0], reports);
    let verdicts = verdicts(&placement, &placement.jobs[0], None, reports, &of_faults(shared));
    verdicts.into_iter().map(|verdict| (verdict.rank, verdict.differences.join("; "))).collect()
}

#[test]
fn ranks_in_their_places_differ_in_nothing() {
    let reports = [
        report(Some(1), "n0.cluster.org", "1", "0", "default"),
        report(Some(0), "n0", "2", "8", "preferred:8"),
    ];
    let nothing = String::new();
    assert_eq!(differences_of(&reports), [(Some(0), nothing.clone()), (Some(1), nothing)]);
}

#[test]
fn every_kind_of_difference_is_named() {
    let reports = [
        report(Some(0), "n1", "3", "0", "default"),
        report(Some(1), "n0", "0-1", "0", "bind:8"),
        report(Some(1), "n0", "0-1", "0", "default"),
        report(Some(2), "n0", "0", "0", "default"),
        report(None, "n0", "0", "0", "default"),
    ];
    let expected = [
        (
            Some(0),
            "on n1 instead of n0; PUs P#3 instead of P#2 (the job may use P#0-3); \
             memory policy default with PUs beside NUMA node P#0 instead of P#8",
        ),
        (
            Some(1),
            "memory policy bind:8 with PUs beside NUMA node P#0 instead of P#0; \
             2 processes report this rank",
        ),
        (Some(2), "was not placed"),
        (None, "no rank variable is set"),
    ];
    assert_eq!(differences_of(&reports), expected.map(|(rank, text)| (rank, text.to_owned())));
    assert_eq!(differences_of(&[])[0].1, "did not report");
}

#[test]
fn variables_devices_and_ranks_on_one_pu_are_told() {
    let text = PLACEMENT.replace(", \"bound\": false", "");
    let placement = PlacementFile::parse(&text, "test").unwrap();
    let mut reports = [
        report(Some(0), "n0", "2", "8", "preferred:8"),
        report(Some(1), "n0", "1-2", "0", "default"),
    ];
    let variable = |(name, wanted, actual): (&str, &str, Option<&str>)| Variable {
        name: name.to_owned(),
        wanted: wanted.to_owned(),
        actual: actual.map(str::to_owned),
    };
    reports[0].variables =
        [("A", "1", Some("1")), ("UCX_NET_DEVICES", "mlx5_0:1", Some("all")), ("B", "2", None)]
            .map(variable)
            .to_vec();
    reports[1].missing_devices = vec!["mlx5_1".to_owned()];
    reports[1].untold_devices = vec!["port A".to_owned()];
    let untold = unverifiable(&placement, &placement.jobs[0], &reports);
    assert!(
        untold.len() == 1 && untold[0].contains("the hosts have port A is not known"),
        "{untold:?}"
    );
    let shared = shared(&placement, &placement.jobs[0], &reports);
    let verdicts = verdicts(&placement, &placement.jobs[0], None, &reports, &of_faults(shared));
    let differences: Vec<String> =
        verdicts.iter().map(|verdict| verdict.differences.join("; ")).collect();
    let expected = [
        "UCX_NET_DEVICES is all instead of mlx5_0:1; B is not set, should be 2; shares PU P#2 with rank 1",
        "n0 has no device mlx5_1; PUs P#1-2 instead of P#0-1 (the job may use P#0-3); \
         shares PU P#2 with rank 0",
    ];
    assert_eq!(differences, expected);
    let json = render(&verdicts, Format::Json, false).unwrap();
    assert!(json.contains("\"UCX_NET_DEVICES\": \"all\""), "{json}");
}

#[test]
fn ranks_beside_another_job_are_in_their_places() {
    let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
    let in_place = [
        report(Some(0), "n0", "2", "8", "preferred:8"),
        report(Some(1), "n0", "0-1", "0", "default"),
    ];
    let remarks = |beside: &str, job: &str| Remarks {
        beside: (!beside.is_empty()).then(|| beside.to_owned()).into_iter().collect(),
        job: job.to_owned(),
        ..Remarks::default()
    };
    let told = |reports: &[ReportLine], remarks: &[Remarks]| {
        let verdicts = verdicts(&placement, &placement.jobs[0], Some("n0"), reports, remarks);
        (sentence(&verdicts), wrong(&verdicts), verdicts[0].differences.join("; "))
    };
    let one_of_two = told(&in_place, &[remarks("shares a core", "a"), remarks("", "a")]);
    let sentence = "all 2 ranks are where they should be, but 1 shares its core with another job";
    assert_eq!(one_of_two, (sentence.to_owned(), 1, "shares a core".to_owned()));
    // Two jobs with the same ranks, in the same places or not.
    let mut both = [in_place.clone(), in_place].concat();
    let of_jobs = |beside: &str| ["a", "a", "b", "b"].map(|job| remarks(beside, job));
    let (sentence, wrong, differences) = told(&both, &of_jobs("shares a core"));
    let expected = "all 2 ranks are where they should be, but 2 share cores with another job, and \
                    several jobs have 2 of these ranks";
    assert_eq!((sentence.as_str(), wrong), (expected, 2));
    let expected = "shares a core; 2 processes report this rank (of the jobs a and b choose one with \
                    `--running=JOB`)";
    assert_eq!(differences, expected);
    both[2].pus = "3".to_owned();
    let (sentence, ..) = told(&both, &of_jobs(""));
    assert_eq!(sentence, "1 of 2 ranks are not where they should be");
}

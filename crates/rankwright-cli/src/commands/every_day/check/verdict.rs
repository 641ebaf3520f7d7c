//! Where every rank should run, where it runs, and the differences.

use rankwright::report::to_json;
use std::collections::{BTreeMap, BTreeSet};

use rankwright::ids::{PuId, PuSet};
use rankwright::placement::{JobEntry, PlacementFile, RankEntry};
use rankwright::units::counted;
use rankwright_shim_format::same_host;
use rankwright_shim_format::{ReportLine, Variable};
use serde::Serialize;

use crate::options::Format;
use crate::output;

/// One rank or process. PUs and NUMA nodes are P#.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    /// `None` for a process without a rank.
    rank: Option<u32>,
    /// `None` for a process that was not placed.
    wanted: Option<Wanted>,
    /// `None` for a rank that did not report.
    actual: Option<Actual>,
    /// The differences, a clause each; empty if none.
    differences: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Wanted {
    host: String,
    pus: String,
    numa: Option<u32>,
    bound: bool,
    /// Its network devices and GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
struct Actual {
    host: String,
    pus: String,
    running_on: Option<u32>,
    numa: String,
    memory: String,
    cpuset: String,
    /// The variables that it should have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, Option<String>>,
    /// The devices that its host does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_devices: Vec<String>,
    /// The devices whose existence its host does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    untold_devices: Vec<String>,
}

impl Verdict {
    pub(super) fn is_ok(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares the reports with the placement of `job`: one verdict per rank (of `host` only, if that
/// is given), then one per process that is not a rank of the job. `more` has further differences of
/// each report.
pub(super) fn verdicts(
    placement: &PlacementFile,
    job: &JobEntry,
    host: Option<&str>,
    reports: &[ReportLine],
    more: &[Vec<String>],
) -> Vec<Verdict> {
    let mut by_rank: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        report.rank.into_iter().for_each(|rank| by_rank.entry(rank).or_default().push(at));
    }
    let rank = |entry: &RankEntry| {
        let positions = by_rank.get(&entry.rank.0).map_or(&[][..], Vec::as_slice);
        let first = positions.first().map(|at| &reports[*at]);
        let mut differences = match (first, host) {
            (Some(report), _) => differences(placement, entry, report),
            (None, None) => vec!["did not report".to_owned()],
            (None, Some(host)) => vec![format!("does not run on {host}")],
        };
        positions.iter().take(1).for_each(|at| differences.extend(more[*at].iter().cloned()));
        let others = positions.len().saturating_sub(1);
        if others > 0 {
            differences.push(format!("{} processes report this rank", others + 1));
        }
        let wanted = Wanted {
            host: entry.node.clone(),
            pus: wanted_pus(entry).to_string(),
            numa: placement.numa_os(entry),
            bound: entry.bound,
            devices: entry.nics.iter().chain(&entry.gpus).cloned().collect(),
        };
        let (rank, wanted) = (Some(entry.rank.0), Some(wanted));
        Verdict { rank, wanted, actual: first.map(actual), differences }
    };
    let not_placed =
        |report: &&ReportLine| report.rank.is_none_or(|rank| rank as usize >= job.ranks.len());
    let is_here = |entry: &&RankEntry| host.is_none_or(|host| same_host(&entry.node, host));
    let stranger = |report: &ReportLine| {
        let what = if report.rank.is_some() { "was not placed" } else { "no rank variable is set" };
        let differences = vec![what.to_owned()];
        Verdict { rank: report.rank, wanted: None, actual: Some(actual(report)), differences }
    };
    // A rank of another host that runs on this one is checked too.
    let misplaced = |entry: &&RankEntry| is_here(entry) || by_rank.contains_key(&entry.rank.0);
    let ranks = job.ranks.iter().filter(misplaced).map(rank);
    ranks.chain(reports.iter().filter(not_placed).map(stranger)).collect()
}

/// Ranks that share PUs although the placement gives them different ones: for each report, clauses
/// that name the other ranks.
pub(super) fn shared(
    placement: &PlacementFile,
    job: &JobEntry,
    reports: &[ReportLine],
) -> Vec<Vec<String>> {
    let mut sentences = vec![Vec::new(); reports.len()];
    if placement.cluster.emulated {
        return sentences;
    }
    let is_bound = |report: &ReportLine| {
        let entry = report.rank.and_then(|rank| job.ranks.get(rank as usize));
        entry.is_some_and(|entry| entry.bound)
    };
    let mut on_pu: BTreeMap<(&str, PuId), usize> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate().filter(|(_, report)| is_bound(report)) {
        let pus: PuSet = report.pus.parse().unwrap_or_default();
        let mut named = Vec::new();
        for &pu in pus.as_slice() {
            let other = *on_pu.entry((&report.host, pu)).or_insert(at);
            if other != at && !named.contains(&other) && reports[other].rank != report.rank {
                named.push(other);
                for (this, that) in [(at, other), (other, at)] {
                    let rank = reports[that].rank.unwrap_or_default();
                    sentences[this].push(format!("shares PU P#{pu} with rank {rank}"));
                }
            }
        }
    }
    sentences
}

/// Sentences about everything that cannot be verified here.
pub(super) fn unverifiable(
    placement: &PlacementFile,
    job: &JobEntry,
    reports: &[ReportLine],
) -> Vec<String> {
    let mut sentences = Vec::new();
    if placement.cluster.emulated {
        let granted = |report: &ReportLine| report.cpuset.parse().map_or(0, |pus: PuSet| pus.len());
        // The granted PUs of running ranks are not known.
        let pus = match reports.iter().map(granted).max() {
            None | Some(0) => String::new(),
            Some(pus) => format!(" ({})", counted(pus, "PU")),
        };
        sentences.push(format!("cores: not verifiable here{pus}"));
        if job.ranks.iter().any(|entry| !entry.nics.is_empty() || !entry.gpus.is_empty()) {
            sentences.push("devices: not verifiable here (emulated)".to_owned());
        }
    }
    let untold: BTreeSet<&str> =
        reports.iter().flat_map(|report| &report.untold_devices).map(String::as_str).collect();
    if !untold.is_empty() {
        let names = Vec::from_iter(untold).join(", ");
        sentences.push(format!(
            "devices: whether the hosts have {names} is not known: not a name of the kernel, and no \
             PCI address (`pci` in the cluster description)"
        ));
    }
    sentences
}

fn wanted_pus(entry: &RankEntry) -> PuSet {
    entry.pus.iter().copied().collect()
}

fn actual(report: &ReportLine) -> Actual {
    Actual {
        host: report.host.clone(),
        pus: report.pus.clone(),
        running_on: report.pu,
        numa: report.numa.clone(),
        memory: report.memory.clone(),
        cpuset: report.cpuset.clone(),
        variables: report
            .variables
            .iter()
            .map(|variable| (variable.name.clone(), variable.actual.clone()))
            .collect(),
        missing_devices: report.missing_devices.clone(),
        untold_devices: report.untold_devices.clone(),
    }
}

fn differences(placement: &PlacementFile, entry: &RankEntry, report: &ReportLine) -> Vec<String> {
    let mut differences = Vec::new();
    if !same_host(&entry.node, &report.host) {
        differences.push(format!("on {} instead of {}", report.host, entry.node));
    }
    for Variable { name, wanted, actual } in &report.variables {
        match actual {
            Some(actual) if actual == wanted => {}
            Some(actual) => differences.push(format!("{name} is {actual} instead of {wanted}")),
            None => differences.push(format!("{name} is not set, should be {wanted}")),
        }
    }
    if placement.cluster.emulated {
        return differences;
    }
    let missing = |name: &String| format!("{} has no device {name}", report.host);
    differences.extend(report.missing_devices.iter().map(missing));
    let wanted = wanted_pus(entry);
    let fits = report.pus.parse().is_ok_and(|pus: PuSet| {
        let is_wanted = |pu| wanted.as_slice().contains(pu);
        pus == wanted || (!entry.bound && !pus.is_empty() && pus.as_slice().iter().all(is_wanted))
    });
    if !fits {
        let (pus, cpuset) = (&report.pus, &report.cpuset);
        let may = match cpuset.as_str() {
            "" => String::new(),
            cpuset => format!(" (the job may use P#{cpuset})"),
        };
        differences.push(format!("PUs P#{pus} instead of P#{wanted}{may}"));
    }
    if let Some(numa) = placement.numa_os(entry)
        && !takes_memory_from(numa, report)
    {
        let (memory, nodes) = (&report.memory, &report.numa);
        differences.push(format!(
            "memory policy {memory} with PUs beside NUMA node P#{nodes} instead of P#{numa}"
        ));
    }
    differences
}

/// Whether a process takes its memory from this NUMA node first: by its policy, or without a policy
/// because all its PUs are beside the node. If the system tells neither, the answer is yes.
fn takes_memory_from(numa: u32, report: &ReportLine) -> bool {
    match report.memory.split_once(':') {
        Some(("preferred" | "bind", nodes)) => nodes == numa.to_string(),
        Some(_) => false,
        None => report.numa == numa.to_string() || report.numa == "-",
    }
}

const HEADER: [&str; 9] = [
    "rank",
    "host wanted",
    "host",
    "PUs P# wanted",
    "PUs P#",
    "NUMA P# wanted",
    "NUMA P#",
    "memory",
    "verdict",
];

/// The number of wrong ranks.
pub(super) fn wrong(verdicts: &[Verdict]) -> usize {
    verdicts.iter().filter(|verdict| !verdict.is_ok()).count()
}

/// Whether all ranks are where they should be, as a sentence.
pub(super) fn sentence(verdicts: &[Verdict]) -> String {
    match (verdicts.len(), wrong(verdicts)) {
        (1, 0) => "the only rank is where it should be".to_owned(),
        (ranks, 0) => format!("all {ranks} ranks are where they should be"),
        (1, _) => "the only rank is not where it should be".to_owned(),
        (ranks, wrong) => format!("{wrong} of {ranks} ranks are not where they should be"),
    }
}

/// The result in the wanted format. The table is below the sentence and has the wrong ranks; if `verbose`,
/// all ranks.
pub(super) fn render(
    verdicts: &[Verdict],
    format: Format,
    verbose: bool,
) -> anyhow::Result<String> {
    let rows = |chosen: &dyn Fn(&Verdict) -> bool| -> Vec<Vec<String>> {
        verdicts.iter().filter(|verdict| chosen(verdict)).map(cells).collect()
    };
    let all_ok = verdicts.iter().all(Verdict::is_ok);
    Ok(match format {
        Format::Table => {
            let rows = rows(&|verdict| verbose || !verdict.is_ok());
            let table = (!rows.is_empty()).then(|| format!("\n{}", output::table(&HEADER, &rows)));
            sentence(verdicts) + "\n" + &table.unwrap_or_default()
        }
        Format::Csv => output::csv(&HEADER, &rows(&|_| true)),
        Format::Json => {
            let json = serde_json::json!({"ok": all_ok, "ranks": verdicts});
            to_json(&json)
        }
    })
}

fn cells(verdict: &Verdict) -> Vec<String> {
    let dash = || "-".to_owned();
    let number = |number: Option<u32>| number.map_or_else(dash, |number| number.to_string());
    let wanted = |field: fn(&Wanted) -> String| verdict.wanted.as_ref().map_or_else(dash, field);
    let actual = |field: fn(&Actual) -> String| verdict.actual.as_ref().map_or_else(dash, field);
    vec![
        number(verdict.rank),
        wanted(|wanted| wanted.host.clone()),
        actual(|actual| actual.host.clone()),
        wanted(|wanted| wanted.pus.clone()),
        actual(|actual| actual.pus.clone()),
        wanted(|wanted| wanted.numa.map_or("-".to_owned(), |numa| numa.to_string())),
        actual(|actual| actual.numa.clone()),
        actual(|actual| actual.memory.clone()),
        if verdict.is_ok() { "ok".to_owned() } else { verdict.differences.join("; ") },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Per verdict: the rank and what differs.
    fn differences_of(reports: &[ReportLine]) -> Vec<(Option<u32>, String)> {
        let placement = PlacementFile::parse(PLACEMENT, "test").unwrap();
        let shared = shared(&placement, &placement.jobs[0], reports);
        let verdicts = verdicts(&placement, &placement.jobs[0], None, reports, &shared);
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
        let verdicts = verdicts(&placement, &placement.jobs[0], None, &reports, &shared);
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
}

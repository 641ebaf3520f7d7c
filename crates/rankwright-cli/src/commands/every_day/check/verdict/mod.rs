//! Where every rank should run, where it runs, and the differences.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rankwright::ids::{PuId, PuSet};
use rankwright::placement::{JobEntry, PlacementFile, RankEntry};
use rankwright::units::counted;
use rankwright_shim_format::same_host;
use rankwright_shim_format::{ReportLine, Variable};
use serde::Serialize;

/// One rank or process. PUs and NUMA nodes are P#.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    /// `None` for a process without a rank.
    pub(super) rank: Option<u32>,
    /// `None` for a process that was not placed.
    pub(super) wanted: Option<Wanted>,
    /// `None` for a rank that did not report.
    pub(super) actual: Option<Actual>,
    /// Whether it is where it should be, which may be beside ranks of another job.
    pub(super) in_place: bool,
    #[serde(skip)]
    pub(super) other_jobs: OtherJobs,
    /// The differences, a clause each; empty if none.
    pub(super) differences: Vec<String>,
}

/// What other jobs have to do with a rank.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OtherJobs {
    /// Their ranks run on its core.
    pub(super) beside: bool,
    /// They have the same rank.
    pub(super) several: bool,
}

/// What a check knows of a process besides its report.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks {
    /// More differences, a clause each.
    pub(super) faults: Vec<String>,
    /// The ranks of other jobs on its cores, a clause each.
    pub(super) beside: Vec<String>,
    /// Its job, where the user can choose among jobs; else empty.
    pub(super) job: String,
}

impl Remarks {
    pub(super) fn of_faults(faults: Vec<String>) -> Self {
        Self { faults, ..Self::default() }
    }
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Wanted {
    pub(super) host: String,
    pub(super) pus: String,
    pub(super) numa: Option<u32>,
    pub(super) bound: bool,
    /// Its network devices and GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) devices: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Actual {
    pub(super) host: String,
    pub(super) pus: String,
    pub(super) running_on: Option<u32>,
    pub(super) numa: String,
    pub(super) memory: String,
    pub(super) cpuset: String,
    /// The variables that it should have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, Option<String>>,
    /// The devices that its host does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing_devices: Vec<String>,
    /// The devices whose existence its host does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) untold_devices: Vec<String>,
}

impl Verdict {
    pub(super) fn is_ok(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares the reports with the placement of `job`: one verdict per rank (of `host` only, if that
/// is given), then one per process that is not a rank of the job. Report and remarks of a process have
/// the same index.
pub(super) fn verdicts(
    placement: &PlacementFile,
    job: &JobEntry,
    host: Option<&str>,
    reports: &[ReportLine],
    remarks: &[Remarks],
) -> Vec<Verdict> {
    let mut by_rank: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, report) in reports.iter().enumerate() {
        report.rank.into_iter().for_each(|rank| by_rank.entry(rank).or_default().push(at));
    }
    let rank = |entry: &RankEntry| {
        let positions = by_rank.get(&entry.rank.0).map_or(&[][..], Vec::as_slice);
        let first = positions.first().map(|at| &reports[*at]);
        let faults = |at: &usize| {
            let mut faults = differences(placement, entry, &reports[*at]);
            faults.extend(remarks[*at].faults.iter().cloned());
            faults
        };
        let mut differences = match (positions.first(), host) {
            (Some(first), _) => faults(first),
            (None, None) => vec!["did not report".to_owned()],
            (None, Some(host)) => vec![format!("does not run on {host}")],
        };
        let jobs = jobs(positions, remarks);
        let alone = positions.len() <= 1 || jobs.len() == positions.len();
        let in_place =
            differences.is_empty() && alone && positions.iter().all(|at| faults(at).is_empty());
        let beside = positions.first().map_or(&[][..], |at| &remarks[*at].beside);
        let other_jobs = OtherJobs { beside: !beside.is_empty(), several: positions.len() > 1 };
        differences.extend(beside.iter().cloned());
        if other_jobs.several {
            let (processes, advice) = (positions.len(), advice(&jobs));
            differences.push(format!("{processes} processes report this rank{advice}"));
        }
        let (rank, wanted) = (Some(entry.rank.0), Some(wanted(placement, entry)));
        Verdict { rank, wanted, actual: first.map(actual), in_place, other_jobs, differences }
    };
    let of_all = advice(&jobs(&Vec::from_iter(0..reports.len()), remarks));
    let not_placed =
        |report: &&ReportLine| report.rank.is_none_or(|rank| rank as usize >= job.ranks.len());
    let is_here = |entry: &&RankEntry| host.is_none_or(|host| same_host(&entry.node, host));
    let stranger = |report: &ReportLine| {
        let what = match report.rank {
            Some(_) => format!("was not placed{of_all}"),
            None => "no rank variable is set".to_owned(),
        };
        let differences = vec![what];
        let (rank, actual) = (report.rank, Some(actual(report)));
        let other_jobs = OtherJobs::default();
        Verdict { rank, wanted: None, actual, in_place: false, other_jobs, differences }
    };
    // A rank of another host that runs on this one is checked too.
    let misplaced = |entry: &&RankEntry| is_here(entry) || by_rank.contains_key(&entry.rank.0);
    let ranks = job.ranks.iter().filter(misplaced).map(rank);
    ranks.chain(reports.iter().filter(not_placed).map(stranger)).collect()
}

/// The jobs of these processes, each once; without those that the user cannot choose.
fn jobs<'a>(positions: &[usize], remarks: &'a [Remarks]) -> Vec<&'a str> {
    let jobs = positions.iter().map(|at| remarks[*at].job.as_str());
    let mut jobs: Vec<&str> = jobs.filter(|job| !job.is_empty()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// What to do where processes of several jobs are checked; else empty.
fn advice(jobs: &[&str]) -> String {
    match jobs {
        [] | [_] => String::new(),
        jobs => format!(" (of the jobs {} choose one with `--running=JOB`)", jobs.join(" and ")),
    }
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

fn wanted(placement: &PlacementFile, entry: &RankEntry) -> Wanted {
    Wanted {
        host: entry.node.clone(),
        pus: wanted_pus(entry).to_string(),
        numa: placement.numa_os(entry),
        bound: entry.bound,
        devices: entry.nics.iter().chain(&entry.gpus).cloned().collect(),
    }
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

//! `check --pid` and `check --running`: where processes of this host run.

use rankwright::report::to_json;
use std::process::ExitCode;

use anyhow::anyhow;
use rankwright::placement::RankEntry;
use rankwright_shim_format::devices::NotSeen;
use rankwright_shim_format::{ReportLine, Variable};

use super::arguments::Check;
use super::plan;
use super::shown;
use super::verdict::{self, Remarks, Verdict};
use crate::host::processes::{Process, Running, Shared, System};
use crate::host::this_host;
use crate::launching::prepared::Prepared;
use crate::options::{Format, given, refuse};
use crate::output::exit_code::Mismatch;
use crate::output::{self, Verbosity, note};

/// Variables that select network devices by name.
const SELECTING: [&str; 7] = [
    "UCX_NET_DEVICES",
    "FI_VERBS_IFACE",
    "FI_TCP_IFACE",
    "FI_CXI_DEVICE_NAME",
    "NCCL_IB_HCA",
    "MV2_IBA_HCA",
    "PSM3_NIC",
];

/// Why a process cannot be examined.
fn why_hidden(as_root: bool) -> &'static str {
    match as_root {
        true => {
            "this container may not read the environment of other processes (capability SYS_PTRACE)"
        }
        false => "only root can examine processes of other users",
    }
}

impl Check {
    /// Checks running processes of this host, against a placement if one is given.
    pub(super) fn look(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let why = " has no effect with --pid and --running, which start nothing";
        refuse(&[
            (given("--for", self.launcher.is_some()), why),
            (given("`-- PROGRAM`", !self.program.is_empty()), why),
        ])?;
        let system = System::here();
        let running = self.chosen(&system, verbosity)?;
        // Ranks of all jobs are compared, whichever the user asked for.
        let everybody = match self.running {
            Some(_) => system.ranks(None)?.ranks,
            None => running.clone(),
        };
        let shared_by_all = system.shared(&everybody);
        let shared = |task: &Running| -> Vec<Shared> {
            let mut all = everybody.iter().zip(&shared_by_all);
            let itself = all.find(|(other, _)| other.process.pid == task.process.pid);
            itself.map_or(Vec::new(), |(_, shared)| shared.clone())
        };
        let shared: Vec<Vec<Shared>> = running.iter().map(shared).collect();
        let (wrong, sentence) = match &self.placement {
            Some(file) => {
                let verdicts = self.against(file, &system, &running, &shared, verbosity)?;
                (shown::wrong(&verdicts), shown::sentence(&verdicts))
            }
            None => {
                self.result.write(&render(&running, &shared, self.result.format)?)?;
                (sharing(&shared), sharing_in_words(&shared))
            }
        };
        match wrong {
            0 => Ok(ExitCode::SUCCESS),
            _ => Err(Mismatch(sentence).into()),
        }
    }

    /// The processes to check.
    fn chosen(&self, system: &System<'_>, verbosity: &Verbosity) -> anyhow::Result<Vec<Running>> {
        let mut chosen = Vec::new();
        for &pid in &self.pid {
            let process = system.process(pid);
            chosen.push(process.map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    anyhow!("--pid {pid}: no such process on this host")
                }
                std::io::ErrorKind::PermissionDenied => {
                    let why = why_hidden(this_host::is_root());
                    anyhow!("--pid {pid}: {why}")
                }
                _ => anyhow!("--pid {pid}: {error}"),
            })?);
        }
        let Some(job) = &self.running else { return Ok(chosen) };
        let job = Some(job.as_str()).filter(|job| !job.is_empty());
        let here = system.ranks(job)?;
        if here.hidden > 0 {
            let count = here.hidden;
            let why = why_hidden(this_host::is_root());
            note(verbosity, format_args!("processes not checked, because {why}: {count}"));
        }
        if here.ranks.is_empty() {
            let of_job = job.map_or(String::new(), |job| format!(" of job {job}"));
            anyhow::bail!("no rank{of_job} runs on {}", this_host::name()?);
        }
        Ok(here.ranks)
    }

    /// Prints the verdicts on the processes, and returns them.
    fn against(
        &self,
        file: &std::path::Path,
        system: &System<'_>,
        running: &[Running],
        shared: &[Vec<Shared>],
        verbosity: &Verbosity,
    ) -> anyhow::Result<Vec<Verdict>> {
        let prepared = Prepared::read(&self.options, file)?;
        let (placement, job) = (prepared.placement(), prepared.one_job()?);
        let host = this_host::name()?;
        let (settings, notes) = plan::planned(&prepared, job, running)?;
        notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
        let planned = |task: &Running| plan::of_process(&settings, job, task);
        let not_seen = |task: &Running| {
            let entry = task.rank.and_then(|rank| job.ranks.get(rank as usize));
            // The devices of an emulated cluster do not exist.
            let entry = entry.filter(|_| !placement.cluster.emulated);
            let devices = entry.into_iter().flat_map(|entry| placement.devices(entry));
            NotSeen::of(
                devices.map(|device| (device.pci.as_deref(), device.names().collect())),
                system.sys,
            )
        };
        let reports: Vec<ReportLine> =
            running.iter().map(|task| report(task, &host, planned(task), not_seen(task))).collect();
        let remarks: Vec<Remarks> = running
            .iter()
            .zip(shared)
            .map(|(task, shared)| {
                let entry = task.rank.and_then(|rank| job.ranks.get(rank as usize));
                // Without variables for a network stack in the plan, the names are compared.
                let entry =
                    entry.filter(|_| !planned(task).iter().any(|(name, _)| is_selecting(name)));
                let devices = entry.and_then(|entry| other_device(&task.process, entry));
                remarks(task, shared, devices, self.running.is_some())
            })
            .collect();
        // With --pid, ranks without a process are not wrong.
        let of_host = self.pid.is_empty().then_some(host.as_str()).or(Some(""));
        let verdicts = verdict::verdicts(placement, job, of_host, &reports, &remarks);
        self.show(&verdicts, verbosity)?;
        let limits = verdict::unverifiable(placement, job, &reports);
        limits.iter().for_each(|limit| note(verbosity, limit));
        Ok(verdicts)
    }
}

/// What else is told of a process: whose PUs it shares, and that it uses another device than it should.
/// Whose job counts only with `of_jobs`.
fn remarks(task: &Running, shared: &[Shared], device: Option<String>, of_jobs: bool) -> Remarks {
    let with = |other_job: bool| {
        let chosen = shared.iter().filter(move |shared| shared.with_other_job == other_job);
        chosen.map(|shared| shared.clause.clone())
    };
    Remarks {
        faults: with(false).chain(device).collect(),
        beside: with(true).collect(),
        job: if of_jobs { task.job.clone() } else { String::new() },
    }
}

fn is_selecting(name: &str) -> bool {
    SELECTING.contains(&name)
}

/// A process in the form of a rank's report; `variables` are those it should have.
fn report(
    task: &Running,
    host: &str,
    planned: &[(String, String)],
    not_seen: NotSeen,
) -> ReportLine {
    let Process { pus, running_on, numa, memory, .. } = &task.process;
    let variable = |(name, wanted): &(String, String)| Variable {
        name: name.clone(),
        wanted: wanted.clone(),
        actual: task.process.variable(name),
    };
    ReportLine {
        rank: task.rank,
        host: host.to_owned(),
        pus: pus.to_string(),
        pu: *running_on,
        numa: numa.clone(),
        memory: memory.clone(),
        cpuset: String::new(),
        variables: planned.iter().map(variable).collect(),
        missing_devices: not_seen.missing,
        untold_devices: not_seen.untold,
    }
}

/// A sentence if a variable of a process selects other network devices than the placement.
fn other_device(process: &Process, entry: &RankEntry) -> Option<String> {
    if entry.nics.is_empty() {
        return None;
    }
    let names = |value: &str, nic: &String| {
        let words = value.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.into_iter().any(|word| word == nic)
    };
    SELECTING.iter().find_map(|name| {
        let value = process.variable(name)?;
        let uses_one = entry.nics.iter().any(|nic| names(&value, nic));
        (!uses_one).then(|| format!("{name} is {value}, not {}", entry.nics.join(",")))
    })
}

const HEADER: [&str; 10] = [
    "process",
    "program",
    "job",
    "rank",
    "PUs P#",
    "on P#",
    "NUMA P#",
    "memory",
    "pages on NUMA P#",
    "verdict",
];

/// The number of processes that share something with others.
fn sharing(shared: &[Vec<Shared>]) -> usize {
    shared.iter().filter(|shared| !shared.is_empty()).count()
}

/// Whether processes share something with others, as a sentence.
fn sharing_in_words(shared: &[Vec<Shared>]) -> String {
    match (shared.len(), sharing(shared)) {
        (1, 0) => "the process shares no PU or core with other ranks".to_owned(),
        (all, 0) => format!("none of {all} processes shares a PU or core with others"),
        (all, wrong) => {
            format!("{wrong} of {all} processes share PUs or cores with others")
        }
    }
}

/// The processes in the wanted format.
fn render(running: &[Running], shared: &[Vec<Shared>], format: Format) -> anyhow::Result<String> {
    let rows: Vec<Vec<String>> =
        running.iter().zip(shared).map(|(task, shared)| cells(task, shared)).collect();
    Ok(match format {
        Format::Table => {
            format!("{}\n\n{}", sharing_in_words(shared), output::table(&HEADER, &rows))
        }
        Format::Csv => output::csv(&HEADER, &rows),
        Format::Json => {
            let json: Vec<_> = running.iter().zip(shared).map(json).collect();
            to_json(&serde_json::json!({ "processes": json }))
        }
    })
}

fn clauses(shared: &[Shared]) -> Vec<&str> {
    shared.iter().map(|shared| shared.clause.as_str()).collect()
}

fn cells(task: &Running, shared: &[Shared]) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
    let process = &task.process;
    vec![
        process.pid.to_string(),
        process.program.clone(),
        task.job.clone(),
        number(task.rank),
        process.pus.to_string(),
        number(process.running_on),
        process.numa.clone(),
        process.memory.clone(),
        process.pages_in_words(),
        if shared.is_empty() { "ok".to_owned() } else { clauses(shared).join("; ") },
    ]
}

fn json((task, shared): (&Running, &Vec<Shared>)) -> serde_json::Value {
    let process = &task.process;
    let selecting: serde_json::Map<String, serde_json::Value> = SELECTING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), process.variable(name)?.into())))
        .collect();
    serde_json::json!({
        "process": process.pid,
        "program": process.program,
        "job": task.job,
        "rank": task.rank,
        "pus": process.pus.to_string(),
        "running_on": process.running_on,
        "numa": process.numa,
        "memory": process.memory,
        "pages": process.pages,
        "variables": selecting,
        "differences": clauses(shared),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_was_not_planned_is_told() {
        let process = |name: &str, value: &str| Process {
            pid: 1,
            parent: 0,
            program: String::new(),
            environment: [(name.to_owned(), value.to_owned())].into(),
            pus: "0".parse().unwrap(),
            running_on: None,
            numa: "-".to_owned(),
            memory: "-".to_owned(),
            pages: std::collections::BTreeMap::new(),
            resident_kb: 0,
        };
        let mut entry = RankEntry {
            rank: rankwright::ids::Rank(0),
            node: String::new(),
            cores: Vec::new(),
            pus: Vec::new(),
            numa: None,
            nics: vec!["mlx5_1".to_owned()],
            gpus: Vec::new(),
            bound: true,
        };
        let difference =
            |name, value, entry: &RankEntry| other_device(&process(name, value), entry);
        assert_eq!(difference("UCX_NET_DEVICES", "mlx5_1:1", &entry), None);
        let wrong = difference("UCX_NET_DEVICES", "mlx5_10:1", &entry).unwrap();
        assert_eq!(wrong, "UCX_NET_DEVICES is mlx5_10:1, not mlx5_1");
        assert_eq!(difference("OTHER", "mlx5_0:1", &entry), None);
        entry.nics.clear();
        assert_eq!(difference("UCX_NET_DEVICES", "mlx5_0:1", &entry), None);
    }
}

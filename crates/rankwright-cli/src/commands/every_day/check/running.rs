//! `check --pid` and `check --running`: where processes are that run on this host already.

use std::process::ExitCode;

use anyhow::anyhow;
use rankwright::placement::RankEntry;
use rankwright_shim_format::devices::NotSeen;
use rankwright_shim_format::{ReportLine, Variable};

use super::arguments::Check;
use super::{plan, verdict};
use crate::host::processes::{Process, Running, System};
use crate::host::this_host;
use crate::launching::prepared::Prepared;
use crate::options::{Format, given, refuse};
use crate::output::exit_code::Mismatch;
use crate::output::{self, Verbosity, note};

/// Variables that select a network device by its name.
const SELECTING: [&str; 7] = [
    "UCX_NET_DEVICES",
    "FI_VERBS_IFACE",
    "FI_TCP_IFACE",
    "FI_CXI_DEVICE_NAME",
    "NCCL_IB_HCA",
    "MV2_IBA_HCA",
    "PSM3_NIC",
];

impl Check {
    /// Looks at processes that run on this host, and holds them against a placement if there is one.
    pub(super) fn look(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let why = " does not go with --pid and --running, which start nothing: leave it out";
        refuse(&[
            (given("--for", self.launcher.is_some()), why),
            (given("`-- PROGRAM`", !self.program.is_empty()), why),
        ])?;
        let system = System::here();
        let running = self.chosen(&system, verbosity)?;
        // Other jobs count as well, whichever the user asked for.
        let everybody = match self.running {
            Some(_) => system.ranks(None)?.ranks,
            None => running.clone(),
        };
        let shared_by_all = system.shared(&everybody);
        let shared = |one: &Running| -> Vec<String> {
            let mut all = everybody.iter().zip(&shared_by_all);
            let found = all.find(|(other, _)| other.process.pid == one.process.pid);
            found.map_or(Vec::new(), |(_, sentences)| sentences.clone())
        };
        let shared: Vec<Vec<String>> = running.iter().map(shared).collect();
        let wrong = match &self.placement {
            Some(file) => self.against(file, &system, &running, &shared, verbosity)?,
            None => {
                self.result.write(&render(&running, &shared, self.result.format)?)?;
                shared.iter().filter(|sentences| !sentences.is_empty()).count()
            }
        };
        if wrong == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let what = match self.placement {
            Some(_) => "ranks are not where they should be",
            None => "processes share PUs or cores with others",
        };
        Err(Mismatch(format!("{wrong} {what}")).into())
    }

    /// The processes that the user means.
    fn chosen(&self, system: &System<'_>, verbosity: &Verbosity) -> anyhow::Result<Vec<Running>> {
        let mut chosen = Vec::new();
        for &pid in &self.pid {
            let process = system.process(pid);
            chosen.push(process.map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    anyhow!("--pid {pid}: there is no such process on this host (any more)")
                }
                std::io::ErrorKind::PermissionDenied => {
                    anyhow!("--pid {pid}: this process is somebody else's, ask them or root")
                }
                _ => anyhow!("--pid {pid}: {error}"),
            })?);
        }
        let Some(job) = &self.running else { return Ok(chosen) };
        let job = Some(job.as_str()).filter(|job| !job.is_empty());
        let found = system.ranks(job)?;
        if found.hidden > 0 {
            let count = found.hidden;
            note(verbosity, format_args!("processes of others that cannot be looked at: {count}"));
        }
        if found.ranks.is_empty() {
            let of_job = job.map_or(String::new(), |job| format!(" of job {job}"));
            anyhow::bail!("no rank{of_job} runs on {}", this_host::name());
        }
        Ok(found.ranks)
    }

    /// Prints the processes beside their places; how many are wrong.
    fn against(
        &self,
        file: &std::path::Path,
        system: &System<'_>,
        running: &[Running],
        shared: &[Vec<String>],
        verbosity: &Verbosity,
    ) -> anyhow::Result<usize> {
        let prepared = Prepared::read(&self.options, file)?;
        let (placement, job) = (prepared.placement(), prepared.one_job()?);
        let host = this_host::name();
        let (settings, notes) = plan::planned(&prepared, job, running)?;
        notes.iter().for_each(|text| note(verbosity, format_args!("note: {text}")));
        let planned = |one: &Running| plan::of_process(&settings, job, one);
        let not_seen = |one: &Running| {
            let entry = one.rank.and_then(|rank| job.ranks.get(rank as usize));
            // Devices of an emulated cluster do not exist anywhere.
            let entry = entry.filter(|_| !placement.cluster.emulated);
            let devices = entry.into_iter().flat_map(|entry| placement.devices(entry));
            NotSeen::of(devices.map(|one| (one.pci.as_deref(), one.names().collect())), system.sys)
        };
        let reports: Vec<ReportLine> =
            running.iter().map(|one| report(one, &host, planned(one), not_seen(one))).collect();
        let more: Vec<Vec<String>> = running
            .iter()
            .zip(shared)
            .map(|(one, shared)| {
                let entry = one.rank.and_then(|rank| job.ranks.get(rank as usize));
                // Where the plan has no variables for a network stack, names tell.
                let entry =
                    entry.filter(|_| !planned(one).iter().any(|(name, _)| is_selecting(name)));
                let devices = entry.and_then(|entry| other_device(&one.process, entry));
                shared.iter().cloned().chain(devices).collect()
            })
            .collect();
        // Of chosen processes only these are asked for, not all ranks of the host.
        let of_host = self.pid.is_empty().then_some(host.as_str()).or(Some(""));
        let verdicts = verdict::verdicts(placement, job, of_host, &reports, &more);
        self.result.write(&verdict::render(&verdicts, self.result.format)?)?;
        let limits = verdict::unverifiable(placement, job, &reports);
        limits.iter().for_each(|limit| note(verbosity, limit));
        let wrong = verdicts.iter().filter(|verdict| !verdict.is_ok()).count();
        if wrong == 0 {
            let count = verdicts.len();
            note(verbosity, format_args!("all {count} ranks are where they should be"));
        }
        Ok(wrong)
    }
}

fn is_selecting(name: &str) -> bool {
    SELECTING.contains(&name)
}

/// A process as a rank would report itself that should have these variables.
fn report(
    one: &Running,
    host: &str,
    planned: &[(String, String)],
    not_seen: NotSeen,
) -> ReportLine {
    let Process { pus, running_on, numa, memory, .. } = &one.process;
    let variable = |(name, wanted): &(String, String)| Variable {
        name: name.clone(),
        wanted: wanted.clone(),
        actual: one.process.variable(name),
    };
    ReportLine {
        rank: one.rank,
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

/// That a process was told to use other network devices than it should.
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

/// The processes as the user wants them.
fn render(running: &[Running], shared: &[Vec<String>], format: Format) -> anyhow::Result<String> {
    let rows: Vec<Vec<String>> =
        running.iter().zip(shared).map(|(one, shared)| cells(one, shared)).collect();
    Ok(match format {
        Format::Table => output::table(&HEADER, &rows),
        Format::Csv => output::csv(&HEADER, &rows),
        Format::Json => {
            let json: Vec<_> = running.iter().zip(shared).map(json).collect();
            serde_json::to_string_pretty(&serde_json::json!({ "processes": json }))? + "\n"
        }
    })
}

fn cells(one: &Running, shared: &[String]) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
    let process = &one.process;
    vec![
        process.pid.to_string(),
        process.program.clone(),
        one.job.clone(),
        number(one.rank),
        process.pus.to_string(),
        number(process.running_on),
        process.numa.clone(),
        process.memory.clone(),
        process.pages_in_words(),
        if shared.is_empty() { "ok".to_owned() } else { shared.join("; ") },
    ]
}

fn json((one, shared): (&Running, &Vec<String>)) -> serde_json::Value {
    let process = &one.process;
    let selecting: serde_json::Map<String, serde_json::Value> = SELECTING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), process.variable(name)?.into())))
        .collect();
    serde_json::json!({
        "process": process.pid,
        "program": process.program,
        "job": one.job,
        "rank": one.rank,
        "pus": process.pus.to_string(),
        "running_on": process.running_on,
        "numa": process.numa,
        "memory": process.memory,
        "pages": process.pages,
        "variables": selecting,
        "differences": shared,
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
        let told = |name, value, entry: &RankEntry| other_device(&process(name, value), entry);
        assert_eq!(told("UCX_NET_DEVICES", "mlx5_1:1", &entry), None);
        let wrong = told("UCX_NET_DEVICES", "mlx5_10:1", &entry).unwrap();
        assert_eq!(wrong, "UCX_NET_DEVICES is mlx5_10:1, not mlx5_1");
        assert_eq!(told("OTHER", "mlx5_0:1", &entry), None);
        entry.nics.clear();
        assert_eq!(told("UCX_NET_DEVICES", "mlx5_0:1", &entry), None);
    }
}

//! `run --counters`: what the network devices carry during a job, beside what was predicted.

pub(super) mod options;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use rankwright::files::check_writable;
use rankwright::launch::ProgramLine;
use rankwright::placement::digest;
use rankwright::rails::counters::{NodeReading, Readings, Record, RunEnd, Verdict, judge};
use rankwright::traffic::Workload;
use rankwright::units::Seconds;

use super::arguments::Run;
use crate::host::child;
use crate::host::mpi::launcher::MpiLauncher;
use crate::launching::every_node::{EveryNode, Starter};
use crate::launching::prepared::Prepared;
use crate::launching::started::Ready;
use crate::output::exit_code::Infeasible;
use crate::output::{Verbosity, note, warn};
use crate::planning::accuracy::{self, Measured};

/// The time that all nodes have to read their counters.
const READING_TIMEOUT: Seconds = Seconds(60.0);

/// A job that is started as placed.
pub(super) struct Job<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) installed: &'a MpiLauncher,
    /// Its traffic, if the user gave it.
    pub(super) workload: Option<&'a Workload>,
}

impl Run {
    /// Runs a job, which is `None` if it could not be placed, with its counters if the user wants them.
    /// The exit code is that of the program.
    pub(super) fn run_counted(
        &self,
        ready: &Ready,
        job: Option<&Job<'_>>,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let mut watched = match (&self.counters.counters, job) {
            (None, _) => None,
            (Some(path), Some(job)) => Some(self.watch(path, job, verbosity)?),
            (Some(path), None) => {
                let text = format!(
                    "{}: not written: the job is not placed, so nothing is predicted",
                    path.display()
                );
                warn(verbosity, text);
                None
            }
        };
        if let Some(watched) = &mut watched {
            watched.begin(verbosity)?;
        }
        let begin = Instant::now();
        let code = match ready.run(line, self.timeout, verbosity) {
            Ok(code) => code,
            Err(error) => {
                if let Some(watched) = watched {
                    watched.fail(&error, verbosity);
                }
                return Err(error);
            }
        };
        let seconds = begin.elapsed().as_secs_f64();
        let mut bytes = None;
        if let Some(watched) = watched {
            // The program has run: whatever fails here must not change its exit code.
            match watched.end(RunEnd { exit_code: code, seconds }, verbosity) {
                Ok(of_devices) => bytes = of_devices,
                Err(error) => warn(verbosity, format_args!("counters: {error:#}")),
            }
        }
        if let Some(job) = job.filter(|_| code == 0 && self.keeps_record()) {
            let program = &self.program;
            let measured = Measured { program, seconds, with_start: true, runs: 1, bytes };
            accuracy::keep(job.prepared.placement(), measured, verbosity);
        }
        Ok(ExitCode::from(code))
    }

    /// Whether runs are kept in the record of accuracy.
    pub(super) fn keeps_record(&self) -> bool {
        !self.no_record && accuracy::is_wanted()
    }

    /// Prepares the record of a job.
    ///
    /// # Errors
    /// If the file cannot be written, or the traffic is of another number of ranks.
    fn watch(
        &self,
        path: &Path,
        job: &Job<'_>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Watched<'_>> {
        check_writable(path)?;
        let Job { prepared, installed, workload } = *job;
        let (placement, entry) = (prepared.placement(), prepared.one_job()?);
        // A profile of several jobs was refused when it was read.
        let traffic = workload.and_then(|workload| workload.jobs.first());
        match (workload, traffic) {
            (Some(workload), Some(traffic)) => {
                let (profiled, placed) = (traffic.ranks as usize, entry.ranks.len());
                if profiled != placed {
                    let why = format!("--profile has {profiled} ranks, the placement has {placed}");
                    return Err(Infeasible(why).into());
                }
                if placement.workload_digest != digest(workload) && placement.jobs.len() == 1 {
                    warn(
                        verbosity,
                        "the placement was made for other traffic than that of --profile",
                    );
                }
            }
            _ => warn(
                verbosity,
                "counters: nothing is predicted without --profile; they are only read",
            ),
        }
        let mut record = Record::new(placement, entry, traffic);
        record.variables = prepared.device_variables(installed.launcher, entry);
        let hosts = record.nodes.iter().map(|node| node.name.clone()).collect();
        let mut arguments = prepared.launcher_arguments.clone();
        if installed.launcher.name == "slurm" {
            // Other steps of the same batch job may hold its CPUs.
            arguments.push("--overlap".to_owned());
        }
        let (starter, agent) =
            (Starter::Launcher(installed.clone()), self.options.target.agent.as_deref());
        Ok(Watched { path: path.to_owned(), record, hosts, starter, arguments, agent })
    }
}

/// A job whose devices are watched.
struct Watched<'a> {
    path: PathBuf,
    record: Record,
    hosts: Vec<String>,
    starter: Starter,
    arguments: Vec<String>,
    agent: Option<&'a str>,
}

impl Watched<'_> {
    /// Reads the counters before the job, and writes the record without a reading after it: that is what is
    /// left if this program is killed together with the job.
    fn begin(&mut self, verbosity: &Verbosity) -> anyhow::Result<()> {
        self.record.before = self.readings(verbosity);
        tell_failed(&self.record.before, "before", verbosity);
        self.record.after.missing = Some("the job was killed, or still runs".to_owned());
        Ok(self.record.write(&self.path)?)
    }

    /// Reads the counters after the job, writes the record and tells the verdict. Returns the predicted
    /// and the counted bytes of all devices, if they were judged.
    fn end(mut self, end: RunEnd, verbosity: &Verbosity) -> anyhow::Result<Option<[u64; 2]>> {
        self.record.end = Some(end);
        self.record.after = match end.exit_code {
            _ if child::was_asked_to_end() => missing("the job was ended by a signal"),
            child::TIMED_OUT => missing("the job was ended after its time limit"),
            _ if self.record.before.missing.is_some() => missing("there is none before the job"),
            _ => self.readings(verbosity),
        };
        if self.record.after.missing.is_none() {
            tell_failed(&self.record.after, "after", verbosity);
        }
        self.record.write(&self.path)?;
        let judgement = judge(&self.record);
        let text = format!("counters: {}", judgement.sentence);
        match judgement.verdict {
            Verdict::Fault => warn(verbosity, text),
            Verdict::AsPredicted | Verdict::CannotTell => note(verbosity, text),
        }
        Ok(judgement.bytes())
    }

    /// Writes why there will be no second reading: the launcher has failed. The caller tells the error.
    fn fail(mut self, error: &anyhow::Error, verbosity: &Verbosity) {
        self.record.after = missing(&format!("{error:#}"));
        if let Err(error) = self.record.write(&self.path) {
            warn(verbosity, format_args!("counters: {error}"));
        }
    }

    /// The counters of all nodes. The job starts even if they cannot be read.
    fn readings(&self, verbosity: &Verbosity) -> Readings {
        let nodes = EveryNode {
            hosts: &self.hosts,
            kind: "json",
            starter: &self.starter,
            arguments: &self.arguments,
            agent: self.agent,
            timeout: (READING_TIMEOUT, ""),
        };
        let answers = match nodes.ask(&["check", "--read-counters-to"], verbosity) {
            Ok(answers) => answers,
            Err(error) => return missing(&format!("{error:#}")),
        };
        if answers.left.iter().all(Option::is_none) {
            return missing(&answers.why_missing(&self.hosts, Vec::new()));
        }
        let mut readings = Readings::default();
        let mut failed = BTreeMap::new();
        for (host, left) in self.hosts.iter().zip(&answers.left) {
            let read = match left {
                Some(Ok(file)) => reading(file),
                Some(Err(why)) => Err(why.clone()),
                None => Err(format!("no answer; {}", answers.how())),
            };
            match read {
                Ok(reading) => readings.nodes.push(NodeReading { host: host.clone(), ..reading }),
                Err(why) => {
                    failed.insert(host.clone(), why);
                }
            }
        }
        Readings { failed, ..readings }
    }
}

/// What a node has left.
fn reading(file: &Path) -> Result<NodeReading, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("its reading is damaged: {error}"))
}

fn missing(why: &str) -> Readings {
    Readings { missing: Some(why.to_owned()), ..Readings::default() }
}

fn tell_failed(readings: &Readings, when: &str, verbosity: &Verbosity) {
    if let Some(why) = &readings.missing {
        warn(verbosity, format_args!("no counters {when} the job: {why}"));
    }
    for (node, why) in &readings.failed {
        warn(verbosity, format_args!("no counters of {node} {when} the job: {why}"));
    }
}

//! `rankwright pair`: which jobs should share nodes.

mod page;
mod placements;
mod profiles;
mod queue;
mod report;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::files::InputError;
use rankwright::pairing::queue::QueuedJob;
use rankwright::pairing::{JobFacts, JobSet, Objective, PairOptions, Slowdowns, pair, read};
use rankwright::report::page::Report;

use crate::options::{ReportOption, ResultOptions, inputs, parse_count};
use crate::output::Verbosity;
use crate::output::exit_code::UsageError;
use profiles::{Predicted, ProfileOptions};
use queue::QueueReport;
use report::PairReport;

/// Options of `rankwright pair`.
#[derive(Debug, Args)]
pub(crate) struct Pair {
    #[command(flatten)]
    profiles: ProfileOptions,
    /// Instead of profiles a table of slowdowns: a CSV file with the header background,BT,CG,.. and a
    /// row per background job; run times in percent of those alone on whole nodes
    #[arg(long, value_name = "FILE", conflicts_with = "workloads")]
    table: Option<PathBuf>,
    /// Run times alone on whole nodes: a CSV file with the header job,seconds
    #[arg(long, value_name = "FILE", conflicts_with = "workloads")]
    runtimes: Option<PathBuf>,
    /// Facts of the jobs, and which must not share nodes: pairing.toml. If each job has half and
    /// pressure, neither profiles nor a table are needed
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
    /// Which waiting job of Slurm's queue to start beside which running or waiting one: --queue asks
    /// squeue, --queue=FILE reads what squeue --json or -o printed. Nothing is submitted
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["per_node", "copies", "placements"],
    )]
    queue: Option<Option<PathBuf>>,
    /// What should be small: sum, runtime, worst or makespan; or large: weighted-speedup
    #[arg(long, value_name = "OBJECTIVE", default_value = "sum")]
    objective: Objective,
    /// The most jobs on a node
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "2",
        value_parser = parse_count::<NonZeroUsize>,
        allow_negative_numbers = true,
    )]
    per_node: NonZeroUsize,
    /// How often each job is to run; copies may share nodes with each other
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = parse_count::<NonZeroUsize>,
        allow_negative_numbers = true,
    )]
    copies: NonZeroUsize,
    /// Differences up to this percentage count as none
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = parse_tolerance)]
    #[arg(allow_negative_numbers = true)]
    tolerance: f64,
    /// Seed of the search for more than two jobs per node
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = parse_count::<u64>)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    report: ReportOption,
}

/// A matching of more takes minutes.
const MOST_JOBS: usize = 500;

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let percent = number.filter(|percent: &f64| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage from 0 to 100".to_owned())
}

impl Pair {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        self.report.check(&[self.result.file()])?;
        self.profiles.check(self.table.is_some() || self.jobs.is_some())?;
        let rules = self.text(self.jobs.as_deref(), read::EXPECTED_RULES)?;
        let rules = rules.map(|(text, file)| read::Rules::parse(&text, &file)).transpose()?;
        if let (Some(rules), None) = (&rules, &self.queue)
            && self.profiles.are_given()
        {
            rules.refuse_ranks("profiles are replayed with half of the cores for each job")?;
        }
        let with_itself = self.copies.get() > 1 || self.queue.is_some();
        let predicted = self.profiles.predict(with_itself, verbosity)?;
        let known = match &predicted {
            Some(predicted) => Some(predicted.known()),
            None => self.table()?,
        };
        let runtimes = self.text(self.runtimes.as_deref(), read::EXPECTED_RUNTIMES)?;
        let runtimes = runtimes.as_ref().map(|(text, file)| (text.as_str(), file.as_str()));
        let jobs = read::job_set(known, runtimes, rules.as_ref())?.copies(self.copies.get());
        self.check(&jobs)?;
        let options = PairOptions {
            objective: self.objective,
            per_node: self.per_node,
            tolerance: self.tolerance / 100.0,
            seed: self.seed,
        };
        if let Some(file) = &self.queue {
            let queue = queue::read(file.as_deref())?;
            let cpus = cpus_per_node(rules.as_ref(), predicted.as_ref(), &queue)?;
            let (on, notes) = match predicted {
                Some(predicted) => (Some(predicted.cluster), predicted.recorded.notes),
                None => (None, Vec::new()),
            };
            let report = QueueReport::new(&queue, &jobs, cpus, &options, notes);
            self.result.write(&report.show(self.result.format))?;
            self.report.write_if_wanted(|| with_cluster(report.page(), on.as_ref()), verbosity)?;
            return Ok(ExitCode::SUCCESS);
        }
        let pairing = pair(&jobs, &options);
        let copies = self.copies.get();
        let width = predicted.as_ref().and_then(|predicted| {
            predicted.recorded.prediction.gain_half_width(&pairing, options.objective, copies)
        });
        let mut report = PairReport::new(&jobs, &options, &pairing, width);
        if let Some(predicted) = &predicted {
            report = report.predicted(predicted, &pairing, copies);
        }
        self.result.write(&report.show(self.result.format))?;
        let on = predicted.as_ref().map(|predicted| &predicted.cluster);
        self.report.write_if_wanted(|| with_cluster(report.page(), on), verbosity)?;
        if let Some(predicted) = &predicted {
            placements::write(predicted, &pairing, copies, verbosity)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The text of a file with its name, if it is given.
    fn text(
        &self,
        path: Option<&Path>,
        expected: &str,
    ) -> Result<Option<(String, String)>, InputError> {
        let Some(path) = path else { return Ok(None) };
        let text = inputs::read_text_or_stdin(path, expected)?;
        Ok(Some((text, path.display().to_string())))
    }

    /// The jobs of the table, if there is one.
    fn table(&self) -> Result<Option<(Vec<JobFacts>, Slowdowns)>, InputError> {
        let text = self.text(self.table.as_deref(), read::EXPECTED_TABLE)?;
        let table = text.map(|(text, file)| read::table(&text, &file)).transpose()?;
        Ok(table.map(read::Table::into_known))
    }

    /// Whether there are jobs enough, not too many, and with run times where those count.
    fn check(&self, jobs: &JobSet) -> anyhow::Result<()> {
        let file = self.table.as_deref().or(self.jobs.as_deref()).unwrap_or(Path::new("-"));
        let wrong =
            |found: String, expected: &str| InputError::new(file.display(), found, expected);
        if let ([only], None) = (jobs.facts(), &self.queue) {
            let found = format!("only the job `{}`", only.name);
            return Err(wrong(found, "at least two jobs, or --copies 2").into());
        }
        if jobs.len() > MOST_JOBS {
            let expected = format!("at most {MOST_JOBS}");
            return Err(wrong(format!("{} jobs", jobs.len()), &expected).into());
        }
        let unknown = jobs.facts().iter().find(|job| job.seconds.is_none());
        if let Some(job) = unknown.filter(|_| self.objective.needs_seconds()) {
            let text = format!(
                "--objective {} needs the run time of each job, that of `{}` is missing: give \
                 --runtimes FILE, or seconds in --jobs",
                self.objective, job.name
            );
            return Err(UsageError(text).into());
        }
        Ok(())
    }
}

/// A report with facts of the cluster, if jobs were replayed on one.
fn with_cluster(report: Report, cluster: Option<&Cluster>) -> Report {
    match cluster {
        Some(cluster) => report.with_cluster_facts(cluster),
        None => report,
    }
}

/// What Slurm counts as CPUs of a node: as the user says, else the cores of the smallest node, or its PUs
/// if a job has more CPUs on a node than there are cores.
fn cpus_per_node(
    rules: Option<&read::Rules>,
    predicted: Option<&Predicted>,
    queue: &read::Queue,
) -> Result<u32, UsageError> {
    if let Some(cores) = rules.and_then(read::Rules::cores_per_node) {
        return Ok(cores);
    }
    let Some(predicted) = predicted else {
        let text = "--queue needs the number of CPUs of a node: write cores_per_node = 64 into the file of \
                    --jobs";
        return Err(UsageError(text.to_owned()));
    };
    let cluster = &predicted.cluster;
    let machines = || cluster.node_ids().map(|node| cluster.machine(node));
    let cores = machines().map(|machine| machine.cores.len()).min().unwrap_or(0);
    let pus = machines().map(|machine| machine.pus.len()).min().unwrap_or(0);
    let most = queue.jobs.iter().map(QueuedJob::cpus_per_node).max().unwrap_or(0);
    Ok(if most as usize > cores { pus } else { cores } as u32)
}

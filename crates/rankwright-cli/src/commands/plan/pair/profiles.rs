//! Slowdowns predicted from a run of each job alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::files::make_folder;
use rankwright::pairing::read::EXPECTED_MEMORY_TRAFFIC;
use rankwright::pairing::{
    GivenTraffic, JobFacts, KnownUse, MemoryUseError, ModeError, PredictError, PredictOptions,
    Recorded, Slowdowns, TrafficSource,
};
use rankwright::report::Weakness;
use rankwright::sim::Progress;
use rankwright::sim::replay::ReplayOptions;
use rankwright::traffic::{Job, Workload};

use crate::options::{ClusterOptions, Given, inputs, parse_count_to, refuse};
use crate::output::exit_code::{Infeasible, UsageError};
use crate::output::{self, Verbosity};
use crate::planning::simulations::Watch;

/// Options that apply to profiles.
#[derive(Debug, Args)]
pub(super) struct ProfileOptions {
    #[command(flatten)]
    given: Given,
    /// The jobs, each recorded alone: profiles with their calls (profile --events), or others with
    /// message timing
    #[arg(value_name = "WORKLOAD")]
    workloads: Vec<String>,
    #[command(flatten)]
    sharing: SharingOptions,
}

/// How profiles are replayed together.
#[derive(Debug, Args)]
struct SharingOptions {
    #[command(flatten)]
    cluster: ClusterOptions,
    /// How often two jobs are replayed beside each other, each time with another offset in time
    /// [default: 5]
    #[arg(long, value_name = "NUMBER", value_parser = parse_count_to::<1000>)]
    #[arg(allow_negative_numbers = true)]
    offsets: Option<u32>,
    /// Memory bandwidth that each rank of a job uses while it computes, like cg=2GB/s; or a file in which
    /// likwid-perfctr, perf stat, PCP or resctrl counted it, like cg=likwid.csv or cg=likwid.csv:ranks=16 if
    /// 16 ranks ran where it was recorded; may be repeated
    #[arg(long, value_name = "JOB=RATE|FILE", value_parser = parse_traffic)]
    memory_traffic: Vec<GivenTraffic>,
    /// Write a placement of each group of jobs that share nodes, to this folder
    #[arg(long, value_name = "FOLDER")]
    placements: Option<PathBuf>,
}

/// Jobs with what they lose beside each other.
pub(super) struct Predicted {
    pub(super) cluster: Cluster,
    pub(super) jobs: Vec<Job>,
    pub(super) recorded: Recorded,
    /// The folder for placements.
    pub(super) placements: Option<PathBuf>,
}

impl Predicted {
    pub(super) fn known(&self) -> (Vec<JobFacts>, Slowdowns) {
        let Recorded { names, prediction, .. } = &self.recorded;
        (prediction.facts(names), prediction.slowdowns())
    }
}

impl ProfileOptions {
    pub(super) fn are_given(&self) -> bool {
        !self.workloads.is_empty()
    }

    /// Whether there are profiles, and the other options have an effect. `described`: the jobs are in a
    /// file.
    pub(super) fn check(&self, described: bool) -> Result<(), UsageError> {
        if self.workloads.is_empty() {
            let why = " applies to profiles: give those of the jobs";
            refuse(&[(self.given.first_of::<SharingOptions>(), why)])?;
        }
        if self.workloads.is_empty() && !described {
            let text = "which jobs? Give a profile of each with --on CLUSTER, or --table, or --jobs with \
                        half and pressure of each";
            return Err(UsageError(text.to_owned()));
        }
        Ok(())
    }

    /// Replays the jobs alone and beside each other; `None` without profiles.
    pub(super) fn predict(
        &self,
        with_itself: bool,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Option<Predicted>> {
        if self.workloads.is_empty() {
            return Ok(None);
        }
        let cluster = self.sharing.cluster.read()?;
        // Before the replays: they take long.
        self.sharing.placements.as_deref().map_or(Ok(()), make_folder)?;
        let (mut jobs, mut names) = (Vec::new(), Vec::new());
        for name in &self.workloads {
            let workload = inputs::workload(name, verbosity)?;
            names.extend(workload.jobs.iter().map(|job| name_of(name, &workload, job)));
            jobs.extend(workload.jobs);
        }
        let names = unique(names);
        let known = self.known_use(&names, &jobs)?;
        check_timing(&jobs, &names)?;
        if jobs.len() < 2 && !with_itself {
            let text = format!("only the job `{}`: expected at least two, or --copies 2", names[0]);
            return Err(UsageError(text).into());
        }
        let options = PredictOptions {
            offsets: self
                .sharing
                .offsets
                .map_or(PredictOptions::default().offsets, |it| it as usize),
            with_itself,
            replay: ReplayOptions::default(),
            ..PredictOptions::default()
        };
        let watch = Watch::new(verbosity, options.replays(jobs.len()));
        let mut observer =
            |number: usize, progress: &Progress| watch.observe_in_turn(number, progress);
        let recorded = Recorded::replay(&cluster, (&jobs, names), known, &options, &mut observer);
        drop(watch);
        let recorded = recorded.map_err(with_exit_code)?;
        for (job, name) in jobs.iter_mut().zip(&recorded.names) {
            // Under the name that the tables have.
            job.name.clone_from(name);
            if let Some(weakness) = Weakness::of_recorded(std::slice::from_ref(job)) {
                output::warn(verbosity, weakness);
            }
        }
        let placements = self.sharing.placements.clone();
        Ok(Some(Predicted { cluster, jobs, recorded, placements }))
    }

    /// What is known of the use of memories by jobs with these names.
    fn known_use(&self, names: &[String], jobs: &[Job]) -> anyhow::Result<KnownUse> {
        let mut open = |file: &Path| {
            let text = inputs::read_text_or_stdin(file, EXPECTED_MEMORY_TRAFFIC);
            text.map_err(|error| error.with_advice("a rate is written like 2GB/s"))
        };
        let known = KnownUse::new(&self.sharing.memory_traffic, names, jobs, &mut open);
        known.map_err(|error| match error {
            MemoryUseError::Input(error) => error.into(),
            error => UsageError(format!("--memory-traffic: {error}")).into(),
        })
    }
}

/// Reads `cg=2GB/s`, `cg=likwid.csv` or `cg=likwid.csv:ranks=16`.
fn parse_traffic(text: &str) -> Result<GivenTraffic, String> {
    let expected =
        "expected a job with the rate of a rank or a file, like cg=2GB/s or cg=likwid.csv:ranks=16";
    // The name of a job may have a `=`.
    if let Some((job, rate)) = text.rsplit_once('=')
        && let Ok(rate) = rate.parse()
    {
        return Ok(GivenTraffic { job: job.to_owned(), from: TrafficSource::Rate(rate) });
    }
    let (job, from) = text.split_once('=').ok_or(expected)?;
    if job.is_empty() || from.is_empty() {
        return Err(expected.to_owned());
    }
    let from = TrafficSource::parse(from, Path::exists)?;
    Ok(GivenTraffic { job: job.to_owned(), from })
}

/// Refuses jobs that cannot be replayed.
fn check_timing(jobs: &[Job], names: &[String]) -> Result<(), UsageError> {
    let is_unknown = |job: &Job| job.seen.events.is_none() && job.sources.is_empty();
    match jobs.iter().position(is_unknown) {
        None => Ok(()),
        Some(position) => Err(UsageError(format!(
            "job `{}`: found no message timing, expected a profile made with `rankwright profile \
             --events`, or another with message timing",
            names[position]
        ))),
    }
}

/// The name of a job: that of its profile, else its own.
fn name_of(workload: &str, jobs: &Workload, job: &Job) -> String {
    let stem = Path::new(workload).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let is_profile =
        jobs.jobs.len() == 1 && inputs::is_profile(Path::new(workload)).unwrap_or(false);
    stem.filter(|_| is_profile).unwrap_or_else(|| job.name.clone())
}

/// The names, all different: a second one gets a number.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut counts = BTreeMap::new();
    let numbered = |name: String| {
        let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name}-{count}") }
    };
    names.into_iter().map(numbered).collect()
}

fn with_exit_code(error: PredictError) -> anyhow::Error {
    match error {
        PredictError::Mode(error @ ModeError::TooFewNodes { .. }) => {
            Infeasible(error.to_string()).into()
        }
        PredictError::Mode(ModeError::Placement(error)) => error.into(),
        PredictError::Replay(error) => error.into(),
        PredictError::Stopped => anyhow::anyhow!("interrupted: no answer yet"),
    }
}

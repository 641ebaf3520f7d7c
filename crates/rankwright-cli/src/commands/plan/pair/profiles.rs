//! Slowdowns predicted from a run of each job alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::files::make_folder;
use rankwright::pairing::{
    JobFacts, ModeError, PredictError, PredictOptions, Prediction, Slowdowns, predict,
};
use rankwright::placement::JobShape;
use rankwright::sim::Progress;
use rankwright::sim::replay::{ReplayOptions, Replayer};
use rankwright::traffic::{Job, Workload};

use super::memory::{self, GivenTraffic, Known, MemoryRow};
use crate::options::{ClusterOptions, Given, inputs, parse_count_to, refuse};
use crate::output::Verbosity;
use crate::output::exit_code::{Infeasible, UsageError};
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
    #[arg(long, value_name = "JOB=RATE|FILE", value_parser = memory::parse_traffic)]
    memory_traffic: Vec<GivenTraffic>,
    /// Write a placement of each group of jobs that share nodes, to this folder
    #[arg(long, value_name = "FOLDER")]
    placements: Option<PathBuf>,
}

/// Jobs with what they lose beside each other.
pub(super) struct Predicted {
    pub(super) cluster: Cluster,
    pub(super) jobs: Vec<Job>,
    pub(super) names: Vec<String>,
    pub(super) prediction: Prediction,
    /// What is known of their use of memories.
    pub(super) memory: Vec<MemoryRow>,
    /// What weakens it.
    pub(super) notes: Vec<String>,
    /// The folder for placements.
    pub(super) placements: Option<PathBuf>,
}

impl Predicted {
    pub(super) fn known(&self) -> (Vec<JobFacts>, Slowdowns) {
        (self.prediction.facts(&self.names), self.prediction.slowdowns())
    }

    /// The shape of a job under its name here.
    pub(super) fn shape(&self, job: usize) -> JobShape {
        JobShape { name: self.names[job].clone(), ranks: self.jobs[job].ranks }
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
        let known = memory::known(&self.sharing.memory_traffic, &names, &jobs)?;
        let (replayer, mut notes) = replayer(&jobs, &names)?;
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
        let watch = Watch::new(verbosity, 1);
        let mut observer = |progress: &Progress| watch.observe(0, progress);
        let prediction = predict(&cluster, &replayer, &names, &options, &mut observer);
        drop(watch);
        let prediction = prediction.map_err(with_exit_code)?;
        notes.extend(not_replayed(&prediction, &names));
        let placements = self.sharing.placements.clone();
        let memory = Vec::new();
        let predicted = Predicted { cluster, jobs, names, prediction, memory, notes, placements };
        with_memory(predicted, known).map(Some)
    }
}

/// The prediction with what is known of memories, and notes on it.
fn with_memory(mut predicted: Predicted, mut known: Known) -> anyhow::Result<Predicted> {
    predicted.notes.extend(memory::notes(&known, &predicted.names));
    if known.rows.is_empty() {
        return Ok(predicted);
    }
    let shapes: Vec<JobShape> =
        (0..predicted.names.len()).map(|job| predicted.shape(job)).collect();
    let Predicted { cluster, names, jobs, prediction, .. } = &predicted;
    let by_uses = |known: &Known| {
        let prediction = prediction.clone().with_memory_use(cluster, &shapes, &known.uses);
        prediction.map_err(|error| with_exit_code(error.into()))
    };
    let mut with_memory = by_uses(&known)?;
    let limited = memory::limited(&mut known, cluster, (names, jobs), &with_memory);
    if !limited.is_empty() {
        with_memory = by_uses(&known)?;
    }
    predicted.notes.extend(limited);
    Ok(Predicted { prediction: with_memory, memory: known.rows, ..predicted })
}

/// A note on pairs that were not replayed together.
fn not_replayed(prediction: &Prediction, names: &[String]) -> Option<String> {
    let pair = |(background, measured): &(usize, usize)| {
        format!("{} beside {}", names[*measured], names[*background])
    };
    let pairs: Vec<String> = prediction.not_replayed.iter().map(pair).collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "first order only, because the job in the background is so short that a replay would repeat it \
             too often: {}",
            pairs.join(", ")
        )
    })
}

/// The jobs to replay: by their calls where those were recorded, else by their clocks; and what to note.
fn replayer(jobs: &[Job], names: &[String]) -> anyhow::Result<(Replayer, Vec<String>)> {
    let is_unknown = |job: &Job| job.seen.events.is_none() && job.sources.is_empty();
    if let Some(position) = jobs.iter().position(is_unknown) {
        bail!(UsageError(format!(
            "job `{}`: found no message timing, expected a profile made with `rankwright profile \
             --events`, or another with message timing",
            names[position]
        )));
    }
    let (replayer, by_clocks) = Replayer::of_jobs(jobs, names)?;
    let mut notes = Vec::new();
    if !by_clocks.is_empty() {
        let names: Vec<&str> = by_clocks.iter().map(|job| names[*job].as_str()).collect();
        notes.push(format!(
            "replayed by clocks, because the calls were not recorded (profile --events): {}",
            names.join(", ")
        ));
    }
    Ok((replayer, notes))
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

//! Which jobs should share nodes.

use std::num::NonZeroUsize;
use std::path::Path;

use pyo3::prelude::*;
use rankwright::files::{InputError, read_text};
use rankwright::pairing::{
    Answer, GivenTraffic, JobFacts, JobSet, KnownUse, Member, MemoryUseError, Objective,
    PairOptions, Pairing, PredictOptions, Recorded, Slowdowns, TrafficSource, deciding_resources,
    pair, read,
};
use rankwright::sim::Progress;
use rankwright::traffic::Job;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::predicting::share;
use crate::running::{run, run_quietly};
use crate::table::{Column, Table, integer};
use crate::workload::Workload;

/// How jobs are paired; the names are those of `rankwright.pair`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    objective: String,
    per_node: NonZeroUsize,
    copies: NonZeroUsize,
    /// In percent.
    tolerance: f64,
    seed: u64,
    offsets: Option<NonZeroUsize>,
    /// Names of jobs, each with a rate like `2GB/s` or a file like `likwid.csv:ranks=16`.
    memory_traffic: Vec<(String, String)>,
}

/// Who shares nodes with whom, as plain values.
#[derive(Debug, IntoPyObject)]
pub(crate) struct Paired {
    answer: &'static str,
    groups: Vec<Vec<String>>,
    alone: Vec<String>,
    cost: f64,
    baseline: f64,
    random_mean: f64,
    random_worst: Option<f64>,
    gain: f64,
    jobs: Table,
    /// Of profiles, where it is known: half the width of the 95 % interval of the gain.
    gain_half_width: Option<f64>,
    /// Of profiles: what weakens the answer, and which resource decides; a sentence each.
    notes: Vec<String>,
}

/// A text with the name of its file.
type Named = (String, String);

/// A matching of more takes minutes.
const MOST_JOBS: usize = 500;

/// Pairs the jobs of a table of slowdowns; with run times and rules as in the files of `rankwright pair`.
#[pyfunction]
pub(crate) fn pair_by_table(
    py: Python<'_>,
    table: Option<Named>,
    runtimes: Option<Named>,
    rules: Option<Named>,
    settings: Settings,
) -> PyResult<Paired> {
    run_quietly(py, || {
        let table = table.map(|(text, file)| read::table(&text, &file)).transpose()?;
        let known = table.map(read::Table::into_known);
        let rules = rules.map(|(text, file)| read::Rules::parse(&text, &file)).transpose()?;
        let (jobs, options) = settings.jobs(known, runtimes.as_ref(), rules.as_ref())?;
        let pairing = pair(&jobs, &options);
        Ok(Paired::new(&jobs, &pairing, None, Vec::new()))
    })
}

/// Pairs jobs that were recorded alone: they are replayed alone and beside each other. Also a table of what
/// each loses, and the names of the jobs that were replayed by their clocks.
#[pyfunction]
pub(crate) fn pair_profiles(
    py: Python<'_>,
    workload: &Workload,
    names: Vec<String>,
    cluster: &Cluster,
    rules: Option<Named>,
    settings: Settings,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Paired, Table, Vec<String>)> {
    let (jobs, cluster): (&[Job], _) = (&workload.workload.jobs, &*cluster.cluster);
    run(py, (progress, false), |watch| {
        if names.len() != jobs.len() {
            let (found, expected) = (names.len(), jobs.len());
            let text = format!("found {found} names of jobs, expected {expected}");
            return Err(Failure::Argument(text));
        }
        let rules = rules.map(|(text, file)| read::Rules::parse(&text, &file)).transpose()?;
        if let Some(rules) = &rules {
            rules.refuse_ranks("profiles are replayed with half of the cores for each job")?;
        }
        let options = PredictOptions {
            offsets: (settings.offsets)
                .map_or(PredictOptions::default().offsets, NonZeroUsize::get),
            with_itself: settings.copies.get() > 1,
            ..PredictOptions::default()
        };
        let replays = options.replays(jobs.len()) as f64;
        let mut observer = |number: usize, progress: &Progress| {
            let done = (number as f64 + share(progress)) / replays;
            watch.tell(|| "replay beside each other".to_owned(), done)
        };
        let known = known_use(&settings.memory_traffic, &names, jobs)?;
        let recorded = Recorded::replay(cluster, (jobs, names), known, &options, &mut observer)?;
        let Recorded { names, prediction, .. } = &recorded;
        let known = (prediction.facts(names), prediction.slowdowns());
        let (set, pair_options) = settings.jobs(Some(known), None, rules.as_ref())?;
        let pairing = pair(&set, &pair_options);
        let copies = settings.copies.get();
        let width = prediction.gain_half_width(&pairing, pair_options.objective, copies);
        let mut notes = recorded.notes.clone();
        notes.extend(deciding_resources(cluster, &recorded, &pairing, copies));
        let by_clocks = recorded.by_clocks.iter().map(|by| names[by.job].clone()).collect();
        let paired = Paired::new(&set, &pairing, width, notes);
        Ok((paired, beside(&recorded, options.with_itself), by_clocks))
    })
}

/// What is known of the use of memories by jobs with these names.
fn known_use(
    traffic: &[(String, String)],
    names: &[String],
    jobs: &[Job],
) -> Result<KnownUse, Failure> {
    let failed = |text: String| Failure::Argument(format!("memory_traffic: {text}"));
    let given = |(job, text): &(String, String)| {
        let from = TrafficSource::parse(text, Path::exists);
        let wrong = |expected| failed(format!("job `{job}`: {expected}"));
        Ok(GivenTraffic { job: job.clone(), from: from.map_err(wrong)? })
    };
    let given: Vec<GivenTraffic> = traffic.iter().map(given).collect::<Result<_, Failure>>()?;
    let mut open = |file: &Path| -> Result<String, InputError> {
        read_text(file, read::EXPECTED_MEMORY_TRAFFIC)
            .map_err(|error| error.with_advice("a rate is written like 2GB/s"))
    };
    KnownUse::new(&given, names, jobs, &mut open).map_err(|error| match error {
        MemoryUseError::Input(error) => error.into(),
        error => failed(error.to_string()),
    })
}

/// A row for each job beside each other one, with its run time in percent of that alone on whole nodes.
fn beside(recorded: &Recorded, with_itself: bool) -> Table {
    let (mut job, mut background) = (Vec::new(), Vec::new());
    let (mut percent, mut half_width) = (Vec::new(), Vec::new());
    for (row, other) in recorded.names.iter().enumerate() {
        for (column, measured) in recorded.names.iter().enumerate() {
            if row != column || with_itself {
                let found = recorded.prediction.beside(row, column);
                job.push(measured.clone());
                background.push(other.clone());
                percent.push(found.mean);
                half_width.push(found.half_width);
            }
        }
    }
    Table::new(vec![
        ("job", Column::Texts(job)),
        ("background", Column::Texts(background)),
        ("percent", Column::Numbers(percent)),
        ("half_width", Column::Numbers(half_width)),
    ])
}

impl Settings {
    /// The jobs, all copies of them, and how they are paired.
    fn jobs(
        &self,
        known: Option<(Vec<JobFacts>, Slowdowns)>,
        runtimes: Option<&Named>,
        rules: Option<&read::Rules>,
    ) -> Result<(JobSet, PairOptions), Failure> {
        let objective: Objective = self.objective.parse().map_err(Failure::Argument)?;
        let runtimes = runtimes.map(|(text, file)| (text.as_str(), file.as_str()));
        let jobs = read::job_set(known, runtimes, rules)?.copies(self.copies.get());
        if !(2..=MOST_JOBS).contains(&jobs.len()) {
            let text = format!("found {} jobs, expected 2 to {MOST_JOBS}", jobs.len());
            return Err(Failure::Argument(text));
        }
        let unknown = jobs.facts().iter().find(|job| job.seconds.is_none());
        if let Some(job) = unknown.filter(|_| objective.needs_seconds()) {
            return Err(Failure::Argument(format!(
                "objective {objective} needs the run time of each job, that of `{}` is missing: give \
                 runtimes",
                job.name
            )));
        }
        let options = PairOptions {
            objective,
            per_node: self.per_node,
            tolerance: self.tolerance / 100.0,
            seed: self.seed,
        };
        Ok((jobs, options))
    }
}

impl Paired {
    fn new(
        jobs: &JobSet,
        pairing: &Pairing,
        gain_half_width: Option<f64>,
        notes: Vec<String>,
    ) -> Self {
        let name = |job: usize| jobs.facts()[job].name.clone();
        let rows: Vec<(usize, &Member)> = (0..)
            .zip(&pairing.groups)
            .flat_map(|(number, group)| group.members.iter().map(move |member| (number, member)))
            .collect();
        let alone =
            pairing.alone.iter().map(|job| Member { job: *job, percent: 100.0, share: 1.0 });
        let alone: Vec<Member> = alone.collect();
        let all = || rows.iter().map(|(_, member)| *member).chain(&alone);
        let group =
            rows.iter().map(|(number, _)| integer(*number as u64)).chain(alone.iter().map(|_| -1));
        Self {
            answer: match pairing.answer_within(gain_half_width) {
                Answer::Share => "share",
                Answer::NoDifference => "no difference",
                Answer::DoNotShare => "do not share",
            },
            groups: (pairing.groups.iter())
                .map(|group| group.names(jobs).into_iter().map(str::to_owned).collect())
                .collect(),
            alone: pairing.alone.iter().map(|job| name(*job)).collect(),
            cost: pairing.cost,
            baseline: pairing.baseline,
            random_mean: pairing.random_mean,
            random_worst: pairing.random_worst,
            gain: pairing.gain,
            jobs: jobs_table(jobs, group.collect(), all()),
            gain_half_width,
            notes,
        }
    }
}

/// A row for each job: its group, and what it loses or gains there.
fn jobs_table<'a>(
    jobs: &JobSet,
    group: Vec<i64>,
    members: impl Iterator<Item = &'a Member> + Clone,
) -> Table {
    let name = |member: &Member| jobs.facts()[member.job].name.clone();
    Table::new(vec![
        ("job", Column::Texts(members.clone().map(name).collect())),
        ("group", Column::Integers(group)),
        ("share", Column::Numbers(members.clone().map(|member| member.share).collect())),
        ("percent", Column::Numbers(members.map(|member| member.percent).collect())),
    ])
}

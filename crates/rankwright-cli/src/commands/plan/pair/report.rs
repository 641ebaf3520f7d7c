//! Who shares nodes with whom, as text, JSON and CSV.

use rankwright::pairing::{
    Alone, Answer, Compatibility, Group, JobSet, Member, MemoryRow, Objective, PairOptions,
    Pairing, deciding_resources,
};
use rankwright::report::to_json;
use rankwright::units::{Seconds, counted};
use serde::Serialize;

use super::profiles::Predicted;
use crate::options::Format;
use crate::output;

/// The result of `pair`; its keys are those of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct PairReport {
    /// The answer in a sentence.
    #[serde(rename = "answer_text")]
    pub(super) sentence: String,
    pub(super) answer: &'static str,
    pub(super) objective: String,
    /// The jobs that share nodes; more than two with `--per-node`.
    pairs: Vec<Vec<String>>,
    alone: Vec<String>,
    cost: f64,
    baseline: f64,
    random_mean: f64,
    random_worst: Option<f64>,
    /// As a share.
    gain: f64,
    pub(super) jobs: Vec<JobRow>,
    /// From profiles: each job alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) solo: Vec<SoloRow>,
    /// From profiles: each job beside each other one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) beside: Vec<BesideRow>,
    /// From profiles: half the width of the 95 % interval of the gain, as a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    gain_half_width: Option<f64>,
    /// From profiles: what jobs use of memories, where it is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<MemoryRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    classes: Vec<Compatibility>,
    #[serde(skip)]
    pub(super) comparison: String,
}

/// A job alone.
#[derive(Debug, Serialize)]
pub(super) struct SoloRow {
    pub(super) job: String,
    pub(super) nodes_full: usize,
    pub(super) full_s: f64,
    pub(super) nodes_half: usize,
    pub(super) half_s: f64,
    /// Shares of the latter.
    pub(super) communicating: f64,
    pub(super) device_use: f64,
}

/// A job beside another, in percent of its run time alone on whole nodes.
#[derive(Debug, Serialize)]
pub(super) struct BesideRow {
    pub(super) job: String,
    pub(super) background: String,
    pub(super) percent: f64,
    /// Of the 95 % interval over offsets.
    pub(super) half_width: Option<f64>,
    pub(super) first_order_percent: f64,
}

/// A job that shares nodes, or is alone.
#[derive(Debug, Serialize)]
pub(super) struct JobRow {
    pub(super) job: String,
    pub(super) with: Vec<String>,
    /// Of the cores of each node.
    pub(super) share: f64,
    /// The run time in percent of that alone on whole nodes.
    pub(super) percent: f64,
    /// `None` for a job alone.
    pub(super) class: Option<String>,
}

/// A job that loses less than this, in percent of its run time, is not named in the answer.
const LOSES: f64 = 1.0;

pub(super) const SHARE: &str = "share";
pub(super) const NO_DIFFERENCE: &str = "no difference";

impl PairReport {
    /// The report of a pairing, the gain of which is known within `gain_half_width` if it is given.
    pub(super) fn new(
        jobs: &JobSet,
        options: &PairOptions,
        pairing: &Pairing,
        gain_half_width: Option<f64>,
    ) -> Self {
        let names = |group: &Group| group.names(jobs).into_iter().map(str::to_owned).collect();
        let name = |job: usize| jobs.facts()[job].name.clone();
        let pairs: Vec<Vec<String>> = pairing.groups.iter().map(names).collect();
        let alone: Vec<String> = pairing.alone.iter().map(|job| name(*job)).collect();
        let mut rows: Vec<JobRow> =
            pairing.groups.iter().flat_map(|group| rows_of(jobs, group)).collect();
        rows.extend(alone.iter().map(|job| JobRow {
            job: job.clone(),
            with: Vec::new(),
            share: 1.0,
            percent: 100.0,
            class: None,
        }));
        let mut classes: Vec<Compatibility> = Vec::new();
        for class in pairing.groups.iter().map(|group| group.compatibility) {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        let answer = pairing.answer_within(gain_half_width);
        let mut sentence = sentence(options.objective, answer, pairing.gain, (&pairs, &alone));
        if let (Answer::Share, Some(width)) = (pairing.answer, gain_half_width) {
            sentence.push_str(&format!(" (± {:.1} by their starts)", 100.0 * width));
        }
        sentence.push_str(&losers(jobs, pairing));
        Self {
            sentence,
            answer: match answer {
                Answer::Share => SHARE,
                Answer::NoDifference => NO_DIFFERENCE,
                Answer::DoNotShare => "do not share",
            },
            objective: options.objective.to_string(),
            pairs,
            alone,
            cost: pairing.cost,
            baseline: pairing.baseline,
            random_mean: pairing.random_mean,
            random_worst: pairing.random_worst,
            gain: pairing.gain,
            jobs: rows,
            solo: Vec::new(),
            beside: Vec::new(),
            gain_half_width,
            memory: Vec::new(),
            notes: longer_in_all(jobs, options, pairing).into_iter().collect(),
            classes,
            comparison: comparison(options, pairing),
        }
    }

    /// The report of jobs whose slowdowns were predicted; `copies` of each.
    pub(super) fn predicted(
        mut self,
        predicted: &Predicted,
        pairing: &Pairing,
        copies: usize,
    ) -> Self {
        let Predicted { cluster, recorded, .. } = predicted;
        let (names, prediction) = (&recorded.names, &recorded.prediction);
        let solo = |(job, alone): (&String, &Alone)| SoloRow {
            job: job.clone(),
            nodes_full: alone.nodes.0,
            full_s: alone.full.0,
            nodes_half: alone.nodes.1,
            half_s: alone.half.0,
            communicating: alone.communicating,
            device_use: alone.device_use,
        };
        self.solo = names.iter().zip(&prediction.alone).map(solo).collect();
        for (background, other) in names.iter().enumerate() {
            for (measured, job) in names.iter().enumerate() {
                let found = prediction.beside(background, measured);
                if background != measured || copies > 1 {
                    self.beside.push(BesideRow {
                        job: job.clone(),
                        background: other.clone(),
                        percent: found.mean,
                        half_width: found.half_width.is_finite().then_some(found.half_width),
                        first_order_percent: prediction.first_order(background, measured),
                    });
                }
            }
        }
        self.memory.clone_from(&recorded.memory);
        self.notes.extend(recorded.notes.iter().cloned());
        self.notes.extend(deciding_resources(cluster, recorded, pairing, copies));
        self
    }

    pub(super) fn show(&self, format: Format) -> String {
        match format {
            Format::Json => to_json(self),
            Format::Csv => {
                let header = ["job", "with", "share", "percent", "class"];
                output::csv(&header, &self.jobs.iter().map(csv_row).collect::<Vec<_>>())
            }
            Format::Table => {
                let header = ["job", "shares nodes with", "cores", "run time", "together they are"];
                let table =
                    output::table(&header, &self.jobs.iter().map(table_row).collect::<Vec<_>>());
                let why: String = self
                    .classes
                    .iter()
                    .map(|class| format!("{class}: {}\n", meaning(*class)))
                    .collect();
                let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
                let (sentence, comparison) = (&self.sentence, &self.comparison);
                let profiles = self.profile_tables();
                format!("{sentence}\n\n{table}{profiles}\n{why}{comparison}\n{notes}")
            }
        }
    }
}

impl PairReport {
    /// What was predicted from profiles; empty without them.
    fn profile_tables(&self) -> String {
        if self.solo.is_empty() {
            return String::new();
        }
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let nodes =
            |count: usize, time: f64| format!("{:.3} on {}", Seconds(time), counted(count, "node"));
        let solo = |row: &SoloRow| {
            vec![
                row.job.clone(),
                nodes(row.nodes_full, row.full_s),
                nodes(row.nodes_half, row.half_s),
                percent(row.communicating),
                percent(row.device_use),
            ]
        };
        let header =
            ["alone", "all cores", "half of the cores", "waits for messages", "uses the device"];
        let solo = output::table(&header, &self.solo.iter().map(solo).collect::<Vec<_>>());
        let beside = |row: &BesideRow| {
            let width = row.half_width.map_or(String::new(), |width| format!(" ± {width:.1}"));
            vec![
                row.job.clone(),
                row.background.clone(),
                format!("{:.1}{width} %", row.percent),
                format!("{:.1} %", row.first_order_percent),
            ]
        };
        let header = ["job", "beside", "run time, replayed", "first order"];
        let beside = output::table(&header, &self.beside.iter().map(beside).collect::<Vec<_>>());
        format!("\n{solo}\n{beside}")
    }
}

fn rows_of(jobs: &JobSet, group: &Group) -> Vec<JobRow> {
    let names = group.names(jobs);
    let row = |(at, member): (usize, &Member)| JobRow {
        job: names[at].to_owned(),
        with: (names.iter().enumerate())
            .filter(|(other, _)| *other != at)
            .map(|(_, name)| (*name).to_owned())
            .collect(),
        share: member.share,
        percent: member.percent,
        class: Some(group.compatibility.to_string()),
    };
    group.members.iter().enumerate().map(row).collect()
}

fn csv_row(row: &JobRow) -> Vec<String> {
    vec![
        row.job.clone(),
        row.with.join(" "),
        row.share.to_string(),
        row.percent.to_string(),
        row.class.clone().unwrap_or_default(),
    ]
}

fn table_row(row: &JobRow) -> Vec<String> {
    vec![
        row.job.clone(),
        if row.with.is_empty() { "none".to_owned() } else { row.with.join(", ") },
        format!("{:.0} %", 100.0 * row.share),
        format!("{:.1} %", row.percent),
        row.class.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}

/// The answer, its gain last.
fn sentence(
    objective: Objective,
    answer: Answer,
    gain: f64,
    (pairs, alone): (&[Vec<String>], &[String]),
) -> String {
    let with = |names: &Vec<String>| match &names[..] {
        [a, b] => format!("{a} with {b}"),
        [first, others @ .., last] => format!("{first} with {} and {last}", others.join(", ")),
        _ => String::new(),
    };
    let are_pairs = pairs.iter().all(|names| names.len() == 2);
    let separator = if are_pairs { ", " } else { "; " };
    let mut who = pairs.iter().map(with).collect::<Vec<_>>().join(separator);
    if !alone.is_empty() {
        who.push_str(&format!("{separator}{} alone", alone.join(" and ")));
    }
    let gain = gain_in_words(objective, gain);
    match answer {
        Answer::Share => format!("Share: {who}: {gain}"),
        Answer::NoDifference => format!("No difference: the best is {who}: {gain}"),
        Answer::DoNotShare => "Do not share: each job is better alone on whole nodes".to_owned(),
    }
}

/// The jobs that run longer than alone, as the end of the answer's sentence; empty if there are none.
fn losers(jobs: &JobSet, pairing: &Pairing) -> String {
    let members = pairing.groups.iter().flat_map(|group| &group.members);
    let lose = members.filter(|member| member.percent >= 100.0 + LOSES);
    let loser = |member: &Member| {
        let name = &jobs.facts()[member.job].name;
        format!("{name} takes {:.1} % longer", member.percent - 100.0)
    };
    let losers: Vec<String> = lose.map(loser).collect();
    match losers.len() {
        0 => String::new(),
        1..=3 => format!(", but {}", losers.join(", ")),
        count => format!(", but {count} jobs take longer"),
    }
}

/// A note if jobs gain on average of their run times, while all of these together become longer: the
/// long ones lose.
fn longer_in_all(jobs: &JobSet, options: &PairOptions, pairing: &Pairing) -> Option<String> {
    let known = jobs.facts().iter().all(|job| job.seconds.is_some());
    if !known || options.objective != Objective::Sum || pairing.answer != Answer::Share {
        return None;
    }
    let seconds = |job: usize| jobs.facts()[job].seconds.unwrap_or(0.0);
    let alone: f64 = (0..jobs.len()).map(seconds).sum();
    let members = || pairing.groups.iter().flat_map(|group| &group.members);
    let change: f64 = members().map(|m| seconds(m.job) * (m.percent / 100.0 - 1.0)).sum();
    (change > options.tolerance * alone).then(|| {
        format!(
            "the longer jobs lose: the sum of all run times is {:.1} % longer than alone; --objective runtime makes \
             that sum small",
            100.0 * change / alone
        )
    })
}

/// A gain in words.
fn gain_in_words(objective: Objective, gain: f64) -> String {
    let percent = 100.0 * gain;
    let than_alone = |what: &str, (better, worse, same): (&str, &str, &str)| match percent {
        _ if rounds_to_zero(percent) => format!("{what} {same} alone"),
        0.0.. => format!("{what} {percent:.1} % {better} than alone"),
        _ => format!("{what} {:.1} % {worse} than alone", -percent),
    };
    let length = ("shorter", "longer", "as long as");
    match objective {
        Objective::Sum => than_alone("run times on average", length),
        Objective::Runtime => than_alone("sum of all run times", length),
        Objective::Worst => than_alone("run time of the slower job of each pair", length),
        Objective::Makespan => {
            than_alone("the last job ends", ("earlier", "later", "when it does"))
        }
        Objective::WeightedSpeedup if rounds_to_zero(percent) => {
            "as much work in the same time".to_owned()
        }
        Objective::WeightedSpeedup => format!("{percent:+.1} % work in the same time"),
    }
}

/// Whether a percentage is printed as 0.0: its sign is then one of rounding.
fn rounds_to_zero(percent: f64) -> bool {
    percent.abs() < 0.05
}

/// What other ways to share would gain.
fn comparison(options: &PairOptions, pairing: &Pairing) -> String {
    let change = |value: f64| match 100.0 * options.objective.gain(value, pairing.baseline) {
        percent if rounds_to_zero(percent) => "neither gain nor lose".to_owned(),
        percent if percent > 0.0 => format!("gain {percent:.1} %"),
        percent => format!("lose {:.1} %", -percent),
    };
    let mean = format!("In random pairs jobs would {} on average", change(pairing.random_mean));
    match pairing.random_worst {
        Some(worst) => format!("{mean}, and {} in the worst pairing.", change(worst)),
        None => format!("{mean}, at most {} on a node.", counted(options.per_node.get(), "job")),
    }
}

fn meaning(class: Compatibility) -> &'static str {
    match class {
        Compatibility::Compatible => {
            "they need the network at different times, each runs almost as if the other were not there"
        }
        Compatibility::DualIntensive => {
            "both need the network most of the time, sharing gains little"
        }
        Compatibility::OneSided => {
            "they gain on average, but one takes longer than alone on whole nodes"
        }
        Compatibility::DualInfrequent => "none of them communicates much, there is little to gain",
    }
}

//! Who shares nodes with whom, as text, JSON and CSV.

use rankwright::pairing::{Answer, Compatibility, Group, JobSet, Objective, PairOptions, Pairing};
use rankwright::report::to_json;
use rankwright::units::counted;
use serde::Serialize;

use crate::options::Format;
use crate::output;

/// The result of `pair`; its keys are those of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct PairReport {
    /// The answer in a sentence.
    #[serde(rename = "answer_text")]
    pub(super) sentence: String,
    answer: &'static str,
    objective: String,
    /// The jobs that share nodes; more than two with `--per-node`.
    pairs: Vec<Vec<String>>,
    alone: Vec<String>,
    cost: f64,
    baseline: f64,
    random_mean: f64,
    random_worst: Option<f64>,
    /// As a share.
    gain: f64,
    jobs: Vec<JobRow>,
    #[serde(skip)]
    classes: Vec<Compatibility>,
    #[serde(skip)]
    comparison: String,
}

/// A job that shares nodes, or is alone.
#[derive(Debug, Serialize)]
struct JobRow {
    job: String,
    with: Vec<String>,
    /// Of the cores of each node.
    share: f64,
    /// The run time in percent of that alone on whole nodes.
    percent: f64,
    /// `None` for a job alone.
    class: Option<String>,
}

impl PairReport {
    pub(super) fn new(jobs: &JobSet, options: &PairOptions, pairing: &Pairing) -> Self {
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
        Self {
            sentence: sentence(options.objective, pairing, &pairs, &alone),
            answer: match pairing.answer {
                Answer::Share => "share",
                Answer::NoDifference => "no difference",
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
            classes,
            comparison: comparison(options, pairing),
        }
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
                format!("{}\n\n{table}\n{why}{}\n", self.sentence, self.comparison)
            }
        }
    }
}

fn rows_of(jobs: &JobSet, group: &Group) -> Vec<JobRow> {
    let names = group.names(jobs);
    let row = |(at, member): (usize, &rankwright::pairing::Member)| JobRow {
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
    pairing: &Pairing,
    pairs: &[Vec<String>],
    alone: &[String],
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
    match pairing.answer {
        Answer::Share => format!("Share: {who}: {}", gain(objective, pairing.gain)),
        Answer::NoDifference => {
            format!("No difference: the best is {who}: {}", gain(objective, pairing.gain))
        }
        Answer::DoNotShare => "Do not share: each job is better alone on whole nodes".to_owned(),
    }
}

/// A gain in words.
fn gain(objective: Objective, gain: f64) -> String {
    let percent = 100.0 * gain;
    let less = |what: &str| match percent >= 0.0 {
        true => format!("{percent:.1} % less {what} than alone"),
        false => format!("{:.1} % more {what} than alone", -percent),
    };
    match objective {
        Objective::Sum => less("node time"),
        Objective::Runtime => less("node time in seconds"),
        Objective::Worst => less("time for the slower job of each"),
        Objective::Makespan => less("time until the last job ends"),
        Objective::WeightedSpeedup => format!("{percent:+.1} % work in the same time"),
    }
}

/// What other ways to share would gain.
fn comparison(options: &PairOptions, pairing: &Pairing) -> String {
    let gain =
        |value: f64| format!("{:+.1} %", 100.0 * options.objective.gain(value, pairing.baseline));
    let mean = format!("At random, jobs would gain {} on average", gain(pairing.random_mean));
    match pairing.random_worst {
        Some(worst) => format!("{mean}, {} in the worst pairing.", gain(worst)),
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
        Compatibility::DualInfrequent => "none of them communicates much, there is little to gain",
    }
}

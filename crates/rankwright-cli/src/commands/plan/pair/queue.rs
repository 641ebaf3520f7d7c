//! `pair --queue`: which waiting job of Slurm to start beside which. Nothing is submitted or changed.

use std::path::Path;

use rankwright::cluster::hostlist;
use rankwright::pairing::queue::{NodeSharing, Proposal, QueuedJob, Start, WaitsFor, Why, propose};
use rankwright::pairing::read::{COLUMNS, EXPECTED_QUEUE, Queue};
use rankwright::pairing::{JobSet, PairOptions};
use rankwright::report::to_json;
use rankwright::units::counted;
use serde::Serialize;

use super::report::NO_DIFFERENCE;
use crate::host::slurm_queue;
use crate::options::{Format, inputs};
use crate::output;

/// Where the queue comes from.
pub(super) fn read(file: Option<&Path>) -> anyhow::Result<Queue> {
    let (text, name) = match file {
        Some(file) => {
            (inputs::read_text_or_stdin(file, EXPECTED_QUEUE)?, file.display().to_string())
        }
        None => (slurm_queue::jobs(COLUMNS)?, "squeue".to_owned()),
    };
    Ok(Queue::parse(&text, &name)?)
}

/// The proposal; its keys are those of the JSON form.
#[derive(Debug, Serialize)]
pub(super) struct QueueReport {
    #[serde(rename = "answer_text")]
    pub(super) sentence: String,
    pub(super) answer: &'static str,
    gain: f64,
    pub(super) starts: Vec<StartRow>,
    left: Vec<LeftRow>,
    /// Jobs in the queue that neither wait nor run.
    others: usize,
    pub(super) notes: Vec<String>,
}

/// A job to start.
#[derive(Debug, Serialize)]
pub(super) struct StartRow {
    pub(super) job: String,
    pub(super) name: String,
    pub(super) beside: String,
    pub(super) beside_name: String,
    beside_runs: bool,
    /// A hostlist; `None` if both wait.
    pub(super) nodes: Option<String>,
    pub(super) cpus_per_node: u32,
    /// Run times in percent of those alone on whole nodes.
    pub(super) percent: f64,
    pub(super) percent_of_other: f64,
    gain: f64,
    pub(super) class: String,
    /// What its owner or an operator types.
    pub(super) commands: Vec<String>,
}

/// A job that is in no start.
#[derive(Debug, Serialize)]
struct LeftRow {
    job: String,
    name: String,
    runs: bool,
    why: &'static str,
}

impl QueueReport {
    pub(super) fn new(
        queue: &Queue,
        jobs: &JobSet,
        cpus_per_node: u32,
        options: &PairOptions,
        mut notes: Vec<String>,
    ) -> Self {
        if !queue.tells_reasons && queue.jobs.iter().any(|job| !job.runs()) {
            notes.push(format!(
                "the queue does not say which jobs are held, and which depend on others (an update replaces \
                 that): take squeue -o \"{COLUMNS}\""
            ));
        }
        let proposal = propose(jobs, &queue.jobs, cpus_per_node, options);
        let starts: Vec<StartRow> =
            proposal.starts.iter().map(|start| StartRow::new(start, &queue.jobs)).collect();
        let left = |(at, why): &(usize, Why)| {
            let job = &queue.jobs[*at];
            let (id, name) = (job.id.clone(), job.name.clone());
            LeftRow { job: id, name, runs: job.runs(), why: reason(*why, job) }
        };
        let answer = match () {
            () if starts.is_empty() => "do not share",
            () if proposal.gain <= options.tolerance => NO_DIFFERENCE,
            () => "share",
        };
        Self {
            sentence: sentence(&proposal, queue, &starts, answer),
            answer,
            gain: proposal.gain,
            left: proposal.left.iter().map(left).collect(),
            starts,
            others: queue.others,
            notes,
        }
    }

    /// The starts in plain units: header and rows.
    pub(super) fn csv(&self) -> ([&'static str; 8], Vec<Vec<String>>) {
        let header = [
            "job",
            "name",
            "beside",
            "nodes",
            "cpus_per_node",
            "percent",
            "percent_of_other",
            "class",
        ];
        (header, self.starts.iter().map(StartRow::csv).collect())
    }

    pub(super) fn show(&self, format: Format) -> String {
        match format {
            Format::Json => to_json(self),
            Format::Csv => {
                let (header, rows) = self.csv();
                output::csv(&header, &rows)
            }
            Format::Table => {
                let others = match self.others {
                    0 => String::new(),
                    others => {
                        let others = counted(others, "job");
                        format!("\n{others} left out: ended, ending or suspended\n")
                    }
                };
                let notes: String = self.notes.iter().map(|note| format!("\n{note}\n")).collect();
                let (sentence, starts, left) = (&self.sentence, self.starts(), self.left());
                format!("{sentence}\n{starts}{left}{others}{notes}")
            }
        }
    }

    /// The jobs to start, and what to type; empty without any.
    fn starts(&self) -> String {
        if self.starts.is_empty() {
            return String::new();
        }
        let rows: Vec<_> = self.starts.iter().map(StartRow::cells).collect();
        let header = [
            "start",
            "name",
            "beside",
            "on",
            "CPUs per node",
            "run time",
            "of the other",
            "together they are",
        ];
        let table = output::table(&header, &rows);
        let commands = self.starts.iter().flat_map(|start| &start.commands);
        let commands: String = commands.map(|command| format!("  {command}\n")).collect();
        format!(
            "\n{table}\nTo type, as the owner of the job or an operator; rankwright changes nothing:\n{commands}"
        )
    }

    /// The other jobs, and why they are in no start; empty without any.
    fn left(&self) -> String {
        if self.left.is_empty() {
            return String::new();
        }
        let row = |row: &LeftRow| {
            let state = if row.runs { "runs" } else { "waits" };
            vec![row.job.clone(), row.name.clone(), state.to_owned(), row.why.to_owned()]
        };
        let rows: Vec<_> = self.left.iter().map(row).collect();
        format!("\n{}", output::table(&["not started", "name", "state", "because"], &rows))
    }
}

impl StartRow {
    fn new(start: &Start, queue: &[QueuedJob]) -> Self {
        let (job, other) = (&queue[start.job], &queue[start.beside]);
        let nodes = (!start.hosts.is_empty()).then(|| hostlist::compress(&start.hosts));
        let (id, beside) = (&job.id, &other.id);
        let release = |job: &QueuedJob| {
            let held = job.waits_for == WaitsFor::Owner && !job.runs();
            let id = &job.id;
            held.then(|| format!("scontrol release {id}   # as its owner, who holds it"))
        };
        let commands = match &nodes {
            Some(nodes) => {
                let update = format!("scontrol update JobId={id} ReqNodeList={nodes}");
                [update].into_iter().chain(release(job)).collect()
            }
            // The first one's nodes are known when it runs.
            None => {
                let of_other = format!("$(squeue -h -j {beside} -o %N)");
                let list = match job.nodes < other.nodes {
                    true => format!(
                        "$(scontrol show hostnames {of_other} | head -n {} | paste -sd, -)",
                        job.nodes
                    ),
                    false => of_other,
                };
                let after = format!("scontrol update JobId={id} Dependency=after:{beside}");
                let update =
                    format!("scontrol update JobId={id} ReqNodeList={list}   # when {beside} runs");
                let begin = [after].into_iter().chain(release(job)).chain(release(other));
                begin.chain([update]).collect()
            }
        };
        Self {
            job: id.clone(),
            name: job.name.clone(),
            beside: beside.clone(),
            beside_name: other.name.clone(),
            beside_runs: other.runs(),
            nodes,
            cpus_per_node: job.cpus_per_node(),
            percent: start.percent.0,
            percent_of_other: start.percent.1,
            gain: start.gain(),
            class: start.compatibility.to_string(),
            commands,
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.job.clone(),
            self.name.clone(),
            format!("{} ({})", self.beside, self.beside_name),
            self.nodes.clone().unwrap_or_else(|| "its nodes".to_owned()),
            self.cpus_per_node.to_string(),
            format!("{:.1} %", self.percent),
            format!("{:.1} %", self.percent_of_other),
            self.class.clone(),
        ]
    }

    fn csv(&self) -> Vec<String> {
        vec![
            self.job.clone(),
            self.name.clone(),
            self.beside.clone(),
            self.nodes.clone().unwrap_or_default(),
            self.cpus_per_node.to_string(),
            self.percent.to_string(),
            self.percent_of_other.to_string(),
            self.class.clone(),
        ]
    }
}

/// The answer, its gain last.
fn sentence(proposal: &Proposal, queue: &Queue, starts: &[StartRow], answer: &str) -> String {
    let waiting = queue.jobs.iter().filter(|job| !job.runs()).count();
    if waiting == 0 {
        return "Nothing to start: no job waits".to_owned();
    }
    let Some(first) = starts.first() else {
        return "Start none beside another: each is better alone on whole nodes, or does not fit; the \
                list says which"
            .to_owned();
    };
    let (job, name, beside, other) = (&first.job, &first.name, &first.beside, &first.beside_name);
    let place = match &first.nodes {
        Some(nodes) => format!(", which runs on {nodes}"),
        None => ", which waits too".to_owned(),
    };
    let more = match starts.len() {
        1 => String::new(),
        count => format!(" ({} more below)", count - 1),
    };
    let gain = 100.0 * proposal.gain;
    let gain = match answer == NO_DIFFERENCE {
        true => format!("no difference in run time ({gain:+.1} %)"),
        false => format!("run times {gain:.1} % shorter on average than alone on whole nodes"),
    };
    format!("Start {job} ({name}) beside {beside} ({other}){place}{more}: {gain}")
}

fn reason(why: Why, job: &QueuedJob) -> &'static str {
    match why {
        Why::Unknown => "nothing is known of a program of this name",
        Why::Array => {
            "it stands for several tasks of an array, which an update would change together"
        }
        Why::Depends => "it depends on other jobs",
        Why::HeldByAdministrator => "an administrator holds it",
        Why::WholeNodes if job.sharing == NodeSharing::Never => {
            "it has its nodes for itself (--exclusive)"
        }
        Why::WholeNodes => "it must not share its nodes",
        Why::Full if job.runs() => "no CPUs are free on its nodes, or two jobs run there already",
        Why::Full => "it wants all CPUs of its nodes",
        Why::NoRoom if job.runs() => "no known waiting job fits beside it and may run there",
        Why::NoRoom => "no known job may run beside it with enough free CPUs",
        Why::Hinders => "beside each job with room, one of the two would lose",
        Why::LeftOver => "the jobs it could run with are better off with others",
        Why::Later => "many jobs come before it in the queue; these are considered first",
    }
}

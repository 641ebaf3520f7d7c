//! The queue of Slurm as `squeue` prints it: `--json`, whose shape differs between versions, or text with
//! [`COLUMNS`].

use serde_json::Value;

use super::super::queue::{NodeSharing, QueuedJob, WaitsFor};
use crate::cluster::hostlist;
use crate::files::InputError;

/// What is expected of the file, for error messages.
pub const EXPECTED_QUEUE: &str =
    "the queue of Slurm: squeue --json, or squeue -o with these columns";

/// The format of `squeue -o` that has all that is used.
pub const COLUMNS: &str = "%i|%j|%T|%C|%D|%N|%u|%h|%r|%E";

/// The jobs of a queue that wait or hold CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// In the order of the file.
    pub jobs: Vec<QueuedJob>,
    /// How many jobs neither wait nor run: they have ended or are about to, or are suspended. Those that
    /// hold CPUs are among `jobs`.
    pub others: usize,
    /// Whether it tells which jobs are held and which depend on others.
    pub tells_reasons: bool,
}

impl Queue {
    /// Reads what `squeue` printed.
    ///
    /// # Errors
    /// If it is neither JSON with jobs nor lines with the columns that are needed, or a number or a host
    /// list is malformed. The error has the line or the job.
    pub fn parse(text: &str, file: &str) -> Result<Self, InputError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (jobs, tells_reasons) = match text.trim_start().starts_with('{') {
            true => (of_json(text, file)?, true),
            false => of_lines(text, file)?,
        };
        let others = jobs.iter().filter(|job| job.as_ref().is_none_or(|job| job.is_held)).count();
        Ok(Self { jobs: jobs.into_iter().flatten().collect(), others, tells_reasons })
    }
}

/// A job as it is written; whichever form it has.
struct Written<'a> {
    id: &'a str,
    name: &'a str,
    state: &'a str,
    cpus: u32,
    nodes: u32,
    hosts: &'a str,
    user: &'a str,
    sharing: NodeSharing,
    /// Why it waits, in Slurm's word: `JobHeldUser`; empty if unknown.
    reason: &'a str,
    /// The jobs on which it depends; empty for none, or if unknown.
    dependency: &'a str,
    /// The tasks of an array for which it stands; empty for a job or task of its own.
    tasks: &'a str,
}

impl Written<'_> {
    fn waits_for(&self) -> WaitsFor {
        let depends = !matches!(self.dependency, "" | "(null)");
        match self.reason {
            _ if !self.tasks.is_empty() => WaitsFor::CpusOfTasks,
            _ if depends => WaitsFor::OtherJobs,
            "Dependency" | "DependencyNeverSatisfied" => WaitsFor::OtherJobs,
            "JobHeldUser" => WaitsFor::Owner,
            "JobHeldAdmin" => WaitsFor::Administrator,
            _ => WaitsFor::Cpus,
        }
    }

    /// The job; `None` if it has ended.
    fn job(self, file: &str) -> Result<Option<QueuedJob>, InputError> {
        let (runs, is_held) = match self.state.to_ascii_uppercase().as_str() {
            "RUNNING" | "R" | "CONFIGURING" | "CF" => (true, false),
            "PENDING" | "PD" => (false, false),
            "COMPLETING" | "CG" | "SUSPENDED" | "S" | "STOPPED" | "ST" | "SIGNALING" | "SI"
            | "STAGE_OUT" | "SO" | "RESIZING" | "RS"
                if !self.hosts.is_empty() =>
            {
                (true, true)
            }
            _ => return Ok(None),
        };
        let wrong = |found: String, expected: &str| {
            Err(InputError::new(file, found, expected).in_field(format!("job {}", self.id)))
        };
        let hosts = match runs {
            true => match hostlist::expand(self.hosts) {
                Ok(hosts) if !hosts.is_empty() => hosts,
                Ok(_) => return wrong("no nodes of a running job".to_owned(), "its nodes"),
                Err(error) => {
                    return wrong(format!("nodes `{}`: {error}", self.hosts), "a hostlist");
                }
            },
            false => Vec::new(),
        };
        if self.cpus == 0 {
            return wrong("0 CPUs".to_owned(), "a number from 1");
        }
        Ok(Some(QueuedJob {
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            user: self.user.to_owned(),
            nodes: if runs { hosts.len() as u32 } else { self.nodes.max(1) },
            hosts,
            cpus: self.cpus,
            sharing: self.sharing,
            is_held,
            waits_for: self.waits_for(),
        }))
    }
}

/// The columns of a line by their headers.
struct Columns {
    count: usize,
    id: usize,
    name: usize,
    state: usize,
    cpus: usize,
    nodes: usize,
    hosts: usize,
    user: Option<usize>,
    sharing: Option<usize>,
    reason: Option<usize>,
    dependency: Option<usize>,
}

impl Columns {
    fn of(header: &str, file: &str) -> Result<Self, InputError> {
        let cells: Vec<&str> = header.split('|').map(str::trim).collect();
        let find = |names: &[&str]| cells.iter().position(|cell| names.contains(cell));
        let needed = |names: &[&str]| {
            find(names).ok_or_else(|| {
                let error =
                    InputError::new(file, format!("no column {}", names[0]), EXPECTED_QUEUE);
                error.at_line(1)
            })
        };
        Ok(Self {
            count: cells.len(),
            id: needed(&["JOBID"])?,
            name: needed(&["NAME"])?,
            state: needed(&["STATE", "ST"])?,
            cpus: needed(&["CPUS"])?,
            nodes: needed(&["NODES"])?,
            hosts: needed(&["NODELIST", "NODELIST(REASON)"])?,
            user: find(&["USER"]),
            sharing: find(&["OVER_SUBSCRIBE"]),
            // In brackets where a job has no nodes, if it shares a column with them.
            reason: find(&["REASON"]).or_else(|| find(&["NODELIST(REASON)"])),
            dependency: find(&["DEPENDENCY"]),
        })
    }
}

/// The jobs of lines, and whether these have all columns that say why a job waits.
fn of_lines(text: &str, file: &str) -> Result<(Vec<Option<QueuedJob>>, bool), InputError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let Some((_, header)) = lines.next() else {
        return Err(InputError::new(file, "no line", EXPECTED_QUEUE));
    };
    let columns = Columns::of(header, file)?;
    let job = |(number, line): (usize, &str)| {
        let at = |error: InputError| error.at_line(number);
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() != columns.count {
            let found = format!("{} columns", cells.len());
            let error = InputError::new(file, found, format!("{} as in the header", columns.count));
            return Err(at(error.with_advice("names of jobs may contain `|`: take squeue --json")));
        }
        let number = |column: usize, what: &str| {
            short_number(cells[column]).ok_or_else(|| {
                let found = format!("{what} `{}`", cells[column]);
                at(InputError::new(file, found, "a whole number"))
            })
        };
        let written = Written {
            id: cells[columns.id],
            name: cells[columns.name],
            state: cells[columns.state],
            cpus: number(columns.cpus, "CPUS")?,
            nodes: number(columns.nodes, "NODES")?,
            hosts: cells[columns.hosts],
            user: columns.user.map_or("", |column| cells[column]),
            sharing: columns.sharing.map_or(NodeSharing::Any, |column| sharing(cells[column])),
            reason: columns.reason.map_or("", |column| cells[column].trim_matches(['(', ')'])),
            dependency: columns.dependency.map_or("", |column| cells[column]),
            // 7000_[1-100%4]; a task of its own is 7000_3.
            tasks: cells[columns.id].split_once('[').map_or("", |(_, tasks)| tasks),
        };
        written.job(file).map_err(at)
    };
    let tells_reasons = columns.reason.is_some() && columns.dependency.is_some();
    Ok((lines.map(job).collect::<Result<_, _>>()?, tells_reasons))
}

/// A number as Slurm shortens it: 4K is 4096.
fn short_number(text: &str) -> Option<u32> {
    let (digits, factor) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1024.0),
        None => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok()? * factor;
    (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number))
        .then_some(number as u32)
}

/// What squeue prints for `%h`, and the word of `shared` in JSON.
fn sharing(word: &str) -> NodeSharing {
    match word.to_ascii_lowercase().as_str() {
        "no" | "none" | "exclusive" => NodeSharing::Never,
        "user" => NodeSharing::SameUser,
        // Of the same account label (MCS): who has it is not in the queue.
        "mcs" => NodeSharing::Never,
        _ => NodeSharing::Any,
    }
}

fn of_json(text: &str, file: &str) -> Result<Vec<Option<QueuedJob>>, InputError> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let found = if error.is_eof() { "an end in the middle" } else { "malformed JSON" };
        InputError::new(file, found, EXPECTED_QUEUE).at_line(error.line())
    })?;
    let Some(jobs) = document.get("jobs").and_then(Value::as_array) else {
        return Err(InputError::new(file, "no list `jobs`", EXPECTED_QUEUE));
    };
    let job = |job: &Value| {
        let number = |field: &str| number_of(&job[field]).unwrap_or(0);
        let id = number("job_id").to_string();
        let text = |field: &str| job[field].as_str().unwrap_or_default();
        if words_of(&job["job_state"]).is_empty() || number_of(&job["cpus"]).is_none() {
            let field = if job["cpus"].is_null() { "cpus" } else { "job_state" };
            let error = InputError::new(file, format!("no {field}"), "what squeue --json has");
            return Err(error.in_field(format!("job {id}")));
        }
        let words = words_of(&job["shared"]);
        let written = Written {
            id: &id,
            name: text("name"),
            state: state_of(&words_of(&job["job_state"])),
            cpus: number("cpus"),
            nodes: number("node_count"),
            hosts: text("nodes"),
            user: text("user_name"),
            sharing: words.first().map_or(NodeSharing::Any, |word| sharing(word)),
            reason: text("state_reason"),
            dependency: text("dependency"),
            tasks: text("array_task_string"),
        };
        written.job(file)
    };
    jobs.iter().map(job).collect()
}

/// The state of a job from its words: since Slurm 23.02 flags follow it, of which COMPLETING matters.
fn state_of<'a>(words: &[&'a str]) -> &'a str {
    let is_completing = |word: &&&str| word.eq_ignore_ascii_case("COMPLETING");
    words.iter().find(is_completing).or(words.first()).copied().unwrap_or_default()
}

/// A number, or since Slurm 23.02 an object with `set` and `number`.
fn number_of(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| value["number"].as_u64())?;
    u32::try_from(number).ok()
}

/// A word, or in later versions a list of words.
fn words_of(value: &Value) -> Vec<&str> {
    match value {
        Value::String(word) => vec![word],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

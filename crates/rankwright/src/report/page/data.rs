//! The parts of a report that every kind has. Their names in JSON are those of `page/src/data.ts`.

use serde::Serialize;

use super::machine::Machine;
use super::measured::MeasuredWay;
use super::placements::{DeviceLoad, PlacementView};
use super::strategies::StrategyTable;
use super::timeline::Timeline;
use super::traffic::Traffic;

/// A whole report: what the page shows, and what the texts are made of. Sections that are absent do not
/// apply to this kind of report; what applies and was not measured is in `missing`.
///
/// Times are in seconds, amounts in bytes, shares from 0 to 1. Ranks count over all jobs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What it is about.
    pub kind: Kind,
    /// Such as `lu.W.16 on 4 nodes of small`.
    pub title: String,
    /// Whether a placement pays.
    pub verdict: Verdict,
    /// What, when, where.
    pub facts: Vec<Fact>,
    /// What to type.
    pub commands: Vec<Command>,
    /// The jobs, in the order of their ranks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobRanks>,
    /// Who sends how much to whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// The nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Where the ranks run; the first is the launcher's default where it is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementView>,
    /// Bytes through network devices under each placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceLoad>,
    /// When the network is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// The strategies that were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategies: Option<StrategyTable>,
    /// Measured run times, beside predicted ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<MeasuredWay>,
    /// Tables of reports that are not about one placement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// What is good, wrong or doubtful, the most severe first.
    pub findings: Vec<Finding>,
    /// What was not measured, and how to measure it.
    pub missing: Vec<Missing>,
    /// Names that the user gave to inputs, which are text in all forms.
    #[serde(skip)]
    pub(super) given_names: Vec<String>,
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A workload that was placed.
    Workload,
    /// A placement that exists.
    Placement,
    /// Strategies that were compared.
    Comparison,
    /// A simulated placement.
    Simulation,
    /// The time line of a recorded run.
    Timeline,
    /// Jobs that may share nodes.
    Pair,
    /// The numbers of a paper, computed again.
    Reproduction,
    /// What the counters of network devices say.
    Counters,
    /// Run times that were measured.
    RunTimes,
}

/// Whether a placement pays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The first line of the command.
    pub text: String,
    /// The verdict in a word.
    pub outcome: Outcome,
    /// A sentence each: the most that can be gained, why the winner won, how it was computed.
    pub details: Vec<String>,
}

/// The verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Something is gained.
    Gain,
    /// Messages wait less, but the run is as long.
    LessWaiting,
    /// Fewer bytes pass between nodes; the run time is not known.
    LessTraffic,
    /// Nothing is gained.
    NoGain,
    /// What was predicted happened.
    AsPredicted,
    /// What was predicted did not happen.
    NotAsPredicted,
    /// It cannot be told.
    Unknown,
    /// Something is wrong.
    Fault,
}

/// A fact: the command, the MPI library, hosts, versions, digests, where rates come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is about.
    pub group: FactGroup,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FactGroup {
    /// The recorded run.
    Run,
    /// The cluster.
    Machine,
    /// The report itself.
    Report,
}

/// Something to type or to save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// What it does.
    pub title: String,
    /// The command line, or the contents of the file.
    pub text: String,
    /// The name of the file, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The ranks of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRanks {
    /// Its name.
    pub name: String,
    /// Its first rank.
    pub first_rank: usize,
    /// Their number.
    pub ranks: usize,
}

/// A table with a caption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// The title.
    pub title: String,
    /// What it shows, for those who see it for the first time.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows; as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether its cells are numbers.
    pub numeric: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A value that is not known: `null`.
    Unknown,
}

/// Something that is good, wrong or doubtful.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name that never changes, such as `rates-assumed`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// Who can mend it.
    pub addressee: Addressee,
    /// What it is.
    pub text: String,
    /// The way out; empty if there is nothing to mend.
    pub remedy: String,
    /// What to paste to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The result may be wrong.
    High,
    /// The result is less certain.
    Warning,
    /// Worth knowing.
    Info,
    /// As it should be.
    Ok,
}

/// Who can mend what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressee {
    /// Who runs the program.
    User,
    /// Who writes it.
    Developer,
    /// Who runs the machine.
    Administrator,
}

/// What was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The section that lacks it.
    pub section: Section,
    /// What it is, and what it would tell.
    pub text: String,
    /// The command that measures it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// A section of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Whether a placement pays.
    Verdict,
    /// Who sends how much to whom.
    Traffic,
    /// The nodes.
    Machine,
    /// Bytes through network devices.
    Devices,
    /// When the network is used.
    Timeline,
    /// The strategies.
    Strategies,
}

impl Verdict {
    /// Whether it has this sentence, which is then not told again.
    pub(super) fn says(&self, sentence: &str) -> bool {
        self.text == sentence || self.details.iter().any(|detail| detail == sentence)
    }
}

impl Report {
    /// A report with nothing but a verdict.
    #[must_use]
    pub fn new(kind: Kind, title: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            kind,
            title: title.into(),
            verdict,
            facts: Vec::new(),
            commands: Vec::new(),
            jobs: Vec::new(),
            traffic: None,
            machine: None,
            placements: Vec::new(),
            devices: Vec::new(),
            timeline: None,
            strategies: None,
            measured: Vec::new(),
            tables: Vec::new(),
            findings: Vec::new(),
            missing: Vec::new(),
            given_names: Vec::new(),
        }
    }

    /// Adds a fact, unless its value is empty.
    pub fn fact(&mut self, group: FactGroup, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.facts.push(Fact { group, name: name.to_owned(), value });
        }
    }

    /// Adds findings; the most severe come first, those of one severity in the order in which they came.
    pub fn find(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| finding.severity);
    }
}

//! Who shares nodes with whom, as a report.

use rankwright::report::page::{
    Cell, Column, Command, Found, Kind, Outcome, Report, Table, Verdict,
};

use super::queue::{QueueReport, StartRow};
use super::report::{BesideRow, JobRow, PairReport, SHARE, SoloRow};

impl PairReport {
    /// The report.
    pub(super) fn page(&self) -> Report {
        let mut details = vec![self.comparison.clone()];
        details.push(format!("Compared by {}.", self.objective));
        let title = format!("{} jobs: who shares nodes with whom", self.jobs.len());
        let mut report = page(title, (&self.sentence, self.answer), details, &self.notes);
        report.tables.push(Table {
            title: "Jobs".to_owned(),
            caption:
                "The run time is that beside the others, in percent of the run time alone on whole \
                      nodes."
                    .to_owned(),
            columns: vec![
                column("job", "", false),
                column("shares nodes with", "", false),
                column("share of the cores", "share", true),
                column("run time", "%", true),
                column("together they are", "", false),
            ],
            rows: self.jobs.iter().map(job).collect(),
        });
        if !self.solo.is_empty() {
            report.tables.push(alone(&self.solo));
        }
        if !self.beside.is_empty() {
            report.tables.push(beside(&self.beside));
        }
        report
    }
}

impl QueueReport {
    /// The report.
    pub(super) fn page(&self) -> Report {
        let title = "Which waiting job to start beside which".to_owned();
        let mut report = page(title, (&self.sentence, self.answer), Vec::new(), &self.notes);
        if !self.starts.is_empty() {
            report.tables.push(starts(&self.starts));
        }
        for start in &self.starts {
            report.commands.push(Command {
                title: format!("Start {} beside {}", start.name, start.beside_name),
                text: start.commands.join("\n"),
                file: None,
            });
        }
        report
    }
}

fn page(
    title: String,
    (sentence, answer): (&str, &str),
    details: Vec<String>,
    notes: &[String],
) -> Report {
    let outcome = if answer == SHARE { Outcome::Gain } else { Outcome::NoGain };
    let details = details.into_iter().filter(|text| !text.is_empty()).collect();
    let verdict = Verdict { text: sentence.to_owned(), outcome, details };
    let mut report = Report::new(Kind::Pair, title, verdict);
    report.find(notes.iter().map(|note| Found::new("pair-note", note).finding()));
    report
}

fn column(name: &str, unit: &str, numeric: bool) -> Column {
    let unit = (!unit.is_empty()).then(|| unit.to_owned());
    Column { name: name.to_owned(), unit, numeric }
}

fn job(row: &JobRow) -> Vec<Cell> {
    vec![
        Cell::Text(row.job.clone()),
        Cell::Text(if row.with.is_empty() { "none".to_owned() } else { row.with.join(", ") }),
        Cell::Number(row.share),
        Cell::Number(row.percent),
        row.class.clone().map_or(Cell::Unknown, Cell::Text),
    ]
}

fn starts(rows: &[StartRow]) -> Table {
    let row = |row: &StartRow| {
        vec![
            Cell::Text(row.job.clone()),
            Cell::Text(row.name.clone()),
            Cell::Text(row.beside.clone()),
            row.nodes.clone().map_or(Cell::Unknown, Cell::Text),
            Cell::Number(f64::from(row.cpus_per_node)),
            Cell::Number(row.percent),
            Cell::Number(row.percent_of_other),
            Cell::Text(row.class.clone()),
        ]
    };
    Table {
        title: "Starts".to_owned(),
        caption: "Run times are in percent of those alone on whole nodes.".to_owned(),
        columns: vec![
            column("start", "", false),
            column("name", "", false),
            column("beside", "", false),
            column("on", "", false),
            column("CPUs per node", "", true),
            column("run time", "%", true),
            column("of the other", "%", true),
            column("together they are", "", false),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn alone(rows: &[SoloRow]) -> Table {
    let row = |row: &SoloRow| {
        let numbers = [
            row.nodes_full as f64,
            row.full_s,
            row.nodes_half as f64,
            row.half_s,
            row.communicating,
            row.device_use,
        ];
        [Cell::Text(row.job.clone())].into_iter().chain(numbers.map(Cell::Number)).collect()
    };
    Table {
        title: "Each job alone".to_owned(),
        caption:
            "Replayed on all cores of its nodes, and on half of the cores of twice as many; the \
                  shares of time are those on half of the cores."
                .to_owned(),
        columns: vec![
            column("job", "", false),
            column("nodes, all cores", "", true),
            column("run time", "s", true),
            column("nodes, half of the cores", "", true),
            column("run time", "s", true),
            column("waits for messages", "share", true),
            column("uses the device", "share", true),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

fn beside(rows: &[BesideRow]) -> Table {
    let row = |row: &BesideRow| {
        vec![
            Cell::Text(row.job.clone()),
            Cell::Text(row.background.clone()),
            Cell::Number(row.percent),
            row.half_width.map_or(Cell::Unknown, Cell::Number),
            Cell::Number(row.first_order_percent),
        ]
    };
    Table {
        title: "Each job beside each other one".to_owned(),
        caption: "Run times in percent of those alone on whole nodes: replayed, with half the width of the \
                  95 % interval over offsets, and by the formula of first order."
            .to_owned(),
        columns: vec![
            column("job", "", false),
            column("beside", "", false),
            column("run time, replayed", "%", true),
            column("±", "%", true),
            column("first order", "%", true),
        ],
        rows: rows.iter().map(row).collect(),
    }
}

//! `check --counters`: whether network devices carried what was predicted, by a record of a run; and the
//! reader that `run --counters` starts on each node.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rankwright::placement::PlacementFile;
use rankwright::rails::counters::{Judgement, Record, Row, Verdict, judge};
use rankwright::report::page::Report;
use rankwright::report::to_json;

use super::arguments::Check;
use crate::host::counters;
use crate::launching::every_node;
use crate::options::{Format, LaunchOptions, given, refuse};
use crate::output::exit_code::{Infeasible, Mismatch};
use crate::output::{self, Verbosity, note};

/// The time between two readings on an idle node, for the traffic of others.
const IDLE: Duration = Duration::from_secs(1);

/// Leaves the counters of this node in a folder.
pub(super) fn read_to(folder: &Path) -> anyhow::Result<ExitCode> {
    let reading = counters::read(IDLE);
    let text = reading.and_then(|reading| Ok(serde_json::to_string(&reading)?));
    every_node::leave(folder, "json", text)?;
    Ok(ExitCode::SUCCESS)
}

impl Check {
    /// Judges a record, against another placement if one is given.
    ///
    /// # Errors
    /// If a file cannot be read, or a device did not carry what was due.
    pub(super) fn judge(&self, file: &Path, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let why = " has no effect with --counters, which starts nothing";
        refuse(&[
            (self.given.first_of::<LaunchOptions>(), why),
            (self.given.option_of::<Self>("timeout"), why),
            (given("--for", self.launcher.is_some()), why),
            (given("`-- PROGRAM`", !self.program.is_empty()), why),
        ])?;
        self.result.check()?;
        self.report.check(&[self.result.file(), Some(file)])?;
        let mut record = Record::read(file)?;
        if let Some(path) = &self.placement {
            let placement = PlacementFile::read(path)?;
            record = record.placed_as(&placement).map_err(|why| {
                Infeasible(format!("{} and {}: {why}", file.display(), path.display()))
            })?;
        }
        let judgement = judge(&record);
        self.result.write(&render(&judgement, self.result.format))?;
        self.report.write_if_wanted(|| Report::of_counters(&record, &judgement), verbosity)?;
        match judgement.verdict {
            Verdict::Fault => Err(Mismatch(judgement.sentence).into()),
            Verdict::AsPredicted | Verdict::CannotTell => {
                if self.result.format != Format::Table || self.result.has_file() {
                    note(verbosity, &judgement.sentence);
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

const HEADER: [&str; 11] = [
    "node",
    "device",
    "out",
    "predicted out",
    "ratio out",
    "in",
    "predicted in",
    "ratio in",
    "background",
    "remark",
    "source",
];

/// The judgement in the wanted format. The table is below the verdict.
fn render(judgement: &Judgement, format: Format) -> String {
    let rows: Vec<Vec<String>> = judgement.devices.iter().map(cells).collect();
    match format {
        Format::Json => to_json(judgement),
        Format::Csv => output::csv(&HEADER, &rows),
        Format::Table => {
            let shown = HEADER.len() - 1;
            let rows: Vec<Vec<String>> =
                rows.into_iter().map(|row| row[..shown].to_vec()).collect();
            let mut text = format!("{}\n", judgement.sentence);
            let others = judgement.faults.iter().chain(&judgement.untold).chain(&judgement.notes);
            for line in others.filter(|line| !judgement.sentence.ends_with(line.as_str())) {
                text += &format!("- {line}\n");
            }
            if !rows.is_empty() {
                text += &format!("\n{}", output::table(&HEADER[..shown], &rows));
            }
            text
        }
    }
}

fn cells(row: &Row) -> Vec<String> {
    let dash = || "-".to_owned();
    let bytes = |bytes: Option<u64>| bytes.map_or_else(dash, |bytes| bytes.to_string());
    let ratio = |ratio: Option<f64>| ratio.map_or_else(dash, |ratio| format!("{ratio:.3}"));
    vec![
        row.node.clone(),
        row.device.clone(),
        bytes(row.out),
        row.predicted_out.to_string(),
        ratio(row.ratio_out),
        bytes(row.incoming),
        row.predicted_in.to_string(),
        ratio(row.ratio_in),
        bytes(row.background),
        row.remark.clone(),
        row.source.clone(),
    ]
}

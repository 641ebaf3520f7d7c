//! `rankwright reproduce`.

use rankwright::report::page::{
    self, Cell, Column, FactGroup, Found, Kind, Outcome, Report, Table,
};
use rankwright::report::to_json;
use rankwright::units::four_digits;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rankwright::files::{make_folder, write_atomically};
use rankwright_papers::{Assumption, Paper, Reading, Results, Row, Verdict, simulate};
use serde::Serialize;

use crate::host::signals::interrupt;
use crate::host::this_host::usable_pus;
use crate::options::{Format, ReportOption, ResultOptions, parse_count};
use crate::output::{self, Verbosity};
use crate::planning::simulations::Watch;

/// Options of `rankwright reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Paper to compute again
    #[arg(value_parser = papers())]
    paper: Paper,
    /// Number of simulations to run in parallel; does not change the result
    /// [default: the number of PUs that this process may use]
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_count::<NonZeroUsize>,
        allow_negative_numbers = true,
    )]
    threads: Option<NonZeroUsize>,
    /// Also show quantities for which the paper prints no number
    #[arg(long)]
    all: bool,
    /// Also write all numbers as CSV files, and figures as SVG files, to this folder
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    #[command(flatten)]
    result: ResultOptions,
    #[command(flatten)]
    report: ReportOption,
}

/// The papers by name.
fn papers() -> impl TypedValueParser<Value = Paper> {
    let names = Paper::ALL.map(|paper| PossibleValue::new(paper.name()).help(paper.title()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Paper>())
}

/// The JSON output.
#[derive(Serialize)]
struct Reproduction {
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<Assumption>,
    simulations: Results,
}

impl Reproduce {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.result.check()?;
        self.report.check(&[self.result.file()])?;
        if let Some(folder) = &self.data {
            make_folder(folder)?;
        }
        let cases = self.paper.cases();
        let watch = Watch::new(verbosity, cases.len());
        let simulations =
            simulate(&cases, self.threads.unwrap_or_else(usable_pus), &|position, progress| {
                watch.observe(position, progress)
            })?;
        drop(watch);
        let rows = self.paper.rows(&simulations)?;
        let assumptions = self.paper.assumptions()?;
        let reproduction = Reproduction { rows, assumptions, simulations };
        if let Some(folder) = &self.data {
            self.write_data(folder, &reproduction)?;
        }
        self.result.write(&self.show(&reproduction)?)?;
        self.report.write_if_wanted(|| self.page(&reproduction), verbosity)?;
        if interrupt::requested() {
            let (done, all) = (reproduction.simulations.0.len(), cases.len());
            bail!("interrupted: {done} of {all} simulations were finished; their rows are printed");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, reproduction: &Reproduction) -> anyhow::Result<String> {
        Ok(match self.result.format {
            Format::Json => to_json(reproduction),
            Format::Csv => csv(&reproduction.rows),
            Format::Table => {
                let Reproduction { rows, assumptions, .. } = reproduction;
                let compared = compared_table(rows);
                let assumptions = assumptions_table(assumptions, self.paper.caveat());
                let (reasons, summary) = (reasons(rows), summary(rows));
                let text = format!("{compared}\n{assumptions}{reasons}\n{summary}");
                if self.all { format!("{}\n{text}", not_printed_table(rows)) } else { text }
            }
        })
    }

    fn page(&self, reproduction: &Reproduction) -> Report {
        let rows = &reproduction.rows;
        let text = summary(rows);
        let text = text.trim_end().to_owned();
        let details = vec![self.paper.caveat().to_owned()];
        let details =
            details.into_iter().filter(|_| !reproduction.assumptions.is_empty()).collect();
        let verdict = page::Verdict { text, outcome: Outcome::Unknown, details };
        let mut report = Report::new(Kind::Reproduction, self.paper.title(), verdict);
        report.fact(FactGroup::Run, "paper", self.paper.name());
        let given = |row: &&Row| row.verdict != Verdict::NotPrinted;
        let compared: Vec<&Row> = rows.iter().filter(given).collect();
        report.tables.push(rows_table(&compared));
        for row in compared.iter().filter(|row| row.verdict == Verdict::NotReproduced) {
            let text = format!("{}, {}: {}", row.item, row.what, row.why);
            report.find([Found::new("not-reproduced", text).finding()]);
        }
        report
    }

    fn write_data(&self, folder: &Path, reproduction: &Reproduction) -> anyhow::Result<()> {
        let Reproduction { rows, assumptions, simulations } = reproduction;
        write_atomically(&folder.join("rows.csv"), csv(rows).as_bytes())?;
        let header = [
            "workload",
            "rate",
            "mapping",
            "total_waiting_s",
            "nic_waiting_s",
            "memory_waiting_s",
            "workload_finish_s",
            "total_finish_s",
            "messages",
            "seeds",
        ];
        let cells = simulations.0.iter().map(|result| {
            vec![
                result.workload.to_owned(),
                result.rate.to_string(),
                result.mapping.to_owned(),
                result.total_waiting_s.to_string(),
                result.nic_waiting_s.to_string(),
                result.memory_waiting_s.to_string(),
                result.workload_finish_s.to_string(),
                result.total_finish_s.to_string(),
                result.messages.to_string(),
                result.seeds.to_string(),
            ]
        });
        let text = output::csv(&header, &cells.collect::<Vec<_>>());
        write_atomically(&folder.join("simulations.csv"), text.as_bytes())?;
        if !assumptions.is_empty() {
            let cells = assumptions.iter().map(|given| {
                vec![
                    given.what.into(),
                    given.value.to_string(),
                    given.unit.into(),
                    given.from.into(),
                ]
            });
            let text = output::csv(&["what", "ours", "unit", "from"], &cells.collect::<Vec<_>>());
            write_atomically(&folder.join("assumptions.csv"), text.as_bytes())?;
        }
        for (name, text) in self.paper.figures()? {
            write_atomically(&folder.join(name), text.as_bytes())?;
        }
        Ok(())
    }
}

/// Numbers and statements of a paper beside ours.
fn rows_table(rows: &[&Row]) -> Table {
    let names = ["where", "what", "paper", "ours", "unit", "difference", "verdict", "why"];
    let numeric = [false, false, true, true, false, true, false, false];
    let columns = names.into_iter().zip(numeric);
    let number = |value: f64| match value.is_finite() {
        true => Cell::Number(value),
        false => Cell::Text("saturated".to_owned()),
    };
    let cells = |row: &&Row| {
        let difference = row.difference.filter(|difference| difference.is_finite());
        vec![
            Cell::Text(row.item.clone()),
            Cell::Text(row.what.clone()),
            row.paper.map_or(Cell::Unknown, number),
            number(row.ours),
            Cell::Text(row.unit.to_owned()),
            difference.map_or(Cell::Unknown, Cell::Number),
            Cell::Text(row.verdict.to_string()),
            Cell::Text(row.why.clone()),
        ]
    };
    Table {
        title: "Printed and computed".to_owned(),
        caption: "Numbers and statements of the paper, and ours.".to_owned(),
        columns: columns
            .map(|(name, numeric)| Column { name: name.to_owned(), unit: None, numeric })
            .collect(),
        rows: rows.iter().map(cells).collect(),
    }
}

fn csv(rows: &[Row]) -> String {
    let header = ["item", "what", "paper", "ours", "unit", "difference", "verdict", "why"];
    let cells = |row: &Row| {
        let optional = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        vec![
            row.item.clone(),
            row.what.clone(),
            optional(row.paper),
            row.ours.to_string(),
            row.unit.to_owned(),
            optional(row.difference),
            // As JSON has it.
            row.verdict.to_string().replace(' ', "_"),
            row.why.clone(),
        ]
    };
    output::csv(&header, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// A number with four digits and its unit; `saturated` for infinity.
fn number(value: f64, unit: &str) -> String {
    if value.is_infinite() {
        return "saturated".to_owned();
    }
    format!("{} {unit}", four_digits(value)).trim_end().to_owned()
}

/// The rows for which the paper has a number or a statement.
fn compared_table(rows: &[Row]) -> String {
    let header = ["where", "what", "paper", "ours", "difference", "verdict"];
    let cells = |row: &Row| {
        let number = |value: f64| number(value, row.unit);
        vec![
            row.item.clone(),
            row.what.clone(),
            row.paper.map_or_else(String::new, number),
            number(row.ours),
            row.difference.filter(|d| d.is_finite()).map_or_else(String::new, number),
            row.verdict.to_string(),
        ]
    };
    let rows = rows.iter().filter(|row| row.verdict != Verdict::NotPrinted);
    output::table(&header, &rows.map(cells).collect::<Vec<_>>())
}

/// All other rows.
fn not_printed_table(rows: &[Row]) -> String {
    let cells = |row: &Row| vec![row.item.clone(), row.what.clone(), number(row.ours, row.unit)];
    let rows = rows.iter().filter(|row| row.verdict == Verdict::NotPrinted);
    let header = ["where", "quantity without a number in the paper", "ours"];
    output::table(&header, &rows.map(cells).collect::<Vec<_>>())
}

/// The assumptions with their caveat and an empty line; nothing if there are none.
fn assumptions_table(assumptions: &[Assumption], caveat: &str) -> String {
    if assumptions.is_empty() {
        return String::new();
    }
    let cells = |given: &Assumption| {
        vec![given.what.to_owned(), number(given.value, given.unit), given.from.to_owned()]
    };
    let rows: Vec<Vec<String>> = assumptions.iter().map(cells).collect();
    let table =
        output::table(&["assumed, because the paper prints no rates", "ours", "from"], &rows);
    format!("{table}\n{caveat}\n\n")
}

/// Each reason once, with its first row and the number of further rows.
fn reasons(rows: &[Row]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let explained =
        rows.iter().filter(|row| !row.why.is_empty() && row.verdict != Verdict::NotPrinted);
    for row in explained {
        match reasons.iter_mut().find(|(why, _)| *why == row.why) {
            Some((_, rows)) => rows.push(&row.what),
            None => reasons.push((&row.why, vec![&row.what])),
        }
    }
    let line = |(why, rows): &(&str, Vec<&str>)| {
        let count = rows.len();
        let first = rows[0];
        let others = match count - 1 {
            0 => String::new(),
            1 => " (and 1 more row)".to_owned(),
            more => format!(" (and {more} more rows)"),
        };
        format!("{first}{others}: {why}.\n")
    };
    reasons.iter().map(line).collect()
}

/// The number of rows with each verdict, for each reading of the paper.
fn summary(rows: &[Row]) -> String {
    let compared: Vec<&Row> =
        rows.iter().filter(|row| row.verdict != Verdict::NotPrinted).collect();
    let calibrated = compared.iter().filter(|row| row.verdict == Verdict::Calibrated).count();
    let counts = |reading: Reading, implied: bool| {
        let counts = |row: &&&Row| {
            row.reading == reading && row.implied == implied && row.verdict != Verdict::Calibrated
        };
        let of_reading: Vec<&&Row> = compared.iter().filter(counts).collect();
        let count = |verdict: Verdict| {
            let count = of_reading.iter().filter(|row| row.verdict == verdict).count();
            format!("{count} {verdict}")
        };
        let verdicts = [Verdict::Reproduced, Verdict::SameOrdering, Verdict::NotReproduced];
        (of_reading.len(), verdicts.map(count).join(", "))
    };
    let (total, ours) = counts(Reading::Ours, false);
    let implied = match counts(Reading::Ours, true) {
        (0, _) => String::new(),
        (total, implied) => {
            format!(
                " Of {total} more that follow from its numbers, but are not printed: {implied}."
            )
        }
    };
    let printed = match counts(Reading::Printed, false) {
        (0, _) => String::new(),
        (total, printed) => format!("By the rules exactly as printed, of {total}: {printed}.\n"),
    };
    let calibrated = match calibrated {
        0 => String::new(),
        count => format!(" {count} more are calibrated: ours was fitted to them."),
    };
    let others = rows.len() - compared.len();
    format!(
        "Of {total} numbers and statements of the paper: {ours}.{implied}{calibrated} `--all` shows {others} \
         numbers that the paper does not print.\n{printed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fitted_or_implied_is_counted_apart() {
        let row = |verdict, implied| Row {
            item: "Fig. 1".to_owned(),
            what: "gain".to_owned(),
            paper: Some(1.0),
            ours: 1.0,
            unit: "%",
            difference: Some(0.0),
            verdict,
            why: String::new(),
            reading: Reading::Ours,
            implied,
        };
        let rows = [
            row(Verdict::Reproduced, false),
            row(Verdict::Reproduced, true),
            row(Verdict::NotReproduced, true),
            row(Verdict::Calibrated, false),
        ];
        assert_eq!(
            summary(&rows),
            "Of 1 numbers and statements of the paper: 1 reproduced, 0 same ordering, 0 not reproduced. Of 2 \
             more that follow from its numbers, but are not printed: 1 reproduced, 0 same ordering, 1 not \
             reproduced. 1 more are calibrated: ours was fitted to them. `--all` shows 0 numbers that the \
             paper does not print.\n"
        );
    }

    #[test]
    fn numbers_have_four_digits_and_nothing_has_no_sign() {
        assert_eq!(number(-2e-16, ""), "0");
        assert_eq!(number(-0.0, "s"), "0 s");
        assert_eq!(number(-0.012_34, ""), "-0.01234");
        assert_eq!(number(1234.5, "us"), "1234 us");
        assert_eq!(number(f64::INFINITY, "us"), "saturated");
    }
}

//! `rankwright reproduce`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueEnum};
use rankwright::files::{make_folder, write_atomically};
use rankwright_papers::{
    Assumption, Results, Row, Verdict, analytic, contention, device_affinity, figure_7,
    process_placement, run,
};
use serde::Serialize;

use crate::cli::Verbosity;
use crate::interrupt;
use crate::output::{self, Format, ResultOptions};
use crate::simulating::Watch;

/// Options of `rankwright reproduce`.
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The paper
    #[arg(value_enum)]
    paper: Paper,
    /// How many simulations run at the same time; the result does not depend on it
    #[arg(long, value_name = "NUMBER", default_value = "2")]
    threads: std::num::NonZeroUsize,
    /// Show what the paper prints no number for too
    #[arg(long)]
    all: bool,
    /// Write all numbers as CSV files to this folder too
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    #[command(flatten)]
    result: ResultOptions,
}

/// The papers that can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// Mercier, Clet-Ortega: Towards an efficient process placement policy for MPI applications in
    /// multicore environments
    #[value(name = "2009-placement")]
    ProcessPlacement2009,
    /// Soryani, Analoui, Zarrinchian: A novel process mapping strategy in clustered environments
    #[value(name = "2012")]
    Strategy2012,
    /// Soryani, Analoui, Zarrinchian: Improving inter-node communications in multi-core clusters
    /// using a contention-free process mapping algorithm
    #[value(name = "2013")]
    Contention2013,
    /// Ganapathi, Gopalakrishnan, McGuire: MPI process and network device affinitization for
    /// optimal HPC application performance
    #[value(name = "2017")]
    DeviceAffinity2017,
}

/// All that was found, in JSON.
#[derive(Serialize)]
struct Reproduction<'a> {
    rows: &'a [Row],
    /// What the paper does not print and ours needs.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    assumptions: &'a [Assumption],
    simulations: &'a Results,
}

impl Reproduce {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        if let Some(folder) = &self.data {
            make_folder(folder)?;
        }
        let cases = match self.paper {
            Paper::ProcessPlacement2009 | Paper::DeviceAffinity2017 => Vec::new(),
            Paper::Strategy2012 => contention::cases_2012(),
            Paper::Contention2013 => contention::cases_2013(),
        };
        let watch = Watch::new(verbosity, cases.len());
        let simulations =
            run(&cases, self.threads, &|position, progress| watch.observe(position, progress));
        drop(watch);
        let rows = match self.paper {
            Paper::ProcessPlacement2009 => process_placement::rows(),
            Paper::DeviceAffinity2017 => device_affinity::rows(),
            Paper::Strategy2012 => contention::rows_2012(&simulations),
            Paper::Contention2013 => {
                let parts =
                    [analytic::rows(), figure_7::rows(), contention::rows_2013(&simulations)];
                parts.concat()
            }
        };
        if let Some(folder) = &self.data {
            self.write_data(folder, &rows, &simulations)?;
        }
        self.result.write(&self.show(&rows, &simulations)?)?;
        if interrupt::requested() {
            let (done, all) = (simulations.0.len(), cases.len());
            bail!("interrupted: {done} of {all} simulations were finished; their rows are printed");
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show(&self, rows: &[Row], simulations: &Results) -> anyhow::Result<String> {
        Ok(match self.result.format {
            Format::Json => {
                let assumptions = &self.assumptions();
                let all = Reproduction { rows, assumptions, simulations };
                serde_json::to_string_pretty(&all)? + "\n"
            }
            Format::Csv => csv(rows),
            Format::Table => {
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
                let said = rows.iter().filter(|row| row.verdict != Verdict::NotPrinted);
                let said = output::table(&header, &said.map(cells).collect::<Vec<_>>());
                let given = given(&self.assumptions());
                let explained = format!("{said}\n{given}{}\n{}", reasons(rows), summary(rows));
                if !self.all {
                    return Ok(explained);
                }
                let own = rows.iter().filter(|row| row.verdict == Verdict::NotPrinted);
                let own: Vec<Vec<String>> = own
                    .map(|row| vec![row.item.clone(), row.what.clone(), number(row.ours, row.unit)])
                    .collect();
                let own =
                    output::table(&["where", "what the paper prints no number for", "ours"], &own);
                format!("{own}\n{explained}")
            }
        })
    }

    /// The numbers that the paper does not print and ours were made with, where they are calibrated.
    fn assumptions(&self) -> Vec<Assumption> {
        match self.paper {
            Paper::DeviceAffinity2017 => device_affinity::assumptions(),
            _ => Vec::new(),
        }
    }

    fn write_data(&self, folder: &Path, rows: &[Row], simulations: &Results) -> anyhow::Result<()> {
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
        let cells = simulations.0.iter().map(|one| {
            vec![
                one.workload.to_owned(),
                one.rate.to_string(),
                one.mapping.to_owned(),
                one.total_waiting_s.to_string(),
                one.nic_waiting_s.to_string(),
                one.memory_waiting_s.to_string(),
                one.workload_finish_s.to_string(),
                one.total_finish_s.to_string(),
                one.messages.to_string(),
                one.seeds.to_string(),
            ]
        });
        let text = output::csv(&header, &cells.collect::<Vec<_>>());
        write_atomically(&folder.join("simulations.csv"), text.as_bytes())?;
        let assumptions = self.assumptions();
        if !assumptions.is_empty() {
            let cells = assumptions.iter().map(|one| {
                vec![one.what.into(), one.value.to_string(), one.unit.into(), one.from.into()]
            });
            let text = output::csv(&["what", "ours", "unit", "from"], &cells.collect::<Vec<_>>());
            write_atomically(&folder.join("assumptions.csv"), text.as_bytes())?;
        }
        if self.paper == Paper::Contention2013 {
            write_atomically(&folder.join("figure-7.csv"), figure_7::MESSAGES.as_bytes())?;
        }
        Ok(())
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

/// Less is not seen in six digits behind the point.
const NOTHING: f64 = 5e-7;

/// Four digits and the unit; `saturated` for infinity.
fn number(value: f64, unit: &str) -> String {
    if value.is_infinite() {
        return "saturated".to_owned();
    }
    let value = if value.abs() < NOTHING { 0.0 } else { value };
    let digits = if value.abs() >= 1000.0 || value == 0.0 {
        0
    } else {
        (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize
    };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}

/// What the numbers were made with, in words and with an empty line behind; nothing where that is printed.
fn given(assumptions: &[Assumption]) -> String {
    if assumptions.is_empty() {
        return String::new();
    }
    let cells = |one: &Assumption| {
        vec![one.what.to_owned(), number(one.value, one.unit), one.from.to_owned()]
    };
    let rows: Vec<Vec<String>> = assumptions.iter().map(cells).collect();
    let table = output::table(&["given, as the paper prints no rates", "ours", "from"], &rows);
    format!("{table}\n{}\n\n", device_affinity::NO_FINDING)
}

/// Each reason once, with the rows that it stands for.
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

/// How many rows of each verdict there are.
fn summary(rows: &[Row]) -> String {
    let verdicts = [Verdict::Reproduced, Verdict::SameOrdering, Verdict::NotReproduced];
    let count = |verdict: Verdict| {
        let count = rows.iter().filter(|row| row.verdict == verdict).count();
        format!("{count} {verdict}")
    };
    let said = rows.iter().filter(|row| row.verdict != Verdict::NotPrinted).count();
    let counts = verdicts.map(count).join(", ");
    let others = rows.len() - said;
    format!(
        "Of {said} numbers and statements of the paper: {counts}. `--all` shows {others} numbers that \
         the paper does not print.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_nothing_has_no_sign() {
        assert_eq!(number(-2e-16, ""), "0");
        assert_eq!(number(-0.0, "s"), "0 s");
        assert_eq!(number(-0.012_34, ""), "-0.01234");
        assert_eq!(number(1234.5, "us"), "1234 us");
        assert_eq!(number(f64::INFINITY, "us"), "saturated");
    }
}

//! The table of slowdowns, and run times: comma-separated values with a header. Empty lines and those
//! that begin with `#` are left out.

use super::super::{JobFacts, Slowdowns};
use super::{EXPECTED_RUNTIMES, EXPECTED_TABLE};
use crate::files::InputError;

/// The jobs of a table with what they lose or gain beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// In the order of the columns.
    pub jobs: Vec<String>,
    /// Indexed as `jobs`.
    pub slowdowns: Slowdowns,
}

impl Table {
    /// Its jobs, of which nothing else is known, and its percentages.
    #[must_use]
    pub fn into_known(self) -> (Vec<JobFacts>, Slowdowns) {
        (self.jobs.into_iter().map(JobFacts::named).collect(), self.slowdowns)
    }
}

/// A line with its number, from 1.
type Line<'a> = (usize, Vec<&'a str>);

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let is_data = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines());
    lines
        .filter(move |(_, line)| is_data(line))
        .map(|(number, line)| (number, line.split(',').map(str::trim).collect()))
}

/// Reads a table of slowdowns: the header `background,BT,CG,..`, then a row per background job in any
/// order, each cell the run time in percent of that alone on whole nodes.
///
/// # Errors
/// If the header is missing or names a job twice, a row is missing, of an unknown job or there twice, or
/// a cell is not a positive number. The error has the line and the column.
pub fn table(text: &str, file: &str) -> Result<Table, InputError> {
    let mut lines = lines(text);
    let Some((header_line, header)) = lines.next() else {
        return Err(InputError::new(file, "no line", EXPECTED_TABLE));
    };
    let jobs = header_of(&header, file).map_err(|error| error.at_line(header_line))?;
    let count = jobs.len();
    let mut rows: Vec<Option<usize>> = vec![None; count];
    let mut percent = vec![0.0; count * count];
    for (number, cells) in lines {
        let at = |error: InputError| error.at_line(number);
        let Some(row) = jobs.iter().position(|job| job == cells[0]) else {
            let found = format!("background job `{}`", cells[0]);
            let expected = format!("a job of the header: {}", jobs.join(", "));
            return Err(at(InputError::new(file, found, expected)));
        };
        if let Some(first) = rows[row].replace(number) {
            let error =
                InputError::new(file, format!("a second row `{}`", jobs[row]), "one row per job");
            return Err(at(error.with_advice(format!("the first one is line {first}"))));
        }
        if cells.len() != count + 1 {
            let found = format!("{} cells", cells.len());
            let expected = format!("{}: the background job and a number per job", count + 1);
            return Err(at(InputError::new(file, found, expected)));
        }
        for (column, cell) in cells[1..].iter().enumerate() {
            percent[row * count + column] =
                cell_number(cell.strip_suffix('%').unwrap_or(cell).trim(), cell, file, PERCENT)
                    .map_err(|error| at(error.in_field(&jobs[column])))?;
        }
    }
    if let Some(missing) = rows.iter().position(Option::is_none) {
        let found = format!("no row with `{}` in the background", jobs[missing]);
        return Err(InputError::new(file, found, "a row per job of the header"));
    }
    Ok(Table { jobs, slowdowns: Slowdowns::new(count, percent) })
}

/// What a number must be: from, to, in words.
type Bounds = (f64, f64, &'static str);

/// Bounds of run times in percent.
pub(super) const PERCENTS: (f64, f64) = (1e-3, 1e6);
/// Bounds of run times in seconds.
pub(super) const TIMES: (f64, f64) = (1e-12, 1e12);

const PERCENT: Bounds = (
    PERCENTS.0,
    PERCENTS.1,
    "the run time in percent of that alone, like 97.5, from .001 to a million",
);

/// The jobs of a header.
fn header_of(header: &[&str], file: &str) -> Result<Vec<String>, InputError> {
    if header[0] != "background" {
        let found = format!("the header `{}`", header.join(","));
        return Err(InputError::new(file, found, "background,JOB,JOB,.."));
    }
    let jobs = &header[1..];
    if jobs.is_empty() {
        return Err(InputError::new(file, "0 jobs", "at least two: background,JOB,JOB,.."));
    }
    for (at, job) in jobs.iter().enumerate() {
        if job.is_empty() {
            let found = format!("no name in column {}", at + 2);
            return Err(InputError::new(file, found, "a job in each column"));
        }
        if let Some(first) = jobs[..at].iter().position(|other| other == job) {
            let found = format!("`{job}` in column {} and in column {}", first + 2, at + 2);
            return Err(InputError::new(file, found, "unique names"));
        }
    }
    Ok(jobs.iter().map(ToString::to_string).collect())
}

/// A cell as a number.
fn cell_number(text: &str, cell: &str, file: &str, bounds: Bounds) -> Result<f64, InputError> {
    let (least, most, expected) = bounds;
    if cell.is_empty() {
        return Err(InputError::new(file, "an empty cell", expected));
    }
    match text.parse::<f64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(InputError::new(file, format!("`{cell}`"), expected)),
    }
}

const SECONDS: Bounds = (TIMES.0, TIMES.1, "a time above 0, in seconds, up to 1e12");

/// Reads run times alone on whole nodes, `job,seconds`, in any order; gives them in the order of `jobs`.
///
/// # Errors
/// If the header is another, a job is unknown, missing or there twice, or a time is not positive and
/// finite. The error has the line.
pub fn runtimes(text: &str, file: &str, jobs: &[String]) -> Result<Vec<f64>, InputError> {
    let mut lines = lines(text);
    let Some((_, header)) = lines.next() else {
        return Err(InputError::new(file, "no line", EXPECTED_RUNTIMES));
    };
    if header != ["job", "seconds"] {
        let found = format!("the header `{}`", header.join(","));
        return Err(InputError::new(file, found, "job,seconds").at_line(1));
    }
    let mut seconds: Vec<Option<(f64, usize)>> = vec![None; jobs.len()];
    for (number, cells) in lines {
        let at = |error: InputError| error.at_line(number);
        let [name, time] = cells[..] else {
            let found = format!("{} cells", cells.len());
            return Err(at(InputError::new(file, found, "2: job,seconds")));
        };
        let Some(job) = jobs.iter().position(|job| job == name) else {
            let expected = format!("a job of the table: {}", jobs.join(", "));
            return Err(at(InputError::new(file, format!("job `{name}`"), expected)));
        };
        let time = cell_number(time, time, file, SECONDS)
            .map_err(|error| at(error.in_field("seconds")))?;
        if let Some((_, first)) = seconds[job].replace((time, number)) {
            let error = InputError::new(file, format!("job `{name}` again"), "one line per job");
            return Err(at(error.with_advice(format!("the first one is line {first}"))));
        }
    }
    let known = |(job, seconds): (&String, Option<(f64, usize)>)| {
        let missing = || InputError::new(file, format!("no run time of `{job}`"), "one per job");
        seconds.map(|(seconds, _)| seconds).ok_or_else(missing)
    };
    jobs.iter().zip(seconds).map(known).collect()
}

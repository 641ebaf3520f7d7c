//! Output: results on standard output, warnings and errors on standard error, tables, exit codes.

mod colour;
pub(crate) mod exit_code;
pub(crate) mod progress;
pub(crate) mod sources;
pub(crate) mod stages;
mod verbosity;

use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};

pub(crate) use colour::{Meaning, Stream, paint};
pub(crate) use verbosity::Verbosity;

/// Writes to standard output.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

/// A table with one header line; columns whose cells are all numbers are aligned to the right.
pub(crate) fn table<C: Display>(header: &[&str], rows: &[Vec<C>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table.add_rows(rows.iter().map(|row| row.iter().map(ToString::to_string)));
    for (index, column) in table.column_iter_mut().enumerate() {
        let numeric = rows.iter().filter_map(|row| row.get(index)).all(|cell| {
            cell.to_string().starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+'))
        });
        column.set_padding((0, 2));
        column.set_cell_alignment(if numeric { CellAlignment::Right } else { CellAlignment::Left });
    }
    let lines: Vec<String> =
        table.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Comma-separated values; cells with a comma, quote or line end are quoted. Titles of tables become
/// names that scripts can use.
pub(crate) fn csv<C: Display>(header: &[&str], rows: &[Vec<C>]) -> String {
    let quote = |cell: String| {
        if cell.contains([',', '"', '\n']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    };
    let line = |cells: Vec<String>| cells.into_iter().map(quote).collect::<Vec<_>>().join(",");
    let mut text = line(header.iter().map(|title| snake_case(title)).collect()) + "\n";
    for row in rows {
        text += &(line(row.iter().map(ToString::to_string).collect()) + "\n");
    }
    text
}

/// `PUs P# wanted` as `pus_wanted`, `ranks/node` as `ranks_per_node`.
fn snake_case(title: &str) -> String {
    let title = title.replace("P#", "").replace("L#", "").replace('/', " per ").to_lowercase();
    let words = title.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// Prints a note to standard error; suppressed by `--quiet`.
pub(crate) fn note(verbosity: &Verbosity, text: impl Display) {
    if !verbosity.quiet {
        to_stderr(format_args!("{text}"));
    }
}

/// Writes to standard output as [`print`], or to standard error. Ignores a closed pipe (EPIPE), for
/// commands that still have to clean up.
pub(crate) fn print_unless_closed(text: &str, to_stderr: bool) -> anyhow::Result<()> {
    let (written, place) = match to_stderr {
        true => (io::stderr().write_all(text.as_bytes()), "standard error"),
        false => {
            let mut out = io::stdout().lock();
            (out.write_all(text.as_bytes()).and_then(|()| out.flush()), "standard output")
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(place),
    }
}

/// Prints a warning to standard error; suppressed by `--quiet`.
pub(crate) fn warn(verbosity: &Verbosity, text: impl Display) {
    if !verbosity.quiet {
        let begin = paint("warning:", Meaning::Warning, Stream::Error);
        to_stderr(format_args!("{begin} {text}"));
    }
}

/// Prints an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    let begin = paint("error:", Meaning::Error, Stream::Error);
    to_stderr(format_args!("{begin} {error:#}"));
}

fn to_stderr(text: std::fmt::Arguments<'_>) {
    // If standard error is closed, this cannot be reported.
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_csv_columns_are_in_snake_case() {
        let names = ["PUs P# wanted", "ranks/node", "total_waiting_s", "between nodes", "rank"];
        let expected = ["pus_wanted", "ranks_per_node", "total_waiting_s", "between_nodes", "rank"];
        assert_eq!(names.map(snake_case), expected);
        assert_eq!(csv(&["a b", "c"], &[["1", "x,y"].to_vec()]), "a_b,c\n1,\"x,y\"\n");
    }
}

//! The comparison of candidates as text.

use rankwright::report::Comparison;

use crate::options::Format;
use crate::output::{self, Verbosity};

/// The comparison of `place`: what the best placement gains, and with `--verbose` all candidates.
pub(crate) fn show_answer(
    comparison: &Comparison,
    format: Format,
    verbosity: &Verbosity,
) -> String {
    let Some(answer) = comparison.answer.as_ref().filter(|_| format == Format::Table) else {
        return show(comparison, format);
    };
    let (header, rows) = if verbosity.verbose { answer.table_of_all() } else { answer.table() };
    let table = output::table(&header, &rows);
    let first = output::paint(&answer.text, output::Meaning::Answer, output::Stream::Output);
    let mut text = format!("{first}\n\n{table}\n{}", answer.remarks());
    if verbosity.verbose {
        text += &format!("\n{}", show(comparison, format));
    }
    text
}

/// A comparison in one of the formats.
pub(crate) fn show(comparison: &Comparison, format: Format) -> String {
    let timed = comparison.evaluation.is_some();
    match format {
        Format::Table => {
            let (header, rows) =
                if timed { comparison.evaluated_table() } else { comparison.table() };
            let mut tables = output::table(&header, &rows);
            if !timed {
                let (header, rows) = comparison.cut_table();
                let header: Vec<&str> = header.iter().map(String::as_str).collect();
                tables += &format!("\n{}", output::table(&header, &rows));
            }
            let (reason, caveat) = (&comparison.reason, comparison.caveat());
            format!("{reason}\n\n{tables}\n{caveat}\n")
        }
        Format::Json => comparison.to_json(),
        Format::Csv => {
            let (header, rows) = if timed { comparison.evaluated_csv() } else { comparison.csv() };
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            output::csv(&header, &rows)
        }
    }
}

//! The comparison of candidates as text.

use rankwright::report::Comparison;

use crate::options::Format;
use crate::output;

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
            let collectives = comparison.collectives_sentence().map(|text| text + "\n");
            let collectives = collectives.unwrap_or_default();
            format!("{tables}\n{reason}\n{collectives}{caveat}\n")
        }
        Format::Json => comparison.to_json(),
        Format::Csv => {
            let (header, rows) = if timed { comparison.evaluated_csv() } else { comparison.csv() };
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            output::csv(&header, &rows)
        }
    }
}

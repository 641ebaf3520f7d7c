//! Square matrices of plain numbers, separated by blanks or commas: row i, column j is the number
//! of bytes that rank i sends to rank j, from 0. Lines starting with `#` or `%` are comments.

use super::{MOST_RANKS, metis};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::{Flow, Job, Workload};

const EXPECTED: &str = "a square matrix of bytes: as many lines as numbers in each";

/// Whether a text starts with a line of numbers. If that line could also start a METIS graph, the
/// text must be square and must not have the lines of that graph.
#[must_use]
pub fn sniff(text: &str) -> bool {
    let mut rows = rows(text).map(|(_, line)| cells(line));
    let Some(first) = rows.next() else { return false };
    if first.len() < 2 || first.iter().any(|cell| super::amount(cell).is_none()) {
        return false;
    }
    if !metis::sniff(text) {
        return true;
    }
    let below: Vec<usize> = rows.take(first.len()).map(|cells| cells.len()).collect();
    let square = below.len() + 1 == first.len() && below.iter().all(|len| *len == first.len());
    square && first[0] != below.len().to_string()
}

/// Reads a matrix. It has no message counts: each entry above 0 counts as one message.
///
/// # Errors
/// If the number of cells in a line differs from the number of lines, or a cell is not an amount of
/// bytes.
pub fn read(text: &str, file: &str) -> Result<Workload, InputError> {
    let mut flows = Vec::new();
    let mut ranks = 0;
    let mut count = 0;
    for (number, line) in rows(text) {
        let wrong = |found: String, expected: String| {
            Err(InputError::new(file, found, expected).at_line(number))
        };
        let cells = cells(line);
        if count == 0 {
            ranks = cells.len();
        }
        if ranks > MOST_RANKS as usize || count == ranks {
            return wrong(format!("line {} of the matrix", count + 1), format!("{ranks} lines"));
        }
        if cells.len() != ranks {
            return wrong(
                format!("{} numbers", cells.len()),
                format!("{ranks}, as in its first line"),
            );
        }
        for (column, cell) in cells.iter().enumerate() {
            let Some(bytes) = super::amount(cell) else {
                let expected = "an amount of bytes, 0 or more".to_owned();
                return wrong(format!("`{cell}` in column {}", column + 1), expected);
            };
            if bytes > 0 {
                let (source, destination) = (Rank::from_index(count), Rank::from_index(column));
                flows.push(Flow { source, destination, messages: 1, bytes, largest: bytes });
            }
        }
        count += 1;
    }
    if count == 0 || count != ranks {
        let found = format!("{count} lines of {ranks} numbers");
        return Err(InputError::new(file, found, EXPECTED));
    }
    let job = Job::new(super::job_name(file), Rank::from_index(ranks).0, flows)
        .map_err(|error| InputError::new(file, error, EXPECTED))?;
    Ok(Workload::single(job))
}

/// The rows of the matrix, with line numbers from 1.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '%']))
}

fn cells(line: &str) -> Vec<&str> {
    match line.contains(',') {
        true => line.split(',').map(str::trim).collect(),
        false => line.split_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_or_commas_whole_numbers_or_not() {
        let expected = [(0, 1, 5), (1, 0, 1_000_000_000_000_000_003), (1, 1, 3)];
        for text in [
            "0 5\n1000000000000000003 3\n",
            "# rank 0 and 1\n0,5\n1000000000000000003, 2.6\n\n",
            "0.0\t5e0 \n1000000000000000003\t3",
        ] {
            assert!(sniff(text), "{text}");
            let workload = read(text, "out/app.mat").unwrap();
            assert_eq!((workload.name.as_str(), workload.jobs[0].ranks), ("app", 2));
            let flows = workload.jobs[0].flows.iter();
            let flows: Vec<_> = flows.map(|f| (f.source.0, f.destination.0, f.bytes)).collect();
            assert_eq!(flows, expected, "{text}");
        }
    }

    #[test]
    fn a_metis_graph_is_none() {
        for graph in ["2 1\n2\n1\n", "3 2 1\n2 5\n1 5 3 7\n2 7\n", "2 1 11\n5 2 7\n5 1 7\n"] {
            assert!(!sniff(graph), "{graph}");
            assert_eq!(crate::traffic::read::import::sniff(graph).unwrap().name, "metis");
        }
        assert!(sniff("0 2 11\n5 2 7\n5 1 7\n"));
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("0 1 2\n3 4\n", "x:2: found 2 numbers, expected 3, as in its first line"),
            ("0 1\n-5 0\n", "x:2: found `-5` in column 1, expected an amount of bytes"),
            ("0,1\n,0\n", "x:2: found `` in column 1"),
            ("0 nan\n1 0\n", "x:1: found `nan` in column 2"),
            ("0 1\n1 0\n1 1\n", "x:3: found line 3 of the matrix, expected 2 lines"),
            ("0 1 2\n\n1 0 3\n", "x: found 2 lines of 3 numbers, expected a square"),
            ("# nothing\n", "x: found 0 lines"),
        ];
        for (text, message) in cases {
            let error = read(text, "x").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}

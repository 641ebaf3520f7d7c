//! Matrix Market files: entry (i, j) is the number of bytes that rank i - 1 sends to rank j - 1;
//! `coordinate` (sparse) and `array` (dense), `general` and `symmetric`.

use std::fmt::Write;

use super::{MOST_RANKS, OneJobOnly, only_job};
use crate::files::InputError;
use crate::ids::Rank;
use crate::traffic::{Flow, Job, Workload};

const BANNER: &str = "%%MatrixMarket";
const EXPECTED: &str = "a square Matrix Market file of bytes (`%%MatrixMarket matrix \
                        coordinate|array integer|real general|symmetric`)";

/// Whether the first line is the banner.
#[must_use]
pub fn sniff(text: &str) -> bool {
    super::first_line(text).starts_with(BANNER)
}

/// Reads a matrix. It has no message counts: each entry counts as one message.
///
/// # Errors
/// If the banner, the sizes or an entry is wrong, or entries are missing.
pub fn read(text: &str, file: &str) -> Result<Workload, InputError> {
    let wrong = |line: usize, found: String, expected: &str| {
        InputError::new(file, found, expected).at_line(line)
    };
    let mut lines = (1..).zip(text.lines().map(str::trim));
    let (_, banner) = lines.next().unwrap_or((1, ""));
    let kind = Kind::new(banner).ok_or_else(|| wrong(1, format!("`{banner}`"), EXPECTED))?;
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let (line, sizes) = lines.next().ok_or_else(|| wrong(1, "no sizes".into(), EXPECTED))?;
    let size: Vec<u64> = sizes.split_whitespace().filter_map(|cell| cell.parse().ok()).collect();
    let (ranks, entries) = match (size.as_slice(), kind.dense) {
        ([rows, columns], true) if rows == columns => (*rows, rows.saturating_mul(*rows)),
        ([rows, columns, entries], false) if rows == columns => (*rows, *entries),
        _ => return Err(wrong(line, format!("`{sizes}`"), "the sizes of a square matrix")),
    };
    if ranks == 0 || ranks > u64::from(MOST_RANKS) {
        return Err(wrong(line, format!("{ranks} ranks"), &format!("from 1 to {MOST_RANKS}")));
    }
    let mut flows = Vec::new();
    let mut count = 0_u64;
    for (line, entry) in lines {
        let (row, column, bytes) = kind
            .entry(entry, count, ranks)
            .ok_or_else(|| wrong(line, format!("`{entry}`"), kind.expected_entry()))?;
        count += 1;
        flows.push((row, column, bytes));
        if kind.symmetric && row != column {
            flows.push((column, row, bytes));
        }
    }
    let entries = if kind.dense && kind.symmetric { ranks * (ranks + 1) / 2 } else { entries };
    if count != entries {
        return Err(InputError::new(file, format!("{count} entries"), format!("{entries}")));
    }
    let rank = |index: u64| Rank(u32::try_from(index).expect("checked against the ranks"));
    let flow = |(row, column, bytes): (u64, u64, u64)| Flow {
        source: rank(row),
        destination: rank(column),
        messages: 1,
        bytes,
        largest: bytes,
    };
    let flows = flows.into_iter().filter(|(_, _, bytes)| *bytes > 0).map(flow);
    let name = super::job_name(file);
    let job = Job::new(name, rank(ranks - 1).0 + 1, flows)
        .map_err(|error| InputError::new(file, error, EXPECTED))?;
    Ok(Workload::single(job))
}

struct Kind {
    dense: bool,
    symmetric: bool,
    pattern: bool,
}

impl Kind {
    fn new(banner: &str) -> Option<Self> {
        let words: Vec<String> = banner.split_whitespace().map(str::to_lowercase).collect();
        let [_, object, format, field, symmetry] = words.as_slice() else { return None };
        let supported = banner.starts_with(BANNER)
            && object == "matrix"
            && ["coordinate", "array"].contains(&format.as_str())
            && ["integer", "real", "pattern"].contains(&field.as_str())
            && ["general", "symmetric"].contains(&symmetry.as_str());
        supported.then(|| Self {
            dense: format == "array",
            symmetric: symmetry == "symmetric",
            pattern: field == "pattern",
        })
    }

    fn expected_entry(&self) -> &'static str {
        match (self.dense, self.pattern) {
            (true, _) => "one amount of bytes, and no more than the matrix has",
            (false, true) => "row and column, from 1 up",
            (false, false) => "row, column (from 1 up) and an amount of bytes",
        }
    }

    /// Row and column (from 0) and bytes of entry number `position` (from 0).
    fn entry(&self, text: &str, position: u64, ranks: u64) -> Option<(u64, u64, u64)> {
        let cells: Vec<&str> = text.split_whitespace().collect();
        if self.dense {
            let [cell] = cells.as_slice() else { return None };
            let (row, column) = self.dense_position(position, ranks)?;
            return Some((row, column, super::amount(cell)?));
        }
        let index = |cell: &str| {
            let index: u64 = cell.parse().ok()?;
            (1..=ranks).contains(&index).then(|| index - 1)
        };
        match (cells.as_slice(), self.pattern) {
            ([row, column], true) => Some((index(row)?, index(column)?, 1)),
            ([row, column, value], false) => {
                Some((index(row)?, index(column)?, super::amount(value)?))
            }
            _ => None,
        }
    }

    /// Dense matrices are stored column by column; symmetric ones from the diagonal down.
    fn dense_position(&self, position: u64, ranks: u64) -> Option<(u64, u64)> {
        if !self.symmetric {
            return (position < ranks * ranks).then(|| (position % ranks, position / ranks));
        }
        let (mut column, mut rest) = (0, position);
        while column < ranks && rest >= ranks - column {
            rest -= ranks - column;
            column += 1;
        }
        (column < ranks).then_some((column + rest, column))
    }
}

/// Writes the bytes of one job; message counts are lost.
///
/// # Errors
/// If there is more than one job.
pub fn write(workload: &Workload) -> Result<String, OneJobOnly> {
    let job = only_job(workload)?;
    let mut text = format!("{BANNER} matrix coordinate integer general\n");
    let _ = writeln!(text, "% bytes sent by row - 1 to column - 1");
    let _ = writeln!(text, "{0} {0} {1}", job.ranks, job.flows.len());
    for flow in &job.flows {
        let (row, column) = (flow.source.0 + 1, flow.destination.0 + 1);
        let _ = writeln!(text, "{row} {column} {}", flow.bytes);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(text: &str) -> Vec<(u32, u32, u64)> {
        let workload = read(text, "m.mtx").unwrap();
        let flow = |flow: &Flow| (flow.source.0, flow.destination.0, flow.bytes);
        workload.jobs[0].flows.iter().map(flow).collect()
    }

    #[test]
    fn sparse_dense_and_symmetric_matrices_are_read() {
        let sparse = "%%MatrixMarket matrix coordinate real general\n% c\n2 2 1\n1 2 1.5e3\n";
        assert_eq!(flows(sparse), [(0, 1, 1500)]);
        let dense = "%%MatrixMarket matrix array integer general\n2 2\n0\n3\n4\n0\n";
        assert_eq!(flows(dense), [(0, 1, 4), (1, 0, 3)]);
        let half = "%%MatrixMarket matrix array integer symmetric\n2 2\n0\n3\n0\n";
        assert_eq!(flows(half), [(0, 1, 3), (1, 0, 3)]);
        let half = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 1\n3 1 7\n";
        assert_eq!(flows(half), [(0, 2, 7), (2, 0, 7)]);
    }

    #[test]
    fn errors_name_the_line() {
        let cases = [
            ("%%MatrixMarket matrix coordinate complex general\n", "x:1: found `%%"),
            ("%%MatrixMarket matrix coordinate integer general\n2 3 1\n", "x:2: found `2 3 1`"),
            ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n3 1 5\n", "x:3: found"),
            ("%%MatrixMarket matrix coordinate integer general\n2 2 2\n2 1 5\n", "x: found 1 ent"),
            ("%%MatrixMarket matrix coordinate integer general\n0 0 0\n", "x:2: found 0 ranks"),
            ("%%MatrixMarket matrix array integer general\n9999999999 9999999999\n", "x:2: found"),
        ];
        for (text, message) in cases {
            let error = read(text, "x").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}

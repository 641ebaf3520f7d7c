//! The CSV files of `papers/`: no quotes, no empty lines, every line with the same number of cells.

use std::str::FromStr;

use rankwright::files::InputError;

use crate::printed::Printed;

/// A CSV file, embedded when the crate is built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataFile {
    /// The path in the repository, for errors.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

/// The file with this path below `papers/`.
macro_rules! data_file {
    ($path:literal) => {
        $crate::data_file::DataFile {
            path: concat!("papers/", $path),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/", $path)),
        }
    };
}
pub(crate) use data_file;

/// A cell of a file with its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    path: &'static str,
    /// Counted from 1.
    line: usize,
    /// The name of the column; empty in files without a header.
    column: &'static str,
    pub(crate) text: &'static str,
}

impl DataFile {
    /// The lines below the header, which must be `columns`.
    pub(crate) fn records<const N: usize>(
        &self,
        columns: [&'static str; N],
    ) -> Result<Vec<[Cell; N]>, InputError> {
        let header = self.text.lines().next().unwrap_or_default();
        if header != columns.join(",") {
            let expected = format!("the columns `{}`", columns.join(","));
            return Err(InputError::new(self.path, quoted(header), expected).at_line(1));
        }
        self.cells(1, columns)
    }

    /// The lines below the header, which must be `columns`; the first cells of the lines must be
    /// `rows`.
    pub(crate) fn table<const N: usize, const ROWS: usize>(
        &self,
        columns: [&'static str; N],
        rows: [&str; ROWS],
    ) -> Result<[[Cell; N]; ROWS], InputError> {
        let records = self.exactly(self.records(columns)?)?;
        for (record, name) in records.iter().zip(rows) {
            record[0].position_in(&[name])?;
        }
        Ok(records)
    }

    /// A square matrix of numbers without a header.
    pub(crate) fn matrix<const N: usize>(&self) -> Result<[[u64; N]; N], InputError> {
        let mut matrix = [[0; N]; N];
        let rows: [[Cell; N]; N] = self.exactly(self.cells(0, [""; N])?)?;
        for (number, cell) in matrix.as_flattened_mut().iter_mut().zip(rows.as_flattened()) {
            *number = cell.number()?;
        }
        Ok(matrix)
    }

    fn exactly<const N: usize, const ROWS: usize>(
        &self,
        lines: Vec<[Cell; N]>,
    ) -> Result<[[Cell; N]; ROWS], InputError> {
        lines.try_into().map_err(|lines: Vec<_>| {
            InputError::new(self.path, format!("{} lines of numbers", lines.len()), ROWS)
        })
    }

    /// The cells of all lines below the first `header_lines`.
    fn cells<const N: usize>(
        &self,
        header_lines: usize,
        columns: [&'static str; N],
    ) -> Result<Vec<[Cell; N]>, InputError> {
        let lines = self.text.lines().enumerate().skip(header_lines);
        let cells_of = |(index, text): (usize, &'static str)| {
            let line = index + 1;
            let texts: Vec<&'static str> = text.split(',').collect();
            let texts: [&'static str; N] = texts.try_into().map_err(|_| {
                InputError::new(self.path, quoted(text), format!("{N} cells")).at_line(line)
            })?;
            let cell = |column: usize| Cell {
                path: self.path,
                line,
                column: columns[column],
                text: texts[column],
            };
            Ok(std::array::from_fn(cell))
        };
        lines.map(cells_of).collect()
    }
}

impl Cell {
    /// The error for a cell that is not `expected`.
    pub(crate) fn unexpected(&self, expected: impl Into<String>) -> InputError {
        let error = InputError::new(self.path, quoted(self.text), expected.into());
        let error = error.at_line(self.line);
        if self.column.is_empty() { error } else { error.in_field(self.column) }
    }

    /// The cell as a number.
    pub(crate) fn number<T: FromStr>(&self) -> Result<T, InputError> {
        self.text.parse().map_err(|_| self.unexpected("a number"))
    }

    /// The cell as a number as it is printed, or `#`.
    pub(crate) fn printed(&self) -> Result<Printed, InputError> {
        Printed::parse(self.text).ok_or_else(|| self.unexpected("a number, or # for saturated"))
    }

    /// The position of the cell's text among the names that it may be.
    pub(crate) fn position_in(&self, names: &[&str]) -> Result<usize, InputError> {
        let position = names.iter().position(|name| *name == self.text);
        position.ok_or_else(|| self.unexpected(format!("one of {}", names.join(", "))))
    }
}

fn quoted(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> DataFile {
        DataFile { path: "papers/2000/table.csv", text }
    }

    fn message<T: std::fmt::Debug>(result: Result<T, InputError>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn cells_are_read_by_column() {
        let records = file("name,percent\na,5\nb,#\n").records(["name", "percent"]).unwrap();
        let [[a, five], [b, saturated]] = records[..] else { panic!("{records:?}") };
        assert_eq!((a.text, b.text), ("a", "b"));
        assert_eq!(five.printed().unwrap(), Printed::whole(5.0));
        assert_eq!(saturated.printed().unwrap().value, f64::INFINITY);
    }

    #[test]
    fn wrong_data_is_named_with_file_line_and_column() {
        let columns = ["name", "percent"];
        assert_eq!(
            message(file("name,share\n").records(columns)),
            "papers/2000/table.csv:1: found `name,share`, expected the columns `name,percent`"
        );
        assert_eq!(
            message(file("name,percent\na,5\nb\n").records(columns)),
            "papers/2000/table.csv:3: found `b`, expected 2 cells"
        );
        let [[name, percent]] = file("name,percent\nc,5%\n").records(columns).unwrap()[..] else {
            panic!("one line");
        };
        assert_eq!(
            message(percent.printed()),
            "papers/2000/table.csv:2: percent: found `5%`, expected a number, or # for saturated"
        );
        assert_eq!(
            message(name.position_in(&["a", "b"])),
            "papers/2000/table.csv:2: name: found `c`, expected one of a, b"
        );
    }

    #[test]
    fn a_matrix_is_square_and_of_numbers() {
        assert_eq!(file("0,1\n2,3\n").matrix().unwrap(), [[0, 1], [2, 3]]);
        assert_eq!(
            message(file("0,1\n2,3\n4,5\n").matrix::<2>()),
            "papers/2000/table.csv: found 3 lines of numbers, expected 2"
        );
        assert_eq!(
            message(file("0,1\n2,x\n").matrix::<2>()),
            "papers/2000/table.csv:2: found `x`, expected a number"
        );
    }
}

//! Tables of Performance Co-Pilot: `pmrep -o csv` and `pmdumptext -m`. A header `Time`, then metrics; a row
//! per sample, in which a missing value is empty or `?`. Counters are rates per second unless `-r` was
//! given.

use super::counters::{Counted, LINE, Sums, counted};
use super::{Mean, MeasuredTraffic, count, lines};
use crate::files::InputError;

const EXPECTED: &str = "a metric of memory controllers, such as \
                        perfevent.hwcounters.skx_unc_imc0__UNC_M_CAS_COUNT_RD.value";
const TIME: &str = "Time";

/// The header: its line, the separator, the column of the time.
struct Header<'a> {
    line: usize,
    separator: char,
    time: usize,
    names: Vec<&'a str>,
}

fn header(text: &str) -> Option<Header<'_>> {
    let (line, header) = lines(text).find(|(_, line)| !line.trim().is_empty())?;
    let of = |separator: char| {
        let names: Vec<&str> = split(header, separator).collect();
        let time = names.iter().position(|name| *name == TIME)?;
        (names.len() > time + 1).then_some(Header { line, separator, time, names })
    };
    [',', '\t', ';'].into_iter().find_map(of)
}

fn split(line: &str, separator: char) -> impl Iterator<Item = &str> {
    // pmdumptext names instances as metric["cpu0"]: only a pair around the whole cell are quotes.
    let unquoted = |cell: &str| cell.strip_prefix('"')?.strip_suffix('"').map(str::len);
    line.split(separator).map(str::trim).map(move |cell| match unquoted(cell) {
        Some(length) => &cell[1..=length],
        None => cell,
    })
}

pub(super) fn sniff(text: &str) -> bool {
    header(text).is_some()
}

/// A metric of memory traffic.
struct Column<'a> {
    /// Its position in a row.
    at: usize,
    name: &'a str,
    counted: Counted,
    /// The value of each row.
    values: Vec<Option<f64>>,
}

impl Column<'_> {
    /// Adds the value of a row.
    fn add(&mut self, cell: &str, file: &str) -> Result<(), InputError> {
        let wrong = || {
            let expected = "a rate per second, or no value";
            InputError::new(file, format!("`{cell}`"), expected).in_field(self.name)
        };
        let value = value(cell).ok_or_else(wrong)?;
        self.values.push(value);
        Ok(())
    }

    fn mean(&self) -> Option<f64> {
        let mut mean = Mean::default();
        self.values.iter().flatten().for_each(|value| mean.add(*value, 1.0));
        mean.value()
    }

    /// Whether these are counters and not rates: a rate has no value in the first row, and falls at times.
    fn is_raw(&self) -> bool {
        let values: Vec<f64> = self.values.iter().flatten().copied().collect();
        self.values.first().is_some_and(Option::is_some)
            && values.len() >= 3
            && values.windows(2).all(|pair| pair[1] > pair[0])
    }
}

pub(super) fn read(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let header = header(text).ok_or_else(|| InputError::new(file, "no header", EXPECTED))?;
    let (columns, date) = columns(text, &header, file)?;
    if let Some(column) = columns.iter().find(|column| column.is_raw()) {
        let found = "values that only grow, from the first row on";
        let error = InputError::new(file, found, "rates per second").in_field(column.name);
        return Err(error.with_advice("record without -r"));
    }
    let (mut sums, mut left_out) = (Sums::default(), Vec::new());
    for column in &columns {
        match column.mean() {
            Some(mean) => sums.add(column.counted, mean * LINE),
            None => left_out.push(format!("no value of {}", column.name)),
        }
    }
    let Some((rate, bound, source)) = sums.best() else {
        let found = "no value of any metric of memory traffic";
        return Err(InputError::new(file, found, "rows with values"));
    };
    let bound = bound.without(left_out.len());
    let source = format!("PCP, {source}");
    Ok(MeasuredTraffic { rate, of_regions: false, bound, cache: None, source, date, left_out })
}

/// The metrics of memory traffic with their values, and the time of the first row.
fn columns<'a>(
    text: &str,
    header: &Header<'a>,
    file: &str,
) -> Result<(Vec<Column<'a>>, Option<String>), InputError> {
    let metrics = header.names.iter().enumerate().skip(header.time + 1);
    let column = |(at, name): (usize, &&'a str)| {
        Some(Column { at, name, counted: counted(name)?, values: Vec::new() })
    };
    let mut columns: Vec<Column<'a>> = metrics.filter_map(column).collect();
    if columns.is_empty() {
        let found = format!("no metric of memory traffic among {}", header.names.len() - 1);
        return Err(InputError::new(file, found, EXPECTED).at_line(header.line));
    }
    let mut date = None;
    for (number, line) in lines(text).skip(header.line) {
        let cells: Vec<&str> = split(line, header.separator).collect();
        // pmdumptext has rows of units and of normalisation factors before the first time.
        let is_data = cells.get(header.time).is_some_and(|time| time.contains(':'));
        if line.trim().is_empty() || !is_data {
            continue;
        }
        if cells.len() != header.names.len() {
            let found = format!("{} cells", cells.len());
            let expected = format!("{}, as in the header", header.names.len());
            return Err(InputError::new(file, found, expected).at_line(number));
        }
        date.get_or_insert(cells[header.time].to_owned());
        for column in &mut columns {
            column.add(cells[column.at], file).map_err(|error| error.at_line(number))?;
        }
    }
    Ok((columns, date))
}

/// A value, perhaps with a prefix (`0.40G`), or a mark for a missing one; `None` if it is neither.
fn value(cell: &str) -> Option<Option<f64>> {
    if matches!(cell, "" | "?" | "N/A") {
        return Some(None);
    }
    let prefixes = [('K', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];
    let prefix = prefixes.iter().find(|(prefix, _)| cell.ends_with(*prefix));
    let (number, factor) = match prefix {
        Some((prefix, factor)) => (cell.strip_suffix(*prefix)?, *factor),
        None => (cell, 1.0),
    };
    count(number).map(|number| Some(number * factor))
}

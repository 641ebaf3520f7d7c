//! `likwid-perfctr -t`: after `# GID|MetricsCount|CpuCount|Total runtime [s]|METRIC|..` a row per interval, with
//! the values of the first metric for all hardware threads, then of the second one. Separators are spaces
//! or commas.

use std::collections::BTreeMap;

use super::likwid::{Metric, Metrics};
use super::{MeasuredTraffic, count, lines};
use crate::files::InputError;

const HEADER: &str = "# GID";
const TOTAL_RUNTIME: &str = "Total runtime [s]";

pub(super) fn sniff(text: &str) -> bool {
    text.lines().any(is_header)
}

fn is_header(line: &str) -> bool {
    line.contains(HEADER) && line.contains(TOTAL_RUNTIME)
}

/// The metrics of each group in the order of the headers; a group is known by its number, from 1.
fn headers(text: &str) -> Vec<Vec<&str>> {
    let headers = text.lines().filter(|line| is_header(line));
    headers.map(|line| line.split(['|', ',']).skip(4).map(str::trim).collect()).collect()
}

pub(super) fn read(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let groups = headers(text);
    let mut metrics = Metrics::default();
    let (mut before, mut rows) = (BTreeMap::<usize, f64>::new(), 0);
    for (number, line) in lines(text) {
        let Some(row) = row(line, &groups) else { continue };
        let Row { group, threads, time, values } = row;
        let names = &groups[group - 1];
        if names.len().checked_mul(threads) != Some(values.len()) {
            let found = format!("{} values", values.len());
            let expected = format!("{} metrics of {threads} hardware threads", names.len());
            return Err(InputError::new(file, found, expected).at_line(number));
        }
        let begin = before.insert(group, time).unwrap_or(0.0);
        if time <= begin {
            let found = format!("the time {time} after {begin}");
            return Err(InputError::new(file, found, "times that ascend").at_line(number));
        }
        rows += 1;
        for (name, values) in names.iter().zip(values.chunks(threads)) {
            let Some(metric) = Metric::named(name) else { continue };
            metrics.add(metric, values.iter().flatten().sum(), time - begin);
        }
    }
    if rows == 0 {
        return Err(InputError::new(file, "no row of values", "a row per interval"));
    }
    let Some((rate, bound)) = metrics.best() else {
        let found = "no metric of memory bandwidth in the header";
        return Err(InputError::new(file, found, "group MEM or another with memory bandwidth"));
    };
    let source = format!("likwid-perfctr -t, {rows} intervals");
    Ok(MeasuredTraffic {
        rate,
        of_regions: false,
        bound,
        cache: None,
        source,
        date: None,
        left_out: Vec::new(),
    })
}

struct Row {
    group: usize,
    threads: usize,
    /// Since the start.
    time: f64,
    /// `None` where nothing was counted.
    values: Vec<Option<f64>>,
}

/// The row of a line; `None` for what the program printed.
fn row(line: &str, groups: &[Vec<&str>]) -> Option<Row> {
    let fields: Vec<&str> = line.split([' ', ',']).filter(|field| !field.is_empty()).collect();
    let [group, metrics, threads, time, values @ ..] = &fields[..] else { return None };
    let group: usize = group.parse().ok()?;
    let names = groups.get(group.checked_sub(1)?)?;
    (metrics.parse::<usize>().ok()? == names.len()).then_some(())?;
    let threads = threads.parse().ok().filter(|threads| *threads > 0)?;
    let value = |text: &&str| match *text {
        "-" | "nan" | "-nan" => Some(None),
        number => count(number).map(Some),
    };
    let values = values.iter().map(value).collect::<Option<_>>()?;
    Some(Row { group, threads, time: count(time)?, values })
}

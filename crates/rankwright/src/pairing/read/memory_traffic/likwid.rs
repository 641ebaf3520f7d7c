//! `likwid-perfctr -O`: tables of a group's metrics, a column per hardware thread; with `-m` such a table for
//! each region of the marker API. Uncore counters are in the column of one thread per socket.

use std::collections::BTreeMap;

use super::{Bound, Mean, MeasuredTraffic, count, lines};
use crate::files::InputError;
use crate::units::BytesPerSecond;

const TABLE: &str = "TABLE,";
const RUNTIME: &str = "Runtime (RDTSC) [s]";
const GROUPS: &str = "a group with memory bandwidth: MEM, MEM_DP, MEM_SP, MEM1 with MEM2";

pub(super) fn sniff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(TABLE))
}

/// A table of metrics.
struct Table<'a> {
    line: usize,
    region: Option<&'a str>,
    group: &'a str,
    /// By metric: the sum over hardware threads that have a value.
    sums: BTreeMap<&'a str, f64>,
    /// The longest of any hardware thread.
    runtime: Option<f64>,
    /// Lines of the table, without its header, that are to come.
    rows: usize,
    /// Hardware threads; known after the header.
    columns: Option<usize>,
}

impl<'a> Table<'a> {
    /// The table that a line begins; `None` for tables of events and statistics.
    fn beginning(line: usize, text: &'a str) -> Option<Self> {
        let mut fields: Vec<&str> = text.split(',').collect();
        let region = fields.get(1)?.strip_prefix("Region ");
        if region.is_some() {
            fields.remove(1);
        }
        let [_, kind, group, rows, ..] = fields[..] else { return None };
        let rows = rows.trim().parse().ok()?;
        let is_metric = kind.starts_with("Group ") && kind.ends_with(" Metric");
        is_metric.then(|| Self {
            line,
            region,
            group,
            sums: BTreeMap::new(),
            runtime: None,
            rows,
            columns: None,
        })
    }

    fn row(&mut self, text: &'a str, file: &str) -> Result<(), InputError> {
        let (name, values) = text.split_once(',').unwrap_or((text, ""));
        let Some(columns) = self.columns else {
            let threads = values.split(',').take_while(|cell| !cell.trim().is_empty());
            self.columns = Some(threads.count());
            return Ok(());
        };
        self.rows -= 1;
        let values: Vec<&str> = values.split(',').map(str::trim).take(columns).collect();
        if values.len() < columns {
            let found = format!("{} values", values.len());
            return Err(
                InputError::new(file, found, format!("{columns}, as in the header")).in_field(name)
            );
        }
        for value in values {
            if matches!(value, "-" | "nan" | "-nan") {
                continue;
            }
            let value = count(value).ok_or_else(|| {
                InputError::new(file, format!("`{value}`"), "a number, - or nan").in_field(name)
            })?;
            *self.sums.entry(name).or_insert(0.0) += value;
            if name == RUNTIME {
                self.runtime = Some(self.runtime.unwrap_or(0.0).max(value));
            }
        }
        Ok(())
    }
}

fn tables<'a>(text: &'a str, file: &str) -> Result<Vec<Table<'a>>, InputError> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut open = false;
    for (number, line) in lines(text) {
        let begins = line.starts_with(TABLE) || line.starts_with("STRUCT,");
        let Some(table) = tables.last_mut().filter(|table| open && table.rows > 0) else {
            let next = Table::beginning(number, line).filter(|_| begins);
            open |= next.is_some();
            tables.extend(next);
            continue;
        };
        if begins {
            return Err(cut(table, file));
        }
        table.row(line, file).map_err(|error| error.at_line(number))?;
    }
    match tables.last().filter(|table| table.rows > 0) {
        Some(table) => Err(cut(table, file)),
        None => Ok(tables),
    }
}

/// The error of a table that ends before its last line.
fn cut(table: &Table<'_>, file: &str) -> InputError {
    let found = format!("a table of group {} without its last {} metrics", table.group, table.rows);
    InputError::new(file, found, "all metrics of the group").at_line(table.line)
}

pub(super) fn read(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let tables = tables(text, file)?;
    let mut metrics = Metrics::default();
    for table in &tables {
        let known = table.sums.iter().filter_map(|(name, sum)| Some((Metric::named(name)?, *sum)));
        for (metric, sum) in known {
            let weight = match table.region {
                // Regions count by their time.
                Some(_) => table.runtime.ok_or_else(|| {
                    let found =
                        format!("region {} without {RUNTIME}", table.region.unwrap_or_default());
                    InputError::new(file, found, "the time of each region").at_line(table.line)
                })?,
                None => table.runtime.filter(|time| *time > 0.0).unwrap_or(1.0),
            };
            metrics.add(metric, sum, weight);
        }
    }
    let mut groups: Vec<&str> = tables.iter().map(|table| table.group).collect();
    groups.dedup();
    let mut regions: Vec<&str> = tables.iter().filter_map(|table| table.region).collect();
    regions.dedup();
    let Some((rate, bound)) = metrics.best() else {
        let found = format!("no memory bandwidth in {}", groups.join(", "));
        let found = if groups.is_empty() { "no table of metrics".to_owned() } else { found };
        return Err(InputError::new(file, found, GROUPS));
    };
    let mut source = format!("likwid-perfctr, group {}", groups.join(", "));
    let of_regions = !regions.is_empty();
    if of_regions {
        source += &format!(", region {}", regions.join(", "));
    }
    Ok(MeasuredTraffic {
        rate,
        of_regions,
        bound,
        cache: None,
        source,
        date: None,
        left_out: Vec::new(),
    })
}

/// What a metric of LIKWID says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Metric {
    /// Reads and writes.
    All,
    /// Those of some channels of each socket: 0 to 3, or 4 to 7 (AMD).
    Channels(u8),
    Reads,
    Writes,
    /// Between the second and the third level.
    Cache,
}

impl Metric {
    /// `None` if it is not traffic to memory in megabytes per second.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.trim().strip_suffix(" [MBytes/s]")? {
            "Memory bandwidth" => Self::All,
            "Memory bandwidth (channels 0-3)" => Self::Channels(0),
            "Memory bandwidth (channels 4-7)" => Self::Channels(4),
            "Memory read bandwidth" | "Memory load bandwidth" => Self::Reads,
            "Memory write bandwidth" | "Memory evict bandwidth" | "Memory writeback bandwidth" => {
                Self::Writes
            }
            "L3 bandwidth" => Self::Cache,
            _ => return None,
        })
    }
}

/// Means over time, in megabytes per second.
#[derive(Debug, Default)]
pub(super) struct Metrics(BTreeMap<Metric, Mean>);

impl Metrics {
    pub(super) fn add(&mut self, metric: Metric, value: f64, seconds: f64) {
        self.0.entry(metric).or_default().add(value, seconds);
    }

    /// The traffic by the metric that says most.
    pub(super) fn best(&self) -> Option<(BytesPerSecond, Bound)> {
        let of = |metric: Metric| self.0.get(&metric).and_then(Mean::value);
        let both =
            |first: Option<f64>, second: Option<f64>, why: &'static str| match (first, second) {
                (Some(first), Some(second)) => Some((first + second, Bound::Exact)),
                (one, other) => Some((one.or(other)?, Bound::AtLeast(why))),
            };
        let halves = "half of the memory channels were counted: record MEM1 and MEM2";
        let best = of(Metric::All)
            .map(|all| (all, Bound::Exact))
            .or_else(|| both(of(Metric::Channels(0)), of(Metric::Channels(4)), halves))
            .or_else(|| {
                both(of(Metric::Reads), of(Metric::Writes), "reads or writes were not counted")
            });
        let above = "the traffic between the second and the third cache was counted";
        let best = best.or_else(|| Some((of(Metric::Cache)?, Bound::AtMost(above))));
        best.map(|(megabytes, bound)| (BytesPerSecond(megabytes * 1e6), bound))
    }
}

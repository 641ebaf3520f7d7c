//! What `calibrate` prints.

use std::fmt;

use rankwright::units::{Seconds, counted};
use serde::Serialize;

use super::fit::{Fitted, Row, Value};
use super::record::Record;
use crate::options::Format;
use crate::output;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bandwidth(rate) => rate.fmt(f),
            Self::Time(time) => time.fmt(f),
            Self::Length(bytes) => bytes.fmt(f),
            Self::Factor(factor) => factor.fmt(f),
        }
    }
}

/// A rate as JSON; `value` is in seconds, bytes or bytes per second.
#[derive(Serialize)]
struct RateJson<'a> {
    rate: &'a str,
    value: f64,
    unit: &'static str,
    spread: f64,
    samples: u32,
    before: Option<f64>,
}

/// The whole result as JSON.
#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    written: Option<&'a str>,
    nodes: usize,
    ranks: usize,
    seconds: f64,
    mpi: &'a str,
    rates: Vec<RateJson<'a>>,
    notes: &'a [String],
}

impl Value {
    fn number(self) -> (f64, &'static str) {
        match self {
            Self::Bandwidth(rate) => (rate.0, "B/s"),
            Self::Time(time) => (time.0, "s"),
            Self::Length(bytes) => (bytes.0 as f64, "B"),
            Self::Factor(factor) => (factor, ""),
        }
    }
}

/// The result in a format; `written` names the file, `None` if nothing was written.
pub(super) fn report(
    format: Format,
    record: &Record,
    fitted: &Fitted,
    written: Option<&str>,
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Table => {
            let header = ["rate", "measured", "spread", "samples", "before"];
            let rows: Vec<Vec<String>> = fitted.rows.iter().map(cells).collect();
            let notes: String = fitted.notes.iter().map(|note| format!("{note}\n")).collect();
            format!(
                "{}\n\n{}{notes}",
                sentence(record, fitted, written),
                output::table(&header, &rows)
            )
        }
        Format::Json => {
            let json = Json {
                version: 1,
                written,
                nodes: record.hosts.len(),
                ranks: record.ranks,
                seconds: record.seconds.unwrap_or_default(),
                mpi: &record.mpi,
                rates: fitted.rows.iter().map(json).collect(),
                notes: &fitted.notes,
            };
            serde_json::to_string_pretty(&json)? + "\n"
        }
        Format::Csv => {
            let cells = |row: &Row| {
                let row = json(row);
                let before = row.before.map_or(String::new(), |value| value.to_string());
                let (value, spread) = (row.value.to_string(), row.spread.to_string());
                vec![
                    row.rate.to_owned(),
                    value,
                    row.unit.to_owned(),
                    spread,
                    row.samples.to_string(),
                    before,
                ]
            };
            let rows: Vec<Vec<String>> = fitted.rows.iter().map(cells).collect();
            output::csv(&["rate", "value", "unit", "spread", "samples", "before"], &rows)
        }
    })
}

/// The cells of a row of the table.
fn cells(row: &Row) -> Vec<String> {
    let before = row.before.map_or(String::new(), |(value, assumed)| {
        format!("{value:.1}{}", if assumed { " (assumed)" } else { "" })
    });
    let spread = format!("{:.1} %", 100.0 * row.spread);
    let value = match row.value {
        Value::Factor(factor) => factor.to_string(),
        Value::Length(bytes) => bytes.to_string(),
        value => format!("{value:.1}"),
    };
    vec![row.rate.clone(), value, spread, row.samples.to_string(), before]
}

fn json(row: &Row) -> RateJson<'_> {
    let (value, unit) = row.value.number();
    RateJson {
        rate: &row.rate,
        value,
        unit,
        spread: row.spread,
        samples: row.samples,
        before: row.before.map(|(value, _)| value.number().0),
    }
}

/// The answer in a sentence.
fn sentence(record: &Record, fitted: &Fitted, written: Option<&str>) -> String {
    let rates = counted(fitted.rows.len(), "rate");
    let nodes = counted(record.hosts.len(), "node");
    let seconds = Seconds(record.seconds.unwrap_or_default());
    let written = match written {
        Some(file) => format!("written to {file}"),
        None => "nothing written".to_owned(),
    };
    let named = |rate: &str, words: &str| {
        let row = fitted.rows.iter().find(|row| row.rate == rate)?;
        let before = row.before.map_or(String::new(), |(value, assumed)| {
            format!(" ({}: {value:.1})", if assumed { "assumed" } else { "before" })
        });
        Some(format!("{words} {:.1}{before}", row.value))
    };
    let main = [
        named("nic_bandwidth", "every network device"),
        named("nic_latency", "latency"),
        named("memory_bandwidth", "memory of a NUMA node"),
    ];
    let main: Vec<String> = main.into_iter().flatten().collect();
    let end = if main.is_empty() { String::new() } else { format!(": {}", main.join(", ")) };
    format!("Measured {rates} on {nodes} in {seconds:.0}; {written}{end}")
}

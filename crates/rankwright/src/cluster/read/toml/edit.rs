//! Writes measured rates into an existing `cluster.toml` and leaves the rest as it is, with its comments.

use std::collections::BTreeMap;
use std::path::Path;

use ::toml::{Spanned, Table, Value};
use serde::Deserialize;

use super::schema::File;
use super::write::{bandwidth, latency, quoted};
use super::{EXPECTED, calibration, parse};
use crate::cluster::Rates;
use crate::files::{InputError, TomlText};

/// The line above the tables that are written.
const COMMENT: &str = "# Measured by `rankwright calibrate`, which replaces these tables.";

/// The fields of `[rates]` with their positions in the file.
#[derive(Deserialize)]
struct Positions {
    rates: BTreeMap<String, Spanned<Value>>,
}

/// The text of a `cluster.toml` with these rates instead of its own; everything else stays, comments
/// too. Curves are those of the file. `file` and `folder` as for [`parse`].
///
/// # Errors
/// If the text is not a cluster description, or has rates in a form that cannot be edited.
pub fn with_rates(
    text: &str,
    file: &str,
    folder: &Path,
    rates: &Rates,
) -> Result<String, InputError> {
    let before = parse(text, file, folder)?;
    let kept = without_calibration(text);
    let fields = fields(rates, &before.rates);
    let mut edited =
        match ::toml::from_str::<Table>(&kept).ok().and_then(|t| t.get("rates").cloned()) {
            Some(Value::Table(_)) => in_table(&kept, file, folder, &fields)?,
            other => {
                let base =
                    other.as_ref().and_then(Value::as_str).map(|name| ("base", quoted(name)));
                let rest = without_name(&kept);
                let lines: String = base.iter().chain(&fields).map(assignment).collect();
                format!("{}\n\n{COMMENT}\n[rates]\n{lines}", rest.trim_end())
            }
        };
    if let Some(measured) = &rates.calibration {
        edited = format!("{}\n{}", edited.trim_end(), calibration::write(measured));
    }
    let after = parse(&edited, file, folder)?;
    let expected = before.into_description();
    let same = after.clone().into_description();
    if same.rates != *rates || (same.nodes, same.groups) != (expected.nodes, expected.groups) {
        return Err(form(file));
    }
    Ok(edited)
}

/// The paths in `xml = ".."` of a `cluster.toml`, as written; none if it cannot be read.
#[must_use]
pub fn xml_files(text: &str) -> Vec<String> {
    let file: Option<File> = ::toml::from_str(text).ok();
    let nodes = file.into_iter().flat_map(|file| file.node);
    nodes.filter_map(|node| Some(node.into_inner().xml?.into_inner())).collect()
}

fn assignment((name, value): &(&str, String)) -> String {
    format!("{name} = {value}\n")
}

/// The fields of `[rates]` that a calibration may change, as written. Those of `before` stay where none
/// is written, so a default must be written if it replaces one.
fn fields(rates: &Rates, before: &Rates) -> Vec<(&'static str, String)> {
    let mut fields =
        vec![("name", quoted(&rates.name)), ("calibrated", rates.calibrated.to_string())];
    fields.extend(rates.nic_bandwidth.map(|rate| ("nic_bandwidth", bandwidth(rate))));
    fields.extend(rates.nic_latency.map(|time| ("nic_latency", latency(time))));
    fields.extend(rates.memory_bandwidth.map(|rate| ("memory_bandwidth", bandwidth(rate))));
    fields.extend(rates.cache_bandwidth.map(|rate| ("cache_bandwidth", bandwidth(rate))));
    let factor = format!("{:?}", rates.remote_memory_factor);
    let default = Rates::default().remote_memory_factor;
    if [rates.remote_memory_factor, before.remote_memory_factor].iter().any(|it| *it != default) {
        fields.push(("remote_memory_factor", factor));
    }
    fields
}

fn form(file: &str) -> InputError {
    InputError::new(file, "rates in a form that cannot be edited", "a table with the line [rates]")
        .in_field("rates")
        .with_advice("write the rates below a line [rates]")
}

/// Replaces the values of fields in the table `[rates]`, and adds those that it lacks below its header.
fn in_table(
    text: &str,
    file: &str,
    folder: &Path,
    fields: &[(&str, String)],
) -> Result<String, InputError> {
    let source = TomlText { file, text, folder };
    let positions: Positions =
        ::toml::from_str(text).map_err(|error| source.syntax(&error, EXPECTED))?;
    let header = header_end(text).ok_or_else(|| form(file))?;
    let mut replaced = Vec::new();
    let mut added = String::new();
    for field in fields {
        match positions.rates.get(field.0) {
            Some(value) => replaced.push((value.span(), field.1.as_str())),
            None => added += &assignment(field),
        }
    }
    replaced.push((header..header, &added));
    replaced.sort_by_key(|(span, _)| span.start);
    let mut edited = text.to_owned();
    for (span, value) in replaced.into_iter().rev() {
        edited.replace_range(span, value);
    }
    Ok(edited)
}

/// The position behind the line `[rates]`.
fn header_end(text: &str) -> Option<usize> {
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        position += line.len();
        if header(line) == Some("rates") {
            return Some(position);
        }
    }
    None
}

/// The name in a header of a table, `[name]` or `[[name]]`. Lines of arrays may begin like one.
fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let inside = line.strip_prefix("[[").or_else(|| line.strip_prefix('['))?;
    let (name, rest) = inside.split_once(']')?;
    let rest = rest.trim_start_matches(']').trim_start();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || " _-.".contains(c));
    (is_name && (rest.is_empty() || rest.starts_with('#'))).then_some(name.trim())
}

/// The text without the tables of an earlier calibration. Comments in them and behind them stay, except
/// ours.
fn without_calibration(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        if let Some(name) = header(line) {
            inside = name.split('.').map(str::trim).take(2).eq(["rates", "calibration"]);
        }
        let remark = line.trim_start();
        if !inside || (remark.starts_with('#') && remark.trim_end() != COMMENT) {
            kept += line;
        }
    }
    kept
}

/// The text without the line `rates = "NAME"`.
fn without_name(text: &str) -> String {
    let is_name =
        |line: &&str| line.split_once('=').is_some_and(|(name, _)| name.trim() == "rates");
    let first_table = text.split_inclusive('\n').position(|line| header(line).is_some());
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .filter(|(number, line)| first_table.is_some_and(|first| *number > first) || !is_name(line))
        .map(|(_, line)| line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Calibration, DeviceRates, LevelKind, MeasuredRate, MessageRates};
    use crate::units::{Bytes, BytesPerSecond, Seconds};

    fn measured() -> Rates {
        let messages = |level, latency| MessageRates {
            level,
            latency: Seconds(latency),
            send_overhead: Some(Seconds(1.5e-6)),
            receive_overhead: None,
            gap: Some(Seconds(2e-6)),
            bandwidth: Some(BytesPerSecond(12.3e6)),
            eager_limit: Some(Bytes(65_472)),
        };
        Rates {
            name: "measured on 2026-11-23".to_owned(),
            calibrated: true,
            memory_bandwidth: Some(BytesPerSecond(1.2e10)),
            calibration: Some(Box::new(Calibration {
                date: "2026-11-23".to_owned(),
                mpi: "Open MPI v4.1.4".to_owned(),
                devices: vec![DeviceRates {
                    names: vec!["eth0".to_owned(), "eth1".to_owned()],
                    bandwidth: BytesPerSecond(12.3e6),
                    latency: Seconds(31.5e-6),
                    far_bandwidth: Some(BytesPerSecond(11e6)),
                    far_latency: Some(Seconds(32e-6)),
                }],
                messages: vec![
                    messages(LevelKind::Numa, 4e-7),
                    messages(LevelKind::Switch(2), 4e-6),
                    messages(LevelKind::Cluster, 31e-6),
                ],
                pairs: vec![(1, BytesPerSecond(12e6)), (4, BytesPerSecond(12.3e6))],
                pairs_both_ways: vec![(1, BytesPerSecond(24e6))],
                wire_per_byte: Some(1.0078),
                wire_per_message: Some(Bytes(88)),
                measured: vec![MeasuredRate {
                    rate: "nic_bandwidth".to_owned(),
                    spread: 0.004,
                    samples: 14,
                }],
            })),
            ..Rates::default()
        }
    }

    const NODES: &str = "[[node]] # all\nnames = \"n[0-1]\"\ntopology = \"4\"\n\n# the switch\n[[switch]]\n\
                         name = \"s\"\nnodes = \"n[0-1]\"\n";

    fn edited(text: &str) -> String {
        with_rates(text, "c.toml", Path::new(""), &measured()).unwrap()
    }

    #[test]
    fn comments_and_other_fields_stay() {
        let table = "# ours\nname = \"c\" # short\n\n[rates] # guessed\n# memory: of the manual\n\
                     memory_bandwidth = \"4 GB/s\" # DDR4\nmemory_copies = 2\n\n# nodes\n";
        let text = edited(&format!("{table}{NODES}"));
        for kept in
            ["# ours\nname = \"c\" # short\n", "[rates] # guessed\n", "# memory: of the manual\n"]
        {
            assert!(text.contains(kept), "{text}");
        }
        assert!(
            text.contains("memory_bandwidth = \"12 GB/s\" # DDR4\nmemory_copies = 2\n\n# nodes\n"),
            "{text}"
        );
        assert!(text.contains(NODES), "{text}");
        // A second time, only the old calibration is replaced.
        assert_eq!(edited(&text), text);
    }

    #[test]
    fn a_default_replaces_another_value() {
        let text = edited(&format!("[rates]\nremote_memory_factor = 1.5\n\n{NODES}"));
        assert!(text.contains("remote_memory_factor = 1.1\n"), "{text}");
    }

    #[test]
    fn a_table_is_made_where_there_is_none() {
        for head in ["", "rates = \"typical\" # usual\n", "# nothing\nname = \"c\"\n"] {
            let text = edited(&format!("{head}{NODES}"));
            assert!(text.contains(NODES), "{text}");
            assert_eq!(edited(&text), text);
        }
    }

    #[test]
    fn what_a_person_added_behind_a_calibration_stays() {
        let text = edited(NODES) + "\n# later\n[[node]]\nnames = \"m\"\ntopology = \"2\"\n";
        let again = edited(&text);
        assert!(again.contains("\n# later\n[[node]]\nnames = \"m\""), "{again}");
    }

    #[test]
    fn rates_that_cannot_be_edited_are_refused() {
        let text = format!("rates = {{ memory_copies = 2 }}\n{NODES}");
        let error =
            with_rates(&text, "c.toml", Path::new(""), &measured()).unwrap_err().to_string();
        assert!(error.contains("a table with the line [rates]"), "{error}");
    }
}

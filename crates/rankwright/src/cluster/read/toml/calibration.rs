//! The table `[rates.calibration]`.

use std::fmt::Display;
use std::str::FromStr;

use ::toml::Spanned;

use super::rates::{optional, within};
use super::schema::{CalibrationTable, Text};
use super::write::{bandwidth, exact, latency, line, quoted};
use super::{InputError, TomlText};
use crate::cluster::{Calibration, DeviceRates, LevelKind, MeasuredRate, MessageRates};
use crate::cluster::{SPREADS, WIRE};
use crate::units::{BytesPerSecond, UnitError};

/// How the fields of this table are called in errors.
fn field(name: impl Display) -> String {
    format!("rates.calibration.{name}")
}

pub(super) fn read(
    source: &TomlText<'_>,
    table: &CalibrationTable,
) -> Result<Calibration, InputError> {
    let mut calibration = Calibration {
        date: table.date.clone(),
        mpi: table.mpi.clone().unwrap_or_default(),
        pairs: pairs(source, "pairs", &table.pairs)?,
        pairs_both_ways: pairs(source, "pairs_both_ways", &table.pairs_both_ways)?,
        ..Calibration::default()
    };
    if let Some(factor) = &table.wire_per_byte {
        let factor = within(source, &field("wire_per_byte"), factor, &WIRE)?;
        calibration.wire_per_byte = Some(factor);
    }
    let per_message = &mut calibration.wire_per_message;
    optional(source, &table.wire_per_message, &field("wire_per_message"), per_message)?;
    for device in &table.device {
        calibration.devices.push(DeviceRates {
            names: device.names.clone(),
            bandwidth: source.quantity(&device.bandwidth, &field("device.bandwidth"))?,
            latency: source.quantity(&device.latency, &field("device.latency"))?,
            far_bandwidth: given(source, &device.far_bandwidth, "device.far_bandwidth")?,
            far_latency: given(source, &device.far_latency, "device.far_latency")?,
        });
    }
    for messages in &table.messages {
        let read = read_messages(source, messages)?;
        if calibration.messages.iter().any(|before| before.level == read.level) {
            let (span, actual) = (messages.level.span(), format!("a second `{}`", read.level));
            return Err(source.error(span, &field("messages.level"), actual, "each level once"));
        }
        calibration.messages.push(read);
    }
    for (rate, spread, samples) in &table.measured {
        calibration.measured.push(MeasuredRate {
            rate: rate.clone(),
            spread: within(source, &field("measured"), spread, &SPREADS)?,
            samples: within(source, &field("measured"), samples, &(1..=u32::MAX))?,
        });
    }
    Ok(calibration)
}

fn read_messages(
    source: &TomlText<'_>,
    table: &super::schema::Messages,
) -> Result<MessageRates, InputError> {
    let level = table.level.get_ref().parse::<LevelKind>().map_err(|()| {
        let actual = format!("`{}`", table.level.get_ref());
        let expected = "core, cache, numa, package, node, switch-1 (or higher) or cluster";
        source.error(table.level.span(), &field("messages.level"), actual, expected)
    })?;
    Ok(MessageRates {
        level,
        latency: source.quantity(&table.latency, &field("messages.latency"))?,
        send_overhead: given(source, &table.send_overhead, "messages.send_overhead")?,
        receive_overhead: given(source, &table.receive_overhead, "messages.receive_overhead")?,
        gap: given(source, &table.gap, "messages.gap")?,
        bandwidth: given(source, &table.bandwidth, "messages.bandwidth")?,
        eager_limit: given(source, &table.eager_limit, "messages.eager_limit")?,
    })
}

fn given<T: FromStr<Err = UnitError>>(
    source: &TomlText<'_>,
    text: &Option<Text>,
    name: &str,
) -> Result<Option<T>, InputError> {
    let mut value = None;
    optional(source, text, &field(name), &mut value)?;
    Ok(value)
}

/// Numbers of pairs in ascending order, each with a rate.
fn pairs(
    source: &TomlText<'_>,
    name: &str,
    points: &[(Spanned<u32>, Text)],
) -> Result<Vec<(u32, BytesPerSecond)>, InputError> {
    let mut read: Vec<(u32, BytesPerSecond)> = Vec::new();
    for (count, rate) in points {
        let least = read.last().map_or(1, |(before, _)| before.saturating_add(1));
        let count = within(source, &field(name), count, &(least..=u32::MAX))?;
        read.push((count, source.quantity(rate, &field(name))?));
    }
    Ok(read)
}

/// The tables of a calibration; [`read`] reads them back as equal.
pub(super) fn write(calibration: &Calibration) -> String {
    let mut text = "\n[rates.calibration]\n".to_owned();
    line(&mut text, "date", quoted(&calibration.date));
    if !calibration.mpi.is_empty() {
        line(&mut text, "mpi", quoted(&calibration.mpi));
    }
    for (name, pairs) in
        [("pairs", &calibration.pairs), ("pairs_both_ways", &calibration.pairs_both_ways)]
    {
        let points: Vec<String> =
            pairs.iter().map(|(count, rate)| format!("[{count}, {}]", bandwidth(*rate))).collect();
        if !points.is_empty() {
            line(&mut text, name, format!("[{}]", points.join(", ")));
        }
    }
    if let Some(factor) = calibration.wire_per_byte {
        line(&mut text, "wire_per_byte", format!("{factor:?}"));
    }
    if let Some(bytes) = calibration.wire_per_message {
        line(&mut text, "wire_per_message", quoted(&bytes.to_string()));
    }
    if !calibration.measured.is_empty() {
        let row = |of: &MeasuredRate| {
            format!("\n  [{}, {:?}, {}],", quoted(&of.rate), of.spread, of.samples)
        };
        let rows: String = calibration.measured.iter().map(row).collect();
        line(&mut text, "measured", format!("[{rows}\n]"));
    }
    for device in &calibration.devices {
        text += "\n[[rates.calibration.device]]\n";
        let names: Vec<String> = device.names.iter().map(|name| quoted(name)).collect();
        line(&mut text, "names", format!("[{}]", names.join(", ")));
        line(&mut text, "bandwidth", bandwidth(device.bandwidth));
        line(&mut text, "latency", latency(device.latency));
        if let Some(rate) = device.far_bandwidth {
            line(&mut text, "far_bandwidth", bandwidth(rate));
        }
        if let Some(time) = device.far_latency {
            line(&mut text, "far_latency", latency(time));
        }
    }
    calibration.messages.iter().for_each(|messages| write_messages(&mut text, messages));
    text
}

fn write_messages(text: &mut String, messages: &MessageRates) {
    *text += "\n[[rates.calibration.messages]]\n";
    line(text, "level", quoted(&messages.level.to_string()));
    line(text, "latency", latency(messages.latency));
    let times = [
        ("send_overhead", messages.send_overhead),
        ("receive_overhead", messages.receive_overhead),
        ("gap", messages.gap),
    ];
    for (name, time) in times {
        if let Some(time) = time {
            line(text, name, latency(time));
        }
    }
    if let Some(rate) = messages.bandwidth {
        line(text, "bandwidth", bandwidth(rate));
    }
    if let Some(limit) = messages.eager_limit {
        line(text, "eager_limit", exact(limit, format!("{} B", limit.0)));
    }
}

//! `rates = "NAME"` and the `[rates]` table.

use std::ops::RangeInclusive;
use std::str::FromStr;

use ::toml::Spanned;

use super::schema::{RatesField, RatesTable, Text};
use super::write::{bandwidth, exact, latency, line, quoted};
use super::{InputError, TomlText, calibration, quantity_into};
use crate::cluster::{
    MEMORY_COPIES, REMOTE_MEMORY_FACTORS, Rates, ServiceCurve, ServiceCurveError,
};
use crate::units::{Bytes, Seconds, UnitError};

/// What `rates` may be.
pub(super) fn expected() -> String {
    format!("{}, or a table [rates]", names(", "))
}

/// All named sets in quotes.
fn names(separator: &str) -> String {
    Rates::names().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(separator)
}

pub(super) fn read(
    source: &TomlText<'_>,
    field: Option<&Spanned<RatesField>>,
) -> Result<Rates, InputError> {
    let Some(field) = field else {
        return Ok(Rates::default());
    };
    match field.get_ref() {
        RatesField::Name(name) => Rates::named(name)
            .ok_or_else(|| source.error(field.span(), "rates", format!("`{name}`"), expected())),
        RatesField::Table(table) => from_table(source, table),
    }
}

fn from_table(source: &TomlText<'_>, table: &RatesTable) -> Result<Rates, InputError> {
    let mut rates = match &table.base {
        None => Rates::default(),
        Some(base) => Rates::named(base.get_ref()).ok_or_else(|| {
            let actual = format!("`{}`", base.get_ref());
            source.error(base.span(), "rates.base", actual, names(" or "))
        })?,
    };
    rates.name = table.name.clone().unwrap_or_else(|| "own".to_owned());
    rates.calibrated = table.calibrated;
    optional(source, &table.nic_bandwidth, "rates.nic_bandwidth", &mut rates.nic_bandwidth)?;
    optional(source, &table.nic_latency, "rates.nic_latency", &mut rates.nic_latency)?;
    let memory = &mut rates.memory_bandwidth;
    optional(source, &table.memory_bandwidth, "rates.memory_bandwidth", memory)?;
    let cache = &mut rates.cache_bandwidth;
    optional(source, &table.cache_bandwidth, "rates.cache_bandwidth", cache)?;
    let length = |text, field, target: &mut Bytes| quantity_into(source, text, field, target);
    length(&table.cache_limit, "rates.cache_limit", &mut rates.cache_limit)?;
    let access_length = &mut rates.memory_access_length;
    length(&table.memory_access_length, "rates.memory_access_length", access_length)?;
    optional(source, &table.memory_accesses, "rates.memory_accesses", &mut rates.memory_accesses)?;
    if let Some(factor) = &table.remote_memory_factor {
        let field = "rates.remote_memory_factor";
        rates.remote_memory_factor = within(source, field, factor, &REMOTE_MEMORY_FACTORS)?;
    }
    if let Some(copies) = &table.memory_copies {
        rates.memory_copies = within(source, "rates.memory_copies", copies, &MEMORY_COPIES)?;
    }
    for (points, field, target) in [
        (&table.queue_pair, "rates.queue_pair", &mut rates.queue_pair),
        (&table.processing, "rates.processing", &mut rates.processing),
        (&table.inter_socket, "rates.inter_socket", &mut rates.inter_socket),
    ] {
        if let Some(points) = points {
            *target = curve(source, field, points)?;
        }
    }
    let calibration = table.calibration.as_ref();
    rates.calibration =
        calibration.map(|table| calibration::read(source, table)).transpose()?.map(Box::new);
    Ok(rates)
}

/// As [`quantity_into`], for a quantity that the rates need not have.
pub(super) fn optional<T: FromStr<Err = UnitError>>(
    source: &TomlText<'_>,
    text: &Option<Text>,
    field: &str,
    target: &mut Option<T>,
) -> Result<(), InputError> {
    if let Some(text) = text {
        *target = Some(source.quantity(text, field)?);
    }
    Ok(())
}

pub(super) fn within<T: Copy + PartialOrd + std::fmt::Display>(
    source: &TomlText<'_>,
    field: &str,
    value: &Spanned<T>,
    allowed: &RangeInclusive<T>,
) -> Result<T, InputError> {
    if allowed.contains(value.get_ref()) {
        return Ok(*value.get_ref());
    }
    let expected = format!("a number from {} to {}", allowed.start(), allowed.end());
    Err(source.error(value.span(), field, value.get_ref().to_string(), expected))
}

fn curve(
    source: &TomlText<'_>,
    field: &str,
    points: &Spanned<Vec<(Text, Text)>>,
) -> Result<ServiceCurve, InputError> {
    let point = |(length, time): &(Text, Text)| -> Result<(Bytes, Seconds), InputError> {
        Ok((source.quantity(length, field)?, source.quantity(time, field)?))
    };
    let read: Result<Vec<_>, _> = points.get_ref().iter().map(point).collect();
    ServiceCurve::new(read?).map_err(|error| {
        let point = |position: usize| &points.get_ref()[position];
        let (text, after, expected) = match error {
            ServiceCurveError::Length(0) => (&point(0).0, String::new(), "a length above 0 B"),
            ServiceCurveError::Length(position) => {
                let after = format!(" after `{}`", point(position - 1).0.get_ref());
                (&point(position).0, after, "ascending lengths")
            }
            ServiceCurveError::Time(position) => {
                (&point(position).1, String::new(), "a time above 0 s")
            }
        };
        source.error(text.span(), field, format!("`{}`{after}", text.get_ref()), expected)
    })
}

/// The lines for these rates; [`read`] reads them back as equal rates.
pub(super) fn write(rates: &Rates) -> String {
    if Rates::named(&rates.name).as_ref() == Some(rates) {
        return format!("rates = {}\n", quoted(&rates.name));
    }
    let given = |rates: &Rates| {
        [
            rates.nic_bandwidth.is_some(),
            rates.nic_latency.is_some(),
            rates.memory_bandwidth.is_some(),
            rates.cache_bandwidth.is_some(),
        ]
    };
    // A rate by the hardware cannot be written over one of the base.
    let by_hardware = given(rates).contains(&false);
    let base = if by_hardware { Rates::default() } else { Rates::paper_2013() };
    let mut text = "\n[rates]\n".to_owned();
    line(&mut text, "name", quoted(&rates.name));
    line(&mut text, "base", quoted(&base.name));
    line(&mut text, "calibrated", rates.calibrated);
    if let Some(rate) = rates.nic_bandwidth {
        line(&mut text, "nic_bandwidth", bandwidth(rate));
    }
    if let Some(time) = rates.nic_latency {
        line(&mut text, "nic_latency", latency(time));
    }
    if let Some(rate) = rates.memory_bandwidth {
        line(&mut text, "memory_bandwidth", bandwidth(rate));
    }
    if rates.remote_memory_factor != base.remote_memory_factor {
        line(&mut text, "remote_memory_factor", format!("{:?}", rates.remote_memory_factor));
    }
    if rates.memory_copies != base.memory_copies {
        line(&mut text, "memory_copies", rates.memory_copies);
    }
    if let Some(rate) = rates.cache_bandwidth
        && base.cache_bandwidth != Some(rate)
    {
        line(&mut text, "cache_bandwidth", bandwidth(rate));
    }
    if rates.cache_limit != base.cache_limit {
        line(&mut text, "cache_limit", quoted(&rates.cache_limit.to_string()));
    }
    if let Some(accesses) = rates.memory_accesses {
        line(&mut text, "memory_accesses", exact(accesses, format!("{} /s", accesses.0)));
    }
    if rates.memory_access_length != base.memory_access_length {
        line(&mut text, "memory_access_length", quoted(&rates.memory_access_length.to_string()));
    }
    for (field, curve) in [
        ("queue_pair", &rates.queue_pair),
        ("processing", &rates.processing),
        ("inter_socket", &rates.inter_socket),
    ] {
        let point = |(length, time): &(Bytes, Seconds)| {
            format!("[{}, {}]", quoted(&length.to_string()), latency(*time))
        };
        let points: Vec<String> = curve.points().iter().map(point).collect();
        if !points.is_empty() {
            line(&mut text, field, format!("[{}]", points.join(", ")));
        }
    }
    text + &rates.calibration.as_deref().map(calibration::write).unwrap_or_default()
}

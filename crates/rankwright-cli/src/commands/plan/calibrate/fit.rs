//! From the record of the probe to the rates of the model.

mod device;
mod messages;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use rankwright::cluster::{Calibration, Cluster, HardwareRates, MeasuredRate, Rates};
use rankwright::ids::NodeId;
use rankwright::units::{Bytes, BytesPerSecond, Seconds};

use super::record::{Rate, Record};

/// Rates that were measured, beside those before.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) rates: Rates,
    pub(super) rows: Vec<Row>,
    /// Remarks for people.
    pub(super) notes: Vec<String>,
}

/// A measured rate.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its field: `nic_bandwidth`.
    pub(super) rate: String,
    pub(super) value: Value,
    pub(super) spread: f64,
    pub(super) samples: u32,
    /// The value before, if there was one, and whether it was assumed.
    pub(super) before: Option<(Value, bool)>,
}

/// A rate with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Bandwidth(BytesPerSecond),
    Time(Seconds),
    Length(Bytes),
    Factor(f64),
}

/// The rates that follow from a record; `date` is the day of the measurement.
pub(super) fn fit(record: &Record, cluster: &Cluster, date: &str) -> Fitted {
    let mut rates = cluster.rates.clone();
    rates.name = format!("measured on {date}");
    rates.calibrated = true;
    let mut fit = Fit {
        record,
        cluster,
        calibration: Calibration {
            date: date.to_owned(),
            mpi: record.mpi.split(',').next().unwrap_or_default().to_owned(),
            ..Calibration::default()
        },
        rates,
        rows: Vec::new(),
        notes: Vec::new(),
    };
    fit.device();
    fit.pairs();
    fit.messages();
    fit.memory();
    fit.wire();
    fit.compare_devices();
    let measured = |row: &Row| MeasuredRate {
        rate: row.rate.clone(),
        spread: rounded(row.spread.min(999.0), 2),
        samples: row.samples,
    };
    fit.calibration.measured = fit.rows.iter().map(measured).collect();
    fit.rates.calibration = Some(Box::new(fit.calibration));
    Fitted { rates: fit.rates, rows: fit.rows, notes: fit.notes }
}

struct Fit<'a> {
    record: &'a Record,
    cluster: &'a Cluster,
    calibration: Calibration,
    rates: Rates,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl<'a> Fit<'a> {
    /// The first record of a rate at a level; for `nodes` without switches in between to climb.
    fn find(&self, rate: &str, level: &str) -> Option<&'a Rate> {
        self.all(rate, level).next()
    }

    fn all(&self, rate: &str, level: &str) -> impl Iterator<Item = &'a Rate> + use<'a> {
        let (rate, level) = (rate.to_owned(), level.to_owned());
        let all = self.record.rates.iter();
        all.filter(move |other| other.rate == rate && other.level == level && other.across == 0)
    }

    fn add(&mut self, rate: &str, value: Value, of: &Rate, before: Option<(Value, bool)>) {
        let (spread, samples) = (of.spread(), of.samples);
        self.rows.push(Row { rate: rate.to_owned(), value, spread, samples, before });
    }

    /// The records of the curve of the first device: those between the hosts of the first one, from its
    /// NUMA node.
    fn curve(&self, both: bool) -> Vec<&'a Rate> {
        let mut curve: Vec<&Rate> = Vec::new();
        for rate in self.all("bandwidth", "nodes").filter(|rate| rate.both == both) {
            let same_place = curve.first().is_none_or(|first| {
                (&first.first, &first.second, first.numa) == (&rate.first, &rate.second, rate.numa)
            });
            if same_place && curve.last().is_none_or(|before| before.pairs < rate.pairs) {
                curve.push(rate);
            }
        }
        curve
    }

    /// A bandwidth. Ranks that share PUs pause, and bursts follow: the mean has both, the median often
    /// only the bursts.
    fn bandwidth(&self, rate: &Rate) -> f64 {
        if self.record.shares_pus { rate.mean } else { rate.median }
    }

    /// Half of a round trip. Where ranks share PUs, many trips also wait for one: the lower quartile has
    /// least of that.
    fn one_way(&self, rate: &Rate) -> f64 {
        if self.record.shares_pus { rate.low } else { rate.median }
    }

    /// Memory, caches and remote memory.
    fn memory(&mut self) {
        let assumed = !self.cluster.rates.calibrated;
        let copies: Vec<&Rate> = self.all("copy", "numa").collect();
        let best = copies.iter().max_by(|a, b| a.median.total_cmp(&b.median));
        if let Some(best) = best {
            let value = bandwidth_of(best.median);
            let before = self.first_machine().and_then(|node| {
                let memory = self.hardware(node).memories.first()?;
                Some((Value::Bandwidth(memory.value), memory.origin.is_assumed()))
            });
            self.add("memory_bandwidth", Value::Bandwidth(value), best, before);
            self.rates.memory_bandwidth = Some(value);
        }
        if let Some(cache) = self.find("bandwidth", "cache") {
            let value = bandwidth_of(cache.median);
            let before = self.cluster.rates.cache_bandwidth;
            let before = before.map(|rate| (Value::Bandwidth(rate), assumed));
            self.add("cache_bandwidth", Value::Bandwidth(value), cache, before);
            self.rates.cache_bandwidth = Some(value);
        }
        let near = copies.iter().find(|rate| rate.pairs == 1);
        if let Some((near, far)) = near.zip(self.find("far_copy", "numa")) {
            let factor = rounded((near.median / far.median).clamp(1.0, 100.0), 3);
            let before = (Value::Factor(self.cluster.rates.remote_memory_factor), assumed);
            self.add("remote_memory_factor", Value::Factor(factor), far, Some(before));
            self.rates.remote_memory_factor = factor;
        }
    }

    fn hardware(&self, node: NodeId) -> &'a HardwareRates {
        self.cluster.hardware_rates(self.cluster.node(node).group)
    }

    fn first_machine(&self) -> Option<NodeId> {
        self.cluster.find_node(&self.record.hosts.first()?.host)
    }

    /// Headers, as the devices count them.
    fn wire(&mut self) {
        if let Some(factor) = self.find("wire_per_byte", "nodes") {
            let value = rounded(factor.median, 5);
            self.add("wire_per_byte", Value::Factor(value), factor, None);
            // Of several devices at once, one says nothing about headers.
            self.calibration.wire_per_byte = (value >= 1.0).then_some(value);
        }
        if let Some(bytes) = self.find("wire_per_message", "nodes") {
            let value = Bytes(bytes.median.round() as u64);
            self.add("wire_per_message", Value::Length(value), bytes, None);
            self.calibration.wire_per_message = Some(value);
        }
    }
}

/// A bandwidth with four digits.
fn bandwidth_of(value: f64) -> BytesPerSecond {
    as_written(BytesPerSecond(rounded(value, 4)))
}

/// A time with four digits.
fn time_of(value: f64) -> Seconds {
    as_written(Seconds(rounded(value, 4)))
}

/// The number that is read where this one is written with its unit.
fn as_written<T: Copy + ToString + FromStr>(value: T) -> T {
    value.to_string().parse().unwrap_or(value)
}

/// A number rounded to this many significant digits: the samples are no more precise.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Through text, so that it is the number that a person would write.
    let digits = usize::try_from(digits - 1).unwrap_or(0);
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

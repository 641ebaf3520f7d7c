//! From readings to the bytes of a job: the growth of counters during the job, and what passes the
//! device without it.

use super::reading::{Combination, Counter, DeviceSample, NodeReading, Sample};
use super::wire;

/// Bytes in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Counted {
    /// Growth of the counter from before the job until after it.
    pub(super) bytes: f64,
    /// How much of it is background, by the idle intervals before and after the job.
    pub(super) background: f64,
    /// How far the background may be from that.
    pub(super) uncertain: f64,
}

impl Counted {
    /// Bytes without the background.
    pub(super) fn net(&self) -> f64 {
        (self.bytes - self.background).max(0.0)
    }

    /// The least and the most that can be of the job.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let net = self.bytes - self.background;
        ((net - self.uncertain).max(0.0), (net + self.uncertain).max(0.0))
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.background += other.background;
        self.uncertain += other.uncertain;
    }
}

/// What a device counted out and in, or why that is unknown.
pub(super) type OfDevice = Result<[Counted; 2], String>;

/// The bytes of a device with one of these names between two readings of its node.
pub(super) fn of_device(before: &NodeReading, after: &NodeReading, names: &[&str]) -> OfDevice {
    if before.boot != after.boot {
        return Err("the node was started again between the readings".to_owned());
    }
    let [b0, b1] = ends(before)?;
    let [a0, a1] = ends(after)?;
    let device = |sample: &Sample, when: &str| {
        let found = sample.device(names.iter().copied()).cloned();
        found.ok_or_else(|| format!("it is not there {when} the job"))
    };
    let samples =
        [device(b0, "before")?, device(b1, "before")?, device(a0, "after")?, device(a1, "after")?];
    let times = [b0.uptime_s, b1.uptime_s, a0.uptime_s, a1.uptime_s];
    if times.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err("the times of its readings do not ascend".to_owned());
    }
    let out = in_direction(&samples, times, |counter| counter.out)?;
    let incoming = in_direction(&samples, times, |counter| counter.incoming)?;
    Ok([out, incoming])
}

/// The first and the last sample of a reading.
fn ends(reading: &NodeReading) -> Result<[&Sample; 2], String> {
    let first_last = reading.samples.first().zip(reading.samples.last());
    first_last.map(|(first, last)| [first, last]).ok_or_else(|| "a reading is empty".to_owned())
}

fn in_direction(
    samples: &[DeviceSample; 4],
    times: [f64; 4],
    of: fn(&Counter) -> Option<u64>,
) -> Result<Counted, String> {
    let growth = |first: usize| growth(&samples[first], &samples[first + 1], of);
    let idle = |first: usize| -> Result<Option<f64>, String> {
        let seconds = times[first + 1] - times[first];
        let bytes = growth(first)?;
        Ok((seconds > 0.0).then(|| bytes / seconds))
    };
    let (before, after) = (idle(0)?, idle(2)?);
    let rates: Vec<f64> = before.into_iter().chain(after).collect();
    let seconds = times[2] - times[1];
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let half_spread = rates.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max);
    let background = mean * seconds;
    Ok(Counted {
        bytes: growth(1)?,
        background,
        uncertain: half_spread * seconds + wire::BACKGROUND_VARIES * background,
    })
}

/// By how many bytes a device's counters grew.
fn growth(
    earlier: &DeviceSample,
    later: &DeviceSample,
    of: fn(&Counter) -> Option<u64>,
) -> Result<f64, String> {
    if later.counters.is_empty() {
        return Err("it has no byte counters that are known".to_owned());
    }
    let grown = later.counters.iter().map(|counter| {
        let first = earlier.counters.iter().find(|other| other.source == counter.source);
        let first = first.ok_or_else(|| format!("{} is new", counter.source))?;
        let value = |counter: &Counter| {
            let why = || match &counter.unknown {
                Some(why) => format!("{}: {why}", counter.source),
                None => format!("{} is unknown", counter.source),
            };
            of(counter).ok_or_else(why)
        };
        let (from, to) = (value(first)?, value(counter)?);
        let grown = to.checked_sub(from).map(|bytes| bytes as f64);
        grown.ok_or_else(|| format!("{} went back: it was reset, or wrapped", counter.source))
    });
    let gone = earlier
        .counters
        .iter()
        .any(|counter| later.counters.iter().all(|other| other.source != counter.source));
    if gone {
        return Err("a counter vanished between the readings".to_owned());
    }
    match later.combined {
        Combination::Sum => grown.sum(),
        Combination::Largest => {
            let known: Vec<Result<f64, String>> = grown.collect();
            let largest = known.iter().flatten().copied().reduce(f64::max);
            largest.map_or_else(|| known.into_iter().next().unwrap_or(Ok(0.0)), Ok)
        }
    }
}

//! `perf stat -x,`: `[time,][place,[units,]]value,unit,event,run time,percent counted[,metric,unit]`. Any
//! separator, with or without `-I`, `--per-socket`, `--per-node` and `-A`. With `-I` and `--summary` the sums
//! over all intervals follow in lines that begin with `summary`; they are left out.

use super::counters::{LINE, Sums, counted};
use super::{MeasuredTraffic, count, lines};
use crate::files::InputError;

const SEPARATORS: [char; 5] = [',', ';', '\t', '|', ':'];
const EXPECTED: &str = "events of memory controllers, such as uncore_imc/cas_count_read/, or \
                        LLC-load-misses";

/// A line with a count.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    /// Since the start, with `-I`.
    time: Option<f64>,
    /// `None` if it was not counted.
    value: Option<f64>,
    /// As it stands there.
    text: &'a str,
    unit: &'a str,
    event: &'a str,
    /// A number that perf derived, with its unit.
    metric: Option<(f64, &'a str)>,
}

fn sample(line: &str, separator: char) -> Option<Sample<'_>> {
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    if fields[0] == "summary" {
        return None;
    }
    let is_value = |text: &str| count(text).is_some() || text.starts_with("<not ");
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    // Before the value stand a time, a place and how many units were added up there.
    let fits = |at: usize| match &fields[at..] {
        [value, unit, event, run, percent, ..] => {
            is_value(value)
                && !is_value(unit)
                && event.contains(|c: char| c.is_ascii_alphabetic())
                && is_number(run)
                && is_number(percent)
        }
        _ => false,
    };
    let at = (0..fields.len().min(4)).find(|at| fits(*at))?;
    let metric = match &fields[at + 5..] {
        [value, unit, ..] => count(value).map(|value| (value, *unit)),
        _ => None,
    };
    let (text, unit, event) = (fields[at], fields[at + 1], fields[at + 2]);
    let time = if at > 0 { count(fields[0]) } else { None };
    Some(Sample { time, value: count(text), text, unit, event, metric })
}

/// The separator with which lines are counts.
fn separator(text: &str) -> Option<char> {
    let fits = |separator: &char| text.lines().any(|line| sample(line, *separator).is_some());
    SEPARATORS.into_iter().find(fits)
}

pub(super) fn sniff(text: &str) -> bool {
    separator(text).is_some()
}

pub(super) fn read(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let separator = separator(text).unwrap_or(',');
    let samples: Vec<(usize, Sample<'_>)> =
        lines(text).filter_map(|(number, line)| Some((number, sample(line, separator)?))).collect();
    refuse_sums(&samples, file)?;
    let mut bytes = Sums::default();
    let mut missing: Vec<(usize, &Sample<'_>)> = Vec::new();
    for (number, sample) in &samples {
        let Some(counted) = counted(sample.event) else { continue };
        let Some(value) = sample.value else {
            missing.push((*number, sample));
            continue;
        };
        let factor = bytes_of(sample.unit).ok_or_else(|| {
            let found = format!("the unit `{}` of {}", sample.unit, sample.event);
            InputError::new(file, found, "MiB, another unit of bytes, or none").at_line(*number)
        })?;
        bytes.add(counted, value * factor);
    }
    let Some((amount, bound, source)) = bytes.best() else {
        return Err(nothing(&samples, missing.first().copied(), file));
    };
    let elapsed = elapsed(&samples).ok_or_else(|| {
        InputError::new(file, "no elapsed time", "a line with duration_time")
            .with_advice("add -e duration_time, or -I 1000")
    })?;
    let left_out = missing
        .iter()
        .map(|(number, sample)| format!("line {number}: {} of {}", sample.text, sample.event));
    let mut rate = amount;
    rate.0 /= elapsed;
    Ok(MeasuredTraffic {
        rate,
        of_regions: false,
        bound: bound.without(missing.len()),
        cache: None,
        source: format!("perf stat, {source}"),
        date: text.lines().find_map(|line| line.strip_prefix("# started on ")).map(str::to_owned),
        left_out: left_out.collect(),
    })
}

/// Refuses counts without a time among counts of intervals: they would be counted twice.
fn refuse_sums(samples: &[(usize, Sample<'_>)], file: &str) -> Result<(), InputError> {
    let is_sum = |(_, sample): &&(usize, Sample<'_>)| sample.time.is_none();
    let Some((number, sample)) = samples.iter().find(is_sum) else { return Ok(()) };
    if samples.iter().all(|sample| is_sum(&sample)) {
        return Ok(());
    }
    let found = format!("{} without a time", sample.event);
    let advice =
        "if these are the sums of --summary, leave them out: --no-csv-summary removes their mark";
    Err(InputError::new(file, found, "a time, as on the lines of intervals (-I)")
        .at_line(*number)
        .with_advice(advice))
}

/// Why the file has no memory traffic.
fn nothing(
    samples: &[(usize, Sample<'_>)],
    missing: Option<(usize, &Sample<'_>)>,
    file: &str,
) -> InputError {
    if let Some((number, sample)) = missing {
        let found = format!("{} for {}", sample.text, sample.event);
        let advice = "virtual machines have no such counters; elsewhere perf may need more privileges \
                      (perf_event_paranoid)";
        return InputError::new(file, found, "a count").at_line(number).with_advice(advice);
    }
    let mut events: Vec<&str> = samples.iter().map(|(_, sample)| sample.event).collect();
    events.dedup();
    events.truncate(5);
    InputError::new(file, format!("the events {}", events.join(", ")), EXPECTED)
}

/// What one of a unit is in bytes. Events without a unit count cache lines.
fn bytes_of(unit: &str) -> Option<f64> {
    let factor = match unit {
        "" => LINE,
        "B" | "Bytes" | "bytes" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "MB" => 1e6,
        _ => return None,
    };
    Some(factor)
}

/// The elapsed time in seconds. The run time of an event does not tell it: that is the sum over all controllers.
fn elapsed(samples: &[(usize, Sample<'_>)]) -> Option<f64> {
    let samples = || samples.iter().map(|(_, sample)| sample);
    let interval = samples().filter_map(|sample| sample.time).reduce(f64::max);
    let duration = || {
        samples().find(|sample| sample.event.starts_with("duration_time")).and_then(|sample| {
            let nanoseconds = matches!(sample.unit, "ns" | "");
            sample.value.filter(|_| nanoseconds).map(|value| value * 1e-9)
        })
    };
    let clock = || {
        samples().find_map(|sample| match (sample.unit, sample.value, sample.metric) {
            ("msec", Some(busy), Some((used, "CPUs utilized"))) => Some(busy * 1e-3 / used),
            _ => None,
        })
    };
    interval.or_else(duration).or_else(clock).filter(|time| time.is_finite() && *time > 0.0)
}

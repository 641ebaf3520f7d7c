//! The memory traffic of a job, from what tools that read hardware counters wrote while it ran.
//! `docs/src/formats.md` has the formats.

mod counters;
mod likwid;
mod pcp;
mod perf;
mod resctrl;
mod timeline;

use crate::files::InputError;
use crate::units::{Bytes, BytesPerSecond};

/// What is expected of the file, for error messages.
pub const EXPECTED_MEMORY_TRAFFIC: &str = "memory traffic: CSV of likwid-perfctr, perf stat or pmrep, text of pmdumptext, \
     or readings of resctrl";

/// What hardware counters saw of memory and cache, on all of the nodes that the file is about together.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredTraffic {
    /// Bytes read from and written to memory per second, the mean over the recorded time.
    pub rate: BytesPerSecond,
    /// Whether the recorded time is that of regions which the program marked, and not its whole run.
    pub of_regions: bool,
    /// How the true rate may differ from `rate`.
    pub bound: Bound,
    /// The last-level cache, where it was observed.
    pub cache: Option<CacheUse>,
    /// The tool and its counters, such as `likwid-perfctr, group MEM`.
    pub source: String,
    /// When it was recorded, as the file says it; `None` if it does not.
    pub date: Option<String>,
    /// What was in the file and could not be used.
    pub left_out: Vec<String>,
}

/// How the true rate may differ from what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// All traffic was counted.
    Exact,
    /// The true rate may be higher, for this reason.
    AtLeast(&'static str),
    /// The true rate may be lower, for this reason.
    AtMost(&'static str),
}

impl Bound {
    /// This bound with this number of counts missing.
    fn without(self, missing: usize) -> Self {
        match self {
            Self::Exact if missing > 0 => Self::AtLeast("some counts are missing"),
            _ => self,
        }
    }
}

/// What a job uses of last-level caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheUse {
    /// What it occupies in all of them together, the mean over the recorded time.
    pub occupied: Bytes,
    /// The size of one of them, as far as the job may use it; `None` if the file does not say.
    pub size: Option<Bytes>,
}

/// A format: its name, how to recognise it, and its reader.
struct Format {
    name: &'static str,
    sniff: fn(&str) -> bool,
    read: fn(&str, &str) -> Result<MeasuredTraffic, InputError>,
}

/// All formats, in the order in which they are tried.
const FORMATS: [Format; 5] = [
    Format { name: "likwid-perfctr -O", sniff: likwid::sniff, read: likwid::read },
    Format { name: "likwid-perfctr -t", sniff: timeline::sniff, read: timeline::read },
    Format { name: "readings of resctrl", sniff: resctrl::sniff, read: resctrl::read },
    Format { name: "pmrep -o csv, pmdumptext -m", sniff: pcp::sniff, read: pcp::read },
    Format { name: "perf stat -x,", sniff: perf::sniff, read: perf::read },
];

/// Reads what counters saw while a job ran; the format follows from the content.
///
/// # Errors
/// If the text has none of the formats, has no counter of memory traffic, or is damaged. The error has the
/// line where there is one.
pub fn memory_traffic(text: &str, file: &str) -> Result<MeasuredTraffic, InputError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(InputError::new(file, "no line", EXPECTED_MEMORY_TRAFFIC));
    }
    let Some(format) = FORMATS.iter().find(|format| (format.sniff)(text)) else {
        let names = FORMATS.map(|format| format.name).join("; ");
        let expected = format!("one of these formats: {names}");
        return Err(InputError::new(file, "no hardware counters", expected));
    };
    let found = (format.read)(text, file)?;
    if found.rate.0 > HIGHEST_RATE {
        let rate = format!("{:e} bytes per second", found.rate.0);
        return Err(InputError::new(file, rate, "at most 10^18, more than any memory has"));
    }
    Ok(found)
}

/// More bytes per second than any memory has.
const HIGHEST_RATE: f64 = 1e18;

/// The lines of a text with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// A mean over time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// A number that a counter can have: finite, and not negative.
fn count(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests;

//! What network devices counted during a run.

use super::bins::Bins;
use super::measures::{Measures, Phases};
use super::steadiness::{BINS, Steadiness};
use crate::traffic::read::counter_series::NodeSeries;

/// A network device as it counted, in bins.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The host.
    pub node: String,
    /// The device.
    pub device: String,
    /// Bytes out of the node and into it, with all headers.
    pub bytes: [Bins; 2],
}

/// All devices that carried something. Times count from `first_start`, in nanoseconds since 1970 by the clock of
/// rank 0's host.
#[must_use]
pub fn counted(series: &[NodeSeries], first_start: i64, bins: &Bins) -> Vec<Counted> {
    let mut found = Vec::new();
    for node in series {
        let sampling = &node.sampling;
        let origin = sampling.clock_offset_s + (sampling.start_unix_ns - first_start) as f64 * 1e-9;
        for (number, device) in node.devices.iter().enumerate() {
            let mut bytes = [bins.clone(), bins.clone()];
            for pair in node.samples.windows(2) {
                let [from, to] = [&pair[0], &pair[1]].map(|s| origin + s.time as f64 * 1e-9);
                for (bins, grown) in bytes.iter_mut().zip(pair[1].bytes[number]) {
                    bins.add(from, to, grown as f64);
                }
            }
            if bytes.iter().any(|bins| bins.total() > 0.0) {
                found.push(Counted { node: node.host.clone(), device: device.clone(), bytes });
            }
        }
    }
    found
}

/// When the first rank started, by the clock of rank 0's host, as far as the series tell; and when the last
/// sample was taken, in seconds after that.
#[must_use]
pub fn counted_span(series: &[NodeSeries]) -> (i64, f64) {
    let starts = series.iter().map(|node| {
        let sampling = &node.sampling;
        sampling.start_unix_ns + (sampling.clock_offset_s * 1e9) as i64
    });
    let first = starts.clone().min().unwrap_or(0);
    let ends = series.iter().zip(starts).filter_map(|(node, start)| {
        Some((start - first) as f64 * 1e-9 + node.samples.last()?.time as f64 * 1e-9)
    });
    (first, ends.fold(0.0, f64::max))
}

/// A device is used in a sample if it carries this share of the highest rate of any device: less is what hosts
/// say to each other without a job.
const USED: f64 = 0.01;

/// What the counters of a run alone say: how the network is used, and whether the traffic is steady. By whom,
/// and in which messages, they do not tell. `width` is the time from sample to sample.
#[must_use]
pub fn measures_of_counters(
    series: &[NodeSeries],
    width: f64,
) -> (Measures, Option<Steadiness>, f64) {
    let (first, span) = counted_span(series);
    let bins =
        |width: f64, span: f64| Bins::new(0.0, width, ((span / width).ceil() as usize).max(1));
    if span <= 0.0 || width <= 0.0 {
        return (Measures::default(), None, 0.0);
    }
    let devices = counted(series, first, &bins(width, span));
    let all = devices.iter().flat_map(|device| device.bytes.iter());
    let highest = all.flat_map(|bins| bins.values.iter().copied()).fold(0.0, f64::max);
    let count = devices.first().map_or(0, |device| device.bytes[0].values.len());
    let is_used = |bin: usize| {
        let mut all = devices.iter().flat_map(|device| device.bytes.iter());
        all.any(|bins| bins.values[bin] > USED * highest)
    };
    let used: Vec<bool> = (0..count).map(is_used).collect();
    let time = |bin: usize| bin as f64 * width;
    let intervals = used.iter().enumerate().filter(|(_, used)| **used);
    let busy: Vec<(f64, f64)> = intervals.map(|(bin, _)| (time(bin), time(bin + 1))).collect();
    let out: f64 = devices.iter().map(|device| device.bytes[0].total()).sum();
    let capacity = highest * count as f64 * devices.len() as f64;
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let measures = Measures {
        used: share(busy.len() as f64, count as f64),
        utilisation: share(out, capacity),
        bytes: out as u64,
        phases: Phases::of(&super::union(busy), (span * 1e-3).max(1.5 * width)),
        ..Measures::default()
    };
    let coarse = counted(series, first, &bins(span / BINS as f64, span));
    let mut sums = vec![0.0; BINS];
    for device in &coarse {
        for (sum, bytes) in sums.iter_mut().zip(&device.bytes[0].values) {
            *sum += bytes;
        }
    }
    (measures, Steadiness::of_bins(&sums), highest / width)
}

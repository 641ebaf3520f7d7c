//! Rates: the bandwidths and latencies from which the queueing model and the simulator compute
//! service times.

mod calibration;

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::units::{Bytes, BytesPerSecond, PerSecond, Seconds};

pub use calibration::{Calibration, DeviceRates, MeasuredRate, MessageRates};

/// Bandwidths and latencies of a cluster, used where a device has none of its own. Those that are
/// `None` follow from the hardware: [`Cluster::nic_bandwidth`](super::Cluster::nic_bandwidth) and its
/// like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// Where the rates come from: one of [`Rates::names`], or a text for people.
    pub name: String,
    /// Whether the rates were measured on this cluster. Otherwise results say "rates assumed".
    pub calibrated: bool,
    /// Bandwidth of a network device, each way; above 0. `None`: by its link, model or kind.
    pub nic_bandwidth: Option<BytesPerSecond>,
    /// Time from one network device to another, including all switches between them. `None`: by the
    /// kind of the device.
    pub nic_latency: Option<Seconds>,
    /// Bandwidth of one NUMA node; above 0. `None`: by the processor.
    pub memory_bandwidth: Option<BytesPerSecond>,
    /// Time of an access to another NUMA node of the same node, relative to a local access;
    /// within [`REMOTE_MEMORY_FACTORS`].
    pub remote_memory_factor: f64,
    /// Number of times that a message inside a node passes the memory, within [`MEMORY_COPIES`]:
    /// τ of Eq. (18), Soryani 2013.
    pub memory_copies: u32,
    /// Bandwidth between cores that share a cache; above 0. `None`: by the level of the cache.
    pub cache_bandwidth: Option<BytesPerSecond>,
    /// Longest message that goes through a shared cache; 0 B: no message does.
    pub cache_limit: Bytes,
    /// Rate of memory accesses by each core, apart from messages; `None`: no accesses.
    pub memory_accesses: Option<PerSecond>,
    /// Length of one of these accesses.
    pub memory_access_length: Bytes,
    /// Service time at the queue pair (QP) of a rank, one for each direction; empty: no such server.
    pub queue_pair: ServiceCurve,
    /// Service time at the processing hardware (PHW) of a queue pair; empty: no such server.
    pub processing: ServiceCurve,
    /// Additional time for the sender's and the receiver's core if a message passes a network device
    /// of another package; empty: none.
    #[serde(skip_serializing_if = "ServiceCurve::is_empty")]
    pub inter_socket: ServiceCurve,
    /// What `rankwright calibrate` measured; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Box<Calibration>>,
}

/// The range of [`Rates::remote_memory_factor`].
pub const REMOTE_MEMORY_FACTORS: RangeInclusive<f64> = 1.0..=100.0;
/// The range of [`Rates::memory_copies`].
pub const MEMORY_COPIES: RangeInclusive<u32> = 1..=16;
/// The range of [`Calibration::wire_per_byte`].
pub(crate) const WIRE: RangeInclusive<f64> = 1.0..=100.0;
/// The range of [`MeasuredRate::spread`].
pub(crate) const SPREADS: RangeInclusive<f64> = 0.0..=1000.0;

/// Service time by message length, from points. Between two points, log(time) is linear in
/// log(length). Above the last point, time is proportional to length. Below the first point, it is
/// that of the first point.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ServiceCurve(Vec<(Bytes, Seconds)>);

/// Why points are not a [`ServiceCurve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceCurveError {
    /// The length of the point at this position is 0 B, or not above the length before it.
    #[error("points[{0}]: the length is 0 B, or not above the length before it")]
    Length(usize),
    /// The time of the point at this position is not above zero.
    #[error("points[{0}]: the time is not above zero")]
    Time(usize),
}

const TYPICAL: &str = "typical";
const PAPER_2013: &str = "paper-2013";
const PAPER_2013_MODEL: &str = "paper-2013-model";

/// A set of rates and its name.
type NamedRates = (&'static str, fn() -> Rates);

/// All named sets; the first is the default.
const NAMED: [NamedRates; 3] = [
    (TYPICAL, Rates::typical),
    (PAPER_2013, Rates::paper_2013),
    (PAPER_2013_MODEL, Rates::paper_2013_model),
];

impl Default for Rates {
    fn default() -> Self {
        Self::typical()
    }
}

impl Rates {
    /// The set with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMED.iter().find(|(other, _)| *other == name).map(|(_, rates)| rates())
    }

    /// The names of all sets; the first is that of [`Rates::default`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    /// `typical`: of network devices, memories and caches by what the hardware is. The rest is as in
    /// `paper-2013`.
    #[must_use]
    pub(crate) fn typical() -> Self {
        Self {
            name: TYPICAL.to_owned(),
            nic_bandwidth: None,
            nic_latency: None,
            memory_bandwidth: None,
            cache_bandwidth: None,
            ..Self::paper_2013()
        }
    }

    /// `paper-2013`: the input of the simulator of Soryani et al. 2013 (Table 2) and 2012 (Table 1).
    /// The papers do not print the bandwidth of the cache; it affects finish times only.
    #[must_use]
    pub(crate) fn paper_2013() -> Self {
        Self {
            name: PAPER_2013.to_owned(),
            calibrated: false,
            nic_bandwidth: Some(BytesPerSecond(1e9)),
            nic_latency: Some(Seconds(100e-9)),
            memory_bandwidth: Some(BytesPerSecond(4e9)),
            remote_memory_factor: 1.1,
            memory_copies: 2,
            cache_bandwidth: Some(BytesPerSecond(8e9)),
            cache_limit: Bytes(1 << 20),
            memory_accesses: None,
            memory_access_length: Bytes(8),
            queue_pair: ServiceCurve::default(),
            processing: ServiceCurve::default(),
            inter_socket: ServiceCurve::default(),
            calibration: None,
        }
    }

    /// `paper-2013-model`: the input of the analytic model of Soryani et al. 2013 (section 3). The
    /// paper does not print the service times of queue pairs and their processing hardware; these
    /// are fitted to its Figs. 4 and 5 and Table 1, together with 1 µs per 1024 bytes at the port
    /// and 4 GiB/s at the memory, which give the best fit. 100 ns at each of the two ports of the
    /// switch. All messages inside a node pass the memory once (Eq. 10): the model has no cache.
    #[must_use]
    pub(crate) fn paper_2013_model() -> Self {
        let fitted =
            [(1 << 10, 6.2e-6), (1 << 16, 115.5e-6), (1 << 19, 643.4e-6), (1 << 20, 1377e-6)];
        let share = |share: f64| {
            let points = fitted.map(|(length, time)| (Bytes(length), Seconds(time * share)));
            ServiceCurve(points.to_vec())
        };
        Self {
            name: PAPER_2013_MODEL.to_owned(),
            nic_bandwidth: Some(BytesPerSecond(1.024e9)),
            nic_latency: Some(Seconds(200e-9)),
            memory_bandwidth: Some(BytesPerSecond((1_u64 << 32) as f64)),
            memory_copies: 1,
            cache_limit: Bytes(0),
            memory_accesses: Some(PerSecond(1e5)),
            queue_pair: share(0.6),
            processing: share(0.4),
            ..Self::paper_2013()
        }
    }
}

impl ServiceCurve {
    /// A curve through points; none for a server that does not exist.
    ///
    /// # Errors
    /// If lengths do not ascend from 1 B, or a time is not above zero.
    pub fn new(points: Vec<(Bytes, Seconds)>) -> Result<Self, ServiceCurveError> {
        let mut before = Bytes(0);
        for (position, (length, time)) in points.iter().enumerate() {
            if *length <= before {
                return Err(ServiceCurveError::Length(position));
            }
            if time.0 <= 0.0 || !time.0.is_finite() {
                return Err(ServiceCurveError::Time(position));
            }
            before = *length;
        }
        Ok(Self(points))
    }

    /// Whether the curve has no points: there is no such server.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The points, by ascending length.
    #[must_use]
    pub fn points(&self) -> &[(Bytes, Seconds)] {
        &self.0
    }

    /// The service time of a message of this length; zero without points.
    #[must_use]
    pub fn time(&self, length: Bytes) -> Seconds {
        let after = self.0.partition_point(|(point, _)| *point < length);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (None, None) => Seconds(0.0),
            (None, Some((_, first))) => *first,
            (Some((last, time)), None) => Seconds(time.0 * length.0 as f64 / last.0 as f64),
            (Some((short, fast)), Some((long, slow))) => {
                let share =
                    (length.0 as f64 / short.0 as f64).ln() / (long.0 as f64 / short.0 as f64).ln();
                Seconds(fast.0 * (slow.0 / fast.0).powf(share))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_its_points_and_on_in_proportion() {
        let curve =
            ServiceCurve::new(vec![(Bytes(100), Seconds(1.0)), (Bytes(10_000), Seconds(4.0))]);
        let curve = curve.unwrap();
        let time = |length| curve.time(Bytes(length)).0;
        assert_eq!([time(0), time(7), time(100)], [1.0; 3]);
        assert!((time(1000) - 2.0).abs() < 1e-12);
        assert!((time(10_000) - 4.0).abs() < 1e-12);
        assert!((time(20_000) - 8.0).abs() < 1e-12);
        assert_eq!(ServiceCurve::default().time(Bytes(5)), Seconds(0.0));
    }

    #[test]
    fn a_curve_ascends_from_one_byte() {
        for (points, error) in [
            ([(0, 1.0), (1, 2.0)], ServiceCurveError::Length(0)),
            ([(2, 1.0), (2, 2.0)], ServiceCurveError::Length(1)),
            ([(1, 0.0), (2, 2.0)], ServiceCurveError::Time(0)),
        ] {
            let points = points.map(|(length, time)| (Bytes(length), Seconds(time)));
            assert_eq!(ServiceCurve::new(points.to_vec()), Err(error));
        }
    }

    #[test]
    fn named_rates_have_their_names() {
        for name in Rates::names() {
            assert_eq!(Rates::named(name).unwrap().name, name);
        }
        assert_eq!(Rates::names().next(), Some(Rates::default().name.as_str()));
        assert_eq!(Rates::named("paper-2020"), None);
    }
}

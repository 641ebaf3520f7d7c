//! What data costs on its way: the service times of the queueing model and of the simulator.

use serde::Serialize;

use crate::units::{Bytes, BytesPerSecond, PerSecond, Seconds};

/// What data costs on its way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// Where the rates come from: one of [`NAMED`], or what `calibrated` says.
    pub name: String,
    /// Whether the rates were measured on this cluster. If not, results say "rates assumed".
    pub calibrated: bool,
    /// Of a network device that names none.
    pub nic_bandwidth: BytesPerSecond,
    /// From one network device to another, all switches between them included.
    pub nic_latency: Seconds,
    /// Of one NUMA node.
    pub memory_bandwidth: BytesPerSecond,
    /// How many times as long an access takes from another NUMA node of the same node; at least 1.
    pub remote_memory_factor: f64,
    /// τ of Eq. (18), Soryani 2013: how many times a message inside a node passes the memory.
    pub memory_copies: u32,
    /// Of messages between cores that share a cache.
    pub cache_bandwidth: BytesPerSecond,
    /// The longest message that goes through a shared cache; 0 if none does.
    pub cache_limit: Bytes,
    /// How often each core fetches a word from its memory besides; `None` for never.
    pub memory_accesses: Option<PerSecond>,
    /// The bytes of such a word.
    pub memory_access_length: Bytes,
    /// The queue pair of a rank (QP), one for each direction; without points there is none.
    pub queue_pair: ServiceCurve,
    /// The processing hardware of a queue pair (PHW); without points there is none.
    pub processing: ServiceCurve,
    /// How much longer the sender's and the receiver's core have to do with a message that goes
    /// through a network device beside another package; without points nothing.
    #[serde(skip_serializing_if = "ServiceCurve::is_empty")]
    pub inter_socket: ServiceCurve,
}

/// Service times that are known for some lengths. Between two of them the logarithm of the time is
/// linear in the logarithm of the length; above the last the time is proportional to the length,
/// below the first it is that of the first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ServiceCurve(Vec<(Bytes, Seconds)>);

/// Points that are no curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {}", Self::EXPECTED)]
pub struct ServiceCurveError;

impl ServiceCurveError {
    /// What the points must be.
    pub const EXPECTED: &str = "lengths that ascend from 1 B, and times above zero";
}

/// Sets of rates by name; the first is the default.
pub const NAMED: [&str; 2] = ["paper-2013", "paper-2013-model"];

impl Default for Rates {
    fn default() -> Self {
        Self::simulated()
    }
}

impl Rates {
    /// `paper-2013`: what the simulator of Soryani et al. 2013 (Table 2) and 2012 (Table 1) is
    /// given. The bandwidth of the cache, which they do not print, only matters for finish times.
    fn simulated() -> Self {
        Self {
            name: "paper-2013".to_owned(),
            calibrated: false,
            nic_bandwidth: BytesPerSecond(1e9),
            nic_latency: Seconds(100e-9),
            memory_bandwidth: BytesPerSecond(4e9),
            remote_memory_factor: 1.1,
            memory_copies: 2,
            cache_bandwidth: BytesPerSecond(8e9),
            cache_limit: Bytes(1 << 20),
            memory_accesses: None,
            memory_access_length: Bytes(8),
            queue_pair: ServiceCurve::default(),
            processing: ServiceCurve::default(),
            inter_socket: ServiceCurve::default(),
        }
    }

    /// `paper-2013-model`: what the analytic model of Soryani et al. 2013 (section 3) is given. The
    /// paper does not print the service times of queue pairs and their processing hardware; these
    /// are fitted to its Figs. 4 and 5 and Table 1, which 1 µs per 1024 bytes at the port and
    /// 4 GiB/s at the memory fit best too. 100 ns at each of the two ports of the switch. All
    /// messages inside a node use the memory (Eq. 10), once: the model has no cache.
    fn modelled() -> Self {
        let fitted =
            [(1 << 10, 6.2e-6), (1 << 16, 115.5e-6), (1 << 19, 643.4e-6), (1 << 20, 1377e-6)];
        let share = |share: f64| {
            let points = fitted.map(|(length, time)| (Bytes(length), Seconds(time * share)));
            ServiceCurve(points.to_vec())
        };
        Self {
            name: "paper-2013-model".to_owned(),
            nic_bandwidth: BytesPerSecond(1.024e9),
            nic_latency: Seconds(200e-9),
            memory_bandwidth: BytesPerSecond((1_u64 << 32) as f64),
            memory_copies: 1,
            cache_limit: Bytes(0),
            memory_accesses: Some(PerSecond(1e5)),
            queue_pair: share(0.6),
            processing: share(0.4),
            ..Self::simulated()
        }
    }

    /// The set with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::simulated(), Self::modelled()].into_iter().find(|rates| rates.name == name)
    }
}

impl ServiceCurve {
    /// A curve through points.
    ///
    /// # Errors
    /// If lengths do not ascend from 1 B or a time is not above zero.
    pub fn new(points: Vec<(Bytes, Seconds)>) -> Result<Self, ServiceCurveError> {
        let ascending = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ascending || points.iter().any(|(length, time)| length.0 == 0 || time.0 <= 0.0) {
            return Err(ServiceCurveError);
        }
        Ok(Self(points))
    }

    /// Whether there is no such server at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The points.
    #[must_use]
    pub fn points(&self) -> &[(Bytes, Seconds)] {
        &self.0
    }

    /// How long a message of this length is served; zero without points.
    #[must_use]
    pub fn time(&self, length: Bytes) -> Seconds {
        let after = self.0.partition_point(|(known, _)| *known < length);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (None, None) => Seconds(0.0),
            (None, Some((_, first))) => *first,
            (Some((known, time)), None) => Seconds(time.0 * length.0 as f64 / known.0 as f64),
            (Some((short, fast)), Some((long, slow))) => {
                let logarithm = |value: f64| value.ln();
                let way = logarithm(length.0 as f64 / short.0 as f64)
                    / logarithm(long.0 as f64 / short.0 as f64);
                Seconds(fast.0 * (slow.0 / fast.0).powf(way))
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
        for points in [[(0, 1.0), (1, 2.0)], [(2, 1.0), (2, 2.0)], [(1, 0.0), (2, 2.0)]] {
            let points = points.map(|(length, time)| (Bytes(length), Seconds(time)));
            assert!(ServiceCurve::new(points.to_vec()).is_err());
        }
    }

    #[test]
    fn named_rates_have_their_names() {
        for name in NAMED {
            assert_eq!(Rates::named(name).unwrap().name, name);
        }
        assert_eq!(NAMED[0], Rates::default().name);
    }
}

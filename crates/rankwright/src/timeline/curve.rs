//! The bandwidth of a network device by the number of processes that send through it at once.

use crate::cluster::Cluster;
use crate::ids::NodeId;
use crate::units::BytesPerSecond;

/// B(k): what k processes together send per second through a device (Figure 2, Koop et al. 2009).
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Bytes per second. Index: k - 1; the last holds for all higher k.
    rates: Vec<f64>,
    measured: bool,
}

impl Curve {
    /// The same bandwidth for any number of senders.
    ///
    /// # Panics
    /// If it is not above zero and finite.
    #[must_use]
    pub fn flat(bandwidth: BytesPerSecond) -> Self {
        assert!(bandwidth.0 > 0.0 && bandwidth.0.is_finite(), "a bandwidth of {}", bandwidth.0);
        Self { rates: vec![bandwidth.0], measured: false }
    }

    /// The curve through measured points: numbers of senders, ascending from 1, and what they send
    /// together. Linear between two points, constant beyond the last. `None` without points.
    #[must_use]
    pub fn measured(points: &[(u32, BytesPerSecond)]) -> Option<Self> {
        let last = points.last()?.0;
        let rate = |senders: u32| {
            let above = points.partition_point(|(number, _)| *number < senders);
            let (high, BytesPerSecond(at_high)) = points[above.min(points.len() - 1)];
            let Some((low, BytesPerSecond(at_low))) = above.checked_sub(1).map(|at| points[at])
            else {
                return at_high;
            };
            at_low + (at_high - at_low) * f64::from(senders - low) / f64::from(high - low).max(1.0)
        };
        Some(Self { rates: (1..=last).map(rate).collect(), measured: true })
    }

    /// The curve of a device of a cluster (position in [`Machine::nics`]). The measured curve of
    /// [`Calibration::pairs`] is that of one device; others get its shape with their own bandwidth.
    ///
    /// # Panics
    /// If the cluster does not have this node.
    ///
    /// [`Machine::nics`]: crate::cluster::Machine::nics
    /// [`Calibration::pairs`]: crate::cluster::rates::Calibration::pairs
    #[must_use]
    pub fn of_device(cluster: &Cluster, node: NodeId, device: usize) -> Self {
        let has_device = device < cluster.machine(node).nics.len();
        let bandwidth = match has_device {
            true => cluster.nic_bandwidth(node, device).value,
            false => cluster.node_bandwidth(node),
        };
        let pairs = cluster.rates.calibration.as_ref().map_or(&[][..], |measured| &measured.pairs);
        let Some(mut curve) = Self::measured(pairs) else { return Self::flat(bandwidth) };
        let most = curve.rates.iter().copied().fold(0.0, f64::max);
        curve.rates.iter_mut().for_each(|rate| *rate *= bandwidth.0 / most);
        curve
    }

    /// What this many senders together send; at least one.
    #[inline]
    #[must_use]
    pub fn rate(&self, senders: usize) -> f64 {
        self.rates[senders.clamp(1, self.rates.len()) - 1]
    }

    /// The highest rate of any number of senders.
    #[must_use]
    pub fn bandwidth(&self) -> BytesPerSecond {
        BytesPerSecond(self.rates.iter().copied().fold(0.0, f64::max))
    }

    /// Whether it has measured points; otherwise it is the same bandwidth for all numbers.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_points_the_curve_is_linear() {
        let points =
            [(1, BytesPerSecond(10.0)), (2, BytesPerSecond(16.0)), (4, BytesPerSecond(20.0))];
        let curve = Curve::measured(&points).unwrap();
        let rates: Vec<f64> = (1..=6).map(|senders| curve.rate(senders)).collect();
        assert_eq!(rates, [10.0, 16.0, 18.0, 20.0, 20.0, 20.0]);
        assert_eq!(curve.bandwidth(), BytesPerSecond(20.0));
        assert_eq!(Curve::measured(&[]), None);
    }
}

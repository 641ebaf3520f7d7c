//! Network devices: bandwidth, latency, the curve of pairs.

use rankwright::cluster::{DeviceRates, Nic};
use rankwright::ids::NodeId;
use rankwright::statistics::median;
use rankwright::units::{BytesPerSecond, Seconds};

use super::super::record::Rate;
use super::{Fit, Value, bandwidth_of, time_of};

/// By how much a point of the curve may be below the greatest and count as saturated, beyond twice the
/// spread of the greatest.
const SATURATED: f64 = 0.02;
/// By how much a device may differ from the median of all before it is named.
const ALIKE: f64 = 0.1;

impl<'a> Fit<'a> {
    /// The bandwidth where the device is saturated, and the most certain record of it: the median over the
    /// points of the curve that are near the greatest, and over other nodes whose devices are as fast.
    fn saturated(&self) -> Option<(f64, &'a Rate)> {
        let curve = self.curve(false);
        let most = curve.iter().max_by(|a, b| self.bandwidth(a).total_cmp(&self.bandwidth(b)))?;
        let least = self.bandwidth(most) * (1.0 - SATURATED - 2.0 * most.spread());
        let others = self.all("bandwidth", "nodes").filter(|rate| rate.first != most.first);
        let all = curve.iter().copied().chain(others.filter(|rate| !rate.both));
        let saturated: Vec<&Rate> = all.filter(|rate| self.bandwidth(rate) >= least).collect();
        let values: Vec<f64> = saturated.iter().map(|rate| self.bandwidth(rate)).collect();
        let surest = saturated.into_iter().min_by(|a, b| a.spread().total_cmp(&b.spread()))?;
        Some((median(&values), surest))
    }

    /// Bandwidth and latency of the network device.
    pub(super) fn device(&mut self) {
        let saturated = self.saturated().zip(self.find("one_way", "nodes"));
        let Some(((bandwidth, surest), way)) = saturated else { return };
        let Some(first) = self.find("bandwidth", "nodes") else { return };
        let bandwidth = bandwidth_of(bandwidth);
        let latency = time_of(self.one_way(way));
        let described = self.described(&first.first, &first.device);
        let (before_rate, before_time) = match described {
            Some((node, position)) => {
                let hardware = &self.hardware(node).nics[position];
                let assumed = hardware.bandwidth.origin.is_assumed();
                ((hardware.bandwidth.value, assumed), hardware.latency)
            }
            None => {
                let assumed = !self.cluster.rates.calibrated;
                let rate = self.cluster.rates.unknown_nic_bandwidth();
                ((rate, assumed), self.cluster.rates.unknown_nic_latency())
            }
        };
        let (before_rate, assumed) = before_rate;
        let before = (Value::Bandwidth(before_rate), assumed);
        self.add("nic_bandwidth", Value::Bandwidth(bandwidth), surest, Some(before));
        let before = (Value::Time(before_time), !self.cluster.rates.calibrated);
        self.add("nic_latency", Value::Time(latency), way, Some(before));
        let (far_bandwidth, far_latency) = self.far(first);
        match described {
            Some((node, position)) => self.calibration.devices.push(DeviceRates {
                names: self.alike(&self.cluster.machine(node).nics[position]),
                bandwidth,
                latency,
                far_bandwidth,
                far_latency,
            }),
            None => {
                self.rates.nic_bandwidth = Some(bandwidth);
                self.rates.nic_latency = Some(latency);
            }
        }
    }

    /// The rates for ranks of another NUMA node, where they were measured.
    fn far(&mut self, near: &Rate) -> (Option<BytesPerSecond>, Option<Seconds>) {
        let is_far = |rate: &&Rate| {
            (&rate.first, &rate.second) == (&near.first, &near.second)
                && rate.numa[0] != near.numa[0]
                && !rate.both
        };
        let bandwidth = self.all("bandwidth", "nodes").find(is_far);
        let latency = self.all("one_way", "nodes").find(is_far);
        let rate = bandwidth.map(|rate| bandwidth_of(rate.median));
        let time = latency.map(|rate| time_of(rate.median));
        if let Some((rate, of)) = rate.zip(bandwidth) {
            self.add("nic_far_bandwidth", Value::Bandwidth(rate), of, None);
        }
        if let Some((time, of)) = time.zip(latency) {
            self.add("nic_far_latency", Value::Time(time), of, None);
        }
        (rate, time)
    }

    /// The position of a device in the description of a host.
    fn described(&self, host: &str, device: &str) -> Option<(NodeId, usize)> {
        let node = self.cluster.find_node(host)?;
        let is = |nic: &Nic| nic.name == device || nic.aliases.iter().any(|alias| alias == device);
        Some((node, self.cluster.machine(node).nics.iter().position(is)?))
    }

    /// The names of the devices in the cluster that are like one, which is the first.
    fn alike(&self, nic: &Nic) -> Vec<String> {
        let mut names = vec![nic.name.clone()];
        let is_like = |other: &&Nic| {
            let key = |nic: &Nic| (nic.bandwidth, nic.latency, nic.pci_id, nic.link_bandwidth());
            other.kind() == nic.kind() && key(other) == key(nic)
        };
        for other in self.cluster.groups.iter().flat_map(|group| &group.machine.nics) {
            if is_like(&other) && !names.contains(&other.name) {
                names.push(other.name.clone());
            }
        }
        names
    }

    /// The curves of bandwidth against pairs of ranks.
    pub(super) fn pairs(&mut self) {
        for (both, name) in [(false, "pairs"), (true, "pairs_both_ways")] {
            let mut points = Vec::new();
            for rate in self.curve(both) {
                let value = bandwidth_of(self.bandwidth(rate));
                points.push((rate.pairs, value));
                self.add(&format!("{name}.{}", rate.pairs), Value::Bandwidth(value), rate, None);
            }
            match both {
                false => self.calibration.pairs = points,
                true => self.calibration.pairs_both_ways = points,
            }
        }
    }

    /// Names devices that differ from the others.
    pub(super) fn compare_devices(&mut self) {
        let mut hosts: Vec<&Rate> = Vec::new();
        for rate in self.all("bandwidth", "nodes").filter(|rate| rate.pairs == 1 && !rate.both) {
            if hosts.iter().all(|other| other.first != rate.first) {
                hosts.push(rate);
            }
        }
        let usual = median(&hosts.iter().map(|rate| rate.median).collect::<Vec<_>>());
        for rate in hosts {
            if (rate.median / usual - 1.0).abs() > ALIKE {
                let (host, own) = (&rate.first, BytesPerSecond(rate.median));
                let usual = BytesPerSecond(usual);
                let text = format!(
                    "one pair from {host}: {own:.1}, in the median of all nodes {usual:.1}"
                );
                self.notes.push(text);
            }
        }
    }
}

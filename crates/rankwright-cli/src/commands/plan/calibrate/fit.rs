//! From the record of the probe to the rates of the model.

use std::str::FromStr;

use rankwright::cluster::{
    Calibration, Cluster, DeviceRates, HardwareRates, LevelKind, MeasuredRate, MessageRates, Nic,
    Rates,
};
use rankwright::ids::NodeId;
use rankwright::statistics::median;
use rankwright::units::{Bytes, BytesPerSecond, Seconds};

use super::record::{Rate, Record};
use super::switches::common_height;

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

/// By how much a point of the curve may be below the greatest and count as saturated, beyond twice the
/// spread of the greatest.
const SATURATED: f64 = 0.02;
/// By how much a device may differ from the median of all before it is named.
const ALIKE: f64 = 0.1;

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
    fn device(&mut self) {
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
    fn pairs(&mut self) {
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

    /// The LogGP parameters by level.
    fn messages(&mut self) {
        for level in ["core", "cache", "numa", "package", "node", "nodes"] {
            let Some(way) = self.find("one_way", level) else { continue };
            let kind = match level.parse() {
                Ok(kind) => kind,
                Err(()) => self.height(&way.first, &way.second),
            };
            let sending = self.find("send_overhead", level);
            let receiving = self.find("receive_overhead", level);
            let both = [sending, receiving].into_iter().flatten().map(|rate| rate.median);
            let latency = (self.one_way(way) - both.sum::<f64>()).max(0.0);
            let time = |rate: Option<&Rate>| rate.map(|rate| time_of(rate.median));
            let gap = self.find("gap", level);
            let stream = self.find("bandwidth", level);
            let eager = self.find("eager_limit", level);
            let messages = MessageRates {
                level: kind,
                latency: time_of(latency),
                send_overhead: time(sending),
                receive_overhead: time(receiving),
                gap: time(gap),
                bandwidth: stream.map(|rate| bandwidth_of(self.bandwidth(rate))),
                eager_limit: eager.map(|rate| Bytes(rate.median as u64)),
            };
            let name = |field: &str| format!("messages.{kind}.{field}");
            self.add(&name("latency"), Value::Time(messages.latency), way, None);
            for (field, rate) in
                [("send_overhead", sending), ("receive_overhead", receiving), ("gap", gap)]
            {
                if let Some((value, rate)) = time(rate).zip(rate) {
                    self.add(&name(field), Value::Time(value), rate, None);
                }
            }
            if let Some((value, rate)) = messages.bandwidth.zip(stream) {
                self.add(&name("bandwidth"), Value::Bandwidth(value), rate, None);
            }
            if let Some((value, rate)) = messages.eager_limit.zip(eager) {
                self.add(&name("eager_limit"), Value::Length(value), rate, None);
            }
            self.calibration.messages.push(messages);
        }
        self.switches();
    }

    /// The latency through more levels of switches.
    fn switches(&mut self) {
        let overheads = ["send_overhead", "receive_overhead"].map(|rate| self.find(rate, "nodes"));
        let overheads: f64 = overheads.into_iter().flatten().map(|rate| rate.median).sum();
        let ways =
            self.record.rates.iter().filter(|rate| rate.rate == "one_way" && rate.across > 0);
        for way in ways {
            let level = LevelKind::Switch(way.across);
            if self.calibration.messages.iter().any(|messages| messages.level == level) {
                continue;
            }
            let latency = time_of((self.one_way(way) - overheads).max(0.0));
            self.add(&format!("messages.{level}.latency"), Value::Time(latency), way, None);
            self.calibration.messages.push(MessageRates {
                level,
                latency,
                send_overhead: None,
                receive_overhead: None,
                gap: None,
                bandwidth: None,
                eager_limit: None,
            });
        }
    }

    /// What two hosts share: the lowest switch above both, or only the cluster.
    fn height(&self, first: &str, second: &str) -> LevelKind {
        let switch = |host: &str| {
            let node = self.cluster.find_node(host)?;
            self.cluster.node(node).switch
        };
        let height = common_height(self.cluster, switch(first), switch(second));
        height.map_or(LevelKind::Cluster, LevelKind::Switch)
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
            let value = rounded(factor.median.max(1.0), 5);
            self.add("wire_per_byte", Value::Factor(value), factor, None);
            self.calibration.wire_per_byte = Some(value);
        }
        if let Some(bytes) = self.find("wire_per_message", "nodes") {
            let value = Bytes(bytes.median.round() as u64);
            self.add("wire_per_message", Value::Length(value), bytes, None);
            self.calibration.wire_per_message = Some(value);
        }
    }

    /// Names devices that differ from the others.
    fn compare_devices(&mut self) {
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

/// A number with so many digits, as samples tell no more.
fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Through text, so that it is the number that a person would write.
    let digits = usize::try_from(digits - 1).unwrap_or(0);
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rankwright::cluster::read::toml;

    use super::super::record::tests::record;
    use super::*;

    const CLUSTER: &str = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"numa:2 core:2 pu:1\"\n\
        [[node.nic]]\nname = \"mlx5_0\"\nbandwidth = \"200 Gbit/s\"\nnear = \"numa:0\"\n\
        [[node.nic]]\nname = \"mlx5_1\"\nbandwidth = \"200 Gbit/s\"\nnear = \"numa:1\"\n\
        [[node.nic]]\nname = \"eth0\"\n\
        [[switch]]\nname = \"s\"\nnodes = \"n[0-1]\"\n";

    fn cluster() -> Cluster {
        toml::parse(CLUSTER, "c.toml", Path::new("")).unwrap()
    }

    fn fitted(name: &str, cluster: &Cluster) -> Fitted {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/probe").join(name);
        let record = record(&std::fs::read_to_string(file).unwrap()).unwrap();
        fit(&record, cluster, "2026-11-23")
    }

    #[test]
    fn rates_are_those_of_the_record() {
        let fitted = fitted("two-numa.txt", &cluster());
        let rates = &fitted.rates;
        assert!(rates.calibrated);
        assert_eq!(rates.name, "measured on 2026-11-23");
        assert_eq!(rates.memory_bandwidth, Some(BytesPerSecond(1.8e10)));
        assert_eq!(rates.cache_bandwidth, Some(BytesPerSecond(1.2e10)));
        assert_eq!(rates.remote_memory_factor, 1.25);
        // The device has rates of its own, and others may be of another kind.
        assert_eq!((rates.nic_bandwidth, rates.nic_latency), (None, None));
        let calibration = rates.calibration.as_deref().unwrap();
        let device = &calibration.devices[0];
        assert_eq!(device.names, ["mlx5_0", "mlx5_1"]);
        assert_eq!((device.bandwidth.0, device.latency.to_string().as_str()), (2.4e10, "1.5 us"));
        assert_eq!(device.far_bandwidth, Some(BytesPerSecond(1.9e10)));
        assert_eq!(device.far_latency, Some("1.7 us".parse().unwrap()));
        let pairs = [(1, BytesPerSecond(2.2e10)), (2, BytesPerSecond(2.4e10))];
        assert_eq!(calibration.pairs, pairs);
        assert_eq!(calibration.pairs_both_ways, [(2, BytesPerSecond(4.6e10))]);
        assert_eq!(calibration.mpi, "Open MPI v5.0.5");
    }

    #[test]
    fn messages_have_the_parameters_of_their_level() {
        let fitted = fitted("two-numa.txt", &cluster());
        let calibration = fitted.rates.calibration.unwrap();
        let levels: Vec<String> =
            calibration.messages.iter().map(|messages| messages.level.to_string()).collect();
        assert_eq!(levels, ["cache", "switch-1", "switch-2"]);
        let latencies = calibration.messages.iter().map(|messages| messages.latency);
        let latencies: Vec<String> = latencies.map(|latency| latency.to_string()).collect();
        // Of the one-way times, without the overheads of both ends.
        assert_eq!(latencies, ["150 ns", "1 us", "1.4 us"]);
        let overhead = calibration.messages[1].receive_overhead;
        assert_eq!(overhead, Some("300 ns".parse().unwrap()));
    }

    #[test]
    fn a_slow_node_is_named() {
        let notes = fitted("two-numa.txt", &cluster()).notes;
        assert!(
            notes.iter().any(|note| note.contains("n1.cluster.example: 12.0 GB/s")),
            "{notes:?}"
        );
    }

    #[test]
    fn without_a_described_device_the_rates_are_of_all() {
        let text = "[[node]]\nnames = \"n[0-1]\"\ntopology = \"4\"\n";
        let cluster = toml::parse(text, "c.toml", Path::new("")).unwrap();
        let fitted = fitted("two-numa.txt", &cluster);
        assert_eq!(fitted.rates.nic_bandwidth, Some(BytesPerSecond(2.4e10)));
        assert!(fitted.rates.calibration.unwrap().devices.is_empty());
    }

    #[test]
    fn an_edited_description_has_the_fitted_rates() {
        let fitted = fitted("two-numa.txt", &cluster());
        let edited = toml::with_rates(CLUSTER, "c.toml", Path::new(""), &fitted.rates).unwrap();
        let read = toml::parse(&edited, "c.toml", Path::new("")).unwrap();
        assert_eq!(read.rates, fitted.rates);
        let again = toml::parse(&toml::write(&read), "c.toml", Path::new("")).unwrap();
        assert_eq!(again, read);
    }
}

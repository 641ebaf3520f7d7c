//! Messages: the parameters of LogGP by level.

use rankwright::cluster::{LevelKind, MessageRates};
use rankwright::units::Bytes;

use super::super::record::Rate;
use super::{Fit, Value, bandwidth_of, time_of};

impl Fit<'_> {
    /// The LogGP parameters by level.
    pub(super) fn messages(&mut self) {
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
        let nodes = self.cluster.find_node(first).zip(self.cluster.find_node(second));
        let height = nodes.and_then(|(a, b)| self.cluster.common_switch_height(a, b));
        height.map_or(LevelKind::Cluster, LevelKind::Switch)
    }
}

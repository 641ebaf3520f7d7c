//! What MPI and the cores add to a message: the parameters of LogGP and the eager limit.

use super::routes::picoseconds;
use crate::cluster::{LevelKind, MessageRates, Rates};
use crate::sim::time::Time;
use crate::units::{Bytes, Seconds};

/// The parameters of messages between two ranks, named as in LogGP (Alexandrov et al. 1995).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Protocol {
    /// o_s: the sender's core for a message.
    pub(super) send_overhead: Time,
    /// o_r: the receiver's core for a message.
    pub(super) receive_overhead: Time,
    /// g: the least time between two messages of a rank.
    pub(super) gap: Time,
    /// L: the time on the way without the overheads. `None`: that of the network device, which
    /// includes them.
    pub(super) latency: Option<Time>,
    /// Longer messages are sent when their receive is posted.
    pub(super) eager_limit: Bytes,
}

/// Sent at once where no eager limit was measured: 16 KiB.
const USUAL_EAGER_LIMIT: Bytes = Bytes(16 << 10);

/// The protocols by what two ranks share.
#[derive(Debug)]
pub(super) struct Protocols {
    /// Ascending by coarseness.
    measured: Vec<(u32, Protocol)>,
    /// Where nothing was measured.
    unknown: Protocol,
}

/// Higher for levels that more cores share.
fn coarseness(level: LevelKind) -> u32 {
    match level {
        LevelKind::Core => 0,
        LevelKind::Cache => 1,
        LevelKind::Numa => 2,
        LevelKind::Package => 3,
        LevelKind::Node => WIDEST_INSIDE,
        LevelKind::Switch(height) => WIDEST_INSIDE.saturating_add(height),
        LevelKind::Cluster => u32::MAX,
    }
}

/// The coarseness of [`LevelKind::Node`].
const WIDEST_INSIDE: u32 = 4;

impl Protocols {
    /// What was measured on the cluster; where nothing was, there are no overheads. `eager_limit`
    /// precedes measured ones.
    pub(super) fn new(rates: &Rates, eager_limit: Option<Bytes>) -> Self {
        let messages = || rates.calibration.iter().flat_map(|calibration| &calibration.messages);
        let mut measured: Vec<(u32, Protocol)> = messages()
            .map(|rates| {
                let level = coarseness(rates.level);
                let protocol = Protocol {
                    send_overhead: time(messages(), level, |rates| rates.send_overhead),
                    receive_overhead: time(messages(), level, |rates| rates.receive_overhead),
                    gap: time(messages(), level, |rates| rates.gap),
                    latency: Some(picoseconds(rates.latency)),
                    eager_limit: eager_limit
                        .or_else(|| nearest(messages(), level, |rates| rates.eager_limit))
                        .unwrap_or(USUAL_EAGER_LIMIT),
                };
                (level, protocol)
            })
            .collect();
        measured.sort_by_key(|(level, _)| *level);
        let unknown = Protocol {
            send_overhead: 0,
            receive_overhead: 0,
            gap: 0,
            latency: None,
            eager_limit: eager_limit.unwrap_or(USUAL_EAGER_LIMIT),
        };
        Self { measured, unknown }
    }

    /// Whether messages between nodes differ by the switches that they pass.
    pub(super) fn know_switches(&self) -> bool {
        self.measured.iter().filter(|(level, _)| *level > WIDEST_INSIDE).count() > 1
    }

    /// The protocol of messages between ranks whose lowest common level this is; if it was not
    /// measured, that of the next coarser level, else of the next finer one, on the same side of the
    /// network device.
    pub(super) fn at(&self, level: LevelKind) -> &Protocol {
        let level = coarseness(level);
        let inside = self.measured.partition_point(|(known, _)| *known <= WIDEST_INSIDE);
        let (inside, between) = self.measured.split_at(inside);
        let side = if level <= WIDEST_INSIDE { inside } else { between };
        let found = side.iter().find(|(known, _)| *known >= level).or(side.last());
        found.map_or(&self.unknown, |(_, protocol)| protocol)
    }
}

fn time<'a>(
    all: impl Iterator<Item = &'a MessageRates>,
    level: u32,
    of: impl Fn(&MessageRates) -> Option<Seconds>,
) -> Time {
    nearest(all, level, of).map_or(0, picoseconds)
}

/// A parameter at this level; where only the latency was measured, as through more switches, that of
/// the nearest level on the same side of the network device.
fn nearest<'a, T>(
    all: impl Iterator<Item = &'a MessageRates>,
    level: u32,
    of: impl Fn(&MessageRates) -> Option<T>,
) -> Option<T> {
    let inside = |level: u32| level <= WIDEST_INSIDE;
    let known = all.filter_map(|rates| Some((coarseness(rates.level), of(rates)?)));
    let same_side = known.filter(|(other, _)| inside(*other) == inside(level));
    same_side.min_by_key(|(other, _)| other.abs_diff(level)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Calibration;

    fn messages(level: LevelKind, latency: f64, overhead: Option<f64>) -> MessageRates {
        MessageRates {
            level,
            latency: Seconds(latency),
            send_overhead: overhead.map(Seconds),
            receive_overhead: None,
            gap: None,
            bandwidth: None,
            eager_limit: None,
        }
    }

    #[test]
    fn a_level_that_was_not_measured_takes_the_next_on_its_side_of_the_device() {
        use LevelKind::{Cache, Cluster, Node, Package, Switch};
        let measured = [
            messages(Switch(2), 9e-6, None),
            messages(Package, 2e-6, Some(1e-7)),
            messages(Switch(1), 5e-6, Some(3e-7)),
        ];
        let calibration = Calibration { messages: measured.to_vec(), ..Calibration::default() };
        let rates = Rates { calibration: Some(Box::new(calibration)), ..Rates::default() };
        let protocols = Protocols::new(&rates, None);
        let found = |level| {
            let protocol = protocols.at(level);
            (protocol.latency.unwrap(), protocol.send_overhead)
        };
        assert_eq!([Cache, Package, Node].map(found), [(2_000_000, 100_000); 3]);
        assert_eq!([Switch(2), Cluster].map(found), [(9_000_000, 300_000); 2]);
        assert_eq!(found(Switch(1)), (5_000_000, 300_000));
        assert!(protocols.know_switches());
        assert_eq!(protocols.at(Cluster).eager_limit, USUAL_EAGER_LIMIT);
        assert_eq!(Protocols::new(&rates, Some(Bytes(7))).at(Cache).eager_limit, Bytes(7));
        assert_eq!(Protocols::new(&Rates::default(), None).at(Cluster).latency, None);
    }
}

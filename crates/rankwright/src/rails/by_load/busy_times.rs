//! How long devices and cores are busy with what a rank sends and receives.

use super::makespan::Directions;
use crate::network::FarDevice;
use crate::rails::internode_traffic::InternodeTraffic;
use crate::rails::node_view::{DeviceSet, NodeView};
use crate::units::Seconds;

/// How long a device needs for the traffic of a rank (by its position in the view) that uses `devices`.
pub(super) fn device_times(
    view: &NodeView,
    traffic: &InternodeTraffic,
    rank: usize,
    device: usize,
    devices: &DeviceSet,
) -> Directions {
    let rank = &view.ranks[rank];
    let share =
        rank.far[device].device_factor() / (view.devices[device].rate * devices.len() as f64);
    let rank = rank.rank.index();
    [traffic.out[rank] * share, traffic.incoming[rank] * share]
}

/// How much longer the core of a rank is busy if its traffic passes `devices`, above what no choice of
/// devices avoids.
pub(super) fn far_core_times(
    view: &NodeView,
    traffic: &InternodeTraffic,
    rank: usize,
    devices: &DeviceSet,
) -> Directions {
    let rank = &view.ranks[rank];
    let is_far = |device: usize| rank.far[device] == FarDevice::Core;
    let far = devices.iter().filter(|device| is_far(*device)).count();
    if far == 0 || view.active().all(is_far) {
        return [0.0; 2];
    }
    let share = far as f64 / devices.len() as f64;
    traffic.far[rank.rank.index()].map(|time| share * time.0)
}

/// What the busiest device needs at least, however devices are chosen: all bytes of a node, through
/// the nearest devices, over all of them.
pub(in super::super) fn lower_bound(views: &[NodeView], traffic: &InternodeTraffic) -> Seconds {
    let bound = |view: &NodeView| {
        let together: f64 = view.active().map(|device| view.devices[device].rate).sum();
        let mut sums = [0.0; 2];
        for rank in &view.ranks {
            let factor = |device: usize| rank.far[device].device_factor();
            let least = view.active().map(factor).reduce(f64::min).unwrap_or(1.0);
            sums[0] += least * traffic.out[rank.rank.index()];
            sums[1] += least * traffic.incoming[rank.rank.index()];
        }
        sums[0].max(sums[1]) / together
    };
    Seconds(views.iter().map(bound).fold(0.0, f64::max))
}

//! Which devices a process uses together: Ganapathi et al. 2017, Algorithm 2.
//!
//! As printed, `PSM2_MULTIRAIL` 1 takes all units, 2 the active ones beside the process. Where none is
//! beside it, the printed algorithm sets up rails over an empty list. Ours takes the nearest then, and
//! all where no locality is known.

use super::SelectionError;
use super::node_view::{DeviceSet, NodeView, RankView};
use super::policies::Rails;

/// Algorithm 2 as printed; no device where it is undefined. Lines 7 and 9 count all units of the
/// node, line 11 leaves out those that are down.
pub(super) fn printed(view: &NodeView, rails: Rails) -> Vec<DeviceSet> {
    let of_rank = |rank: &RankView| match rails {
        Rails::All | Rails::One => view.active().collect(),
        Rails::Near => {
            let process = rank.numa.first();
            let beside =
                |unit: &usize| process.is_some_and(|numa| view.devices[*unit].near.contains(numa));
            view.active().filter(beside).collect()
        }
    };
    view.ranks.iter().map(of_rank).collect()
}

/// Our version: as printed where that is defined; else the nearest devices. No device serves more
/// ranks than it has contexts.
pub(super) fn corrected(
    view: &NodeView,
    rails: Rails,
    node: &str,
) -> Result<Vec<DeviceSet>, SelectionError> {
    let chosen: Vec<DeviceSet> =
        (0..view.ranks.len()).map(|rank| of_rank(view, rails, rank)).collect();
    for device in view.active() {
        let ranks = chosen.iter().filter(|devices| devices.contains(device)).count();
        let device = &view.devices[device];
        if let Some(contexts) = device.contexts.filter(|most| ranks > *most as usize) {
            let (node, device) = (node.to_owned(), device.name.clone());
            return Err(SelectionError::DeviceFull { node, device, ranks, contexts });
        }
    }
    Ok(chosen)
}

/// The devices of a rank: all that are up, or of these the nearest.
pub(super) fn of_rank(view: &NodeView, rails: Rails, rank: usize) -> DeviceSet {
    if rails == Rails::Near { view.nearest(rank) } else { view.active().collect() }
}

//! Which slots can hold ranks at the same time where every rank gets network devices.

use std::ops::Range;

use super::device_affinity::wanted_unit;
use super::node_view::{self, DeviceSet, NodeView};
use super::policies::{Policy, Rails, Selection};
use super::psm2_modes::{all_contexts_known, exhausted};
use super::{SelectionError, multirail};
use crate::cluster::Cluster;
use crate::ids::JobId;
use crate::placement::{RankPlacement, Slot};

/// The slots that can all hold ranks at the same time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UsableSlots {
    /// Index: [`SlotId`](crate::ids::SlotId).
    pub(crate) usable: Vec<bool>,
    /// Why the first slot that is not usable is not; `None` if all are.
    pub(crate) why: Option<SelectionError>,
}

impl UsableSlots {
    /// Of some slots, ordered by node, those on nodes that have devices for a selection. Where the
    /// devices of a node serve fewer ranks than it has slots: those beside devices first, the same
    /// number beside each memory. It does not check that ranks may have to use the same rail.
    #[must_use]
    pub(crate) fn new(cluster: &Cluster, slots: &[Slot], selection: &Selection) -> Self {
        let mut checked = Self { usable: vec![true; slots.len()], why: None };
        if selection.is_none() {
            return checked;
        }
        let mut end = 0;
        for of_node in slots.chunk_by(|a, b| a.node == b.node) {
            let range = end..end + of_node.len();
            end = range.end;
            let why = checked.check_node(cluster, of_node, range, selection).err();
            checked.why = checked.why.or(why);
        }
        checked
    }

    /// Checks the slots of a node.
    ///
    /// # Errors
    /// If not all of them are usable.
    fn check_node(
        &mut self,
        cluster: &Cluster,
        slots: &[Slot],
        range: Range<usize>,
        selection: &Selection,
    ) -> Result<(), SelectionError> {
        let usable = &mut self.usable[range];
        let name = &cluster.node(slots[0].node).name;
        let ranks: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        let served =
            node_view::views(cluster, ranks.iter().map(|rank| (JobId(0), rank)), selection)
                .and_then(|views| Ok((served(&views[0], selection, name)?, views)));
        let (served, views) = served.inspect_err(|_| usable.fill(false))?;
        if served.iter().all(|served| *served) {
            return Ok(());
        }
        usable.copy_from_slice(&served);
        Err(exhausted(&views[0], name))
    }
}

/// Which ranks of a node its devices serve together.
fn served(view: &NodeView, selection: &Selection, node: &str) -> Result<Vec<bool>, SelectionError> {
    let contexts = |device: usize| view.devices[device].contexts.map_or(u64::MAX, u64::from);
    let mut free: Vec<u64> = (0..view.devices.len()).map(contexts).collect();
    let only = match (selection.policy, selection.unit) {
        (Policy::None | Policy::Paper2017, _) => return Ok(vec![true; view.ranks.len()]),
        (Policy::DeviceAffinity, Some(unit)) => Some(wanted_unit(view, unit, node)?),
        _ => None,
    };
    let devices: Vec<usize> =
        view.active().filter(|device| only.is_none_or(|only| only == *device)).collect();
    // Sets of devices of which a rank uses one.
    let sets = |rank: usize| -> Vec<DeviceSet> {
        match selection.rails {
            Rails::One => devices.iter().copied().map(DeviceSet::single).collect(),
            rails => vec![multirail::of_rank(view, rails, rank)],
        }
    };
    if selection.policy == Policy::Packed {
        all_contexts_known(view, node)?;
    }
    let mut served = vec![false; view.ranks.len()];
    for rank in in_turn(view, &devices) {
        let has_contexts = |set: &DeviceSet| set.iter().all(|device| free[device] > 0);
        if let Some(set) = sets(rank).into_iter().find(has_contexts) {
            served[rank] = true;
            set.iter().for_each(|device| free[device] -= 1);
        }
    }
    Ok(served)
}

/// The ranks of a node: those nearest to one of some devices first, of these one beside each memory in
/// turn.
fn in_turn(view: &NodeView, devices: &[usize]) -> Vec<usize> {
    let mut keys: Vec<(u32, usize, usize)> = Vec::with_capacity(view.ranks.len());
    for (rank, rank_view) in view.ranks.iter().enumerate() {
        let nearest = devices.iter().map(|device| rank_view.distances[*device]).min().unwrap_or(0);
        let before = view.ranks[..rank].iter().filter(|other| other.numa == rank_view.numa).count();
        keys.push((nearest, before, rank));
    }
    keys.sort_unstable();
    keys.into_iter().map(|(.., rank)| rank).collect()
}

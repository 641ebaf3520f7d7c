//! The sets of devices that a rank may use.

use crate::cluster::Cluster;
use crate::placement::RankPlacement;
use crate::rails::SelectionError;
use crate::rails::node_view::{self, DeviceSet, NodeView};
use crate::rails::policies::Selection;

/// The sets of devices that `by-load` chooses from, for searches over slots and devices together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceSets {
    /// Index: position in the list of places.
    pub(crate) of_place: Vec<NamedSets>,
    /// Whether the fabric is rail-optimised. Then set k of every place is the same rail, and ranks that
    /// exchange messages must use sets with equal k.
    pub(crate) same_rails: bool,
}

/// The sets of devices that a rank may use at a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedSets {
    /// The names of the devices of each set: every device alone, all of the nearest, all.
    pub(crate) sets: Vec<Vec<String>>,
}

impl DeviceSets {
    /// The sets of ranks at some places, each of which holds one rank.
    ///
    /// # Errors
    /// If a node has no device that can be used, or the user's device is not among them.
    pub(crate) fn new(
        cluster: &Cluster,
        places: &[RankPlacement],
        selection: &Selection,
    ) -> Result<Self, SelectionError> {
        let one_job = places.iter().map(|place| (crate::ids::JobId(0), place));
        let views = node_view::views(cluster, one_job, selection)?;
        let same_rails = are_railed(&views);
        let all: Vec<&NodeView> = views.iter().collect();
        let rails = if same_rails { common_rails(&all) } else { Vec::new() };
        let mut of_place = vec![NamedSets::default(); places.len()];
        for view in &views {
            let names = |set: &DeviceSet| view.names(set);
            for (rank, view_of_rank) in view.ranks.iter().enumerate() {
                let sets =
                    if same_rails { of_rails(view, &rails) } else { of_rank(view, rank, true) };
                of_place[view_of_rank.rank.index()].sets = sets.iter().map(names).collect();
            }
        }
        Ok(Self { of_place, same_rails })
    }
}

/// Whether all devices of some nodes have a rail.
pub(super) fn are_railed(views: &[NodeView]) -> bool {
    let is_railed = |view: &NodeView| view.active().all(|d| view.devices[d].rail.is_some());
    !views.is_empty() && views.iter().all(is_railed)
}

/// The sets that a rank may use: single devices; striped also all of the nearest, and all.
pub(super) fn of_rank(view: &NodeView, rank: usize, striped: bool) -> Vec<DeviceSet> {
    let mut sets: Vec<DeviceSet> = view.active().map(DeviceSet::single).collect();
    if striped {
        for set in [view.nearest(rank), view.active().collect()] {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    sets
}

/// The devices of a rail.
pub(super) fn of_rail(view: &NodeView, rail: u32) -> DeviceSet {
    view.active().filter(|device| view.devices[*device].rail == Some(rail)).collect()
}

/// The devices of some rails in the order of these; all devices if there is no rail.
pub(super) fn of_all_rails(view: &NodeView, rails: &[u32]) -> DeviceSet {
    let mut all: Vec<usize> = view.active().collect();
    all.retain(|device| {
        rails.is_empty() || view.devices[*device].rail.is_some_and(|rail| rails.contains(&rail))
    });
    all.sort_by_key(|device| view.devices[*device].rail);
    all.into_iter().collect()
}

/// The rails that all of some nodes have, ascending.
pub(super) fn common_rails(views: &[&NodeView]) -> Vec<u32> {
    let Some(first) = views.first() else { return Vec::new() };
    let mut rails: Vec<u32> =
        first.active().filter_map(|device| first.devices[device].rail).collect();
    rails.sort_unstable();
    rails.dedup();
    rails.retain(|rail| views.iter().all(|view| !of_rail(view, *rail).is_empty()));
    rails
}

/// Every rail alone, then all of them.
fn of_rails(view: &NodeView, rails: &[u32]) -> Vec<DeviceSet> {
    let mut sets: Vec<DeviceSet> = rails.iter().map(|rail| of_rail(view, *rail)).collect();
    if rails.len() != 1 {
        sets.push(of_all_rails(view, rails));
    }
    sets
}

//! Which sets of devices ranks may use.

use crate::cluster::Cluster;
use crate::placement::RankPlacement;
use crate::rails::SelectionError;
use crate::rails::local::{self, LocalView};
use crate::rails::selection::Selection;

/// The sets of devices among which `by-load` chooses, for who searches for ranks' places and devices
/// together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSets {
    /// Per place its sets, each by names: every device alone, all of the nearest, all.
    pub of_place: Vec<Vec<Vec<String>>>,
    /// Whether the fabric is rail-optimised. Then sets are rails, the same at every place, and
    /// ranks that exchange anything must use the set of the same position.
    pub same_rails: bool,
}

impl DeviceSets {
    /// The sets of ranks at some places, each of which holds one rank.
    ///
    /// # Errors
    /// If a node has no device that can be used, or the user's device is not among them.
    pub fn new(
        cluster: &Cluster,
        places: &[RankPlacement],
        selection: &Selection,
    ) -> Result<Self, SelectionError> {
        let views = local::views(cluster, places.iter().map(|place| (0, place)), selection)?;
        let same_rails = are_railed(&views);
        let nodes: Vec<usize> = (0..views.len()).collect();
        let rails = if same_rails { common_rails(&views, &nodes) } else { Vec::new() };
        let mut of_place = vec![Vec::new(); places.len()];
        for view in &views {
            let name = |device: usize| view.devices[device].name.clone();
            for (rank, place) in view.ranks.iter().enumerate() {
                let sets = match same_rails {
                    true => of_rails(view, &rails),
                    false => of_rank(view, rank, true),
                };
                let named = sets.into_iter().map(|set| set.into_iter().map(name).collect());
                of_place[place.rank] = named.collect();
            }
        }
        Ok(Self { of_place, same_rails })
    }
}

/// Whether all devices of some nodes have a rail.
pub(super) fn are_railed(views: &[LocalView]) -> bool {
    let railed = |view: &LocalView| view.active().all(|d| view.devices[d].rail.is_some());
    !views.is_empty() && views.iter().all(railed)
}

/// Sets of devices that a rank may use: single ones; striped also all nearest, and all.
pub(super) fn of_rank(view: &LocalView, rank: usize, striped: bool) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = view.active().map(|device| vec![device]).collect();
    if striped {
        let distances = &view.ranks[rank].distances;
        let nearest = view.active().map(|device| distances[device]).min();
        let near = view.active().filter(|device| Some(distances[*device]) == nearest).collect();
        for set in [near, view.active().collect()] {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    sets
}

/// The devices of a rail.
pub(super) fn of_rail(view: &LocalView, rail: u32) -> Vec<usize> {
    view.active().filter(|device| view.devices[*device].rail == Some(rail)).collect()
}

/// The devices of some rails in the order of these; all devices where there is no rail.
pub(super) fn of_all_rails(view: &LocalView, rails: &[u32]) -> Vec<usize> {
    let mut all: Vec<usize> = view.active().collect();
    all.retain(|device| {
        rails.is_empty() || view.devices[*device].rail.is_some_and(|rail| rails.contains(&rail))
    });
    all.sort_by_key(|device| view.devices[*device].rail);
    all
}

/// The rails that all of some nodes have, by positions among `views`.
pub(super) fn common_rails(views: &[LocalView], nodes: &[usize]) -> Vec<u32> {
    let Some(first) = nodes.first().map(|node| &views[*node]) else { return Vec::new() };
    let mut rails: Vec<u32> =
        first.active().filter_map(|device| first.devices[device].rail).collect();
    rails.sort_unstable();
    rails.dedup();
    rails.retain(|rail| nodes.iter().all(|node| !of_rail(&views[*node], *rail).is_empty()));
    rails
}

/// Every rail alone, then all of them.
fn of_rails(view: &LocalView, rails: &[u32]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = rails.iter().map(|rail| of_rail(view, *rail)).collect();
    if rails.len() != 1 {
        sets.push(of_all_rails(view, rails));
    }
    sets
}

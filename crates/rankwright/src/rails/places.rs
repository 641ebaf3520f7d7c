//! Which places can have ranks at the same time where every rank is to get network devices.

use std::ops::Range;

use super::device_affinity::wanted_unit;
use super::local::{self, LocalView};
use super::selection::{Kind, Rails, Selection};
use super::spread::exhausted;
use super::{SelectionError, multirail};
use crate::cluster::Cluster;
use crate::placement::{RankPlacement, Slot};

/// The places that can all have ranks at the same time, and why not all of them can.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    /// Per slot whether it is one.
    pub usable: Vec<bool>,
    /// Why the first of those that are none is none.
    pub why: Option<SelectionError>,
}

impl Places {
    /// Of some slots, ordered by node, those on nodes that have devices for a selection; where the
    /// devices of a node serve fewer ranks than it has slots, those beside devices first, the same
    /// number beside each memory. That ranks may have to use the same rail is not seen here.
    #[must_use]
    pub fn new(cluster: &Cluster, slots: &[Slot], selection: &Selection) -> Self {
        let mut places = Self { usable: vec![true; slots.len()], why: None };
        if selection.is_none() {
            return places;
        }
        let mut end = 0;
        for of_node in slots.chunk_by(|a, b| a.node == b.node) {
            let range = end..end + of_node.len();
            end = range.end;
            let why = places.look_at_node(cluster, of_node, range, selection).err();
            places.why = places.why.or(why);
        }
        places
    }

    /// Looks at the slots of a node; an error says why not all of them are usable.
    fn look_at_node(
        &mut self,
        cluster: &Cluster,
        slots: &[Slot],
        range: Range<usize>,
        selection: &Selection,
    ) -> Result<(), SelectionError> {
        let usable = &mut self.usable[range];
        let name = &cluster.node(slots[0].node).name;
        let ranks: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        let served = local::views(cluster, ranks.iter().map(|rank| (0, rank)), selection)
            .and_then(|views| Ok((served(&views[0], selection, name)?, views)));
        let (served, views) = served.inspect_err(|_| usable.fill(false))?;
        if served.iter().all(|served| *served) {
            return Ok(());
        }
        usable.copy_from_slice(&served);
        Err(exhausted(&views[0], name))
    }
}

/// Which ranks of a node the devices serve together.
fn served(
    view: &LocalView,
    selection: &Selection,
    node: &str,
) -> Result<Vec<bool>, SelectionError> {
    let contexts = |device: usize| view.devices[device].contexts.map_or(u64::MAX, u64::from);
    let mut free: Vec<u64> = (0..view.devices.len()).map(contexts).collect();
    let only = match (selection.kind, selection.unit) {
        (Kind::None | Kind::Paper2017, _) => return Ok(vec![true; view.ranks.len()]),
        (Kind::DeviceAffinity, Some(unit)) => Some(wanted_unit(view, unit, node)?),
        _ => None,
    };
    let devices: Vec<usize> =
        view.active().filter(|device| only.is_none_or(|only| only == *device)).collect();
    // Sets of devices of which a rank uses one.
    let sets = |rank: usize| -> Vec<Vec<usize>> {
        match selection.rails {
            Rails::One => devices.iter().map(|device| vec![*device]).collect(),
            rails => vec![multirail::of_rank(view, rails, rank)],
        }
    };
    if selection.kind == Kind::Packed {
        super::spread::all_contexts_known(view, node)?;
    }
    let mut served = vec![false; view.ranks.len()];
    for rank in in_turn(view, &devices) {
        let room = |set: &Vec<usize>| set.iter().all(|device| free[*device] > 0);
        if let Some(set) = sets(rank).into_iter().find(room) {
            served[rank] = true;
            set.into_iter().for_each(|device| free[device] -= 1);
        }
    }
    Ok(served)
}

/// The ranks of a node, those beside one of some devices first, of these one beside each memory in
/// turn.
fn in_turn(view: &LocalView, devices: &[usize]) -> Vec<usize> {
    let mut keys: Vec<(u32, usize, usize)> = Vec::with_capacity(view.ranks.len());
    for (rank, local) in view.ranks.iter().enumerate() {
        let nearest = devices.iter().map(|device| local.distances[*device]).min().unwrap_or(0);
        let before = view.ranks[..rank].iter().filter(|other| other.numa == local.numa).count();
        keys.push((nearest, before, rank));
    }
    keys.sort_unstable();
    keys.into_iter().map(|(.., rank)| rank).collect()
}

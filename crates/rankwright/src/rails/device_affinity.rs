//! Which device a process uses, by where it runs: Ganapathi et al. 2017, Algorithm 1.
//!
//! [`printed`] is the algorithm as it stands in the paper, [`corrected`] ours. They differ:
//!
//! | | printed | ours |
//! |---|---|---|
//! | exactly one unit is active (lines 7 and 8) | unit 0, also where that one is another | that one |
//! | units that are counted (line 6) and looped over (line 10) | the active are counted, the available (here: all of the node) looped over | only the active |
//! | the user's unit 0 | line 4 takes it, the text ("greater than 0") does not | it is a unit like others |
//! | the user's unit is down or not there | it is used | an error |
//! | no unit is beside the process | any (lines 21 and 22 leave it open; here: in turn) | the nearest, the least used of them |
//! | several are (line 17) | in turn per job (the text) | the least used by all jobs |
//! | a unit without free contexts | is not considered | another one |
//!
//! The paper's implementation, PSM2, uses the position in the list of local units as the number of a
//! unit; both variants here use the unit at that position.

use std::collections::BTreeMap;

use super::SelectionError;
use super::node_view::{NodeView, RankView};
use super::psm2_modes::DeviceUse;
use crate::ids::{JobId, NumaId};

/// Algorithm 1 as printed: the device of each rank of a node.
pub(super) fn printed(view: &NodeView, wanted: Option<u32>) -> Vec<usize> {
    let mut turns = Turns::default();
    let active_units = view.active().count();
    let of_rank = |rank: &RankView| {
        // Line 4. A unit that does not exist would be used and fail; the last one stands for it.
        if let Some(wanted) = wanted {
            let unit = view.devices.iter().position(|device| device.unit == Some(wanted));
            return unit.unwrap_or(view.devices.len() - 1);
        }
        // Lines 7 and 8.
        if active_units == 1 {
            return 0;
        }
        // Lines 3 and 9 to 15.
        let process = rank.numa.first().copied();
        let beside = |unit: &usize| {
            let device = &view.devices[*unit];
            device.active && process.is_some_and(|numa| device.near.contains(&numa))
        };
        let saved: Vec<usize> = (0..view.devices.len()).filter(beside).collect();
        match saved[..] {
            // Lines 21 and 22.
            [] => turns.next(rank.job, None, &view.active().collect::<Vec<_>>()),
            // Line 19.
            [single] => single,
            // Line 17.
            _ => turns.next(rank.job, process, &saved),
        }
    };
    view.ranks.iter().map(of_rank).collect()
}

/// Our version: the device of each rank of a node.
pub(super) fn corrected(
    view: &NodeView,
    wanted: Option<u32>,
    node: &str,
) -> Result<Vec<usize>, SelectionError> {
    let wanted = wanted.map(|unit| wanted_unit(view, unit, node)).transpose()?;
    let mut used = DeviceUse::new(view, node);
    (0..view.ranks.len())
        .map(|rank| {
            let distances = &view.ranks[rank].distances;
            used.take(rank, |device, count| {
                wanted.is_none_or(|wanted| wanted == device).then_some((
                    distances[device],
                    count,
                    device,
                ))
            })
        })
        .collect()
}

/// The device of a unit that the user wants, if it can be used.
pub(super) fn wanted_unit(view: &NodeView, unit: u32, node: &str) -> Result<usize, SelectionError> {
    let device = view.devices.iter().position(|device| device.unit == Some(unit));
    let units = view.devices.iter().filter_map(|device| device.unit);
    let units: Vec<String> = units.map(|unit| unit.to_string()).collect();
    let device = device.ok_or_else(|| SelectionError::NoSuchDevice {
        node: node.to_owned(),
        wanted: format!("of unit {unit}"),
        devices: format!("those of unit {}", units.join(", ")),
    })?;
    if view.devices[device].active {
        return Ok(device);
    }
    Err(SelectionError::Down { node: node.to_owned(), device: view.devices[device].name.clone() })
}

/// The turns of each job and NUMA node: the counters that processes of a node share.
#[derive(Debug, Default)]
pub(super) struct Turns(BTreeMap<(JobId, Option<NumaId>), usize>);

impl Turns {
    /// The next of some units; 0 if there are none.
    pub(super) fn next(&mut self, job: JobId, numa: Option<NumaId>, units: &[usize]) -> usize {
        let turn = self.0.entry((job, numa)).or_default();
        let next = units.get(*turn % units.len().max(1)).copied().unwrap_or(0);
        *turn += 1;
        next
    }
}

//! Which device a process uses, by where it runs: Ganapathi et al. 2017, Algorithm 1.
//!
//! [`printed`] is the algorithm as it stands in the paper, [`corrected`] ours. They differ:
//!
//! | | printed | ours |
//! |---|---|---|
//! | exactly one unit is active (lines 7 and 8) | unit 0, also where that one is another | that one |
//! | which are counted (line 6) and which looped over (line 10) | the active are counted, the available (here: all of the node) looped over | only the active |
//! | the user's unit 0 | line 4 takes it, the text ("greater than 0") does not | it is a unit like others |
//! | the user's unit is down or not there | it is used | an error |
//! | no unit is beside the process | any (lines 21 and 22 leave it open; here: in turn) | the nearest, the least used of them |
//! | several are (line 17) | in turn per job (the text) | the least used by all jobs |
//! | a unit without free contexts | is not considered | another one |
//!
//! The paper's implementation, PSM2, takes the place in the list of local units for the number of a
//! unit; both variants here mean the unit that stands at that place.

use std::collections::BTreeMap;

use super::SelectionError;
use super::local::{LocalRank, LocalView};
use super::spread::Use;
use crate::ids::NumaId;

/// Algorithm 1 as printed, for all ranks of a node in their order: the position of a device for each.
pub(super) fn printed(view: &LocalView, wanted: Option<u32>) -> Vec<usize> {
    let mut turns = Turns::default();
    let active_units = view.active().count();
    let of_rank = |rank: &LocalRank| {
        // Line 4. A unit that is not there would be used and fail; the last one stands for it.
        if let Some(wanted) = wanted {
            let found = view.devices.iter().position(|device| device.unit == Some(wanted));
            return found.unwrap_or(view.devices.len() - 1);
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
            [one] => one,
            // Line 17.
            _ => turns.next(rank.job, process, &saved),
        }
    };
    view.ranks.iter().map(of_rank).collect()
}

/// Our version, for all ranks of a node in their order: the position of a device for each.
pub(super) fn corrected(
    view: &LocalView,
    wanted: Option<u32>,
    node: &str,
) -> Result<Vec<usize>, SelectionError> {
    let wanted = wanted.map(|unit| wanted_unit(view, unit, node)).transpose()?;
    let mut used = Use::new(view, node);
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
pub(super) fn wanted_unit(
    view: &LocalView,
    unit: u32,
    node: &str,
) -> Result<usize, SelectionError> {
    let found = view.devices.iter().position(|device| device.unit == Some(unit));
    let units = view.devices.iter().filter_map(|device| device.unit);
    let known: Vec<String> = units.map(|unit| unit.to_string()).collect();
    let device = found.ok_or_else(|| SelectionError::NoSuchDevice {
        node: node.to_owned(),
        wanted: format!("of unit {unit}"),
        devices: format!("those of unit {}", known.join(", ")),
    })?;
    if view.devices[device].active {
        return Ok(device);
    }
    Err(SelectionError::Down { node: node.to_owned(), device: view.devices[device].name.clone() })
}

/// Who is next, per job and NUMA node: the counters that processes of a node share.
#[derive(Debug, Default)]
pub(super) struct Turns(BTreeMap<(usize, Option<NumaId>), usize>);

impl Turns {
    /// The next of some units; 0 where there is none.
    pub(super) fn next(&mut self, job: usize, numa: Option<NumaId>, units: &[usize]) -> usize {
        let turn = self.0.entry((job, numa)).or_default();
        let next = units.get(*turn % units.len().max(1)).copied().unwrap_or(0);
        *turn += 1;
        next
    }
}

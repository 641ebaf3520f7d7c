//! The devices that stacks use by default.

use std::collections::BTreeMap;

use crate::placement::{DeviceEntry, RankEntry};
use crate::rails::node_view::unit;

/// How a stack selects devices by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultChoice {
    /// PSM2 as it is deployed: in turn over the devices beside the process, but with the position among
    /// these as the unit number; that is right only where there is one.
    NearByUnit,
    /// In turn over the devices beside the process, all where none is.
    NearInTurn,
    /// The local rank modulo the number of devices beside the process.
    NearByLocalRank,
    /// The first device beside the process.
    NearFirst,
    /// The first device.
    First,
    /// The local rank modulo the number of devices.
    InTurn,
    /// Local ranks in as many blocks as there are devices.
    Blocks,
    /// All devices.
    All,
}

impl DefaultChoice {
    /// The devices of each of the ranks of a node; `ranks` are ascending.
    pub(super) fn devices<'a>(
        self,
        devices: &[&'a DeviceEntry],
        ranks: &[&RankEntry],
    ) -> Vec<Vec<&'a DeviceEntry>> {
        if devices.is_empty() {
            return vec![Vec::new(); ranks.len()];
        }
        let mut devices = devices.to_vec();
        devices.sort_by_key(|device| (unit(&device.name).is_none(), unit(&device.name)));
        // Processes so far by NUMA node; `None` for those without a near device.
        let mut turns: BTreeMap<Option<u32>, usize> = BTreeMap::new();
        let of_rank = |(local, entry): (usize, &&RankEntry)| {
            let beside = |device: &&&DeviceEntry| {
                device.near.is_empty() || entry.numa.is_some_and(|n| device.near.contains(&n))
            };
            let near: Vec<&DeviceEntry> = devices.iter().filter(beside).copied().collect();
            let near_count = near.len();
            let choices = if near.is_empty() { devices.clone() } else { near };
            let mut turn = || {
                let counter =
                    turns.entry(entry.numa.filter(|_| near_count > 0).map(|n| n.0)).or_default();
                *counter += 1;
                (*counter - 1) % choices.len()
            };
            match self {
                Self::NearByUnit if near_count > 1 => {
                    let number = u32::try_from(turn()).unwrap_or(u32::MAX);
                    let taken = devices.iter().find(|device| unit(&device.name) == Some(number));
                    vec![*taken.unwrap_or(&choices[0])]
                }
                Self::NearByUnit | Self::NearInTurn => vec![choices[turn()]],
                Self::NearByLocalRank => vec![choices[local % choices.len()]],
                Self::NearFirst => vec![choices[0]],
                Self::First => vec![devices[0]],
                Self::InTurn => vec![devices[local % devices.len()]],
                Self::Blocks => vec![devices[local * devices.len() / ranks.len()]],
                Self::All => devices.clone(),
            }
        };
        ranks.iter().enumerate().map(of_rank).collect()
    }
}

//! Device slots: a slot together with one set of network devices that a rank can use there.

use std::collections::BTreeMap;

use crate::ids::NodeId;
use crate::map::{DeviceMapping, MapError, Problem};
use crate::placement::{RankPlacement, Slot};
use crate::rails::DeviceSets;

/// All device slots in ascending order of their slots. Where the devices follow from the slot, each
/// slot has one device slot with the index of the slot.
#[derive(Debug)]
pub(super) struct DeviceSlots {
    /// By device slot: its slot, with the network devices.
    slots: Vec<Slot>,
    /// By device slot: the index of its slot in [`Problem::slots`].
    slot_of: Vec<usize>,
    /// By slot: the index of its first device slot; at the end the number of device slots.
    firsts: Vec<usize>,
    /// Ranks that must use the same rail; `None` if the fabric is not rail-optimised.
    groups: Option<RailGroups>,
    /// `None` if no device limits the number of its ranks.
    contexts: Option<Contexts>,
}

/// Groups of ranks that must use the same rail.
#[derive(Debug)]
struct RailGroups {
    /// By global rank: the index of its group.
    group_of: Vec<usize>,
    /// By group: its global ranks, ascending.
    ranks: Vec<Vec<usize>>,
}

/// How many ranks the devices can serve. Devices are numbered over all nodes.
#[derive(Debug)]
struct Contexts {
    /// By device: the largest number of ranks; `None` without a limit.
    limits: Vec<Option<u32>>,
    /// By device slot: its devices.
    devices_of: Vec<Vec<usize>>,
}

impl DeviceSlots {
    /// One device slot for each slot.
    pub(super) fn of_slots(problem: &Problem) -> Self {
        let count = problem.slots().len();
        Self {
            slots: problem.slots().to_vec(),
            slot_of: (0..count).collect(),
            firsts: (0..=count).collect(),
            groups: None,
            contexts: None,
        }
    }

    /// One device slot for each slot and each set of devices that [`Problem::selection`] allows there.
    ///
    /// # Errors
    /// If a node with slots has no device that can be used.
    pub(super) fn with_devices(problem: &Problem) -> Result<Self, MapError> {
        let places: Vec<RankPlacement> = problem.slots().iter().map(Slot::place).collect();
        let sets = DeviceSets::new(problem.cluster, &places, problem.selection())?;
        let (mut slots, mut slot_of, mut firsts) = (Vec::new(), Vec::new(), vec![0]);
        for ((index, slot), named) in problem.slots().iter().enumerate().zip(sets.of_place) {
            for nics in named.sets {
                slots.push(Slot { nics, ..slot.clone() });
                slot_of.push(index);
            }
            firsts.push(slots.len());
        }
        let groups = sets.same_rails.then(|| RailGroups::new(problem));
        let contexts = Contexts::new(problem, &slots);
        Ok(Self { slots, slot_of, firsts, groups, contexts })
    }

    /// All device slots, as slots with network devices.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether some slot has more than one device slot.
    pub(super) fn has_choice(&self) -> bool {
        self.slots.len() + 1 > self.firsts.len()
    }

    /// The slot of a device slot.
    pub(super) fn slot(&self, device_slot: usize) -> usize {
        self.slot_of[device_slot]
    }

    /// The number of device slots of a slot.
    pub(super) fn count(&self, slot: usize) -> usize {
        self.firsts[slot + 1] - self.firsts[slot]
    }

    /// The device slot at a position among those of a slot, modulo their number.
    pub(super) fn at(&self, slot: usize, position: usize) -> usize {
        self.firsts[slot] + position % self.count(slot)
    }

    /// The position of a device slot among those of its slot.
    pub(super) fn position(&self, device_slot: usize) -> usize {
        device_slot - self.firsts[self.slot_of[device_slot]]
    }

    /// The device slot of `slot` at the position that `device_slot` has at its own slot.
    pub(super) fn same_position(&self, device_slot: usize, slot: usize) -> usize {
        self.at(slot, self.position(device_slot))
    }

    /// The ranks that must use the same rail as `rank`; `None` if the fabric is not rail-optimised.
    pub(super) fn group(&self, rank: usize) -> Option<&[usize]> {
        let groups = self.groups.as_ref()?;
        Some(&groups.ranks[groups.group_of[rank]])
    }

    /// The device slot of each rank, given its slot and its devices; `None` if a rank has devices
    /// that are not a set of its slot.
    pub(super) fn find(&self, slot_of: &[usize], nics: &[Vec<String>]) -> Option<Vec<usize>> {
        let same = |a: &[String], b: &[String]| {
            a.len() == b.len() && a.iter().all(|name| b.contains(name))
        };
        let device_slot = |(slot, nics): (&usize, &Vec<String>)| {
            let mut device_slots = self.firsts[*slot]..self.firsts[slot + 1];
            device_slots.find(|device_slot| same(&self.slots[*device_slot].nics, nics))
        };
        slot_of.iter().zip(nics).map(device_slot).collect()
    }

    /// The slot and the devices of each rank.
    pub(super) fn mapping(&self, device_slot_of: &[usize]) -> DeviceMapping {
        let nics = device_slot_of
            .iter()
            .map(|device_slot| self.slots[*device_slot].nics.clone())
            .collect();
        let slots: Vec<usize> =
            device_slot_of.iter().map(|device_slot| self.slot_of[*device_slot]).collect();
        DeviceMapping { mapping: slots.into(), nics: Some(nics) }
    }

    /// Gives all ranks of a rail group the rails of its first rank; `None` if a device then has more
    /// ranks than it can serve.
    pub(super) fn on_same_rails(&self, mut device_slot_of: Vec<usize>) -> Option<Vec<usize>> {
        for group in self.groups.iter().flat_map(|groups| &groups.ranks) {
            let Some(first) = group.first().map(|rank| device_slot_of[*rank]) else { continue };
            for rank in group {
                device_slot_of[*rank] =
                    self.same_position(first, self.slot_of[device_slot_of[*rank]]);
            }
        }
        let limits = self.contexts.iter().flat_map(|contexts| &contexts.limits);
        let mut loads = self.users(&device_slot_of).into_iter().zip(limits);
        let fits = loads.all(|(users, limit)| limit.is_none_or(|limit| users <= limit));
        fits.then_some(device_slot_of)
    }

    /// The devices of a device slot; empty if no device limits the number of its ranks.
    pub(super) fn limited_devices(&self, device_slot: usize) -> &[usize] {
        self.contexts.as_ref().map_or(&[], |contexts| &contexts.devices_of[device_slot])
    }

    /// By device: how many ranks use it; empty if no device has a limit.
    pub(super) fn users(&self, device_slot_of: &[usize]) -> Vec<u32> {
        let Some(contexts) = &self.contexts else { return Vec::new() };
        let mut users = vec![0; contexts.limits.len()];
        for device in
            device_slot_of.iter().flat_map(|device_slot| self.limited_devices(*device_slot))
        {
            users[*device] += 1;
        }
        users
    }

    /// Whether the devices, which have these numbers of users, can serve all ranks after these moves
    /// from one device slot to another.
    pub(super) fn can_serve(&self, users: &[u32], moves: impl Fn() -> Vec<(usize, usize)>) -> bool {
        let Some(contexts) = &self.contexts else { return true };
        let mut change: BTreeMap<usize, i64> = BTreeMap::new();
        for (from, to) in moves() {
            for (device_slot, sign) in [(from, -1), (to, 1)] {
                for device in &contexts.devices_of[device_slot] {
                    *change.entry(*device).or_default() += sign;
                }
            }
        }
        change.into_iter().all(|(device, added)| {
            let users = i64::from(users[device]) + added;
            added <= 0 || contexts.limits[device].is_none_or(|limit| users <= i64::from(limit))
        })
    }
}

impl Contexts {
    /// `None` if no device has a limit.
    fn new(problem: &Problem, device_slots: &[Slot]) -> Option<Self> {
        let mut numbers: BTreeMap<(NodeId, &str), usize> = BTreeMap::new();
        let (mut limits, mut devices_of) = (Vec::new(), Vec::new());
        for device_slot in device_slots {
            let mut devices = Vec::new();
            for name in &device_slot.nics {
                let next = numbers.len();
                let device = *numbers.entry((device_slot.node, name)).or_insert(next);
                if device == limits.len() {
                    let nics = &problem.cluster.machine(device_slot.node).nics;
                    let nic = nics.iter().find(|nic| nic.name == *name);
                    limits.push(nic.and_then(|nic| nic.contexts));
                }
                devices.push(device);
            }
            devices_of.push(devices);
        }
        limits.iter().any(Option::is_some).then_some(Self { limits, devices_of })
    }
}

impl RailGroups {
    /// The connected components of the graph of messages.
    fn new(problem: &Problem) -> Self {
        let count = problem.rank_count();
        let mut group_of = vec![usize::MAX; count];
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        for rank in 0..count {
            if group_of[rank] != usize::MAX {
                continue;
            }
            let (group, mut members) = (ranks.len(), vec![rank]);
            group_of[rank] = group;
            let mut next = 0;
            while let Some(rank) = members.get(next).copied() {
                next += 1;
                for (other, _) in problem.graph().row(rank) {
                    if group_of[other] == usize::MAX {
                        group_of[other] = group;
                        members.push(other);
                    }
                }
            }
            members.sort_unstable();
            ranks.push(members);
        }
        Self { group_of, ranks }
    }
}

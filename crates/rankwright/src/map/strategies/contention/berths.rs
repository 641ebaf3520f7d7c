//! Slots with the network devices that a rank can use there: what a search moves ranks between.

use std::collections::BTreeMap;

use crate::ids::NodeId;
use crate::map::{DeviceMapping, MapError, Problem};
use crate::placement::{RankPlacement, Slot};
use crate::rails::DeviceSets;

/// All berths, slot by slot. Where devices follow from the slots, every slot is its only berth.
#[derive(Debug)]
pub(super) struct Berths {
    slots: Vec<Slot>,
    /// The slot of each berth.
    slot_of: Vec<usize>,
    /// The first berth of each slot, and their number.
    firsts: Vec<usize>,
    /// On rail-optimised fabrics, who must use the same rail: per rank its group, and the ranks of
    /// each group.
    groups: Option<(Vec<usize>, Vec<Vec<usize>>)>,
    /// Where devices serve a limited number of ranks.
    contexts: Option<Contexts>,
}

/// How many ranks devices serve.
#[derive(Debug)]
struct Contexts {
    /// By device, over all nodes.
    most: Vec<Option<u32>>,
    /// The devices of each berth.
    of_berth: Vec<Vec<usize>>,
}

impl Berths {
    /// One for each slot.
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

    /// One for each slot and each set of devices that [`Problem::selection`] has for it.
    ///
    /// # Errors
    /// If a node with slots has no device that can be used.
    pub(super) fn with_devices(problem: &Problem) -> Result<Self, MapError> {
        let places: Vec<RankPlacement> = problem.slots().iter().map(Slot::place).collect();
        let sets = DeviceSets::new(problem.cluster, &places, problem.selection())?;
        let (mut slots, mut slot_of, mut firsts) = (Vec::new(), Vec::new(), vec![0]);
        for ((number, slot), named) in problem.slots().iter().enumerate().zip(sets.of_place) {
            for nics in named.sets {
                slots.push(Slot { nics, ..slot.clone() });
                slot_of.push(number);
            }
            firsts.push(slots.len());
        }
        let groups = sets.same_rails.then(|| groups(problem));
        let contexts = Contexts::new(problem, &slots);
        Ok(Self { slots, slot_of, firsts, groups, contexts })
    }

    /// The berths as slots that have devices.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether a slot has more than one.
    pub(super) fn is_choice(&self) -> bool {
        self.slots.len() + 1 > self.firsts.len()
    }

    /// The slot of a berth.
    pub(super) fn slot(&self, berth: usize) -> usize {
        self.slot_of[berth]
    }

    /// How many a slot has.
    pub(super) fn count(&self, slot: usize) -> usize {
        self.firsts[slot + 1] - self.firsts[slot]
    }

    /// One of a slot by its position.
    pub(super) fn at(&self, slot: usize, position: usize) -> usize {
        self.firsts[slot] + position % self.count(slot)
    }

    /// The position of a berth among those of its slot.
    pub(super) fn position(&self, berth: usize) -> usize {
        berth - self.firsts[self.slot_of[berth]]
    }

    /// The berth of a slot that is like one of another.
    pub(super) fn alike(&self, berth: usize, slot: usize) -> usize {
        self.at(slot, self.position(berth))
    }

    /// Who must use the same rails as a rank; `None` where every rank can use any device.
    pub(super) fn group(&self, rank: usize) -> Option<&[usize]> {
        let (of_rank, ranks) = self.groups.as_ref()?;
        Some(&ranks[of_rank[rank]])
    }

    /// The berths of a placement whose ranks use these devices; `None` if one of them uses a set that
    /// its slot does not have.
    pub(super) fn find(&self, slot_of: &[usize], nics: &[Vec<String>]) -> Option<Vec<usize>> {
        let same = |a: &[String], b: &[String]| {
            a.len() == b.len() && a.iter().all(|name| b.contains(name))
        };
        let berth = |(slot, nics): (&usize, &Vec<String>)| {
            let mut berths = self.firsts[*slot]..self.firsts[slot + 1];
            berths.find(|berth| same(&self.slots[*berth].nics, nics))
        };
        slot_of.iter().zip(nics).map(berth).collect()
    }

    /// What it means that rank r is at berth `berth_of[r]`.
    pub(super) fn mapping(&self, berth_of: &[usize]) -> DeviceMapping {
        let nics = berth_of.iter().map(|berth| self.slots[*berth].nics.clone()).collect();
        let slots: Vec<usize> = berth_of.iter().map(|berth| self.slot_of[*berth]).collect();
        DeviceMapping { mapping: slots.into(), nics: Some(nics) }
    }

    /// The same placement where all ranks of a group use the rails that the first of them uses;
    /// `None` if their devices do not serve as many.
    pub(super) fn on_same_rails(&self, mut berth_of: Vec<usize>) -> Option<Vec<usize>> {
        for group in self.groups.iter().flat_map(|(_, ranks)| ranks) {
            let Some(first) = group.first().map(|rank| berth_of[*rank]) else { continue };
            for rank in group {
                berth_of[*rank] = self.alike(first, self.slot_of[berth_of[*rank]]);
            }
        }
        let most = self.contexts.iter().flat_map(|contexts| &contexts.most);
        let mut served = self.users(&berth_of).into_iter().zip(most);
        served.all(|(users, most)| most.is_none_or(|most| users <= most)).then_some(berth_of)
    }

    /// The devices of a berth that may be full, by number; none where no device has a limit.
    pub(super) fn limited_devices(&self, berth: usize) -> &[usize] {
        self.contexts.as_ref().map_or(&[], |contexts| &contexts.of_berth[berth])
    }

    /// How many ranks use each device; empty where that has no limit.
    pub(super) fn users(&self, berth_of: &[usize]) -> Vec<u32> {
        let Some(contexts) = &self.contexts else { return Vec::new() };
        let mut users = vec![0; contexts.most.len()];
        for device in berth_of.iter().flat_map(|berth| self.limited_devices(*berth)) {
            users[*device] += 1;
        }
        users
    }

    /// Whether devices that so many ranks use also serve those that move, from berths to others.
    pub(super) fn suffice(&self, users: &[u32], moves: impl Fn() -> Vec<(usize, usize)>) -> bool {
        let Some(contexts) = &self.contexts else { return true };
        let mut change: BTreeMap<usize, i64> = BTreeMap::new();
        for (from, to) in moves() {
            for (berth, sign) in [(from, -1), (to, 1)] {
                for device in &contexts.of_berth[berth] {
                    *change.entry(*device).or_default() += sign;
                }
            }
        }
        change.into_iter().all(|(device, more)| {
            let users = i64::from(users[device]) + more;
            more <= 0 || contexts.most[device].is_none_or(|most| users <= i64::from(most))
        })
    }
}

impl Contexts {
    /// `None` where no device has a limit.
    fn new(problem: &Problem, berths: &[Slot]) -> Option<Self> {
        let mut numbers: BTreeMap<(NodeId, &str), usize> = BTreeMap::new();
        let (mut most, mut of_berth) = (Vec::new(), Vec::new());
        for berth in berths {
            let mut devices = Vec::new();
            for name in &berth.nics {
                let next = numbers.len();
                let device = *numbers.entry((berth.node, name)).or_insert(next);
                if device == most.len() {
                    let nics = &problem.cluster.machine(berth.node).nics;
                    let nic = nics.iter().find(|nic| nic.name == *name);
                    most.push(nic.and_then(|nic| nic.contexts));
                }
                devices.push(device);
            }
            of_berth.push(devices);
        }
        most.iter().any(Option::is_some).then_some(Self { most, of_berth })
    }
}

/// Sets of ranks that exchange anything, directly or through others: per rank its set, and the ranks
/// of each.
fn groups(problem: &Problem) -> (Vec<usize>, Vec<Vec<usize>>) {
    let ranks = problem.rank_count();
    let mut of_rank = vec![usize::MAX; ranks];
    let mut members: Vec<Vec<usize>> = Vec::new();
    for rank in 0..ranks {
        if of_rank[rank] != usize::MAX {
            continue;
        }
        let (number, mut found) = (members.len(), vec![rank]);
        of_rank[rank] = number;
        let mut next = 0;
        while let Some(rank) = found.get(next).copied() {
            next += 1;
            for (other, _) in problem.graph().row(rank) {
                if of_rank[other] == usize::MAX {
                    of_rank[other] = number;
                    found.push(other);
                }
            }
        }
        found.sort_unstable();
        members.push(found);
    }
    (of_rank, members)
}

//! The neighbourhood of a placement: the random steps of a chain.

use super::layout::Layout;
use crate::estimate::{MovingLoad, OfferedLoad};
use crate::ids::{GlobalRank, SlotId};
use crate::map::Problem;
use crate::random::Generator;

/// One of this number of steps moves a group, and one a run.
const MIX: usize = 8;
/// A step that moves a group or a run costs as much as dozens of single moves. If none of the last `TRIES` of a kind
/// was accepted, only one of [`RARE`] is tried; a single move is tried instead of the others.
const TRIES: u32 = 128;
const RARE: usize = 8;
/// One of this number of moves of a single rank goes to any slot, the others to a node where it has a
/// peer: four times as many steps to any slot find no better placements.
const PEERS: usize = 4;

/// What a search's evaluation knows of steps that change nothing.
pub(super) trait Equivalence {
    /// Whether messages of a rank cost the same at two device slots.
    fn same_site(&self, a: usize, b: usize) -> bool;

    /// Whether an exchange of two ranks changes nothing under any mapping.
    fn alike(&self, a: usize, b: usize) -> bool;
}

impl Equivalence for OfferedLoad {
    fn same_site(&self, a: usize, b: usize) -> bool {
        self.site(SlotId::from_index(a)) == self.site(SlotId::from_index(b))
    }

    fn alike(&self, a: usize, b: usize) -> bool {
        self.alike(GlobalRank::from_index(a), GlobalRank::from_index(b))
    }
}

impl Equivalence for MovingLoad {
    fn same_site(&self, a: usize, b: usize) -> bool {
        a == b
    }

    fn alike(&self, a: usize, b: usize) -> bool {
        [a, b].into_iter().all(|rank| self.is_silent(GlobalRank::from_index(rank)))
    }
}

/// The kinds of steps that move many ranks.
#[derive(Debug, Clone, Copy)]
enum Many {
    Group,
    Run,
}

/// How many of the latest steps of a kind were accepted.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    tried: u32,
    taken: u32,
    rare: bool,
}

impl Record {
    fn count(&mut self, taken: bool) {
        self.tried += 1;
        self.taken += u32::from(taken);
        if self.tried == TRIES {
            *self = Self { rare: self.taken == 0, ..Self::default() };
        }
    }
}

/// Draws random steps from a placement to its neighbours.
#[derive(Debug, Clone)]
pub(super) struct Neighbourhood {
    /// By global rank: the index of its job.
    job_of: Vec<u32>,
    /// The slots of each node that ranks may move to.
    nodes: Vec<std::ops::Range<usize>>,
    /// All slots that ranks may move to.
    slots: Vec<usize>,
    /// By slot: its node, a position in `nodes`; 0 for slots that ranks may not move to.
    node_of: Vec<u32>,
    /// The largest number of ranks that move together from one node to another, 1 to 64.
    most: usize,
    /// Index: [`Many`].
    records: [Record; 2],
    /// The kind of the present step; `None`: it moves few ranks.
    many: Option<Many>,
    /// The present step: global ranks, each with the device slot it moves to.
    moves: Vec<(usize, usize)>,
}

impl Neighbourhood {
    /// Steps between the slots of these nodes, each a range of slots.
    pub(super) fn new(problem: &Problem, nodes: Vec<std::ops::Range<usize>>) -> Self {
        let mut node_of = vec![0; problem.slots().len()];
        for (number, slots) in (0..).zip(&nodes) {
            node_of[slots.clone()].fill(number);
        }
        let mut job_of = Vec::new();
        for (number, job) in (0..).zip(&problem.workload.jobs) {
            job_of.resize(job_of.len() + job.ranks as usize, number);
        }
        let most = nodes.iter().map(ExactSizeIterator::len).max().unwrap_or(1).clamp(1, 64);
        let slots = nodes.iter().cloned().flatten().collect();
        let records = [Record::default(); 2];
        Self { job_of, nodes, slots, node_of, most, records, many: None, moves: Vec::new() }
    }

    /// A random step: global ranks, each with the device slot it moves to. Empty if the step would
    /// change nothing or is not possible.
    pub(super) fn step(
        &mut self,
        layout: &Layout,
        load: &impl Equivalence,
        random: &mut Generator,
    ) -> &[(usize, usize)] {
        self.moves.clear();
        let rank = random.below(layout.device_slot_of().len());
        let kind = random.below(MIX);
        self.many = match kind {
            0 => self.unless_rare(Many::Group, random),
            1 => self.unless_rare(Many::Run, random),
            _ => None,
        };
        match (self.many, kind) {
            (Some(Many::Group), _) => self.group(layout, random, rank),
            (Some(Many::Run), _) => self.run(layout, random, rank),
            (None, 2 | 3) if layout.device_slots().has_choice() => {
                self.devices(layout, random, rank);
            }
            _ => {
                let slot = match random.below(PEERS) {
                    0 => self.slots[random.below(self.slots.len())],
                    _ => self.slot_beside_peer(layout, random, rank),
                };
                self.single(layout, load, random, rank, slot);
            }
        }
        if !layout.devices_can_serve(&self.moves) {
            self.moves.clear();
        }
        &self.moves
    }

    /// To be called after each step: whether it was accepted.
    pub(super) fn was_taken(&mut self, taken: bool) {
        if let Some(many) = self.many {
            self.records[many as usize].count(taken);
        }
    }

    fn unless_rare(&self, many: Many, random: &mut Generator) -> Option<Many> {
        let rare = self.records[many as usize].rare;
        (!rare || random.below(RARE) == 0).then_some(many)
    }

    /// A random slot on the node of a rank that `rank` exchanges messages with; without one, any slot.
    fn slot_beside_peer(&self, layout: &Layout, random: &mut Generator, rank: usize) -> usize {
        let mut peers = layout.peers(rank);
        if peers.len() == 0 {
            return self.slots[random.below(self.slots.len())];
        }
        let (peer, _) = peers.nth(random.below(peers.len())).unwrap_or_default();
        let node = &self.nodes[self.node_of[layout.slot(peer)] as usize];
        node.start + random.below(node.len())
    }

    /// Moves a rank to a slot, or exchanges it with a rank there.
    fn single(
        &mut self,
        layout: &Layout,
        load: &impl Equivalence,
        random: &mut Generator,
        rank: usize,
        slot: usize,
    ) {
        let from = layout.device_slot_of()[rank];
        let to = new_device_slot(layout, random, rank, slot);
        if load.same_site(from, to) {
            return;
        }
        let others = layout.ranks_at(slot);
        let fits = layout.can_take(slot, rank);
        if fits && (others.is_empty() || random.below(2) == 0) {
            self.moves.push((rank, to));
        } else if !others.is_empty() {
            let other = others[random.below(others.len())] as usize;
            let back = new_device_slot(layout, random, other, layout.slot(rank));
            let nothing =
                (layout.device_slot_of()[other], from) == (to, back) && load.alike(rank, other);
            if rank != other && !nothing && layout.can_swap(rank, other) {
                self.moves.extend([(rank, to), (other, back)]);
            }
        }
    }

    /// Gives a rank other devices, together with all ranks that must use the same rail; or exchanges
    /// the devices of two ranks of a node.
    fn devices(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let (device_slots, slot) = (layout.device_slots(), layout.slot(rank));
        let position = random.below(device_slots.count(slot));
        if let Some(group) = device_slots.group(rank) {
            let to = |rank: &usize| (*rank, device_slots.at(layout.slot(*rank), position));
            self.moves.extend(group.iter().map(to));
        } else if random.below(2) == 0 {
            self.moves.push((rank, device_slots.at(slot, position)));
        } else {
            let node = self.nodes[self.node_of[slot] as usize].clone();
            let offset = node.start + random.below(node.len());
            let other = rotated(node, offset).find_map(|slot| layout.ranks_at(slot).first());
            if let Some(other) = other.map(|other| *other as usize).filter(|other| *other != rank) {
                let [mine, theirs] = [rank, other].map(|rank| layout.device_slot_of()[rank]);
                self.moves.push((rank, device_slots.same_position(theirs, slot)));
                self.moves.push((other, device_slots.same_position(mine, layout.slot(other))));
            }
        }
        self.moves.retain(|(rank, device_slot)| layout.device_slot_of()[*rank] != *device_slot);
    }

    /// Exchanges several ranks of one job on one node with the same number of slots of another node.
    fn group(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let source = self.node_of[layout.slot(rank)] as usize;
        let target = random.below(self.nodes.len());
        let count = 2 + random.below(self.most - self.most / 2);
        if source == target {
            return;
        }
        let job = self.job_of[rank];
        let slots = rotated(self.nodes[source].clone(), layout.slot(rank));
        let of_job = |slot: &usize| {
            let ranks = layout.ranks_at(*slot);
            ranks.len() == 1 && self.job_of[ranks[0] as usize] == job
        };
        let source_slots: Vec<usize> = slots.filter(of_job).take(count).collect();
        let offset = self.nodes[target].start + random.below(self.nodes[target].len());
        let mut target_slots = rotated(self.nodes[target].clone(), offset);
        // The target slots hold ranks of one job, or are all free.
        let job_at =
            |slot: usize| layout.ranks_at(slot).first().map(|other| self.job_of[*other as usize]);
        let wanted = job_at(offset);
        for slot in source_slots {
            let Some(other) = target_slots.find(|slot| job_at(*slot) == wanted) else {
                return;
            };
            exchange(&mut self.moves, layout, slot, other);
        }
    }

    /// Moves a run of consecutive ranks of one job to one node.
    fn run(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let target = random.below(self.nodes.len());
        let count = 2 + random.below(self.most - self.most / 2);
        let offset = self.nodes[target].start + random.below(self.nodes[target].len());
        let mut target_slots = rotated(self.nodes[target].clone(), offset);
        let last = self.job_of.len().min(rank + count);
        for next in rank..last {
            let slot = layout.slot(next);
            if self.job_of[next] != self.job_of[rank] {
                return;
            }
            if self.node_of[slot] as usize == target || layout.ranks_at(slot).len() != 1 {
                continue;
            }
            let outside_run = |slot: &usize| {
                let other = layout.ranks_at(*slot).first().map(|other| *other as usize);
                other.is_none_or(|other| !(rank..last).contains(&other))
            };
            let Some(other) = target_slots.find(outside_run) else {
                return;
            };
            exchange(&mut self.moves, layout, slot, other);
        }
    }
}

/// Exchanges the only ranks of two slots, or moves the first to the second slot if that is free.
fn exchange(moves: &mut Vec<(usize, usize)>, layout: &Layout, from: usize, to: usize) {
    let rank = layout.ranks_at(from)[0] as usize;
    let like = |rank: usize, slot| {
        (rank, layout.device_slots().same_position(layout.device_slot_of()[rank], slot))
    };
    match *layout.ranks_at(to) {
        [] if layout.can_take(to, rank) => moves.push(like(rank, to)),
        [other] if layout.can_swap(rank, other as usize) => {
            moves.extend([like(rank, to), like(other as usize, from)]);
        }
        _ => (),
    }
}

/// The device slot of a rank at another slot: at the position of its present one, or, if the rank can
/// choose its devices, a random one half of the time.
fn new_device_slot(layout: &Layout, random: &mut Generator, rank: usize, slot: usize) -> usize {
    let device_slots = layout.device_slots();
    if device_slots.has_choice() && device_slots.group(rank).is_none() && random.below(2) == 0 {
        return device_slots.at(slot, random.below(device_slots.count(slot)));
    }
    device_slots.same_position(layout.device_slot_of()[rank], slot)
}

/// The members of a range from `first` to the end, then from the beginning.
fn rotated(range: std::ops::Range<usize>, first: usize) -> impl Iterator<Item = usize> {
    (first..range.end).chain(range.start..first)
}

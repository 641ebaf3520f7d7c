//! What can be changed about a placement in one step.

use super::layout::Layout;
use crate::estimate::OfferedLoad;
use crate::ids::{GlobalRank, SlotId};
use crate::map::Problem;
use crate::random::Generator;

/// One step in so many moves a group, and one a run.
const MIX: usize = 8;

/// Steps from a placement to others.
#[derive(Debug, Clone)]
pub(super) struct Neighbourhood {
    /// The job of each rank.
    job_of: Vec<u32>,
    /// Per node its slots; and the node of each slot.
    nodes: Vec<std::ops::Range<usize>>,
    node_of: Vec<u32>,
    /// The most ranks that move at once from one node to another.
    most: usize,
    /// Ranks and berths of the step, each to the other.
    moves: Vec<(usize, usize)>,
}

impl Neighbourhood {
    pub(super) fn new(problem: &Problem) -> Self {
        let nodes = problem.slots_of_nodes();
        let mut node_of = vec![0; problem.slots().len()];
        for (number, slots) in (0..).zip(&nodes) {
            node_of[slots.clone()].fill(number);
        }
        let mut job_of = Vec::new();
        for (number, job) in (0..).zip(&problem.workload.jobs) {
            job_of.resize(job_of.len() + job.ranks as usize, number);
        }
        let most = nodes.iter().map(ExactSizeIterator::len).max().unwrap_or(1).clamp(1, 64);
        Self { job_of, nodes, node_of, most, moves: Vec::new() }
    }

    /// A step chosen at random: ranks with the berths that they go to. Empty where what was chosen
    /// makes no difference or does not fit.
    pub(super) fn step(
        &mut self,
        layout: &Layout,
        load: &OfferedLoad,
        random: &mut Generator,
    ) -> &[(usize, usize)] {
        self.moves.clear();
        let rank = random.below(layout.berth_of().len());
        match random.below(MIX) {
            0 => self.group(layout, random, rank),
            1 => self.run(layout, random, rank),
            2 | 3 if layout.berths().is_choice() => self.devices(layout, random, rank),
            _ => {
                let slot = random.below(self.node_of.len());
                self.single(layout, load, random, rank, slot);
            }
        }
        if !layout.devices_suffice(&self.moves) {
            self.moves.clear();
        }
        &self.moves
    }

    /// A rank goes to a slot; who is there takes its place if it must.
    fn single(
        &mut self,
        layout: &Layout,
        load: &OfferedLoad,
        random: &mut Generator,
        rank: usize,
        slot: usize,
    ) {
        let from = layout.berth_of()[rank];
        let to = berth_of_new(layout, random, rank, slot);
        if load.site(SlotId::from_index(from)) == load.site(SlotId::from_index(to)) {
            return;
        }
        let others = layout.ranks_at(slot);
        let moves = layout.has_room(slot, rank);
        if moves && (others.is_empty() || random.below(2) == 0) {
            self.moves.push((rank, to));
        } else if !others.is_empty() {
            let other = others[random.below(others.len())] as usize;
            let back = berth_of_new(layout, random, other, layout.slot(rank));
            let nothing = (layout.berth_of()[other], from) == (to, back)
                && load.alike(GlobalRank::from_index(rank), GlobalRank::from_index(other));
            if rank != other && !nothing && layout.can_swap(rank, other) {
                self.moves.extend([(rank, to), (other, back)]);
            }
        }
    }

    /// A rank takes other devices, with all who must use the same rail; or two ranks of a node change
    /// theirs.
    fn devices(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let (berths, slot) = (layout.berths(), layout.slot(rank));
        let position = random.below(berths.count(slot));
        if let Some(group) = berths.group(rank) {
            let to = |rank: &usize| (*rank, berths.at(layout.slot(*rank), position));
            self.moves.extend(group.iter().map(to));
        } else if random.below(2) == 0 {
            self.moves.push((rank, berths.at(slot, position)));
        } else {
            let node = self.nodes[self.node_of[slot] as usize].clone();
            let offset = node.start + random.below(node.len());
            let other = rotated(node, offset).find_map(|slot| layout.ranks_at(slot).first());
            if let Some(other) = other.map(|other| *other as usize).filter(|other| *other != rank) {
                let [mine, theirs] = [rank, other].map(|rank| layout.berth_of()[rank]);
                self.moves.push((rank, berths.alike(theirs, slot)));
                self.moves.push((other, berths.alike(mine, layout.slot(other))));
            }
        }
        self.moves.retain(|(rank, berth)| layout.berth_of()[*rank] != *berth);
    }

    /// Some ranks of one job on one node change places with as many of one other node.
    fn group(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let here = self.node_of[layout.slot(rank)] as usize;
        let there = random.below(self.nodes.len());
        let count = 2 + random.below(self.most - self.most / 2);
        if here == there {
            return;
        }
        let job = self.job_of[rank];
        let slots = rotated(self.nodes[here].clone(), layout.slot(rank));
        let of_job = |slot: &usize| {
            let ranks = layout.ranks_at(*slot);
            ranks.len() == 1 && self.job_of[ranks[0] as usize] == job
        };
        let ours: Vec<usize> = slots.filter(of_job).take(count).collect();
        let offset = self.nodes[there].start + random.below(self.nodes[there].len());
        let mut theirs = rotated(self.nodes[there].clone(), offset);
        // Whoever is there, all of one other job, or nobody.
        let wanted = layout.ranks_at(offset).first().map(|other| self.job_of[*other as usize]);
        let is_wanted = |slot: &usize| {
            let found = layout.ranks_at(*slot).first().map(|other| self.job_of[*other as usize]);
            found == wanted
        };
        for slot in ours {
            let Some(other) = theirs.find(is_wanted) else {
                return;
            };
            exchange(&mut self.moves, layout, slot, other);
        }
    }

    /// Ranks that follow each other in one job go to one node.
    fn run(&mut self, layout: &Layout, random: &mut Generator, rank: usize) {
        let there = random.below(self.nodes.len());
        let count = 2 + random.below(self.most - self.most / 2);
        let offset = self.nodes[there].start + random.below(self.nodes[there].len());
        let mut theirs = rotated(self.nodes[there].clone(), offset);
        let last = self.job_of.len().min(rank + count);
        for next in rank..last {
            let slot = layout.slot(next);
            if self.job_of[next] != self.job_of[rank] {
                return;
            }
            if self.node_of[slot] as usize == there || layout.ranks_at(slot).len() != 1 {
                continue;
            }
            let beside = |slot: &usize| {
                let other = layout.ranks_at(*slot).first().map(|other| *other as usize);
                other.is_none_or(|other| !(rank..last).contains(&other))
            };
            let Some(other) = theirs.find(beside) else {
                return;
            };
            exchange(&mut self.moves, layout, slot, other);
        }
    }
}

/// The only rank of a slot changes places with the only one of another, or goes there.
fn exchange(moves: &mut Vec<(usize, usize)>, layout: &Layout, from: usize, to: usize) {
    let rank = layout.ranks_at(from)[0] as usize;
    let like = |rank: usize, slot| (rank, layout.berths().alike(layout.berth_of()[rank], slot));
    match *layout.ranks_at(to) {
        [] if layout.has_room(to, rank) => moves.push(like(rank, to)),
        [other] if layout.can_swap(rank, other as usize) => {
            moves.extend([like(rank, to), like(other as usize, from)]);
        }
        _ => (),
    }
}

/// The berth that a rank takes at another slot: one like its own, or where it is free to choose
/// every other time any.
fn berth_of_new(layout: &Layout, random: &mut Generator, rank: usize, slot: usize) -> usize {
    let berths = layout.berths();
    if berths.is_choice() && berths.group(rank).is_none() && random.below(2) == 0 {
        return berths.at(slot, random.below(berths.count(slot)));
    }
    berths.alike(layout.berth_of()[rank], slot)
}

/// A range from one of its members to the end, then from its beginning.
fn rotated(range: std::ops::Range<usize>, first: usize) -> impl Iterator<Item = usize> {
    (first..range.end).chain(range.start..first)
}

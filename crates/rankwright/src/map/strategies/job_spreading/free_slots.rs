//! The slots that are free while jobs are mapped one after the other.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::ids::SlotId;
use crate::map::Problem;

/// The free slots on each node and beside each of its memories, and how many ranks of the job that is
/// being mapped each node has.
///
/// Free is counted in units of load: a slot counts as its share, which is 1 unless slots are shared
/// ([`Problem::sharing`]), and is free until it holds its share. Nodes are positions among the nodes
/// that have slots.
#[derive(Debug)]
pub(super) struct FreeSlots<'a> {
    problem: &'a Problem<'a>,
    nodes: Vec<Node>,
    /// Nodes with something free, the next to be selected first.
    order: BTreeSet<Key>,
    /// Units of load on all nodes.
    free: u64,
    /// Units of load on the largest node before any rank was mapped.
    largest: u64,
    /// How many ranks of the job a node should have at most.
    threshold: u64,
    /// Nodes that have ranks of the job, positions in `nodes`.
    touched: Vec<usize>,
}

/// The ranks of the job, or 0 below the threshold; what is free; the node.
type Key = (u64, Reverse<u64>, usize);

#[derive(Debug)]
struct Node {
    /// Units of load.
    free: u64,
    memories: Vec<Memory>,
    /// Ranks of the job.
    ranks: u64,
}

#[derive(Debug)]
struct Memory {
    /// Units of load.
    free: u64,
    /// The slots beside it, in the order in which they fill.
    slots: Vec<SlotId>,
    /// The position of the first free slot in `slots`.
    next: usize,
    /// Units of load that this slot holds already.
    filled: u64,
}

/// Which memory of a node takes a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// That of the first free slot.
    First,
    /// That with most free; of several the first.
    Spread,
}

impl<'a> FreeSlots<'a> {
    /// All slots of the problem are free.
    pub(super) fn new(problem: &'a Problem<'a>) -> Self {
        let node = |slots: Range<usize>| {
            let memories = memories(problem, slots);
            Node { free: memories.iter().map(|memory| memory.free).sum(), memories, ranks: 0 }
        };
        let nodes: Vec<Node> = problem.slots_of_nodes().into_iter().map(node).collect();
        let keys = nodes.iter().enumerate().map(|(index, node)| (0, Reverse(node.free), index));
        Self {
            problem,
            order: keys.collect(),
            free: nodes.iter().map(|node| node.free).sum(),
            largest: nodes.iter().map(|node| node.free).max().unwrap_or(0),
            threshold: u64::MAX,
            touched: Vec::new(),
            nodes,
        }
    }

    /// How many nodes have slots.
    pub(super) fn node_count(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// The slots of the largest node, free or not.
    pub(super) fn largest_node(&self) -> u64 {
        self.largest
    }

    /// `IdleCores_avg`: what is free on a node, averaged over the nodes with something free.
    pub(super) fn mean_free(&self) -> f64 {
        if self.order.is_empty() { 0.0 } else { self.free as f64 / self.order.len() as f64 }
    }

    /// Begins a job of which a node should have at most `threshold` ranks.
    pub(super) fn begin_job(&mut self, threshold: Option<u64>) {
        for node in std::mem::take(&mut self.touched) {
            self.change(node, |node| node.ranks = 0);
        }
        self.threshold = threshold.unwrap_or(u64::MAX).max(1);
    }

    /// Whether a node has something free and fewer ranks of the job than the threshold.
    pub(super) fn welcomes(&self, node: usize) -> bool {
        self.nodes[node].free > 0 && self.nodes[node].ranks < self.threshold
    }

    /// The node with most free among those below the threshold; if there is none, the one with the
    /// fewest ranks of the job, of several the one with most free. Of equals the first. `None` if
    /// nothing is free.
    pub(super) fn select(&self) -> Option<usize> {
        self.order.first().map(|(_, _, node)| *node)
    }

    /// Puts a rank on a node that has something free. Returns its slot.
    pub(super) fn take(&mut self, node: usize, load: u64, sockets: Sockets) -> SlotId {
        let share = self.problem.share();
        if self.nodes[node].ranks == 0 {
            self.touched.push(node);
        }
        let (mut slot, mut taken) = (SlotId(0), 0);
        self.change(node, |node| {
            let Some(memory) = node.choose(sockets) else { return };
            (slot, taken) = (memory.slots[memory.next], load.min(share - memory.filled));
            memory.filled += taken;
            memory.free -= taken;
            if memory.filled >= share {
                memory.next += 1;
                memory.filled = 0;
            }
            node.free -= taken;
            node.ranks += 1;
        });
        self.free -= taken;
        slot
    }

    fn key(&self, index: usize) -> Key {
        let node = &self.nodes[index];
        let above = if node.ranks < self.threshold { 0 } else { node.ranks };
        (above, Reverse(node.free), index)
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Node)) {
        let before = self.key(index);
        self.order.remove(&before);
        change(&mut self.nodes[index]);
        if self.nodes[index].free > 0 {
            let after = self.key(index);
            self.order.insert(after);
        }
    }
}

impl Node {
    fn choose(&mut self, sockets: Sockets) -> Option<&mut Memory> {
        let free = self.memories.iter_mut().filter(|memory| memory.free > 0);
        match sockets {
            Sockets::First => free.min_by_key(|memory| memory.slots[memory.next]),
            // Of equal ones `min_by_key` gives the first.
            Sockets::Spread => free.min_by_key(|memory| Reverse(memory.free)),
        }
    }
}

/// The slots of a node by the memory beside their first core, lowest L# first.
fn memories(problem: &Problem, slots: Range<usize>) -> Vec<Memory> {
    let numa = |slot: &usize| {
        let slot = &problem.slots()[*slot];
        problem.cluster.machine(slot.node).cores[slot.cores[0].index()].numa
    };
    let mut ordered: Vec<usize> = slots.collect();
    ordered.sort_by_key(numa);
    let memory = |slots: &[usize]| Memory {
        free: problem.share().saturating_mul(slots.len() as u64),
        slots: slots.iter().copied().map(SlotId::from_index).collect(),
        next: 0,
        filled: 0,
    };
    ordered.chunk_by(|a, b| numa(a) == numa(b)).map(memory).collect()
}

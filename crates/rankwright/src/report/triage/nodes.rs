//! A quick search for ranks that should share a node: nodes are filled one after the other with the
//! rank that exchanges most with those already in it, then ranks of different nodes are swapped.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::partners::Partners;

/// The largest number of partners that the search looks at. It limits the time for any traffic and
/// keeps the result independent of the machine.
const MOST_STEPS: usize = 20_000_000;

/// Number of passes over all ranks for exchanges.
const PASSES: usize = 4;

/// A placement of ranks on equal nodes.
pub(super) struct Nodes {
    /// By rank: its node.
    node_of: Vec<usize>,
    /// Number of ranks per node.
    capacity: usize,
}

impl Nodes {
    /// Block order.
    pub(super) fn in_order(ranks: usize, capacity: usize) -> Self {
        Self { node_of: (0..ranks).map(|rank| rank / capacity).collect(), capacity }
    }

    /// The result of the search.
    pub(super) fn searched(partners: &Partners, capacity: usize) -> Self {
        let mut nodes = Self::filled(partners, capacity);
        let mut steps = 0;
        for _ in 0..PASSES {
            if !nodes.exchange(partners, &mut steps) || steps > MOST_STEPS {
                break;
            }
        }
        nodes
    }

    /// The share of the traffic that stays within nodes, 0 to 1.
    pub(super) fn share_within(&self, partners: &Partners) -> f64 {
        let within = |rank: usize| -> f64 {
            let same =
                |(partner, _): &&(u32, f64)| self.node_of[*partner as usize] == self.node_of[rank];
            partners.of(rank).iter().filter(same).map(|(_, amount)| amount).sum()
        };
        (0..partners.ranks()).map(within).sum::<f64>() / partners.total()
    }

    /// The expected share for a random placement: the chance of two ranks to share a node.
    pub(super) fn share_at_random(ranks: usize, capacity: usize) -> f64 {
        let pairs = |ranks: usize| (ranks as f64) * (ranks as f64 - 1.0);
        let full = (ranks / capacity) as f64;
        (full * pairs(capacity) + pairs(ranks % capacity)) / pairs(ranks)
    }

    fn filled(partners: &Partners, capacity: usize) -> Self {
        const NOWHERE: usize = usize::MAX;
        let ranks = partners.ranks();
        let mut node_of = vec![NOWHERE; ranks];
        // By rank: the traffic with all placed ranks, and with those of this node.
        let mut placed = vec![0.0; ranks];
        let mut here = vec![0.0; ranks];
        // The next node begins with the rank that exchanges most with the nodes before.
        let mut edge: BinaryHeap<Candidate> = BinaryHeap::new();
        let mut unplaced = 0;
        for node in 0..ranks.div_ceil(capacity) {
            let mut near: BinaryHeap<Candidate> = BinaryHeap::new();
            here.fill(0.0);
            for _ in 0..capacity {
                let best = |heap: &mut BinaryHeap<Candidate>, amounts: &[f64]| loop {
                    let Candidate { amount, rank: Reverse(rank) } = heap.pop()?;
                    let current = amount.total_cmp(&amounts[rank]) == Ordering::Equal;
                    if node_of[rank] == NOWHERE && current {
                        return Some(rank);
                    }
                };
                let next = best(&mut near, &here).or_else(|| best(&mut edge, &placed));
                let next = next.or_else(|| {
                    while unplaced < ranks && node_of[unplaced] != NOWHERE {
                        unplaced += 1;
                    }
                    (unplaced < ranks).then_some(unplaced)
                });
                let Some(rank) = next else { break };
                node_of[rank] = node;
                for (partner, amount) in partners.of(rank) {
                    let partner = *partner as usize;
                    placed[partner] += amount;
                    here[partner] += amount;
                    if node_of[partner] == NOWHERE {
                        edge.push(Candidate { amount: placed[partner], rank: Reverse(partner) });
                        near.push(Candidate { amount: here[partner], rank: Reverse(partner) });
                    }
                }
            }
        }
        Self { node_of, capacity }
    }

    /// Swaps each rank with one of the node that it exchanges most with, if that keeps more traffic
    /// within nodes. Returns whether any ranks were swapped.
    fn exchange(&mut self, partners: &Partners, steps: &mut usize) -> bool {
        let ranks = partners.ranks();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); ranks.div_ceil(self.capacity)];
        for (rank, node) in self.node_of.iter().enumerate() {
            members[*node].push(rank);
        }
        let mut with_node = vec![0.0; members.len()];
        let mut any = false;
        for rank in 0..ranks {
            let mine = self.node_of[rank];
            for (partner, amount) in partners.of(rank) {
                with_node[self.node_of[*partner as usize]] += amount;
            }
            let other = |(partner, _): &(u32, f64)| self.node_of[*partner as usize];
            let wanted = partners.of(rank).iter().map(other).filter(|node| *node != mine);
            let wanted = wanted.reduce(|best, node| {
                let better = with_node[node].total_cmp(&with_node[best]).then(best.cmp(&node));
                if better == Ordering::Greater { node } else { best }
            });
            if let Some(wanted) = wanted.filter(|node| with_node[*node] > with_node[mine]) {
                let gain_here = with_node[wanted] - with_node[mine];
                let gain = |place: usize| {
                    let member = members[wanted][place];
                    let to = |node: usize| -> f64 {
                        let in_node =
                            |(partner, _): &&(u32, f64)| self.node_of[*partner as usize] == node;
                        partners.of(member).iter().filter(in_node).map(|(_, amount)| amount).sum()
                    };
                    gain_here + to(mine) - to(wanted) - 2.0 * partners.between(rank, member)
                };
                let gains = (0..members[wanted].len()).map(|place| (place, gain(place)));
                let best = gains.reduce(|best, next| if next.1 > best.1 { next } else { best });
                *steps += members[wanted].iter().map(|m| partners.of(*m).len()).sum::<usize>();
                // Rounding errors must not swap two ranks again and again.
                if let Some((place, _)) = best.filter(|(_, gain)| *gain > 1e-9 * gain_here) {
                    let member = members[wanted][place];
                    members[wanted][place] = rank;
                    let place = members[mine].iter().position(|member| *member == rank);
                    members[mine][place.expect("each is in its node")] = member;
                    (self.node_of[rank], self.node_of[member]) = (wanted, mine);
                    any = true;
                }
            }
            with_node.fill(0.0);
            *steps += partners.of(rank).len() + with_node.len();
            if *steps > MOST_STEPS {
                break;
            }
        }
        any
    }
}

/// A rank that may come next; the largest amount first, then the lowest rank.
#[derive(PartialEq)]
struct Candidate {
    amount: f64,
    rank: Reverse<usize>,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.total_cmp(&other.amount).then(self.rank.cmp(&other.rank))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

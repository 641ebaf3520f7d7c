//! The messages that belong to no multicast, and what changes if one of their ranks moves.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::server_sums::{Offered, ServerSums};
use super::setup::{MOST_ENDS, Setup};
use super::ticks::Ticks;
use crate::estimate::tick::Tick;
use crate::ids::GlobalRank;
use crate::network::{LocalCost, OUTSIDE, SingleClock, Site, Sites};

/// All single messages from one rank to another whose clocks have one end.
#[derive(Debug, Clone)]
pub(super) struct PairMessages {
    from: GlobalRank,
    /// A rank, or [`OUTSIDE`].
    to: GlobalRank,
    /// Index in [`ClockGroups::ends`](crate::network::ClockGroups::ends).
    end: usize,
    sum: MessageSum,
    /// Positions in [`SingleMessages::parts`].
    parts: Range<usize>,
    /// Index in the rows of [`SingleMessages::inside`]; `None` for messages of one length.
    column: Option<usize>,
}

/// All single messages of a workload.
#[derive(Debug, Clone, Default)]
pub(super) struct SingleMessages {
    pub(super) pairs: Vec<PairMessages>,
    /// The messages of each pair by length, which matters inside a node only.
    parts: Vec<Part>,
    /// How many messages one tick of all single clocks sends.
    pub(super) per_tick: usize,
    /// The cost class of each pair of sites of one node; messages cost the same in all pairs of a
    /// class. Indices: site, position of the other site in its node. Empty if no pair of ranks has
    /// messages of several lengths.
    cost_classes: Vec<Vec<usize>>,
    /// What pairs of ranks with messages of several lengths offer to the memory of the sender inside
    /// a node: searches ask for it in nearly every step. Indices: cost class,
    /// [`PairMessages::column`].
    inside: Vec<Vec<Offered>>,
}

/// Messages of one length.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Index in [`ClockGroups::lengths`](crate::network::ClockGroups::lengths).
    length: usize,
    /// The number of messages.
    count: f64,
}

/// A sum of messages over the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct MessageSum {
    messages: f64,
    bytes: f64,
    /// The sum of the squares of the messages' bytes.
    squares: f64,
}

/// The single messages of one rank.
#[derive(Debug, Clone, Default)]
pub(super) struct RankMessages {
    /// One entry for each [`PairMessages`] of the rank.
    pairs: Vec<Peer>,
    by_end: ByEnd,
}

/// The other end of the messages of a pair.
#[derive(Debug, Clone, Copy)]
struct Peer {
    /// A rank, or [`OUTSIDE`].
    rank: GlobalRank,
    /// Index in [`SingleMessages::pairs`].
    pair: u32,
}

/// The messages that a rank sends and receives.
#[derive(Debug, Clone, Copy, Default)]
struct Exchanged {
    sent: MessageSum,
    received: MessageSum,
}

/// Index: as [`ClockGroups::ends`](crate::network::ClockGroups::ends).
type ByEnd = [Exchanged; MOST_ENDS];

impl SingleMessages {
    /// `lengths`: bytes by length index.
    pub(super) fn new(singles: &[SingleClock], lengths: &[f64], sites: &Sites) -> Self {
        let mut sends: BTreeMap<(GlobalRank, GlobalRank, usize), BTreeMap<usize, f64>> =
            BTreeMap::new();
        for SingleClock { clock, sender, sends: of_tick } in singles {
            for send in of_tick {
                let parts = sends.entry((*sender, send.rank, clock.end)).or_default();
                *parts.entry(send.length as usize).or_default() += clock.rounds;
            }
        }
        let per_tick = singles.iter().map(|single| single.sends.len()).sum();
        let (mut messages, mut columns) = (Self { per_tick, ..Self::default() }, 0);
        for ((from, to, end), by_length) in sends {
            let mut sum = MessageSum::default();
            for (length, count) in &by_length {
                let bytes = lengths[*length];
                let (bytes, squares) = (count * bytes, count * bytes * bytes);
                sum.add(&MessageSum { messages: *count, bytes, squares }, 1.0);
            }
            let first = messages.parts.len();
            let part = |(length, count)| Part { length, count };
            messages.parts.extend(by_length.into_iter().map(part));
            let parts = first..messages.parts.len();
            let column = (parts.len() > 1).then_some(columns);
            columns += usize::from(column.is_some());
            messages.pairs.push(PairMessages { from, to, end, sum, parts, column });
        }
        if columns > 0 {
            messages.count_inside(sites);
        }
        messages
    }

    fn count_inside(&mut self, sites: &Sites) {
        let (cost_classes, examples) = cost_classes(sites);
        let inside = |(site, other): &(usize, usize)| {
            let several = self.pairs.iter().filter(|pair| pair.column.is_some());
            several
                .map(|pair| self.inside(pair, |length| sites.local(length, *site)[*other]))
                .collect()
        };
        self.inside = examples.iter().map(inside).collect();
        self.cost_classes = cost_classes;
    }

    fn parts_of(&self, pair: &PairMessages) -> &[Part] {
        &self.parts[pair.parts.clone()]
    }

    /// What messages to a rank of the same node offer to the memory of the sender; `cost` takes the
    /// index of a length.
    fn inside(&self, pair: &PairMessages, cost: impl Fn(usize) -> LocalCost) -> Offered {
        let mut offered = Offered::default();
        for Part { length, count } in self.parts_of(pair) {
            let local = cost(*length);
            if local.first > 0.0 {
                let (accesses, work) = (1.0 + local.rest_count, local.first + local.rest);
                offered.add(Offered::new(*count, accesses, work, work));
            }
        }
        offered
    }
}

impl MessageSum {
    fn add(&mut self, other: &Self, sign: f64) {
        self.messages += sign * other.messages;
        self.bytes += sign * other.bytes;
        self.squares += sign * other.squares;
    }

    /// What these messages offer to a server that a `share` of them passes, with a service of `time`
    /// seconds per byte; taken away if `sign` is -1.
    fn at(&self, sign: f64, share: f64, time: f64) -> Offered {
        let share = sign * share;
        Offered {
            messages: share * self.messages,
            work: share * self.bytes * time,
            squares: share * self.squares * time * time,
        }
    }
}

impl RankMessages {
    /// Index: [`GlobalRank`].
    pub(super) fn by_rank(rank_count: usize, pairs: &[PairMessages]) -> Vec<Self> {
        let mut by_rank = vec![Self::default(); rank_count];
        for (number, messages) in (0..).zip(pairs) {
            let PairMessages { from, to, end, sum, .. } = messages;
            by_rank[from.index()].pairs.push(Peer { rank: *to, pair: number });
            by_rank[from.index()].by_end[*end].sent.add(sum, 1.0);
            if *to != OUTSIDE {
                by_rank[to.index()].pairs.push(Peer { rank: *from, pair: number });
                by_rank[to.index()].by_end[*end].received.add(sum, 1.0);
            }
        }
        by_rank
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// Index of `site_of`: [`GlobalRank`].
impl Setup {
    /// Adds all that the messages of a pair offer.
    pub(super) fn add_pair(
        &self,
        sums: &mut ServerSums,
        ticks: Option<&mut Ticks>,
        pair: &PairMessages,
        site_of: &[u32],
    ) {
        let from = site_of[pair.from.index()];
        if let Some(ticks) = ticks {
            let sent = self.sent(pair, from, site_of.get(pair.to.index()));
            ticks.sum_of(pair.from, pair.end).add_times(1.0, &sent);
        }
        sums.totals.far += self.far_core_time(pair, from, site_of.get(pair.to.index()));
        let sender = &self.sites.sites[from as usize];
        if pair.to == OUTSIDE {
            return add_outward(sums, sender, &pair.sum, pair.end, 1.0);
        }
        let to = site_of[pair.to.index()];
        if sender.node != self.sites.sites[to as usize].node {
            add_outward(sums, sender, &pair.sum, pair.end, 1.0);
        }
        self.add_far_end(sums, pair, (from, to), true, 1.0);
    }

    /// Moves the single messages of a rank from one site to another. Messages between it and ranks
    /// on neither of the two nodes change nothing but what the rank's own servers are offered, and
    /// links: they are moved in one sum, so a move takes time for each rank of the two nodes only.
    pub(super) fn move_single_messages(
        &self,
        sums: &mut ServerSums,
        messages: &RankMessages,
        rank: GlobalRank,
        (from, to): (u32, u32),
        site_of: &[u32],
    ) {
        let sites = &self.sites;
        let (old, new) = (&sites.sites[from as usize], &sites.sites[to as usize]);
        let (old_node, new_node) = (&sites.nodes[old.node].sites, &sites.nodes[new.node].sites);
        let has_links = !sites.links.is_empty() && old.node != new.node;
        // The traffic of the rank out of its node and into it, before and after.
        let (mut before, mut after) = (messages.by_end, messages.by_end);
        for Peer { rank: peer, pair } in &messages.pairs {
            let pair = &self.singles.pairs[*pair as usize];
            let sends = pair.from == rank;
            let site = site_of.get(peer.index());
            if sites.has_far_core_times() {
                let far = |moved: u32| match (sends, site) {
                    (true, to) => self.far_core_time(pair, moved, to),
                    (false, from) => {
                        from.map_or(0.0, |from| self.far_core_time(pair, *from, Some(&moved)))
                    }
                };
                sums.totals.far += far(to) - far(from);
            }
            let Some(&site) = site else { continue };
            let was_near = old_node.contains(&(site as usize));
            let is_near = new_node.contains(&(site as usize));
            if !was_near && !is_near && !has_links {
                continue;
            }
            let ends = |moved: u32| if sends { (moved, site) } else { (site, moved) };
            if !was_near && !is_near {
                self.add_links(sums, ends(from), pair, -1.0);
                self.add_links(sums, ends(to), pair, 1.0);
                continue;
            }
            self.add_far_end(sums, pair, ends(from), sends, -1.0);
            self.add_far_end(sums, pair, ends(to), sends, 1.0);
            for (near, remote) in [(was_near, &mut before), (is_near, &mut after)] {
                if near {
                    let remote = &mut remote[pair.end];
                    let sum = if sends { &mut remote.sent } else { &mut remote.received };
                    sum.add(&pair.sum, -1.0);
                }
            }
        }
        for (site, remote, sign) in [(old, &before, -1.0), (new, &after, 1.0)] {
            for (end, Exchanged { sent, received }) in
                remote[..self.clocks.ends.len()].iter().enumerate()
            {
                add_outward(sums, site, sent, end, sign);
                add_inward(sums, site, received, end, sign);
            }
        }
    }

    /// Moves a rank from one site to another: what it sends and receives in the ticks of all clocks.
    pub(super) fn move_in_ticks(
        &self,
        ticks: &mut Ticks,
        messages: &RankMessages,
        rank: GlobalRank,
        (from, to): (u32, u32),
        site_of: &[u32],
    ) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        let (was, is) = (node(from), node(to));
        for end in 0..self.clocks.ends.len() {
            if messages.by_end[end].sent.messages > 0.0 {
                *ticks.sum_of(rank, end) = Tick::default();
            }
        }
        for Peer { rank: peer, pair } in &messages.pairs {
            let pair = &self.singles.pairs[*pair as usize];
            let site = site_of.get(peer.index());
            if pair.from == rank {
                ticks.sum_of(rank, pair.end).add_times(1.0, &self.sent(pair, to, site));
            } else if let Some(&site) = site
                && [was, is].contains(&node(site))
            {
                let sum = ticks.sum_of(*peer, pair.end);
                sum.add_times(-1.0, &self.sent(pair, site, Some(&from)));
                sum.add_times(1.0, &self.sent(pair, site, Some(&to)));
            }
        }
    }

    /// The messages of a pair between two sites in all ticks; `to` is `None` outside.
    fn sent(&self, pair: &PairMessages, from: u32, to: Option<&u32>) -> Tick {
        let sender = &self.sites.sites[from as usize];
        let mut sent = Tick::default();
        match to.filter(|to| self.sites.sites[**to as usize].node == sender.node) {
            Some(to) => {
                let other = *to as usize - self.sites.nodes[sender.node].sites.start;
                for Part { length, count } in self.singles.parts_of(pair) {
                    sent.add_local(*count, self.sites.local(*length, from as usize)[other]);
                }
            }
            None => sent.add_remote(pair.sum.messages, pair.sum.bytes, sender.memory_time),
        }
        sent
    }

    /// The core time that far devices cost the messages of a pair, seconds; `to` is `None` outside.
    fn far_core_time(&self, pair: &PairMessages, from: u32, to: Option<&u32>) -> f64 {
        let node = |site: u32| self.sites.sites[site as usize].node;
        if !self.sites.has_far_core_times() || to.is_some_and(|to| node(*to) == node(from)) {
            return 0.0;
        }
        let of_length = |length: usize| {
            let far = |site: u32| self.sites.far_core_time(length, site as usize);
            far(from) + to.map_or(0.0, |to| far(*to))
        };
        let parts = self.singles.parts_of(pair).iter();
        parts.map(|part| part.count * of_length(part.length)).sum()
    }

    /// Adds what the messages of a pair offer between two sites, without the servers at one end if
    /// they leave the node: the sender's servers if `at_receiver`, else the receiver's.
    fn add_far_end(
        &self,
        sums: &mut ServerSums,
        pair: &PairMessages,
        (from, to): (u32, u32),
        at_receiver: bool,
        sign: f64,
    ) {
        let (sender, receiver) = (&self.sites.sites[from as usize], &self.sites.sites[to as usize]);
        if sender.node == receiver.node {
            let other = to as usize - self.sites.nodes[sender.node].sites.start;
            let from = from as usize;
            let singles = &self.singles;
            let inside = match pair.column {
                Some(column) => singles.inside[singles.cost_classes[from][other]][column],
                None => singles.inside(pair, |length| self.sites.local(length, from)[other]),
            };
            if inside.messages > 0.0 {
                sums.add(sender.memory, pair.end, inside.times(sign));
            }
            return;
        }
        if at_receiver {
            add_inward(sums, receiver, &pair.sum, pair.end, sign);
        } else {
            add_outward(sums, sender, &pair.sum, pair.end, sign);
        }
        self.add_links(sums, (from, to), pair, sign);
    }

    fn add_links(
        &self,
        sums: &mut ServerSums,
        (from, to): (u32, u32),
        pair: &PairMessages,
        sign: f64,
    ) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        for link in self.sites.links_between(node(from), node(to)) {
            sums.add(link.server, pair.end, pair.sum.at(sign, 1.0, link.time));
        }
    }
}

/// The cost class of each pair of sites of one node, as [`SingleMessages::cost_classes`], and one pair
/// of each class: a site, and the position of the other in its node.
fn cost_classes(sites: &Sites) -> (Vec<Vec<usize>>, Vec<(usize, usize)>) {
    let mut class_of_costs: HashMap<Vec<[u64; 3]>, usize> = HashMap::new();
    let mut examples = Vec::new();
    let mut class = |site: usize, other: usize| {
        let costs = (0..sites.length_count()).map(|length| {
            let LocalCost { first, rest, rest_count, .. } = sites.local(length, site)[other];
            [first, rest, rest_count].map(f64::to_bits)
        });
        let next = examples.len();
        let class = *class_of_costs.entry(costs.collect()).or_insert(next);
        if class == next {
            examples.push((site, other));
        }
        class
    };
    let of_site = |(number, site): (usize, &Site)| {
        let others = 0..sites.nodes[site.node].sites.len();
        others.map(|other| class(number, other)).collect()
    };
    let classes = sites.sites.iter().enumerate().map(of_site).collect();
    (classes, examples)
}

/// Adds what messages that leave their node offer to its servers.
fn add_outward(sums: &mut ServerSums, from: &Site, messages: &MessageSum, end: usize, sign: f64) {
    if messages.messages == 0.0 {
        return;
    }
    sums.add(from.memory, end, messages.at(sign, 1.0, from.memory_time));
    for port in &from.ports {
        sums.add(port.out, end, messages.at(sign, port.share, port.time));
    }
}

/// Adds what messages from other nodes offer to the servers of their receiver's node.
fn add_inward(sums: &mut ServerSums, to: &Site, messages: &MessageSum, end: usize, sign: f64) {
    if messages.messages == 0.0 {
        return;
    }
    sums.add(to.memory, end, messages.at(sign, 1.0, to.memory_time));
    for port in &to.ports {
        sums.add(port.into, end, messages.at(sign, port.share, port.time));
    }
}

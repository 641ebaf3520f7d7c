//! Messages that belong to no fan, and what changes where one of their ranks moves.

use std::collections::{BTreeMap, HashMap};

use super::ledger::{Entry, Ledger};
use super::table::{MOST_ENDS, Table};
use crate::network::demand::{OUTSIDE, Single};
use crate::network::sites::{Local, Site, Sites};

/// All messages of a rank to another that belong to no fan and whose clocks stop at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lone {
    from: u32,
    /// Or [`OUTSIDE`].
    to: u32,
    end: usize,
    bulk: Bulk,
    /// The first of its parts in [`LoneMessages::parts`], and the one behind the last.
    first: usize,
    behind: usize,
    /// Its column in [`LoneMessages::inside`], if it has several parts.
    column: Option<usize>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(super) struct LoneMessages {
    pub(super) all: Vec<Lone>,
    /// Lengths, and how many messages of each: messages of one length are told apart from others
    /// inside a node only.
    parts: Vec<(usize, f64)>,
    /// How many messages one tick of all clocks sends.
    pub(super) of_a_tick: usize,
    /// Per site, then per site of the same node: which kind of pair they are. Messages of any length
    /// cost the same between pairs of one kind.
    kinds: Vec<Vec<usize>>,
    /// Per kind of pair those of several parts: what they offer to the memory of the sender there. Searches ask
    /// for it in nearly every step.
    inside: Vec<Vec<Entry>>,
}

/// Messages that all pass the same server: how many, their bytes, and the sum of the squares of those.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bulk {
    messages: f64,
    bytes: f64,
    squares: f64,
}

/// What a rank sends and receives beside fans.
#[derive(Debug, Clone, Default)]
pub(super) struct LoneOf {
    /// Who is at the other end, and the position in [`LoneMessages::all`].
    others: Vec<(u32, u32)>,
    all: ByEnd,
}

/// Messages of a rank by the end of their clocks: those that it sends, and those that it receives.
type ByEnd = [(Bulk, Bulk); MOST_ENDS];

impl LoneMessages {
    /// Of clocks without likes, with the bytes of each length.
    pub(super) fn new(singles: &[Single], lengths: &[f64], sites: &Sites) -> Self {
        let mut sends: BTreeMap<(u32, u32, usize), BTreeMap<usize, f64>> = BTreeMap::new();
        for Single { clock, sender, sends: of_tick } in singles {
            for send in of_tick {
                let parts = sends.entry((*sender, send.rank, clock.end)).or_default();
                *parts.entry(send.length as usize).or_default() += clock.rounds;
            }
        }
        let of_a_tick = singles.iter().map(|single| single.sends.len()).sum();
        let (mut messages, mut columns) = (Self { of_a_tick, ..Self::default() }, 0);
        for ((from, to, end), parts) in sends {
            let mut bulk = Bulk::default();
            for (length, count) in &parts {
                let bytes = lengths[*length];
                let (bytes, squares) = (count * bytes, count * bytes * bytes);
                bulk.add(&Bulk { messages: *count, bytes, squares }, 1.0);
            }
            let first = messages.parts.len();
            messages.parts.extend(parts);
            let behind = messages.parts.len();
            let column = (behind - first > 1).then_some(columns);
            columns += usize::from(column.is_some());
            messages.all.push(Lone { from, to, end, bulk, first, behind, column });
        }
        if columns > 0 {
            messages.count_inside(sites);
        }
        messages
    }

    fn count_inside(&mut self, sites: &Sites) {
        let (kinds, examples) = kinds_of_pairs(sites);
        let inside = |(from, other): &(usize, usize)| {
            let several = self.all.iter().filter(|lone| lone.column.is_some());
            several
                .map(|lone| self.inside(lone, |length| sites.local[length][*from][*other]))
                .collect()
        };
        self.inside = examples.iter().map(inside).collect();
        self.kinds = kinds;
    }

    /// Lengths, and how many messages of each.
    fn parts_of(&self, lone: &Lone) -> impl Iterator<Item = &(usize, f64)> {
        self.parts[lone.first..lone.behind].iter()
    }

    /// What messages to a rank of the same node offer to the memory of the sender; `of_length` says
    /// what one of a length does.
    fn inside(&self, lone: &Lone, of_length: impl Fn(usize) -> Local) -> Entry {
        let mut entry = Entry::default();
        for (length, count) in self.parts_of(lone) {
            let local = of_length(*length);
            if local.first > 0.0 {
                let (accesses, work) = (1.0 + local.rest_count, local.first + local.rest);
                entry.add(Entry::of(*count, accesses, work, work));
            }
        }
        entry
    }
}

impl Bulk {
    fn add(&mut self, other: &Self, sign: f64) {
        self.messages += sign * other.messages;
        self.bytes += sign * other.bytes;
        self.squares += sign * other.squares;
    }

    /// At a server that a share of them passes, in so many seconds per byte; taken away from it where
    /// the sign is negative.
    fn at(&self, sign: f64, share: f64, time: f64) -> Entry {
        let share = sign * share;
        Entry {
            messages: share * self.messages,
            work: share * self.bytes * time,
            squares: share * self.squares * time * time,
        }
    }
}

impl LoneOf {
    /// Per rank what it sends and receives.
    pub(super) fn of_all(ranks: usize, lone: &[Lone]) -> Vec<Self> {
        let mut of = vec![Self::default(); ranks];
        for (number, message) in (0..).zip(lone) {
            let Lone { from, to, end, bulk, .. } = message;
            of[*from as usize].others.push((*to, number));
            of[*from as usize].all[*end].0.add(bulk, 1.0);
            if *to != OUTSIDE {
                of[*to as usize].others.push((*from, number));
                of[*to as usize].all[*end].1.add(bulk, 1.0);
            }
        }
        of
    }

    pub(super) fn is_empty(&self) -> bool {
        self.others.is_empty()
    }
}

impl Table {
    /// All that a lone message offers.
    pub(super) fn add_lone(&self, ledger: &mut Ledger, lone: &Lone, site_of: &[u32]) {
        let from = site_of[lone.from as usize];
        ledger.far += self.far(lone, from, site_of.get(lone.to as usize));
        let sender = &self.sites.sites[from as usize];
        if lone.to == OUTSIDE {
            return add_outward(ledger, sender, &lone.bulk, lone.end, 1.0);
        }
        let to = site_of[lone.to as usize];
        if sender.node != self.sites.sites[to as usize].node {
            add_outward(ledger, sender, &lone.bulk, lone.end, 1.0);
        }
        self.add_beside(ledger, lone, (from, to), true, 1.0);
    }

    /// A rank moves from one site to another. Messages between it and ranks that are on neither of
    /// the two nodes change nothing but what the rank's own servers are offered, and links: they are
    /// moved in one sum, so a move takes time for each rank of the two nodes only.
    pub(super) fn move_lone(
        &self,
        ledger: &mut Ledger,
        of_rank: &LoneOf,
        rank: usize,
        (from, to): (u32, u32),
        site_of: &[u32],
    ) {
        let sites = &self.sites;
        let (here, there) = (&sites.sites[from as usize], &sites.sites[to as usize]);
        let (near_here, near_there) =
            (sites.nodes[here.node].clone(), sites.nodes[there.node].clone());
        let has_links = !sites.links.is_empty() && here.node != there.node;
        // What leaves and enters the rank's node, before and after.
        let (mut before, mut after) = (of_rank.all, of_rank.all);
        for (other, number) in &of_rank.others {
            let lone = &self.lone.all[*number as usize];
            let sends = lone.from as usize == rank;
            let site = site_of.get(*other as usize);
            if self.sites.has_far {
                let far = |own: u32| match (sends, site) {
                    (true, to) => self.far(lone, own, to),
                    (false, from) => from.map_or(0.0, |from| self.far(lone, *from, Some(&own))),
                };
                ledger.far += far(to) - far(from);
            }
            let Some(&site) = site else { continue };
            let was_near = near_here.contains(&(site as usize));
            let is_near = near_there.contains(&(site as usize));
            if !was_near && !is_near && !has_links {
                continue;
            }
            let sites = |own: u32| if sends { (own, site) } else { (site, own) };
            if !was_near && !is_near {
                self.add_links(ledger, sites(from), lone, -1.0);
                self.add_links(ledger, sites(to), lone, 1.0);
                continue;
            }
            self.add_beside(ledger, lone, sites(from), sends, -1.0);
            self.add_beside(ledger, lone, sites(to), sends, 1.0);
            for (near, remote) in [(was_near, &mut before), (is_near, &mut after)] {
                if near {
                    let (sent, received) = &mut remote[lone.end];
                    let bulk = if sends { sent } else { received };
                    bulk.add(&lone.bulk, -1.0);
                }
            }
        }
        for (site, remote, sign) in [(here, before, -1.0), (there, after, 1.0)] {
            for (end, (sent, received)) in remote.iter().enumerate() {
                add_outward(ledger, site, sent, end, sign);
                add_inward(ledger, site, received, end, sign);
            }
        }
    }

    /// How much longer cores have to do with a message because of where devices are, seconds; `to` is
    /// `None` outside.
    fn far(&self, lone: &Lone, from: u32, to: Option<&u32>) -> f64 {
        let node = |site: u32| self.sites.sites[site as usize].node;
        if !self.sites.has_far || to.is_some_and(|to| node(*to) == node(from)) {
            return 0.0;
        }
        let of_length = |length: usize| {
            let far = &self.sites.far[length];
            far[from as usize] + to.map_or(0.0, |to| far[*to as usize])
        };
        self.lone.parts_of(lone).map(|(length, count)| count * of_length(*length)).sum()
    }

    /// What a message between two sites offers, but for the servers at one of its ends where it leaves
    /// its node: those of the sender, or else those of the receiver.
    fn add_beside(
        &self,
        ledger: &mut Ledger,
        lone: &Lone,
        (from, to): (u32, u32),
        sender_known: bool,
        sign: f64,
    ) {
        let (sender, receiver) = (&self.sites.sites[from as usize], &self.sites.sites[to as usize]);
        if sender.node == receiver.node {
            let other = to as usize - self.sites.nodes[sender.node].start;
            let from = from as usize;
            let inside = match lone.column {
                Some(column) => self.lone.inside[self.lone.kinds[from][other]][column],
                None => self.lone.inside(lone, |length| self.sites.local[length][from][other]),
            };
            if inside.messages > 0.0 {
                ledger.add(sender.memory, lone.end, inside.times(sign));
            }
            return;
        }
        if sender_known {
            add_inward(ledger, receiver, &lone.bulk, lone.end, sign);
        } else {
            add_outward(ledger, sender, &lone.bulk, lone.end, sign);
        }
        self.add_links(ledger, (from, to), lone, sign);
    }

    fn add_links(&self, ledger: &mut Ledger, (from, to): (u32, u32), lone: &Lone, sign: f64) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        for (server, time) in self.links(node(from), node(to)) {
            ledger.add(server, lone.end, lone.bulk.at(sign, 1.0, time));
        }
    }
}

/// The kind of each pair of sites of a node, per site and site of its node, and of each kind the first pair.
fn kinds_of_pairs(sites: &Sites) -> (Vec<Vec<usize>>, Vec<(usize, usize)>) {
    let mut known: HashMap<Vec<[u64; 3]>, usize> = HashMap::new();
    let mut examples = Vec::new();
    let mut kind = |from: usize, other: usize| {
        let costs = sites.local.iter().map(|of_sites| {
            let Local { first, rest, rest_count } = of_sites[from][other];
            [first, rest, rest_count].map(f64::to_bits)
        });
        let next = examples.len();
        let kind = *known.entry(costs.collect()).or_insert(next);
        if kind == next {
            examples.push((from, other));
        }
        kind
    };
    let of_site = |(from, site): (usize, &Site)| {
        let others = 0..sites.nodes[site.node].len();
        others.map(|other| kind(from, other)).collect()
    };
    let kinds = sites.sites.iter().enumerate().map(of_site).collect();
    (kinds, examples)
}

/// What messages that leave their node offer to its servers.
fn add_outward(ledger: &mut Ledger, from: &Site, bulk: &Bulk, end: usize, sign: f64) {
    if bulk.messages == 0.0 {
        return;
    }
    ledger.add(from.memory, end, bulk.at(sign, 1.0, from.memory_time));
    for port in &from.ports {
        ledger.add(port.out, end, bulk.at(sign, port.share, port.time));
    }
}

/// What messages from other nodes offer to the servers of theirs.
fn add_inward(ledger: &mut Ledger, to: &Site, bulk: &Bulk, end: usize, sign: f64) {
    if bulk.messages == 0.0 {
        return;
    }
    ledger.add(to.memory, end, bulk.at(sign, 1.0, to.memory_time));
    for port in &to.ports {
        ledger.add(port.into, end, bulk.at(sign, port.share, port.time));
    }
}

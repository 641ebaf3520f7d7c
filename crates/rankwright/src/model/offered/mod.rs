//! The load that a placement offers to every server, kept up to date while ranks move: the cheap
//! judge of a search.

mod ledger;

use super::demand::{Demand, Fan, OUTSIDE};
use super::sites::{Local, Site, Sites};
use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::placement::{PlacementError, RankPlacement, ServerKind, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;
use ledger::{Entry, Ledger};

/// The load offered to the servers of a cluster, and an estimate of how long messages wait.
///
/// A server is offered work at a steady rate between two times at which clocks stop. In such a phase of
/// D seconds its backlog grows or falls along a line; messages find B seconds of it on average, and
/// chance makes them wait (√(x² + q) - x) / 2 longer, with x the larger of B and half of what the
/// backlog would change by without an end at nothing, and q the sum of the squares of the work that
/// comes at once in the phase. Where one phase is well overloaded that is half the backlog left at its
/// end, where it is not the Pollaczek-Khinchine formula. Every server is taken for itself: that servers
/// before it hold messages up is left out. Queue pairs and their processing hardware belong to
/// ranks, wherever they are, and are left out too.
///
/// Only ranks with clocks ([`Job::sources`](crate::traffic::Job::sources)) count.
#[derive(Debug, Clone)]
pub struct OfferedLoad {
    table: Table,
    /// Per rank, the fans it is in, and whether it sends.
    fans_of: Vec<Vec<(u32, bool)>>,
    /// Per rank, positions in the table's lone messages.
    lone_of: Vec<Vec<u32>>,
    slot_of: Vec<usize>,
    site_of: Vec<u32>,
    counts: Vec<FanCount>,
    ledger: Ledger,
    /// Who moved in the last change, and which slot each had before.
    moved: Vec<(usize, usize)>,
}

/// What does not depend on the placement.
#[derive(Debug, Clone)]
struct Table {
    demand: Demand,
    sites: Sites,
    /// Bytes.
    lengths: Vec<f64>,
    lone: Vec<Lone>,
}

/// A message of every tick that belongs to no fan.
#[derive(Debug, Clone, Copy)]
struct Lone {
    from: u32,
    to: u32,
    length: usize,
    ticks: f64,
    end: usize,
}

/// How many ranks and senders of a fan are at each site and node.
#[derive(Debug, Clone)]
struct FanCount {
    ranks: Vec<f64>,
    senders: Vec<f64>,
    node_ranks: Vec<f64>,
    node_senders: Vec<f64>,
}

/// Ends of clocks that are told apart.
const MOST_ENDS: usize = 8;

impl OfferedLoad {
    /// The load of a workload whose rank r, counted over all jobs, is at `slots[slot_of[r]]`.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    ///
    /// # Panics
    /// If `slot_of` does not have one slot for each rank.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
        slot_of: &[usize],
    ) -> Result<Self, PlacementError> {
        assert_eq!(slot_of.len(), workload.rank_count(), "one slot for each rank");
        let demand = Demand::new(workload, MOST_ENDS);
        let places: Vec<RankPlacement> = slots.iter().map(Slot::place).collect();
        let sites = Sites::new(cluster, &places, &demand.lengths)?;
        let lengths = demand.lengths.iter().map(|length| *length as f64).collect();
        let mut lone = Vec::new();
        let mut lone_of = vec![Vec::new(); demand.ranks];
        for single in &demand.singles {
            for send in &single.sends {
                let (from, to) = (single.sender, send.rank);
                lone_of[from as usize].push(lone.len() as u32);
                if to != OUTSIDE {
                    lone_of[to as usize].push(lone.len() as u32);
                }
                let (ticks, end) = (single.clock.rounds, single.clock.end);
                lone.push(Lone { from, to, length: send.length as usize, ticks, end });
            }
        }
        let mut fans_of = vec![Vec::new(); demand.ranks];
        for (number, fan) in (0..).zip(&demand.fans) {
            for rank in &fan.ranks {
                fans_of[*rank as usize].push((number, fan.senders.contains(rank)));
            }
        }
        let ledger = Ledger::new(sites.kinds.len(), &demand.ends);
        let counts = vec![FanCount::new(&sites); demand.fans.len()];
        let mut load = Self {
            table: Table { demand, sites, lengths, lone },
            fans_of,
            lone_of,
            slot_of: slot_of.to_vec(),
            site_of: Vec::new(),
            counts,
            ledger,
            moved: Vec::new(),
        };
        load.count_all();
        Ok(load)
    }

    /// Counts another placement from the beginning, or the same one: sums are then as exact as at the
    /// first time. There is nothing to take back.
    ///
    /// # Panics
    /// If `slot_of` does not have one slot for each rank.
    pub fn restart(&mut self, slot_of: &[usize]) {
        assert_eq!(slot_of.len(), self.slot_of.len(), "one slot for each rank");
        self.slot_of.copy_from_slice(slot_of);
        self.counts.fill(FanCount::new(&self.table.sites));
        let (servers, ends) = (self.table.sites.kinds.len(), &self.table.demand.ends);
        self.ledger = Ledger::new(servers, ends);
        self.moved.clear();
        self.count_all();
    }

    fn count_all(&mut self) {
        let table = &self.table;
        self.site_of = self.slot_of.iter().map(|slot| table.sites.of_place[*slot]).collect();
        for (rank, fans) in self.fans_of.iter().enumerate() {
            for (fan, sends) in fans {
                let site = self.site_of[rank] as usize;
                self.counts[*fan as usize].add(&table.sites, site, 1.0, *sends);
            }
        }
        self.ledger.begin();
        for (fan, count) in table.demand.fans.iter().zip(&self.counts) {
            for node in 0..table.sites.nodes.len() {
                table.add_fan(&mut self.ledger, fan, count, node, 1.0);
                let later = node + 1..table.sites.nodes.len();
                table.add_fan_links(&mut self.ledger, fan, count, node, later, 1.0);
            }
        }
        for lone in &table.lone {
            table.add_lone(&mut self.ledger, lone, &self.site_of, 1.0);
        }
        self.ledger.finish();
    }

    /// The estimated waiting of all messages at all servers.
    #[must_use]
    pub fn waiting(&self) -> Seconds {
        Seconds(self.ledger.total)
    }

    /// A smooth estimate of when the last message arrives: the 8-norm of the seconds for which each
    /// server works and of the time at which the last clock stops. It is above the largest of them,
    /// and falls with each that is nearly as large.
    #[must_use]
    pub fn finish(&self) -> Seconds {
        let last = self.table.demand.ends.last().copied().unwrap_or(0.0);
        Seconds((self.ledger.powers.max(0.0) + last.powi(8)).powf(0.125))
    }

    /// An estimate of when the last message arrives: the longest of the seconds for which each server
    /// works and of the time at which the last clock stops.
    #[must_use]
    pub fn latest(&self) -> Seconds {
        let last = self.table.demand.ends.last().copied().unwrap_or(0.0);
        Seconds(self.ledger.longest.max(last))
    }

    /// The number of the kind of place that a slot is: slots of one kind differ in nothing that
    /// messages pass.
    #[must_use]
    pub fn site(&self, slot: usize) -> usize {
        self.table.sites.of_place[slot] as usize
    }

    /// Whether two ranks can change places without any difference, wherever they are.
    #[must_use]
    pub fn alike(&self, a: usize, b: usize) -> bool {
        let alone = |rank: usize| self.lone_of[rank].is_empty();
        alone(a) && alone(b) && self.fans_of[a] == self.fans_of[b]
    }

    /// How many pairs of ranks are counted one by one, because their clocks have no likes: what an
    /// evaluation from the beginning takes grows with them.
    #[must_use]
    pub fn lone_pairs(&self) -> usize {
        self.table.lone.len()
    }

    /// What a server is offered in the whole run: messages and service.
    #[must_use]
    pub fn offered(&self, server: ServerId) -> (f64, Seconds) {
        let entry = self.ledger.offered(server);
        (entry.messages, Seconds(entry.work))
    }

    /// What the servers are; position is id.
    #[must_use]
    pub fn servers(&self) -> &[ServerKind] {
        &self.table.sites.kinds
    }

    /// The slot of each rank.
    #[must_use]
    pub fn slot_of(&self) -> &[usize] {
        &self.slot_of
    }

    /// Two ranks, counted over all jobs, change places. The waiting of all messages then.
    pub fn swap(&mut self, a: usize, b: usize) -> Seconds {
        let (of_a, of_b) = (self.slot_of[a], self.slot_of[b]);
        self.moved.clear();
        self.moved.extend([(a, of_a), (b, of_b)]);
        self.ledger.begin();
        self.relocate(a, of_b, Some(b));
        self.ledger.finish();
        self.waiting()
    }

    /// A rank, counted over all jobs, takes another slot, whether that is free or not. The waiting of
    /// all messages then.
    pub fn move_to(&mut self, rank: usize, slot: usize) -> Seconds {
        self.moved.clear();
        self.moved.push((rank, self.slot_of[rank]));
        self.ledger.begin();
        self.relocate(rank, slot, None);
        self.ledger.finish();
        self.waiting()
    }

    /// Several ranks, each named once, take other slots, whether those are free or not. The waiting of
    /// all messages then.
    pub fn change(&mut self, moves: &[(usize, usize)]) -> Seconds {
        if let [(a, to), (b, back)] = *moves
            && (self.slot_of[a], self.slot_of[b]) == (back, to)
        {
            return self.swap(a, b);
        }
        self.moved.clear();
        self.ledger.begin();
        for (rank, slot) in moves {
            self.moved.push((*rank, self.slot_of[*rank]));
            self.relocate(*rank, *slot, None);
        }
        self.ledger.finish();
        self.waiting()
    }

    /// Takes the last change back, exactly. There is nothing to take back twice.
    pub fn undo(&mut self) {
        self.ledger.undo();
        let moved = std::mem::take(&mut self.moved);
        for (rank, slot) in &moved {
            let site = self.table.sites.of_place[*slot] as usize;
            for (fan, sends) in &self.fans_of[*rank] {
                let count = &mut self.counts[*fan as usize];
                count.add(&self.table.sites, self.site_of[*rank] as usize, -1.0, *sends);
                count.add(&self.table.sites, site, 1.0, *sends);
            }
            self.slot_of[*rank] = *slot;
            self.site_of[*rank] = site as u32;
        }
        self.moved = moved;
        self.moved.clear();
    }

    /// Moves a rank to a slot, and the one who is there, if named, to its own.
    fn relocate(&mut self, rank: usize, slot: usize, other: Option<usize>) {
        let from = self.site_of[rank];
        let to = self.table.sites.of_place[slot];
        let old = std::mem::replace(&mut self.slot_of[rank], slot);
        if let Some(other) = other {
            self.slot_of[other] = old;
        }
        if from == to {
            return;
        }
        // Who sends and receives in the same fans can be exchanged without changing them.
        let none: &[(u32, bool)] = &[];
        let mine = &self.fans_of[rank];
        let others = other.map_or(none, |other| &self.fans_of[other]);
        let (table, ledger) = (&self.table, &mut self.ledger);
        for (fans, besides, from, to) in [(&mine[..], others, from, to), (others, mine, to, from)] {
            for (fan, sends) in fans.iter().filter(|fan| !besides.contains(fan)) {
                let (fan, count) =
                    (&table.demand.fans[*fan as usize], &mut self.counts[*fan as usize]);
                table.add_fan_at(ledger, fan, count, (from, to), -1.0);
                count.add(&table.sites, from as usize, -1.0, *sends);
                count.add(&table.sites, to as usize, 1.0, *sends);
                table.add_fan_at(ledger, fan, count, (from, to), 1.0);
            }
        }
        let of_rank = &self.lone_of[rank];
        let of_other = other.map_or(&[][..], |other| &self.lone_of[other]);
        let own = |lone: &Lone| lone.from as usize != rank && lone.to as usize != rank;
        for sign in [-1.0, 1.0] {
            for lone in of_rank {
                table.add_lone(ledger, &table.lone[*lone as usize], &self.site_of, sign);
            }
            for lone in of_other.iter().map(|lone| &table.lone[*lone as usize]) {
                if own(lone) {
                    table.add_lone(ledger, lone, &self.site_of, sign);
                }
            }
            if sign < 0.0 {
                self.site_of[rank] = to;
                if let Some(other) = other {
                    self.site_of[other] = from;
                }
            }
        }
    }
}

impl FanCount {
    fn new(sites: &Sites) -> Self {
        let (sites, nodes) = (vec![0.0; sites.sites.len()], vec![0.0; sites.nodes.len()]);
        let (ranks, senders) = (sites.clone(), sites);
        Self { ranks, senders, node_ranks: nodes.clone(), node_senders: nodes }
    }

    fn add(&mut self, sites: &Sites, site: usize, sign: f64, sends: bool) {
        let node = sites.sites[site].node;
        self.ranks[site] += sign;
        self.node_ranks[node] += sign;
        if sends {
            self.senders[site] += sign;
            self.node_senders[node] += sign;
        }
    }
}

impl Table {
    /// What a fan offers to the servers of two sites' nodes, and to the links to and from them.
    fn add_fan_at(
        &self,
        ledger: &mut Ledger,
        fan: &Fan,
        count: &FanCount,
        (from, to): (u32, u32),
        sign: f64,
    ) {
        let node = |site: u32| self.sites.sites[site as usize].node;
        let (from, to) = (node(from), node(to));
        self.add_fan(ledger, fan, count, from, sign);
        let all = 0..self.sites.nodes.len();
        if from == to {
            return;
        }
        self.add_fan(ledger, fan, count, to, sign);
        if !self.sites.links.is_empty() {
            self.add_fan_links(ledger, fan, count, from, all.clone(), sign);
            let others = all.filter(|other| *other != from);
            self.add_fan_links(ledger, fan, count, to, others, sign);
        }
    }

    /// What a fan offers to the servers of a node.
    fn add_fan(&self, ledger: &mut Ledger, fan: &Fan, count: &FanCount, node: usize, sign: f64) {
        if count.node_ranks[node] == 0.0 {
            return;
        }
        let (length, ticks) = (self.lengths[fan.length], sign * fan.clock.rounds);
        let end = fan.clock.end;
        let remote = fan.ranks.len() as f64 - count.node_ranks[node];
        let outside = fan.senders.len() as f64 - count.node_senders[node];
        let sites = self.sites.nodes[node].clone();
        for number in sites.clone() {
            let site = &self.sites.sites[number];
            let (ranks, senders) = (count.ranks[number], count.senders[number]);
            let service = length * site.memory_time;
            let mut memory = Entry::default();
            if senders > 0.0 {
                let (mut messages, mut work) = (remote, remote * service);
                let local = &self.sites.local[fan.length][number];
                for (other, local) in sites.clone().zip(local) {
                    let to = count.ranks[other] - f64::from(u8::from(other == number));
                    let accesses = if local.first > 0.0 { 1.0 + local.rest_count } else { 0.0 };
                    messages += to * accesses;
                    work += to * (local.first + local.rest);
                }
                memory = Entry::of(ticks * senders, messages, work, work);
            }
            memory.add(Entry::of(ticks * ranks * outside, 1.0, service, service));
            ledger.add(site.memory, end, memory);
            for port in &site.ports {
                let work = length * port.time;
                let count = remote * port.share;
                let out = Entry::of(ticks * senders, count, count * work, count * work);
                ledger.add(port.out, end, out);
                let count = ticks * ranks * outside * port.share;
                ledger.add(port.into, end, Entry::of(count, 1.0, work, work));
            }
        }
    }

    /// What a fan offers to the links between a node and others, both ways.
    fn add_fan_links(
        &self,
        ledger: &mut Ledger,
        fan: &Fan,
        count: &FanCount,
        node: usize,
        others: impl Iterator<Item = usize>,
        sign: f64,
    ) {
        let (length, ticks) = (self.lengths[fan.length], sign * fan.clock.rounds);
        let end = fan.clock.end;
        for other in others {
            for (from, to) in [(node, other), (other, node)] {
                let count = ticks * count.node_senders[from] * count.node_ranks[to];
                self.add_links(ledger, from, to, length, count, end);
            }
        }
    }

    fn add_links(
        &self,
        ledger: &mut Ledger,
        from: usize,
        to: usize,
        length: f64,
        count: f64,
        end: usize,
    ) {
        for link in &self.sites.routes[from * self.sites.nodes.len() + to] {
            let (server, time) = self.sites.links[*link as usize];
            ledger.add(server, end, Entry::of(count, 1.0, length * time, length * time));
        }
    }

    fn add_lone(&self, ledger: &mut Ledger, lone: &Lone, site_of: &[u32], sign: f64) {
        let number = site_of[lone.from as usize] as usize;
        let from = &self.sites.sites[number];
        let (ticks, end) = (sign * lone.ticks, lone.end);
        let length = self.lengths[lone.length];
        if lone.to == OUTSIDE {
            self.add_lone_outward(ledger, from, length, ticks, end);
            return;
        }
        let other = site_of[lone.to as usize] as usize;
        let to = &self.sites.sites[other];
        if from.node == to.node {
            let first = self.sites.nodes[from.node].start;
            let local: Local = self.sites.local[lone.length][number][other - first];
            if local.first > 0.0 {
                let (messages, work) = (1.0 + local.rest_count, local.first + local.rest);
                ledger.add(from.memory, end, Entry::of(ticks, messages, work, work));
            }
            return;
        }
        self.add_lone_outward(ledger, from, length, ticks, end);
        self.add_links(ledger, from.node, to.node, length, ticks, end);
        let work = length * to.memory_time;
        ledger.add(to.memory, end, Entry::of(ticks, 1.0, work, work));
        for port in &to.ports {
            let work = length * port.time;
            ledger.add(port.into, end, Entry::of(ticks * port.share, 1.0, work, work));
        }
    }

    /// What a message that leaves its node offers to that.
    fn add_lone_outward(
        &self,
        ledger: &mut Ledger,
        from: &Site,
        length: f64,
        ticks: f64,
        end: usize,
    ) {
        let work = length * from.memory_time;
        ledger.add(from.memory, end, Entry::of(ticks, 1.0, work, work));
        for port in &from.ports {
            let work = length * port.time;
            ledger.add(port.out, end, Entry::of(ticks * port.share, 1.0, work, work));
        }
    }
}

//! The load that a placement offers to every server, kept up to date while ranks move: the cheap
//! judge of a search.

mod ledger;
mod lone;
mod table;

use crate::cluster::Cluster;
use crate::ids::ServerId;
use crate::network::ServerKind;
use crate::placement::{PlacementError, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;
use ledger::Ledger;
use lone::LoneOf;
use table::{FanCount, Table};

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
    /// Per rank, its messages beside fans.
    lone_of: Vec<LoneOf>,
    slot_of: Vec<usize>,
    site_of: Vec<u32>,
    counts: Vec<FanCount>,
    ledger: Ledger,
    /// Who moved in the last change, and which slot each had before.
    moved: Vec<(usize, usize)>,
}

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
        let table = Table::new(cluster, workload, slots)?;
        let lone_of = LoneOf::of_all(table.demand.ranks, &table.lone.all);
        let demand = &table.demand;
        let mut fans_of = vec![Vec::new(); demand.ranks];
        for (number, fan) in (0..).zip(&demand.fans) {
            for rank in &fan.ranks {
                fans_of[*rank as usize].push((number, fan.senders.contains(rank)));
            }
        }
        let ledger = Ledger::new(table.sites.kinds.len(), &demand.ends);
        let counts = vec![FanCount::new(&table.sites); demand.fans.len()];
        let mut load = Self {
            table,
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
        for lone in &table.lone.all {
            table.add_lone(&mut self.ledger, lone, &self.site_of);
        }
        self.ledger.finish();
    }

    /// The estimated waiting of all messages at all servers.
    #[must_use]
    pub fn waiting(&self) -> Seconds {
        Seconds(self.ledger.total)
    }

    /// How much longer the cores of ranks have to do with messages between nodes because devices are
    /// beside another package ([`Rates::inter_socket`](crate::cluster::Rates::inter_socket)), summed
    /// over all messages at both ends.
    #[must_use]
    pub fn far(&self) -> Seconds {
        Seconds(self.ledger.far.max(0.0))
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

    /// How many messages one tick of all clocks without likes sends: what the evaluation of a placement
    /// from the beginning takes grows with them.
    #[must_use]
    pub fn lone_messages(&self) -> usize {
        self.table.lone.of_a_tick
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
        for (rank, from, to) in [(Some(rank), from, to), (other, to, from)] {
            if let Some(rank) = rank {
                let of_rank = &self.lone_of[rank];
                table.move_lone(ledger, of_rank, rank, (from, to), &self.site_of);
                self.site_of[rank] = to;
            }
        }
    }
}

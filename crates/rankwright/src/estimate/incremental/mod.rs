//! The load that a mapping offers to every server, kept up to date while ranks move: the cheapest
//! estimate of waiting, for the steps of a search.

mod server_sums;
mod setup;
mod single_messages;
mod ticks;

use crate::cluster::Cluster;
use crate::ids::{GlobalRank, ServerId, SlotId};
use crate::network::ServerKind;
use crate::placement::{Mapping, PlacementError, Slot};
use crate::traffic::Workload;
use crate::units::Seconds;
use server_sums::ServerSums;
use setup::{MulticastCount, Setup};
use single_messages::RankMessages;
use ticks::Ticks;

/// The load offered to the servers of a cluster, and an estimate of how long messages wait.
///
/// A server is offered work at a steady rate between two times at which clocks stop. In such a phase
/// of D seconds its backlog changes linearly; messages find B seconds of it on average. Random
/// arrivals make them wait (√(x² + q) - x) / 2 longer, where x is the larger of B and half of the
/// change of an unbounded backlog in the phase, and q is the sum of the squares of the work that
/// arrives at once in the phase. Where one phase is well overloaded that is half the backlog left at
/// its end; where it is not, it is the Pollaczek-Khinchine formula. Every server is taken for itself:
/// that servers before it hold messages up is left out. Queue pairs and their processing hardware
/// belong to ranks, on every node, and are left out too.
///
/// Messages of one tick also wait for each other, however idle the server is: that is left out unless
/// it is asked for ([`Self::count_ticks`]).
///
/// Only ranks with clocks ([`Job::sources`](crate::traffic::Job::sources)) count.
#[derive(Debug, Clone)]
pub struct OfferedLoad {
    setup: Setup,
    /// The multicasts of each rank. Index: [`GlobalRank`].
    memberships: Vec<Vec<Membership>>,
    /// Index: [`GlobalRank`].
    messages: Vec<RankMessages>,
    mapping: Mapping,
    /// Index: [`GlobalRank`].
    site_of: Vec<u32>,
    /// Index: multicast.
    counts: Vec<MulticastCount>,
    sums: ServerSums,
    /// `None`: messages of one tick wait for others only.
    ticks: Option<Ticks>,
    /// The ranks of the last change, with their slots before it.
    moved: Vec<(GlobalRank, SlotId)>,
}

/// A rank's part in a multicast.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Membership {
    /// Index in [`ClockGroups::multicasts`](crate::network::ClockGroups::multicasts).
    multicast: u32,
    /// Whether the rank sends, and does not only receive.
    sends: bool,
}

impl OfferedLoad {
    /// The load of a workload under a mapping to these slots.
    ///
    /// # Errors
    /// If a slot does not exist in the cluster.
    ///
    /// # Panics
    /// If the mapping has not one slot for each rank.
    pub fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
        mapping: &Mapping,
    ) -> Result<Self, PlacementError> {
        assert_eq!(mapping.len(), workload.rank_count(), "one slot for each rank");
        let setup = Setup::new(cluster, workload, slots)?;
        let clocks = &setup.clocks;
        let mut memberships = vec![Vec::new(); clocks.rank_count];
        for (number, multicast) in (0..).zip(&clocks.multicasts) {
            for rank in &multicast.members {
                let sends = multicast.senders.contains(rank);
                memberships[rank.index()].push(Membership { multicast: number, sends });
            }
        }
        let mut load = Self {
            messages: RankMessages::by_rank(clocks.rank_count, &setup.singles.pairs),
            sums: ServerSums::new(setup.sites.kinds.len(), &clocks.ends),
            counts: vec![MulticastCount::new(&setup.sites); clocks.multicasts.len()],
            ticks: None,
            setup,
            memberships,
            mapping: mapping.clone(),
            site_of: Vec::new(),
            moved: Vec::new(),
        };
        load.count_all();
        Ok(load)
    }

    /// Whether to count how long messages of one tick wait for each other too ([`Self::tick_waiting`]).
    /// Steps take longer then. Starts from the beginning, without.
    pub fn count_ticks(&mut self, counts: bool) {
        let clocks = &self.setup.clocks;
        let ticks = || Ticks::new(clocks.rank_count, clocks.ends.len(), &clocks.singles);
        self.ticks = counts.then(ticks);
        self.setup.counts_ticks = counts;
        self.restart(&self.mapping.clone());
    }

    /// Counts another mapping from the beginning, or the present one, which removes the rounding
    /// errors of the changes so far. `undo` must not follow.
    ///
    /// # Panics
    /// If the mapping has not one slot for each rank.
    pub fn restart(&mut self, mapping: &Mapping) {
        assert_eq!(mapping.len(), self.mapping.len(), "one slot for each rank");
        self.mapping.clone_from(mapping);
        self.counts.fill(MulticastCount::new(&self.setup.sites));
        let (servers, ends) = (self.setup.sites.kinds.len(), &self.setup.clocks.ends);
        self.sums = ServerSums::new(servers, ends);
        self.moved.clear();
        self.count_all();
    }

    fn count_all(&mut self) {
        let Self { setup, sums, ticks, .. } = self;
        self.site_of.clear();
        self.site_of.extend(setup.sites.of_mapping(&self.mapping));
        for (site, memberships) in self.site_of.iter().zip(&self.memberships) {
            for Membership { multicast, sends } in memberships {
                let count = &mut self.counts[*multicast as usize];
                count.add(&setup.sites, *site as usize, 1.0, *sends);
            }
        }
        sums.begin();
        ticks.as_mut().map(Ticks::clear);
        let nodes = setup.sites.nodes.len();
        for (multicast, count) in setup.clocks.multicasts.iter().zip(&self.counts) {
            for node in 0..nodes {
                setup.add_multicast(sums, multicast, count, node, 1.0);
                let later = node + 1..nodes;
                setup.add_multicast_links(sums, multicast, count, (node, later), 1.0);
            }
        }
        for pair in &setup.singles.pairs {
            setup.add_pair(sums, ticks.as_mut(), pair, &self.site_of);
        }
        if let Some(ticks) = ticks {
            ticks.finish(setup, sums, &self.site_of);
        }
        sums.finish();
    }

    /// How long messages wait for others of their tick at the memory and the network devices of their
    /// sender, as in the fluid; part of the waiting. 0 unless it is counted ([`Self::count_ticks`]).
    #[must_use]
    pub fn tick_waiting(&self) -> Seconds {
        Seconds(self.sums.totals.in_ticks)
    }

    /// The estimated waiting of all messages at all servers.
    #[must_use]
    pub fn waiting(&self) -> Seconds {
        Seconds(self.sums.totals.waiting + self.tick_waiting().0)
    }

    /// The time that cores spend in addition on messages between nodes because devices are beside
    /// another package ([`Rates::inter_socket`](crate::cluster::Rates::inter_socket)), summed over
    /// all messages at both ends.
    #[must_use]
    pub fn far(&self) -> Seconds {
        Seconds(self.sums.totals.far.max(0.0))
    }

    /// A smooth estimate of when the last message arrives: the 8-norm of the seconds for which each
    /// server works and of the time at which the last clock stops. It is above the largest of them,
    /// and falls with each that is nearly as large.
    #[must_use]
    pub fn finish(&self) -> Seconds {
        let last = self.last_end();
        Seconds((self.sums.totals.powers.max(0.0) + last.powi(8)).powf(0.125))
    }

    /// An estimate of when the last message arrives: the longest of the seconds for which each server
    /// works and of the time at which the last clock stops.
    #[must_use]
    pub(crate) fn latest(&self) -> Seconds {
        Seconds(self.sums.totals.longest.max(self.last_end()))
    }

    fn last_end(&self) -> f64 {
        self.setup.clocks.ends.last().copied().unwrap_or(0.0)
    }

    /// The number of a slot's site: slots of one site are equivalent for messages.
    #[must_use]
    pub fn site(&self, slot: SlotId) -> usize {
        self.setup.sites.of_place[slot.index()] as usize
    }

    /// Whether an exchange of two ranks changes nothing under any mapping.
    #[must_use]
    pub fn alike(&self, a: GlobalRank, b: GlobalRank) -> bool {
        let (a, b) = (a.index(), b.index());
        let without_singles = |rank: usize| self.messages[rank].is_empty();
        without_singles(a) && without_singles(b) && self.memberships[a] == self.memberships[b]
    }

    /// How many messages one tick of all clocks outside multicasts sends: the time to evaluate a
    /// mapping from the beginning grows with it.
    #[must_use]
    pub(crate) fn single_messages(&self) -> usize {
        self.setup.singles.per_tick
    }

    /// The number of members, summed over all multicasts: the time to count a mapping from the beginning grows with it.
    #[must_use]
    pub(crate) fn multicast_members(&self) -> usize {
        self.memberships.iter().map(Vec::len).sum()
    }

    /// The load offered to a server in the whole run: messages and service.
    #[must_use]
    pub fn offered(&self, server: ServerId) -> (f64, Seconds) {
        let offered = self.sums.offered(server);
        (offered.messages, Seconds(offered.work))
    }

    /// The kinds of the servers. Index: [`ServerId`].
    #[must_use]
    pub fn servers(&self) -> &[ServerKind] {
        &self.setup.sites.kinds
    }

    /// The present mapping.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Exchanges two ranks. Returns the waiting of all messages.
    pub fn swap(&mut self, a: GlobalRank, b: GlobalRank) -> Seconds {
        let (slot_a, slot_b) = (self.mapping.slot(a), self.mapping.slot(b));
        self.moved.clear();
        self.moved.extend([(a, slot_a), (b, slot_b)]);
        self.begin_change();
        self.relocate(a, slot_b, Some(b));
        self.end_change();
        self.waiting()
    }

    /// Moves a rank to another slot, free or not. Returns the waiting of all messages.
    pub fn move_to(&mut self, rank: GlobalRank, slot: SlotId) -> Seconds {
        self.moved.clear();
        self.moved.push((rank, self.mapping.slot(rank)));
        self.begin_change();
        self.relocate(rank, slot, None);
        self.end_change();
        self.waiting()
    }

    /// Moves several ranks, each named once, to other slots, free or not. Returns the waiting of all
    /// messages. Searches call it in every step, so the moves are indices of [`GlobalRank`] and
    /// [`SlotId`].
    pub fn change(&mut self, moves: &[(usize, usize)]) -> Seconds {
        let slot_of = self.mapping.as_indices();
        if let [(a, to), (b, back)] = *moves
            && (slot_of[a], slot_of[b]) == (back, to)
        {
            return self.swap(GlobalRank::from_index(a), GlobalRank::from_index(b));
        }
        self.moved.clear();
        self.begin_change();
        for (rank, slot) in moves {
            let (rank, slot) = (GlobalRank::from_index(*rank), SlotId::from_index(*slot));
            self.moved.push((rank, self.mapping.slot(rank)));
            self.relocate(rank, slot, None);
        }
        self.end_change();
        self.waiting()
    }

    /// Takes the last change back, exactly. Only one change can be taken back.
    pub fn undo(&mut self) {
        self.sums.undo();
        self.ticks.as_mut().map(Ticks::undo);
        for (rank, slot) in self.moved.drain(..) {
            let site = self.setup.sites.of_place[slot.index()];
            for Membership { multicast, sends } in &self.memberships[rank.index()] {
                let count = &mut self.counts[*multicast as usize];
                let sites = &self.setup.sites;
                count.add(sites, self.site_of[rank.index()] as usize, -1.0, *sends);
                count.add(sites, site as usize, 1.0, *sends);
            }
            self.mapping.set(rank, slot);
            self.site_of[rank.index()] = site;
        }
    }

    /// Begins a change.
    fn begin_change(&mut self) {
        self.sums.begin();
        self.ticks.as_mut().map(Ticks::begin);
    }

    /// Ends a change.
    fn end_change(&mut self) {
        if let Some(ticks) = &mut self.ticks {
            ticks.finish(&self.setup, &mut self.sums, &self.site_of);
        }
        self.sums.finish();
    }

    /// Moves a rank to a slot, and `other`, the rank of that slot, to the rank's slot.
    fn relocate(&mut self, rank: GlobalRank, slot: SlotId, other: Option<GlobalRank>) {
        let from = self.site_of[rank.index()];
        let to = self.setup.sites.of_place[slot.index()];
        let old = self.mapping.slot(rank);
        self.mapping.set(rank, slot);
        if let Some(other) = other {
            self.mapping.set(other, old);
        }
        if from == to {
            return;
        }
        // An exchange within a multicast in which both have the same part changes nothing.
        let none: &[Membership] = &[];
        let mine = &self.memberships[rank.index()];
        let others = other.map_or(none, |other| &self.memberships[other.index()]);
        let (setup, sums) = (&self.setup, &mut self.sums);
        for (moved, others, from, to) in [(&mine[..], others, from, to), (others, mine, to, from)] {
            for membership in moved {
                let Membership { multicast, sends } = *membership;
                // In the order of multicasts: ranks with many peers are in many.
                let same = others.binary_search_by_key(&multicast, |other| other.multicast);
                if same.is_ok_and(|at| others[at] == *membership) {
                    continue;
                }
                let count = &mut self.counts[multicast as usize];
                let multicast = &setup.clocks.multicasts[multicast as usize];
                let receives_only =
                    !sends && ![from, to].iter().any(|site| count.sends_from(&setup.sites, *site));
                if receives_only {
                    setup.move_receiver(sums, multicast, (from, to), &self.site_of);
                } else {
                    setup.add_multicast_at(sums, multicast, count, (from, to), -1.0);
                }
                count.add(&setup.sites, from as usize, -1.0, sends);
                count.add(&setup.sites, to as usize, 1.0, sends);
                if !receives_only {
                    setup.add_multicast_at(sums, multicast, count, (from, to), 1.0);
                }
            }
        }
        for (rank, from, to) in [(Some(rank), from, to), (other, to, from)] {
            if let Some(rank) = rank {
                let messages = &self.messages[rank.index()];
                setup.move_single_messages(sums, messages, rank, (from, to), &self.site_of);
                if let Some(ticks) = &mut self.ticks {
                    setup.move_in_ticks(ticks, messages, rank, (from, to), &self.site_of);
                }
                self.site_of[rank.index()] = to;
            }
        }
    }
}

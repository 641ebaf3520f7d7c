//! One job after the other, each spread over the nodes up to a threshold: the mapping
//! algorithm that Soryani et al. 2012 (Fig. 1) and 2013 (Fig. 8) have in common.

use std::cmp::Reverse;

use super::free_slots::{FreeSlots, Sockets};
use crate::ids::{Rank, SlotId};
use crate::map::Problem;
use crate::placement::Mapping;
use crate::traffic::Job;
use crate::traffic::classes::LengthClass;
use crate::traffic::demand::{Demand, Lengths, MessageMeans};

/// The rules that hold for all jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) demand: DemandOf,
    pub(super) lengths: Lengths,
    /// Whether ranks of jobs without large messages stay on the node used last while it is not full.
    pub(super) stay: bool,
    /// Where ranks of jobs with medium messages go inside a node. Those with large messages are
    /// always spread, those with small ones never.
    pub(super) medium: Sockets,
}

/// The demand by which ranks are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DemandOf {
    /// The sum of what a rank sends and receives.
    Both,
    /// What it sends.
    Sent,
}

/// A job as the strategies see it.
#[derive(Debug)]
pub(super) struct JobTraffic {
    pub(super) class: LengthClass,
    pub(super) demand: Demand,
    /// `None` without message timing.
    pub(super) messages: Option<MessageMeans>,
}

/// The mapping of all jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobMapping {
    pub(super) mapping: Mapping,
    /// How many ranks of a job a node should have at most; `None` for jobs that are not spread. Index:
    /// [`JobId`](crate::ids::JobId).
    pub(super) thresholds: Vec<Option<u64>>,
}

impl JobMapping {
    /// Maps the jobs: those with large messages first, then those with medium, then those with small
    /// ones; in each class those with the highest mean adjacency first. `threshold` is called before
    /// each job, with what is still free.
    pub(super) fn new(
        problem: &Problem,
        rules: Rules,
        jobs: &[JobTraffic],
        threshold: impl Fn(&JobTraffic, &FreeSlots) -> Option<u64>,
    ) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|job| (jobs[*job].class, Reverse(jobs[*job].demand.mean_adjacency())));
        let first_ranks = problem.workload.rank_offsets();
        let mut slot_of = vec![None; problem.rank_count()];
        let mut thresholds = vec![None; jobs.len()];
        let mut free_slots = FreeSlots::new(problem);
        for index in order {
            let job = &jobs[index];
            let limit = threshold(job, &free_slots);
            free_slots.begin_job(limit);
            let ranks = first_ranks[index].index()..first_ranks[index + 1].index();
            let slot_of = &mut slot_of[ranks.clone()];
            let loads = &problem.loads()[ranks];
            JobMapper { job, rules, loads, slot_of, free_slots: &mut free_slots, node: None }.map();
            thresholds[index] = limit;
        }
        let mapping = slot_of.into_iter().map(|slot| slot.unwrap_or(SlotId(0))).collect();
        Self { mapping, thresholds }
    }
}

impl JobTraffic {
    /// All jobs of a problem; `slowdown` gives f of Eq. (13), Soryani et al. 2013, for a job.
    pub(super) fn of_workload<F: Fn(f64) -> f64>(
        problem: &Problem,
        lengths: Lengths,
        slowdown: impl Fn(LengthClass, Option<&MessageMeans>) -> F,
    ) -> Vec<Self> {
        let traffic = |job: &Job| {
            let class = LengthClass::of_job(job);
            let messages = MessageMeans::of_job(job, lengths);
            let demand = Demand::new(job, lengths, slowdown(class, messages.as_ref()));
            Self { class, demand, messages }
        };
        problem.workload.jobs.iter().map(traffic).collect()
    }

    /// Whether a mean rank and all its peers do not fit on a mean node: `ADJ_avg` > `IdleCores_avg` - 1.
    pub(super) fn exceeds_node(&self, free_slots: &FreeSlots) -> bool {
        self.demand.mean_adjacency() as f64 > free_slots.mean_free() - 1.0
    }
}

/// The mapping of one job.
struct JobMapper<'a, 'b> {
    job: &'a JobTraffic,
    rules: Rules,
    /// Index: rank of the job.
    loads: &'a [u64],
    /// `None` while a rank has no slot. Index: rank of the job.
    slot_of: &'a mut [Option<SlotId>],
    free_slots: &'a mut FreeSlots<'b>,
    /// The node used last, a position among the nodes with slots.
    node: Option<usize>,
}

impl JobMapper<'_, '_> {
    /// The rank with the highest demand, then its peers by the demand between them; then the next one
    /// of those that are left.
    fn map(&mut self) {
        let demand = &self.job.demand;
        let ranks = (0..demand.rank_count()).map(Rank::from_index);
        let key = |rank: Rank| match self.rules.demand {
            DemandOf::Both => demand.sent(rank) + demand.received(rank),
            DemandOf::Sent => demand.sent(rank),
        };
        let mut order: Vec<(f32, Rank)> = ranks.map(|rank| (rounded(key(rank)), rank)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let stays = self.rules.stay && self.job.class != LengthClass::Large;
        for (_, rank) in order {
            if self.is_placed(rank) {
                continue;
            }
            if !stays {
                self.node = None;
            }
            self.place(rank);
            let peers = demand.peers(rank).iter().filter(|(peer, _)| !self.is_placed(*peer));
            let mut peers: Vec<(f32, Rank)> =
                peers.map(|(peer, between)| (rounded(*between), *peer)).collect();
            peers.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            peers.into_iter().for_each(|(_, peer)| self.place(peer));
        }
    }

    fn is_placed(&self, rank: Rank) -> bool {
        self.slot_of[rank.index()].is_some()
    }

    /// Puts a rank on the node used last while that is below the threshold and not full, else on the
    /// next one selected.
    fn place(&mut self, rank: Rank) {
        let sockets = match self.job.class {
            LengthClass::Large => Sockets::Spread,
            LengthClass::Medium => self.rules.medium,
            LengthClass::Small => Sockets::First,
        };
        let last = self.node.filter(|node| self.free_slots.welcomes(*node));
        self.node = last.or_else(|| self.free_slots.select());
        let load = self.loads[rank.index()];
        // The slots hold all loads: without a node only a rank without load is left, which fits anywhere.
        let slot = self.node.map_or(SlotId(0), |node| self.free_slots.take(node, load, sockets));
        self.slot_of[rank.index()] = Some(slot);
    }
}

/// Demands that differ only by rounding should count as equal.
fn rounded(demand: f64) -> f32 {
    demand as f32
}

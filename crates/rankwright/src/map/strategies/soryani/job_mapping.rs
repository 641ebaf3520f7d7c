//! One job after the other, each spread over the nodes as far as a threshold says: what the two
//! strategies of Soryani et al. (2012 and 2013) have in common.

use std::cmp::Reverse;

use crate::ids::Rank;
use crate::map::Problem;
use crate::map::search::vacancies::{Sockets, Vacancies};
use crate::traffic::Job;
use crate::traffic::classes::LengthClass;
use crate::traffic::demand::{Demand, Lengths, MessageMeans};

/// The rules that hold for all jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) struct Rules {
    /// What makes a rank's demand.
    pub(in crate::map) demand: DemandOf,
    /// Which length counts where messages differ.
    pub(in crate::map) lengths: Lengths,
    /// Whether ranks of jobs without large messages stay on the node used last while it has room.
    pub(in crate::map) stay: bool,
    /// Where ranks of jobs with medium messages go inside a node. Those with large messages are
    /// always spread, those with small ones never.
    pub(in crate::map) medium: Sockets,
}

/// What makes the demand by which ranks are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum DemandOf {
    /// What a rank sends and receives.
    Both,
    /// What it sends.
    Sent,
}

/// A job as the strategies see it.
#[derive(Debug)]
pub(in crate::map) struct JobTraffic {
    pub(in crate::map) class: LengthClass,
    pub(in crate::map) demand: Demand,
    /// `None` where nobody says when messages are sent.
    pub(in crate::map) messages: Option<MessageMeans>,
}

/// What a strategy came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::map) struct JobMapping {
    /// The slot of each rank, counted over all jobs.
    pub(in crate::map) slot_of: Vec<usize>,
    /// Of each job how many of its ranks a node should have at most, where there is such a limit.
    pub(in crate::map) thresholds: Vec<Option<u64>>,
}

impl JobMapping {
    /// Maps the jobs: those with large messages first, then those with medium, then those with small
    /// ones; in each class those with the highest mean adjacency first. `threshold` is asked before
    /// each job, with what is still free.
    pub(in crate::map) fn new(
        problem: &Problem,
        rules: Rules,
        jobs: &[JobTraffic],
        threshold: impl Fn(&JobTraffic, &Vacancies) -> Option<u64>,
    ) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|job| (jobs[*job].class, Reverse(jobs[*job].demand.mean_adjacency())));
        let first_ranks = problem.workload.rank_offsets();
        let mut mapping = Self {
            slot_of: vec![usize::MAX; problem.rank_count()],
            thresholds: vec![None; jobs.len()],
        };
        let mut vacancies = Vacancies::new(problem);
        for index in order {
            let job = &jobs[index];
            let limit = threshold(job, &vacancies);
            vacancies.begin_job(limit);
            let ranks = first_ranks[index]..first_ranks[index + 1];
            let slot_of = &mut mapping.slot_of[ranks.clone()];
            let loads = &problem.loads()[ranks];
            Walk { job, rules, loads, slot_of, vacancies: &mut vacancies, node: None }.map();
            mapping.thresholds[index] = limit;
        }
        mapping
    }
}

impl JobTraffic {
    /// All jobs of a problem; `slowdown` gives f of Eq. (13), Soryani et al. 2013, for a job.
    pub(in crate::map) fn of_workload<F: Fn(f64) -> f64>(
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

    /// Whether a rank and all it talks with find no room on one node: `ADJ_avg` > `IdleCores_avg` - 1.
    pub(in crate::map) fn exceeds_node(&self, vacancies: &Vacancies) -> bool {
        self.demand.mean_adjacency() as f64 > vacancies.mean_free() - 1.0
    }
}

/// The mapping of one job.
struct Walk<'a, 'b> {
    job: &'a JobTraffic,
    rules: Rules,
    loads: &'a [u64],
    /// The slot of each rank of the job; `usize::MAX` for none yet.
    slot_of: &'a mut [usize],
    vacancies: &'a mut Vacancies<'b>,
    /// The node used last.
    node: Option<usize>,
}

impl Walk<'_, '_> {
    /// The rank with the highest demand, then its peers by what passes between them; then the next
    /// one of those that are left.
    fn map(&mut self) {
        let demand = &self.job.demand;
        let ranks = (0..demand.rank_count()).map(Rank::from_index);
        let key = |rank: Rank| match self.rules.demand {
            DemandOf::Both => demand.sent(rank) + demand.received(rank),
            DemandOf::Sent => demand.sent(rank),
        };
        let mut order: Vec<(f32, Rank)> = ranks.map(|rank| (coarse(key(rank)), rank)).collect();
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
                peers.map(|(peer, between)| (coarse(*between), *peer)).collect();
            peers.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            peers.into_iter().for_each(|(_, peer)| self.place(peer));
        }
    }

    fn is_placed(&self, rank: Rank) -> bool {
        self.slot_of[rank.index()] != usize::MAX
    }

    /// On the node used last while it has room below the threshold, else on the next one selected.
    fn place(&mut self, rank: Rank) {
        let sockets = match self.job.class {
            LengthClass::Large => Sockets::Spread,
            LengthClass::Medium => self.rules.medium,
            LengthClass::Small => Sockets::First,
        };
        let last = self.node.filter(|node| self.vacancies.welcomes(*node));
        self.node = last.or_else(|| self.vacancies.select());
        let load = self.loads[rank.index()];
        self.slot_of[rank.index()] = match self.node {
            Some(node) => self.vacancies.take(node, load, sockets),
            // The slots hold all loads, so only a rank without any can be left: it fits everywhere.
            None => 0,
        };
    }
}

/// Sums that differ by rounding only should count as equal.
fn coarse(demand: f64) -> f32 {
    demand as f32
}

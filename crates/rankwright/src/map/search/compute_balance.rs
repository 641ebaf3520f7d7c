//! Which ranks may go to which nodes, where ranks compute unequally long and nodes differ in speed
//! (future work in Soryani et al. 2012, section 7).

use crate::cluster::Cluster;
use crate::map::Problem;
use crate::placement::Slot;
use crate::traffic::Workload;
use crate::units::Seconds;

/// How fast a slot must be for a rank.
///
/// A rank that computes for w seconds at speed 1 needs w / s at a slot of speed s; the longest of these
/// times is the makespan. It is least if the longest computing rank has the fastest slot, the second
/// longest the second fastest, and so on. A mapping meets the balance b if its makespan is at most
/// 1 + b times that.
///
/// Classes of ranks and slots ([`Slot::class`]) use the same rule, with the class for the speed.
#[derive(Debug, Clone)]
pub struct ComputeBalance {
    /// How long each rank computes at speed 1. Index: [`GlobalRank`].
    compute: Vec<Seconds>,
    /// Index: [`SlotId`].
    speed: Vec<f64>,
    /// The least makespan of any mapping.
    lower_bound: Seconds,
    /// The least speed that keeps the balance. Index: [`GlobalRank`].
    needed: Vec<f64>,
}

/// By which share the makespan may be longer than the least, by default.
pub const DEFAULT_BALANCE: f64 = 0.02;

impl ComputeBalance {
    /// `None` if no rank is known to compute or all slots are equally fast.
    pub(in crate::map) fn new(
        cluster: &Cluster,
        workload: &Workload,
        slots: &[Slot],
        balance: f64,
    ) -> Option<Self> {
        let compute: Vec<Seconds> = workload
            .jobs
            .iter()
            .flat_map(|job| {
                let times = job.compute.iter().copied().chain(std::iter::repeat(Seconds(0.0)));
                times.take(job.ranks as usize)
            })
            .collect();
        let speed: Vec<f64> = slots.iter().map(|slot| cluster.group(slot.node).speed).collect();
        let equal = speed.windows(2).all(|pair| pair[0] == pair[1]);
        if equal || compute.iter().all(|time| time.0 == 0.0) || compute.len() > slots.len() {
            return None;
        }
        let (mut longest, mut fastest) = (compute.clone(), speed.clone());
        longest.sort_by(|a, b| b.0.total_cmp(&a.0));
        fastest.sort_by(|a, b| b.total_cmp(a));
        let bound = longest.iter().zip(&fastest).map(|(w, s)| w.0 / s).fold(0.0, f64::max);
        // The factor allows the mapping that reaches the bound, in spite of rounding.
        let most = bound * (1.0 + balance) * (1.0 + 1e-9);
        let needed = compute.iter().map(|time| time.0 / most).collect();
        Some(Self { compute, speed, lower_bound: Seconds(bound), needed })
    }

    /// Ranks and slots of equal classes go together, where there are as many ranks as slots of each class:
    /// if no rank has a slot of a lower class than its own, none has one of a higher class.
    pub(in crate::map) fn of_classes(ranks: &[u32], slots: &[Slot]) -> Self {
        Self {
            compute: Vec::new(),
            speed: slots.iter().map(|slot| f64::from(slot.class)).collect(),
            lower_bound: Seconds(0.0),
            needed: ranks.iter().map(|class| f64::from(*class)).collect(),
        }
    }

    /// Whether a rank at a slot keeps the balance.
    #[must_use]
    pub fn fits(&self, rank: usize, slot: usize) -> bool {
        self.needed[rank] <= self.speed[slot]
    }

    /// The longest time that a rank computes.
    #[must_use]
    pub fn makespan(&self, slot_of: &[usize]) -> Seconds {
        let times = self.compute.iter().zip(slot_of).map(|(w, slot)| w.0 / self.speed[*slot]);
        Seconds(times.fold(0.0, f64::max))
    }

    /// The least makespan of any mapping.
    #[must_use]
    pub fn lower_bound(&self) -> Seconds {
        self.lower_bound
    }

    /// Whether all ranks keep the balance.
    #[must_use]
    pub(crate) fn is_met(&self, slot_of: &[usize]) -> bool {
        slot_of.iter().enumerate().all(|(rank, slot)| self.fits(rank, *slot))
    }

    /// Makes a mapping keep the balance. Every rank whose slot is too slow, those that need the highest
    /// speed first, takes a free slot that is fast enough or swaps with a rank that needs less: where
    /// the sum of weight times distance grows least. There always is one, because a mapping reaches the
    /// lower bound. Takes O(slots × degree) for each such rank.
    pub(in crate::map) fn enforce(&self, problem: &Problem, slot_of: &mut [usize]) {
        let mut rank_at = vec![None; self.speed.len()];
        for (rank, slot) in slot_of.iter().enumerate() {
            rank_at[*slot] = Some(rank);
        }
        let mut ranks: Vec<usize> = (0..slot_of.len()).collect();
        ranks.sort_by(|a, b| self.needed[*b].total_cmp(&self.needed[*a]));
        for rank in ranks {
            let from = slot_of[rank];
            if self.fits(rank, from) {
                continue;
            }
            let growth = |to: usize| {
                let other: Option<usize> = rank_at[to];
                let precedes = |other| self.needed[rank] <= self.needed[other];
                if !self.fits(rank, to) || other.is_some_and(precedes) {
                    return None;
                }
                let fits = other.is_none_or(|other| self.fits(other, from));
                Some((!fits, growth_of_cost(problem, slot_of, rank, other, to), to))
            };
            let Some((.., to)) = (0..self.speed.len()).filter_map(growth).min() else { continue };
            if let Some(other) = rank_at[to] {
                slot_of[other] = from;
            }
            slot_of[rank] = to;
            rank_at.swap(from, to);
        }
    }
}

/// By how much the sum of weight times distance grows if a rank moves to a slot, and the rank there to
/// its old one.
fn growth_of_cost(
    problem: &Problem,
    slot_of: &[usize],
    rank: usize,
    other: Option<usize>,
    to: usize,
) -> i128 {
    let distance = |a: usize, b: usize| {
        i128::from(problem.levels().distance(problem.core(a), problem.core(b)))
    };
    let growth = |rank: usize, from: usize, to: usize, besides: Option<usize>| -> i128 {
        let rows = problem.graph().row(rank).filter(|(peer, _)| Some(*peer) != besides);
        rows.map(|(peer, weight)| {
            let slot = slot_of[peer];
            i128::from(weight) * (distance(to, slot) - distance(from, slot))
        })
        .sum()
    };
    let from = slot_of[rank];
    growth(rank, from, to, other) + other.map_or(0, |other| growth(other, to, from, Some(rank)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::read::synthetic;
    use crate::cluster::{Cluster, ClusterDescription, NodeGroup};
    use crate::placement::Granularity;
    use crate::traffic::generate::pattern::Pattern;

    /// Nodes of four cores, the first ones of speed 1, the others of speed 2.
    fn two_speeds(slow: usize, fast: usize) -> Cluster {
        let group = NodeGroup::all_free(synthetic::parse("core:4 pu:1").unwrap());
        let names = (0..slow + fast).map(|node| format!("n{node}")).collect();
        let mut description = ClusterDescription::uniform("two", names, group.clone());
        description.groups.push(NodeGroup { speed: 2.0, ..group });
        description.nodes[slow..].iter_mut().for_each(|node| node.group = 1);
        description.build().unwrap()
    }

    fn computing(pattern: &str, times: &[f64]) -> Workload {
        let mut job = Pattern::parse(pattern).unwrap().job().unwrap();
        job.compute = times.iter().map(|time| Seconds(*time)).collect();
        Workload::single(job)
    }

    #[test]
    fn ranks_that_compute_long_go_to_the_fast_node() {
        let cluster = two_speeds(1, 1);
        let workload = computing("linear:8", &[8.0, 4.0, 8.0, 4.0, 8.0, 4.0, 8.0, 4.0]);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let balance = problem.compute_balance().unwrap();
        assert_eq!(balance.lower_bound(), Seconds(4.0));
        let blocked: Vec<usize> = (0..8).collect();
        assert_eq!(balance.makespan(&blocked), Seconds(8.0));
        assert!(!balance.is_met(&blocked));
        let balanced = problem.balanced(blocked);
        assert_eq!(balance.makespan(&balanced), Seconds(4.0));
        assert!((0..8).all(|rank| (balanced[rank] >= 4) == (rank % 2 == 0)));
    }

    #[test]
    fn equal_nodes_need_no_balance() {
        let cluster = two_speeds(2, 0);
        let workload = computing("linear:3", &[1.0, 2.0, 3.0]);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        assert!(problem.compute_balance().is_none());
        let cluster = two_speeds(1, 1);
        let workload = computing("linear:3", &[]);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        assert!(problem.compute_balance().is_none());
    }

    proptest! {
        #[test]
        fn every_mapping_can_be_made_to_keep_the_balance(
            times in prop::collection::vec(0.0_f64..10.0, 1..24),
            slow in 1_usize..5,
            fast in 1_usize..5,
            turn in 0_usize..24,
            balance in 0.0_f64..0.5,
        ) {
            let cluster = two_speeds(slow, fast);
            let slots = 4 * (slow + fast);
            let times = &times[..times.len().min(slots)];
            let workload = computing(&format!("linear:{}", times.len()), times);
            let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
            let problem = problem.with_balance(balance);
            let mapping = (0..times.len()).map(|rank| (rank + turn) % slots).collect();
            let mapping = problem.balanced(mapping);
            problem.check(&mapping).unwrap();
            if let Some(needs) = problem.compute_balance() {
                prop_assert!(needs.is_met(&mapping));
                let most = needs.lower_bound().0 * (1.0 + balance) * (1.0 + 1e-6);
                prop_assert!(needs.makespan(&mapping).0 <= most);
            }
        }
    }
}

//! `regroup`, `placed` and `placed-core-reverse`: the process placement of Mercier and Clet-Ortega 2009
//! (sections 2.2 to 2.4) and its variants (section 3.3).
//!
//! Nodes minimise weight times distance as `drb` does. Inside a node `placed` maximises the sum of
//! weight times closeness by pairwise exchange; a round takes O(slots² × degree) for each node.

use crate::cluster::distance::Closeness;
use crate::map::search::graph::EdgeWeights;
use crate::map::strategies::drb::Drb;
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// Ranks that communicate share a node (dual recursive bipartitioning by Scotch). Where they run inside
/// it is then improved by swaps on the machine matrix (section 2.2), which distinguishes near memories
/// from far ones where a tree of levels does not.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct Placed {
    pub(in crate::map) seed: u64,
    pub(in crate::map) inside: Inside,
}

/// Where ranks go inside their node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::map) enum Inside {
    /// Where Scotch left them.
    AsDivided,
    /// Ranks that communicate most on cores near each other.
    Near,
    /// Ranks that communicate most on cores far from each other (`placed-core-reverse`, section 3.3).
    Far,
}

impl Mapper for Placed {
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let drb = Drb { seed: self.seed, weights: EdgeWeights::Bytes };
        let mut slot_of = drb.map(problem, budget)?.into_indices();
        if self.inside != Inside::AsDivided {
            for node in problem.slots_of_nodes() {
                Node::new(problem, node, self.inside, &slot_of).arrange(&mut slot_of);
            }
        }
        Ok(slot_of.into())
    }
}

/// A node and the ranks on it.
struct Node<'a> {
    problem: &'a Problem<'a>,
    /// Its slots.
    slots: std::ops::Range<usize>,
    /// How well each two of its slots are connected; negative where that is to be avoided.
    closeness: Vec<Vec<i64>>,
    /// Its ranks.
    ranks: Vec<usize>,
}

impl<'a> Node<'a> {
    fn new(
        problem: &'a Problem<'a>,
        slots: std::ops::Range<usize>,
        inside: Inside,
        slot_of: &[usize],
    ) -> Self {
        let node = problem.slots()[slots.start].node;
        let matrix = Closeness::new(problem.cluster.machine(node));
        let core = |slot: usize| problem.slots()[slot].cores[0];
        let sign = if inside == Inside::Far { -1 } else { 1 };
        let row = |a: usize| {
            let weight = |b: usize| sign * i64::from(matrix.weight(core(a), core(b)));
            slots.clone().map(weight).collect()
        };
        let closeness = slots.clone().map(row).collect();
        let ranks = (0..slot_of.len()).filter(|rank| slots.contains(&slot_of[*rank])).collect();
        Self { problem, slots, closeness, ranks }
    }

    /// Swaps ranks with each other and with free slots while weight times closeness grows.
    fn arrange(&self, slot_of: &mut [usize]) {
        const MAX_ROUNDS: usize = 100;
        let mut at: Vec<Option<usize>> = vec![None; self.slots.len()];
        let alone = |rank: &usize| {
            let slot = slot_of[*rank] - self.slots.start;
            at[slot].replace(*rank).is_none()
        };
        // Where ranks share slots, Scotch's mapping stays.
        if !self.ranks.iter().all(alone) {
            return;
        }
        for _ in 0..MAX_ROUNDS {
            let mut better = false;
            for a in 0..at.len() {
                for b in a + 1..at.len() {
                    if self.gain(slot_of, &at, a, b) > 0 {
                        at.swap(a, b);
                        for position in [a, b] {
                            if let Some(rank) = at[position] {
                                slot_of[rank] = self.slots.start + position;
                            }
                        }
                        better = true;
                    }
                }
            }
            if !better {
                return;
            }
        }
    }

    /// What an exchange of two positions adds to weight times closeness.
    fn gain(&self, slot_of: &[usize], at: &[Option<usize>], a: usize, b: usize) -> i128 {
        let moved = |from: usize, to: usize| -> i128 {
            let Some(rank) = at[from] else { return 0 };
            let edge = |(other, weight): (usize, u64)| {
                let slot = slot_of[other];
                let inside = self.slots.contains(&slot) && Some(other) != at[to];
                let position = if inside { slot - self.slots.start } else { return 0 };
                let change = self.closeness[to][position] - self.closeness[from][position];
                i128::from(weight) * i128::from(change)
            };
            self.problem.graph().row(rank).map(edge).sum()
        };
        moved(a, b) + moved(b, a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::{built_in, synthetic};
    use crate::cluster::{ClusterDescription, NodeGroup};
    use crate::ids::Rank;
    use crate::placement::Granularity;
    use crate::traffic::generate::nas;
    use crate::traffic::{Flow, Job, Workload};

    /// Weight times closeness of LU, class B, 8 ranks on the first node.
    fn closeness(inside: Inside) -> u64 {
        let cluster = built_in::find("paper:2009-placement").unwrap().cluster();
        let job = nas::parse("lu.B.8").unwrap().job().unwrap();
        let workload = Workload::single(job);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let mapping = Placed { seed: 1, inside }.map(&problem, &Budget::default()).unwrap();
        let matrix = Closeness::new(cluster.machine(crate::ids::NodeId(0)));
        let core = |rank: usize| problem.slots()[mapping.as_indices()[rank]].cores[0];
        let at_rank = |rank: usize| -> u64 {
            let edges = problem.graph().row(rank);
            edges.map(|(b, bytes)| bytes * u64::from(matrix.weight(core(rank), core(b)))).sum()
        };
        (0..8).map(at_rank).sum()
    }

    #[test]
    fn inside_a_node_near_is_nearer_than_far() {
        let [near, divided, far] = [Inside::Near, Inside::AsDivided, Inside::Far].map(closeness);
        assert!(near >= divided && divided > far, "{near} {divided} {far}");
    }

    #[test]
    fn where_cores_share_a_memory_the_caches_decide() {
        let machine = synthetic::parse("pack:1 numa:1 l3:2 core:2 pu:1").unwrap();
        let group = NodeGroup::all_free(machine);
        let cluster =
            ClusterDescription::uniform("c", vec!["n".to_owned()], group).build().unwrap();
        let flow = |a: u32, b: u32| Flow {
            source: Rank(a),
            destination: Rank(b),
            messages: 1,
            bytes: 1 << 20,
            largest: 1 << 20,
        };
        let job = Job::new("pairs", 4, [flow(0, 2), flow(1, 3)]).unwrap();
        let workload = Workload::single(job);
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let pairs_in_one_cache = |inside| {
            let mapping = Placed { seed: 1, inside }.map(&problem, &Budget::default()).unwrap();
            let cache = |rank: usize| mapping.as_indices()[rank] / 2;
            [(0, 2), (1, 3)].iter().filter(|(a, b)| cache(*a) == cache(*b)).count()
        };
        assert_eq!([Inside::Near, Inside::Far].map(pairs_in_one_cache), [2, 0]);
    }
}

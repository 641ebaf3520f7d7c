//! `round-robin` and `round-robin-core-binding`: the process with number i on node i modulo the number
//! of nodes.

use crate::map::strategies::cyclic::in_turn;
use crate::map::{Budget, MapError, Mapper, Problem};
use crate::placement::Mapping;

/// The policy that Mercier and Clet-Ortega 2009, section 3.2, hold theirs against: of the fewest nodes
/// that hold all ranks, rank i of each job goes to node i modulo their number, or to the next that has
/// room. `cyclic` takes all nodes of the cluster and goes on from one job to the next.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) struct RoundRobin;

impl Mapper for RoundRobin {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let jobs = problem.workload.rank_offsets();
        Ok(in_turn(problem, problem.slots_of_fewest_nodes(), &jobs).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::read::built_in;
    use crate::placement::Granularity;
    use crate::traffic::{Job, Workload};

    #[test]
    fn ranks_go_to_their_number_modulo_the_nodes() {
        let cluster = built_in::find("paper:2009-placement").unwrap().cluster();
        let job = |name: &str, ranks| Job::new(name, ranks, Vec::new()).unwrap();
        let jobs = vec![job("a", 11), job("b", 10)];
        let workload = Workload { name: "w".to_owned(), jobs };
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let slot_of = RoundRobin.map(&problem, &Budget::default()).unwrap();
        let nodes: Vec<usize> = slot_of.iter().map(|(_, slot)| slot.index() / 8).collect();
        let expected: Vec<usize> = (0..11).chain(0..10).map(|rank| rank % 3).collect();
        assert_eq!(nodes, expected);
    }
}

//! How many ranks of a job a node should have at most: section 4.2, Soryani et al. 2013. All numbers
//! of nodes are evaluated.

use crate::estimate::queueing::queue::waiting_time;
use crate::traffic::demand::MessageMeans;
use crate::units::{BytesPerSecond, Seconds};

/// A job that is to be spread evenly over nodes of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// P: how many ranks it has.
    pub(super) ranks: u64,
    /// `ADJ_avg`: how many peers a rank has on average.
    pub(super) adjacency: u64,
    /// Its messages; `None` without message timing: then the servers count as saturated.
    pub(super) messages: Option<MessageMeans>,
    /// How many nodes there are.
    pub(super) nodes: u64,
    /// How many ranks a node holds.
    pub(super) cores: u64,
    /// The rate of all network devices of a node together, in each direction.
    pub(super) interface: BytesPerSecond,
    /// The rate of a memory.
    pub(super) memory: BytesPerSecond,
    /// τ: how many times a message inside a node passes the memory.
    pub(super) copies: u32,
    pub(super) candidates: Candidates,
    pub(super) ties: Ties,
}

/// Which of several equally good numbers of nodes is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    Largest,
    Smallest,
}

/// Which numbers of nodes are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Those whose cores hold all ranks, up to one node for each rank.
    Fitting,
    /// All.
    Any,
}

/// The arrivals at the servers of a node, in units of `λ_avg`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Arrivals {
    interface: f64,
    memory: f64,
}

/// What is minimised; a finite waiting time is better than any sum of rates.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Cost {
    /// W of Eq. (14), in seconds.
    Waiting(f64),
    /// λ of Eq. (23), in units of `λ_avg`.
    Arriving(f64),
}

/// Costs that differ relatively by less than this differ by rounding only.
const ROUNDING: f64 = 1e-9;

impl Spread {
    /// The threshold, Eq. (22): ranks per node on the best number of nodes, rounded up.
    pub(super) fn threshold(&self) -> u64 {
        self.ranks.div_ceil(self.best_nodes().max(1))
    }

    /// `n_opt`: the number of nodes with the least waiting time at interface and memory, Eq. (14),
    /// or, where one of the two is saturated on any number of nodes, with the fewest arrivals,
    /// Eq. (23).
    fn best_nodes(&self) -> u64 {
        let fits = |nodes: &u64| match self.candidates {
            Candidates::Fitting => {
                *nodes <= self.ranks && self.ranks.div_ceil(*nodes) <= self.cores
            }
            Candidates::Any => true,
        };
        let mut best: Option<(Cost, u64)> = None;
        for nodes in (1..=self.nodes).filter(fits) {
            let cost = self.cost(nodes);
            let better = best.is_none_or(|(least, _)| match cost.against(least) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.ties == Ties::Largest,
                std::cmp::Ordering::Greater => false,
            });
            if better {
                best = Some((cost, nodes));
            }
        }
        best.map_or(self.nodes, |(_, nodes)| nodes)
    }

    fn cost(&self, nodes: u64) -> Cost {
        let arrivals = self.arrivals(nodes);
        let waiting = self.messages.and_then(|messages| {
            let at = |arrivals: f64, rate: BytesPerSecond| {
                let service = Seconds(messages.length / rate.0);
                let utilisation = arrivals * messages.rate.0 * service.0;
                Some(waiting_time(messages.cv, utilisation, service)?.0)
            };
            Some(at(arrivals.interface, self.interface)? + at(arrivals.memory, self.memory)?)
        });
        waiting.map_or(Cost::Arriving(arrivals.interface + arrivals.memory), Cost::Waiting)
    }

    /// Eqs. (15) to (21) on a number of nodes.
    fn arrivals(&self, nodes: u64) -> Arrivals {
        let (ranks, on_node) = (self.ranks, self.ranks / nodes);
        let others = on_node.saturating_sub(1);
        // M and N, Eqs. (16) and (21): as many peers as possible are on the same node.
        let inside = others.min(self.adjacency);
        let outside = self.adjacency - inside;
        let (on_node, outside, inside) = (on_node as f64, outside as f64, inside as f64);
        let interface = on_node * outside;
        let copied = on_node * inside * f64::from(self.copies);
        let chance = self.adjacency as f64 / ranks.saturating_sub(1).max(1) as f64;
        let received = (ranks as f64 - on_node) * chance * on_node;
        Arrivals { interface, memory: copied + interface + received }
    }
}

impl Cost {
    fn against(self, other: Self) -> std::cmp::Ordering {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let (cost, other) = match (self, other) {
            (Self::Waiting(_), Self::Arriving(_)) => return Less,
            (Self::Arriving(_), Self::Waiting(_)) => return Greater,
            (Self::Waiting(cost), Self::Waiting(other))
            | (Self::Arriving(cost), Self::Arriving(other)) => (cost, other),
        };
        if (cost - other).abs() <= ROUNDING * cost.abs().max(other.abs()) {
            return Equal;
        }
        cost.total_cmp(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PerSecond;

    /// An all-to-all job on the cluster of the papers.
    fn all_to_all(ranks: u64, rate: f64, length: f64) -> Spread {
        Spread {
            ranks,
            adjacency: ranks - 1,
            messages: Some(MessageMeans { rate: PerSecond(rate), length, cv: 1.0 }),
            nodes: 16,
            cores: 16,
            interface: BytesPerSecond(1e9),
            memory: BytesPerSecond(4e9),
            copies: 2,
            candidates: Candidates::Fitting,
            ties: Ties::Largest,
        }
    }

    #[test]
    fn arrivals_are_those_of_the_equations() {
        // P = 24, n = 5: 4 ranks, each with 3 peers on the node and 20 outside; 20 others send
        // them.
        let arrivals = all_to_all(24, 1.0, 1.0).arrivals(5);
        assert_eq!(arrivals.interface, 80.0);
        assert!((arrivals.memory - (2.0 * 4.0 * 3.0 + 80.0 + 20.0 * 4.0)).abs() < 1e-9);
        // All peers fit on the node; others send with the chance of 2 / 23.
        let sparse = Spread { adjacency: 2, ..all_to_all(24, 1.0, 1.0) }.arrivals(5);
        assert_eq!(sparse.interface, 0.0);
        assert!((sparse.memory - (2.0 * 4.0 * 2.0 + 20.0 * 2.0 / 23.0 * 4.0)).abs() < 1e-9);
    }

    #[test]
    fn ties_go_to_the_largest_number_of_nodes_or_to_the_smallest() {
        // 32 / n rounded down is 2 for 11 to 16 nodes.
        let job = all_to_all(32, 10.0, 65536.0);
        assert_eq!((job.best_nodes(), job.threshold()), (16, 2));
        let job = Spread { ties: Ties::Smallest, ..job };
        assert_eq!((job.best_nodes(), job.threshold()), (11, 3));
    }

    #[test]
    fn an_idle_network_is_better_than_a_saturated_one() {
        // 32 ranks on 2 nodes of 16: saturated at the interface of a slow network only.
        let saturated = |interface| {
            let spread = Spread { interface, ..all_to_all(32, 100.0, 65536.0) };
            (1..=16).map(|n| matches!(spread.cost(n), Cost::Arriving(_))).collect::<Vec<_>>()
        };
        assert!(saturated(BytesPerSecond(1e9))[1]);
        assert!(!saturated(BytesPerSecond(1e9))[15]);
        assert!(Cost::Waiting(1e9).against(Cost::Arriving(1.0)).is_lt());
    }

    #[test]
    fn without_rates_the_servers_count_as_saturated() {
        let spread = Spread { messages: None, ..all_to_all(64, 1.0, 1.0) };
        assert!(matches!(spread.cost(16), Cost::Arriving(_)));
        assert_eq!(spread.threshold(), 4);
    }

    #[test]
    fn only_numbers_of_nodes_that_hold_the_job_are_evaluated() {
        // With a fast memory two nodes of ten ranks each are best: nothing would leave them.
        let dense = Spread {
            adjacency: 9,
            nodes: 8,
            cores: 5,
            memory: BytesPerSecond(16e9),
            ..all_to_all(20, 1.0, 1e6)
        };
        assert_eq!((dense.best_nodes(), dense.threshold()), (8, 3));
        let any = Spread { candidates: Candidates::Any, ..dense };
        assert_eq!((any.best_nodes(), any.threshold()), (2, 10));
    }

    #[test]
    fn more_nodes_than_ranks_are_evaluated_only_on_request() {
        let few = Spread { cores: 4, ..all_to_all(6, 1.0, 1.0) };
        assert_eq!((few.best_nodes(), few.threshold()), (6, 1));
        // With more nodes than ranks P / n is 0, and so are all arrivals.
        let any = Spread { candidates: Candidates::Any, ..few };
        assert_eq!((any.best_nodes(), any.threshold()), (16, 1));
    }
}

//! `exclusive-full`, `exclusive-half` and `shared` minimise nothing: the modes of Koop, Luo and Panda
//! 2009, section VI.B. Ranks are in order, node after node, each job in its part of the nodes' slots, so
//! that jobs are on different sockets where their parts are whole sockets. O(ranks + slots).

use std::ops::Range;

use crate::map::options::{OptionEntry, Options};
use crate::map::{Budget, MapError, Mapper, Problem, StrategyError, fill};
use crate::placement::Mapping;

const PER_NODE: OptionEntry = OptionEntry {
    name: "per-node",
    default: "all",
    summary: "how many jobs share nodes, in their order: a whole number, or `all`",
};

const SOCKETS: OptionEntry = OptionEntry {
    name: "sockets",
    default: "shared",
    summary: "whether jobs may have cores of one socket: `shared`, or `apart` where sockets suffice",
};

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[PER_NODE, SOCKETS];

/// Ranks that do not fit into the part of their job take the slots that are left, in order.
#[derive(Debug, Clone, Copy)]
pub(in crate::map) enum MixedWorkloads {
    /// Each job on nodes of its own.
    ExclusiveFull,
    /// Each job on nodes of its own, on half of their slots.
    ExclusiveHalf,
    /// Jobs side by side on the same nodes, with shares in proportion to their ranks.
    Shared {
        /// `None`: all.
        per_node: Option<usize>,
        sockets_apart: bool,
    },
}

impl MixedWorkloads {
    pub(in crate::map) fn shared(options: &Options) -> Result<Self, StrategyError> {
        let wrong = || options.wrong(&PER_NODE, "a whole number from 1, or `all`".to_owned());
        let per_node = match options.text(&PER_NODE) {
            "all" => None,
            text => {
                let number = text.parse().ok().filter(|number| *number > 0);
                Some(number.ok_or_else(wrong)?)
            }
        };
        let sockets_apart = options.one_of(&SOCKETS, &[("shared", false), ("apart", true)])?;
        Ok(Self::Shared { per_node, sockets_apart })
    }
}

impl Mapper for MixedWorkloads {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let ranks: Vec<usize> = (0..problem.rank_count()).collect();
        let slots: Vec<usize> = match ranks.len() <= problem.slots().len() {
            true => self.order(problem),
            // Ranks share slots.
            false => (0..problem.slots().len()).collect(),
        };
        Ok(fill(problem, &ranks, &slots).into())
    }
}

impl MixedWorkloads {
    /// The slot of each rank, then the slots that are left.
    fn order(&self, problem: &Problem) -> Vec<usize> {
        let jobs: Vec<usize> = problem.workload.jobs.iter().map(|job| job.ranks as usize).collect();
        let per_node = match self {
            Self::Shared { per_node, .. } => per_node.unwrap_or(jobs.len()).max(1),
            Self::ExclusiveFull | Self::ExclusiveHalf => 1,
        };
        let nodes = problem.slots_of_nodes();
        let mut taken = vec![false; problem.slots().len()];
        let mut wanted: Vec<Option<usize>> = Vec::with_capacity(problem.rank_count());
        let mut first_node = 0;
        for together in jobs.chunks(per_node) {
            let mut last_node = first_node;
            for (position, ranks) in together.iter().enumerate() {
                let mut left = *ranks;
                for (number, node) in nodes.iter().enumerate().skip(first_node) {
                    if left == 0 {
                        break;
                    }
                    let part = self.part(problem, node, together, position);
                    let count = part.len().min(left);
                    wanted.extend(part.take(count).map(Some));
                    left -= count;
                    last_node = last_node.max(number + 1);
                }
                wanted.extend(std::iter::repeat_n(None, left));
            }
            first_node = last_node;
        }
        wanted.iter().flatten().for_each(|slot| taken[*slot] = true);
        let mut rest = (0..taken.len()).filter(|slot| !taken[*slot]);
        let mut order: Vec<usize> =
            wanted.into_iter().filter_map(|slot| slot.or_else(|| rest.next())).collect();
        order.extend(rest);
        order
    }

    /// The slots of a node for the job at this position among those that share it.
    fn part(
        &self,
        problem: &Problem,
        node: &Range<usize>,
        together: &[usize],
        position: usize,
    ) -> Range<usize> {
        let count = node.len();
        let (begin, end) = match self {
            Self::ExclusiveFull => (0, count),
            Self::ExclusiveHalf => (0, (count / 2).max(1)),
            Self::Shared { sockets_apart, .. } => {
                let sockets = socket_bounds(problem, node);
                let suffice = sockets.len() > together.len();
                let at = if *sockets_apart && suffice { sockets } else { (0..=count).collect() };
                let bounds = parts(at.len() - 1, together);
                (at[bounds[position]], at[bounds[position + 1]])
            }
        };
        node.start + begin..node.start + end
    }
}

/// Where the parts of jobs begin among `units` slots or sockets, and where the last one ends: in
/// proportion to their ranks, at least one each where there are enough.
fn parts(units: usize, ranks: &[usize]) -> Vec<usize> {
    let all = ranks.iter().sum::<usize>().max(1) as f64;
    let mut before = 0;
    let mut bounds = vec![0];
    for (number, ranks_of_job) in ranks.iter().enumerate() {
        before += ranks_of_job;
        let nearest = (before as f64 * units as f64 / all).round() as usize;
        let (least, most) = match units.checked_sub(ranks.len()) {
            Some(spare) => (bounds[number] + 1, spare + number + 1),
            None => (bounds[number], units),
        };
        bounds.push(nearest.clamp(least, most));
    }
    bounds
}

/// Where the sockets begin among the slots of a node, and the number of its slots.
fn socket_bounds(problem: &Problem, node: &Range<usize>) -> Vec<usize> {
    let package = |at: usize| {
        let slot = &problem.slots()[node.start + at];
        problem.cluster.machine(slot.node).cores[slot.cores[0].index()].package
    };
    let is_bound = |at: &usize| *at == 0 || *at == node.len() || package(*at) != package(at - 1);
    (0..=node.len()).filter(is_bound).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{self, NodeCount};
    use crate::placement::Granularity;
    use crate::traffic::{Job, Workload};

    /// Node and slot on it of each rank, on four nodes of two sockets with four cores.
    fn mapped(strategy: &str, ranks: &[u32]) -> String {
        let node = "synthetic:pack:2 numa:1 core:4 pu:1";
        let cluster = cluster::open_with(node, NodeCount::Exactly(4)).unwrap();
        let mut workload = Workload::default();
        for (number, ranks) in ranks.iter().enumerate() {
            workload.push(Job::new(format!("job{number}"), *ranks, []).unwrap());
        }
        let problem = Problem::new(&cluster, &workload, Granularity::Cores(1)).unwrap();
        let strategy: crate::map::Strategy = strategy.parse().unwrap();
        let mapping = strategy.map(&problem, &Budget::default()).unwrap();
        let slots = mapping.as_indices().iter();
        let mut shown: Vec<String> =
            slots.map(|slot| format!("{}{}", slot / 8, slot % 8)).collect();
        let jobs = ranks.iter().map(|ranks| shown.drain(..*ranks as usize).collect::<Vec<_>>());
        jobs.map(|job| job.join(" ")).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn jobs_share_nodes_or_have_their_own() {
        assert_eq!(mapped("exclusive-full", &[3, 2]), "00 01 02 | 10 11");
        assert_eq!(mapped("exclusive-half", &[6, 2]), "00 01 02 03 10 11 | 20 21");
        assert_eq!(mapped("shared", &[6, 6]), "00 01 02 03 10 11 | 04 05 06 07 14 15");
        assert_eq!(mapped("shared:per-node=2", &[2, 2, 2]), "00 01 | 04 05 | 10 11");
    }

    #[test]
    fn shares_are_in_proportion_to_ranks_and_may_be_whole_sockets() {
        assert_eq!(mapped("shared", &[6, 2]), "00 01 02 03 04 05 | 06 07");
        let apart = |ranks: &[u32]| mapped("shared:sockets=apart", ranks);
        assert_eq!(apart(&[6, 2]), "00 01 02 03 10 11 | 04 05");
        // The smaller job has a socket of its own, however small it is.
        assert_eq!(apart(&[8, 1]), "00 01 02 03 10 11 12 13 | 04");
        // Three jobs on two sockets: none can have one of its own.
        assert_eq!(apart(&[2, 2, 2]), "00 01 | 03 04 | 05 06");
    }

    #[test]
    fn ranks_that_do_not_fit_take_what_is_left() {
        let halves = mapped("exclusive-half", &[16, 2]);
        assert!(halves.ends_with("| 04 05"), "{halves}");
    }
}

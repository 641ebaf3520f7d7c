//! `blocked` minimises nothing: rank by rank in order, one node after the other, as launchers do by
//! default. Within a node ranks take its cores in order, or are dealt to its NUMA nodes or packages in
//! turn. O(ranks + slots).

use crate::map::options::{OptionEntry, Options};
use crate::map::{Budget, MapError, Mapper, Problem, StrategyError, fill};
use crate::placement::{Mapping, Slot};

/// Ranks in order into nodes in order.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::map) struct Blocked {
    within: Within,
}

/// The order in which the ranks of a node take its slots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    /// Core by core ("by core", "by slot").
    #[default]
    Cores,
    /// One to each NUMA node in turn ("by numa").
    Numa,
    /// One to each package in turn ("by socket", cyclic over sockets).
    Packages,
}

const WITHIN: OptionEntry = OptionEntry {
    name: "within",
    default: "cores",
    summary: "what the ranks of a node take in turn: `cores`, `numa` nodes or `packages`",
};

const ORDERS: [(&str, Within); 3] =
    [("cores", Within::Cores), ("numa", Within::Numa), ("packages", Within::Packages)];

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[WITHIN];

impl Blocked {
    pub(in crate::map) fn from_options(options: &Options) -> Result<Self, StrategyError> {
        Ok(Self { within: options.one_of(&WITHIN, &ORDERS)? })
    }
}

impl Mapper for Blocked {
    fn map(&self, problem: &Problem, _: &Budget) -> Result<Mapping, MapError> {
        let ranks: Vec<usize> = (0..problem.rank_count()).collect();
        let slots: Vec<usize> = match self.within {
            Within::Cores => (0..problem.slots().len()).collect(),
            within => {
                let nodes = problem.slots_of_nodes().into_iter();
                nodes.flat_map(|node| within.dealt(problem, node.collect())).collect()
            }
        };
        Ok(fill(problem, &ranks, &slots).into())
    }
}

impl Within {
    /// The slots of a node: the first of each NUMA node or package, then the second of each.
    fn dealt(self, problem: &Problem, slots: Vec<usize>) -> Vec<usize> {
        let group = |slot: usize| self.group(problem, &problem.slots()[slot]);
        let mut groups: Vec<(usize, usize)> = Vec::new();
        let mut keyed: Vec<(usize, usize, usize)> = Vec::with_capacity(slots.len());
        for slot in slots {
            let number = group(slot);
            let at = groups.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
                groups.push((number, 0));
                groups.len() - 1
            });
            keyed.push((groups[at].1, at, slot));
            groups[at].1 += 1;
        }
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, _, slot)| slot).collect()
    }

    /// The NUMA node or package of a slot's first core.
    fn group(self, problem: &Problem, slot: &Slot) -> usize {
        let core = &problem.cluster.machine(slot.node).cores[slot.cores[0].index()];
        match self {
            Self::Cores => 0,
            Self::Numa => core.numa.index(),
            Self::Packages => core.package,
        }
    }
}

//! The table of strategies: it feeds the command line, its help, the documentation and the tests.

use super::options::{MOVES, OptionEntry, Options, SEED, WEIGHTS};
#[cfg(feature = "scotch")]
use super::strategies::drb::Drb;
use super::strategies::job_spreading::{mapping_2012, mapping_2013};
use super::strategies::mixed_workloads::{self, MixedWorkloads};
#[cfg(feature = "scotch")]
use super::strategies::process_placement::placed::{Inside, Placed};
use super::strategies::process_placement::round_robin::RoundRobin;
use super::strategies::{auto, blocked, contention, cyclic, kway, multisection, random, treematch};
use super::{Mapper, Mapping2012, Mapping2013, StrategyError};

/// All strategies, in the order in which they are shown.
pub const MAPPERS: &[MapperEntry] = &[
    MapperEntry {
        name: "blocked",
        summary: "fills one node after the other, in the order of ranks",
        source: "the default of most launchers",
        options: blocked::OPTIONS,
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(usize::MAX),
        make: Make::Mapper(|options| Ok(Box::new(blocked::Blocked::from_options(options)?))),
    },
    MapperEntry {
        name: "cyclic",
        summary: "gives one rank to each node in turn",
        source: "`--map-by node` of launchers",
        options: &[],
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(usize::MAX),
        make: Make::Mapper(|_| Ok(Box::new(cyclic::Cyclic))),
    },
    MapperEntry {
        name: "random",
        summary: "ranks in random order on random slots, a baseline for the others",
        source: "Fisher-Yates shuffle, xoroshiro128++",
        options: &[SEED],
        role: Role::Independent,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|options| Ok(Box::new(random::Random { seed: options.seed()? }))),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "drb",
        summary: "dual recursive bipartitioning of ranks and machine together (Scotch)",
        source: "Pellegrini 1994; Scotch 7",
        options: &[SEED, WEIGHTS],
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(70_000),
        make: Make::Mapper(|options| {
            Ok(Box::new(Drb { seed: options.seed()?, weights: options.weights()? }))
        }),
    },
    MapperEntry {
        name: "kway",
        summary: "k-way partitioning over nodes, then again inside every node (METIS)",
        source: "Karypis and Kumar 1998; METIS 5",
        options: &[SEED, WEIGHTS],
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(300_000),
        make: Make::Mapper(|options| {
            Ok(Box::new(kway::Kway { seed: options.seed()?, weights: options.weights()? }))
        }),
    },
    MapperEntry {
        name: "treematch",
        summary: "groups ranks bottom-up for every level of the machine (TreeMatch)",
        source: "Jeannot and Mercier 2010; Jeannot, Mercier and Tessier 2014",
        options: &[WEIGHTS],
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(3_000_000),
        make: Make::Mapper(|options| {
            Ok(Box::new(treematch::TreeMatch { weights: options.weights()? }))
        }),
    },
    MapperEntry {
        name: "multisection",
        summary: "divides level by level, then swaps and anneals for the least traffic times distance",
        source: "Sanders and Schulz 2011 (multisection); Kirkpatrick et al. 1983 (annealing)",
        options: multisection::OPTIONS,
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(100_000),
        make: Make::Mapper(|options| {
            Ok(Box::new(multisection::Multisection::from_options(options)?))
        }),
    },
    MapperEntry {
        name: "mapping-2012",
        summary: "spreads jobs over all nodes where ranks have more peers than a node holds",
        source: "Soryani, Analoui, Zarrinchian 2012, Fig. 1 and Eq. (2)",
        options: mapping_2012::OPTIONS,
        role: Role::Independent,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|options| Ok(Box::new(Mapping2012::from_options(options)?))),
    },
    MapperEntry {
        name: "mapping-2013",
        summary: "spreads jobs over as many nodes as let their messages wait least",
        source: "Soryani, Analoui, Zarrinchian 2013, Fig. 8 and Eqs. (13)-(23)",
        options: mapping_2013::OPTIONS,
        role: Role::Independent,
        binds: true,
        largest_at_start: Some(500_000),
        make: Make::Mapper(|options| Ok(Box::new(Mapping2013::from_options(options)?))),
    },
    MapperEntry {
        name: "contention",
        summary: "searches for the least predicted waiting, from the mappings of all others",
        source: "simulated annealing on the queueing model",
        options: contention::OPTIONS,
        role: Role::StartsFromOthers,
        binds: true,
        largest_at_start: Some(2_000),
        make: Make::Mapper(|options| Ok(Box::new(contention::Contention::from_options(options)?))),
    },
    MapperEntry {
        name: "auto",
        summary: "tries all others and takes the best, simulated where jobs have message timing",
        source: "what `place` does",
        options: auto::OPTIONS,
        role: Role::ChoosesAmongOthers,
        binds: true,
        largest_at_start: None,
        make: Make::Choice(auto::check),
    },
    MapperEntry {
        name: "exclusive-full",
        summary: "each job on nodes of its own, on all their cores",
        source: "Koop, Luo and Panda 2009, section VI.B",
        options: &[],
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|_| Ok(Box::new(MixedWorkloads::ExclusiveFull))),
    },
    MapperEntry {
        name: "exclusive-half",
        summary: "each job on nodes of its own, on half of their cores",
        source: "Koop, Luo and Panda 2009, section VI.B",
        options: &[],
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|_| Ok(Box::new(MixedWorkloads::ExclusiveHalf))),
    },
    MapperEntry {
        name: "shared",
        summary: "jobs side by side on the same nodes, each on its share of their cores",
        source: "Koop, Luo and Panda 2009, section VI.B",
        options: mixed_workloads::OPTIONS,
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|options| Ok(Box::new(MixedWorkloads::shared(options)?))),
    },
    MapperEntry {
        name: "round-robin",
        summary: "rank modulo number of nodes, as few nodes as hold all; unbound",
        source: "Mercier and Clet-Ortega 2009, section 3.2",
        options: &[],
        role: Role::Historic,
        binds: false,
        largest_at_start: None,
        make: Make::Mapper(|_| Ok(Box::new(RoundRobin))),
    },
    MapperEntry {
        name: "round-robin-core-binding",
        summary: "as `round-robin`, with ranks bound to cores",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[],
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|_| Ok(Box::new(RoundRobin))),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "regroup",
        summary: "ranks that communicate share a node (Scotch), unbound there",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[SEED],
        role: Role::Historic,
        binds: false,
        largest_at_start: None,
        make: Make::Mapper(|options| {
            Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::AsDivided }))
        }),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "placed",
        summary: "as `regroup`, then on near cores by the machine matrix",
        source: "Mercier and Clet-Ortega 2009, sections 2.2 to 2.4",
        options: &[SEED],
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|options| {
            Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::Near }))
        }),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "placed-core-reverse",
        summary: "as `placed`, but on cores far from each other inside the node",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[SEED],
        role: Role::Historic,
        binds: true,
        largest_at_start: None,
        make: Make::Mapper(|options| {
            Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::Far }))
        }),
    },
];

/// How a strategy relates to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Needs no mapping of another; others may start from its mapping.
    Independent,
    /// Starts from the mappings of the independent ones, so that it should run after them.
    StartsFromOthers,
    /// Takes the best mapping of the others, so that a comparison of all needs no row of it.
    ChoosesAmongOthers,
    /// A policy of a paper, for comparison: takes part only where it is named.
    Historic,
}

impl Role {
    /// Whether it has a mapping of its own that takes part in every comparison.
    #[must_use]
    pub fn is_candidate(self) -> bool {
        matches!(self, Self::Independent | Self::StartsFromOthers)
    }
}

/// A row of [`MAPPERS`].
#[derive(Debug)]
pub struct MapperEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was published, or the library that it calls.
    pub source: &'static str,
    /// Its options.
    pub options: &'static [OptionEntry],
    /// How it relates to the others.
    pub role: Role,
    /// Whether its ranks are bound to their PUs; else each may run anywhere on its node.
    pub binds: bool,
    /// Up to which size of a job it is tried where a job waits to be started: the number of its ranks
    /// and of its pairs of ranks that send. `None` if it is not tried there. Of random graphs, which
    /// take longest, a core of 2020 does all that are tried, and what is around them, in less than two
    /// seconds (`benchmarks/start`).
    pub largest_at_start: Option<usize>,
    pub(super) make: Make,
}

/// How a strategy is made from its options.
#[derive(Debug)]
pub(super) enum Make {
    /// A mapper.
    Mapper(fn(&Options) -> Result<Box<dyn Mapper>, StrategyError>),
    /// A choice among the mappings of others; this only checks the options.
    Choice(fn(&Options) -> Result<(), StrategyError>),
}

impl MapperEntry {
    /// Whether it searches: by its effort, a number of moves, or until a limit of time.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.options.iter().any(|option| option.name == MOVES.name)
    }

    /// The mapper with these options; `None` for one that chooses among others.
    pub(super) fn prepare(
        &self,
        given: &Options,
    ) -> Result<Option<Box<dyn Mapper>>, StrategyError> {
        match self.make {
            Make::Mapper(make) => make(given).map(Some),
            Make::Choice(check) => check(given).map(|()| None),
        }
    }

    /// The mapper with all options at their defaults.
    pub(super) fn plain(&self) -> Result<Option<Box<dyn Mapper>>, StrategyError> {
        self.prepare(&Options::new(self.name))
    }
}

/// The strategies to try for a job of this size that waits to be started, the fastest first:
/// [`MapperEntry::largest_at_start`].
#[must_use]
pub fn tried_at_start(size: usize) -> Vec<&'static MapperEntry> {
    let largest = |entry: &&MapperEntry| entry.largest_at_start;
    let fits = |entry: &&'static MapperEntry| largest(entry).is_some_and(|largest| size <= largest);
    let mut tried: Vec<&MapperEntry> = MAPPERS.iter().filter(fits).collect();
    tried.sort_by_key(|entry| std::cmp::Reverse(largest(entry)));
    tried
}

/// The strategy with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static MapperEntry> {
    MAPPERS.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_jobs_are_started_by_the_fast_strategies() {
        let names = |size| tried_at_start(size).iter().map(|entry| entry.name).collect::<Vec<_>>();
        let fastest = ["blocked", "cyclic", "treematch", "mapping-2013", "kway", "multisection"];
        assert_eq!(names(usize::MAX), fastest[..2]);
        assert_eq!(names(100_000), fastest);
        assert_eq!(names(100_001), fastest[..5]);
        assert_eq!(names(2_000).last(), Some(&"contention"));
    }
}

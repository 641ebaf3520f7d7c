//! The table of strategies: it feeds the command line, its help, the documentation and the tests.

use super::options::{OptionEntry, Options, SEED, WEIGHTS};
#[cfg(feature = "scotch")]
use super::strategies::drb::Drb;
#[cfg(feature = "scotch")]
use super::strategies::mercier_2009::placed::{Inside, Placed};
use super::strategies::mercier_2009::round_robin::RoundRobin;
use super::strategies::soryani::{mapping_2012, mapping_2013};
use super::strategies::{auto, blocked, contention, cyclic, kway, multisection, random, treematch};
use super::{Mapper, Mapping2012, Mapping2013, StrategyError};

/// All strategies, in the order in which they are shown.
pub const MAPPERS: &[MapperEntry] = &[
    MapperEntry {
        name: "blocked",
        summary: "fills one node after the other, in the order of ranks",
        source: "the default of most launchers",
        options: &[],
        part: Part::Alone,
        binds: true,
        make: |_| Ok(Box::new(blocked::Blocked)),
    },
    MapperEntry {
        name: "cyclic",
        summary: "gives one rank to each node in turn",
        source: "`--map-by node` of launchers",
        options: &[],
        part: Part::Alone,
        binds: true,
        make: |_| Ok(Box::new(cyclic::Cyclic)),
    },
    MapperEntry {
        name: "random",
        summary: "any rank anywhere, to judge the others by",
        source: "Fisher-Yates shuffle, xoroshiro128++",
        options: &[SEED],
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(random::Random { seed: options.seed()? })),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "drb",
        summary: "dual recursive bipartitioning of ranks and machine together (Scotch)",
        source: "Pellegrini 1994; Scotch 7",
        options: &[SEED, WEIGHTS],
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(Drb { seed: options.seed()?, weights: options.weights()? })),
    },
    MapperEntry {
        name: "kway",
        summary: "k-way partitioning over nodes, then again inside every node (METIS)",
        source: "Karypis and Kumar 1998; METIS 5",
        options: &[SEED, WEIGHTS],
        part: Part::Alone,
        binds: true,
        make: |options| {
            Ok(Box::new(kway::Kway { seed: options.seed()?, weights: options.weights()? }))
        },
    },
    MapperEntry {
        name: "treematch",
        summary: "groups ranks bottom-up for every level of the machine (TreeMatch)",
        source: "Jeannot and Mercier 2010; Jeannot, Mercier and Tessier 2014",
        options: &[WEIGHTS],
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(treematch::TreeMatch { weights: options.weights()? })),
    },
    MapperEntry {
        name: "multisection",
        summary: "divides level by level, then swaps and anneals for the least traffic times distance",
        source: "Sanders and Schulz 2011 (multisection); Kirkpatrick et al. 1983 (annealing)",
        options: multisection::OPTIONS,
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(multisection::Multisection::from_options(options)?)),
    },
    MapperEntry {
        name: "mapping-2012",
        summary: "spreads jobs over all nodes where ranks talk with more than a node holds",
        source: "Soryani, Analoui, Zarrinchian 2012, Fig. 1 and Eq. (2)",
        options: mapping_2012::OPTIONS,
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(Mapping2012::from_options(options)?)),
    },
    MapperEntry {
        name: "mapping-2013",
        summary: "spreads jobs over as many nodes as let their messages wait least",
        source: "Soryani, Analoui, Zarrinchian 2013, Fig. 8 and Eqs. (13)-(23)",
        options: mapping_2013::OPTIONS,
        part: Part::Alone,
        binds: true,
        make: |options| Ok(Box::new(Mapping2013::from_options(options)?)),
    },
    MapperEntry {
        name: "contention",
        summary: "searches for the least predicted waiting, from the answers of all others",
        source: "simulated annealing on the queueing model",
        options: contention::OPTIONS,
        part: Part::BeginsWithOthers,
        binds: true,
        make: |options| Ok(Box::new(contention::Contention::from_options(options)?)),
    },
    MapperEntry {
        name: "auto",
        summary: "tries all others and takes the best, simulated where jobs say when they send",
        source: "what `place` does",
        options: auto::OPTIONS,
        part: Part::Chooses,
        binds: true,
        make: auto::Auto::from_options,
    },
    MapperEntry {
        name: "round-robin",
        summary: "rank modulo number of nodes, as few nodes as hold all; unbound",
        source: "Mercier and Clet-Ortega 2009, section 3.2",
        options: &[],
        part: Part::Historic,
        binds: false,
        make: |_| Ok(Box::new(RoundRobin)),
    },
    MapperEntry {
        name: "round-robin-core-binding",
        summary: "the same, bound",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[],
        part: Part::Historic,
        binds: true,
        make: |_| Ok(Box::new(RoundRobin)),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "regroup",
        summary: "ranks that talk on one node (Scotch), unbound there",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[SEED],
        part: Part::Historic,
        binds: false,
        make: |options| Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::AsDivided })),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "placed",
        summary: "ranks that talk on one node (Scotch), there on near cores by the machine matrix",
        source: "Mercier and Clet-Ortega 2009, sections 2.2 to 2.4",
        options: &[SEED],
        part: Part::Historic,
        binds: true,
        make: |options| Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::Near })),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "placed-core-reverse",
        summary: "the same nodes, there on cores far from each other",
        source: "Mercier and Clet-Ortega 2009, section 3.3",
        options: &[SEED],
        part: Part::Historic,
        binds: true,
        make: |options| Ok(Box::new(Placed { seed: options.seed()?, inside: Inside::Far })),
    },
];

/// What part a strategy plays among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Maps by itself; others may begin with its answer.
    Alone,
    /// Begins with the answers of the others, so that it should run after them.
    BeginsWithOthers,
    /// Only chooses among the answers of the others, so that a comparison of all needs no row of it.
    Chooses,
    /// A policy of a paper that others are held against: takes part only where it is named.
    Historic,
}

impl Part {
    /// Whether it has an answer of its own that takes part in every comparison.
    #[must_use]
    pub fn is_candidate(self) -> bool {
        matches!(self, Self::Alone | Self::BeginsWithOthers)
    }
}

/// A row of [`MAPPERS`].
#[derive(Debug)]
pub struct MapperEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// What can be set.
    pub options: &'static [OptionEntry],
    /// What part it plays among the others.
    pub part: Part,
    /// Whether its ranks are bound to their PUs; else each may run anywhere on its node.
    pub binds: bool,
    pub(super) make: fn(&Options) -> Result<Box<dyn Mapper>, StrategyError>,
}

impl MapperEntry {
    /// The mapper with all options at their defaults.
    pub(super) fn plain(&self) -> Result<Box<dyn Mapper>, StrategyError> {
        (self.make)(&Options::new(self.name))
    }
}

/// The strategy with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static MapperEntry> {
    MAPPERS.iter().find(|entry| entry.name == name)
}

//! The table of strategies: it feeds the command line, its help, the documentation and the tests.

#[cfg(feature = "scotch")]
use super::drb::Drb;
use super::options::{OptionEntry, Options, SEED, WEIGHTS};
use super::{Mapper, Mapping2012, Mapping2013, StrategyError};
use super::{
    auto, blocked, contention, cyclic, kway, mapping_2012, mapping_2013, multisection, random,
    treematch,
};

/// All strategies, in the order in which they are shown.
pub const MAPPERS: &[MapperEntry] = &[
    MapperEntry {
        name: "blocked",
        summary: "fills one node after the other, in the order of ranks",
        source: "the default of most launchers",
        options: &[],
        begins_with_others: false,
        chooses: false,
        make: |_| Ok(Box::new(blocked::Blocked)),
    },
    MapperEntry {
        name: "cyclic",
        summary: "gives one rank to each node in turn",
        source: "`--map-by node` of launchers",
        options: &[],
        begins_with_others: false,
        chooses: false,
        make: |_| Ok(Box::new(cyclic::Cyclic)),
    },
    MapperEntry {
        name: "random",
        summary: "any rank anywhere, to judge the others by",
        source: "Fisher-Yates shuffle, ChaCha8",
        options: &[SEED],
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(random::Random { seed: options.seed()? })),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "drb",
        summary: "dual recursive bipartitioning of ranks and machine together (Scotch)",
        source: "Pellegrini 1994; Scotch 7",
        options: &[SEED, WEIGHTS],
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(Drb { seed: options.seed()?, weights: options.weights()? })),
    },
    MapperEntry {
        name: "kway",
        summary: "k-way partitioning over nodes, then again inside every node (METIS)",
        source: "Karypis and Kumar 1998; METIS 5",
        options: &[SEED, WEIGHTS],
        begins_with_others: false,
        chooses: false,
        make: |options| {
            Ok(Box::new(kway::Kway { seed: options.seed()?, weights: options.weights()? }))
        },
    },
    MapperEntry {
        name: "treematch",
        summary: "groups ranks bottom-up for every level of the machine (TreeMatch)",
        source: "Jeannot and Mercier 2010; Jeannot, Mercier and Tessier 2014",
        options: &[WEIGHTS],
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(treematch::TreeMatch { weights: options.weights()? })),
    },
    MapperEntry {
        name: "multisection",
        summary: "divides level by level, then swaps and anneals for the least traffic times distance",
        source: "Sanders and Schulz 2011 (multisection); Kirkpatrick et al. 1983 (annealing)",
        options: multisection::OPTIONS,
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(multisection::Multisection::from_options(options)?)),
    },
    MapperEntry {
        name: "mapping-2012",
        summary: "spreads jobs over all nodes where ranks talk with more than a node holds",
        source: "Soryani, Analoui, Zarrinchian 2012, Fig. 1 and Eq. (2)",
        options: mapping_2012::OPTIONS,
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(Mapping2012::from_options(options)?)),
    },
    MapperEntry {
        name: "mapping-2013",
        summary: "spreads jobs over as many nodes as let their messages wait least",
        source: "Soryani, Analoui, Zarrinchian 2013, Fig. 8 and Eqs. (13)-(23)",
        options: mapping_2013::OPTIONS,
        begins_with_others: false,
        chooses: false,
        make: |options| Ok(Box::new(Mapping2013::from_options(options)?)),
    },
    MapperEntry {
        name: "contention",
        summary: "searches for the least predicted waiting, from the answers of all others",
        source: "simulated annealing on the queueing model",
        options: contention::OPTIONS,
        begins_with_others: true,
        chooses: false,
        make: |options| Ok(Box::new(contention::Contention::from_options(options)?)),
    },
    MapperEntry {
        name: "auto",
        summary: "tries all others and takes the best, simulated where jobs say when they send",
        source: "what `place` does",
        options: auto::OPTIONS,
        begins_with_others: true,
        chooses: true,
        make: auto::Auto::from_options,
    },
];

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
    /// Whether it begins with the answers of the others, so that it should run after them.
    pub begins_with_others: bool,
    /// Whether it only chooses among the answers of the others, so that a comparison of all needs no
    /// row of it.
    pub chooses: bool,
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

//! The strategies by name, with their options: `drb:seed=7`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

#[cfg(feature = "scotch")]
use super::drb::Drb;
use super::graph::EdgeWeights;
use super::{MapError, Mapper, Mapping2012, Mapping2013, Problem};
use super::{blocked, cyclic, kway, mapping_2012, mapping_2013, random};

/// A strategy as the user named it, ready to run.
#[derive(Debug)]
pub struct Strategy {
    entry: &'static MapperEntry,
    given: Options,
    mapper: Box<dyn Mapper>,
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
    make: fn(&Options) -> Result<Box<dyn Mapper>, StrategyError>,
}

/// An option of a strategy.
#[derive(Debug)]
pub struct OptionEntry {
    /// Its name.
    pub name: &'static str,
    /// Its value where nothing is said.
    pub default: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
}

/// What was set for a strategy, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    strategy: &'static str,
    set: BTreeMap<String, String>,
}

const SEED: OptionEntry =
    OptionEntry { name: "seed", default: "1", summary: "another number, another result" };
const WEIGHTS: OptionEntry = OptionEntry {
    name: "weights",
    default: "bytes",
    summary: "what the ranks exchange: `bytes`, or their `rate` per second where all jobs have one",
};

/// All strategies, in the order in which they are shown.
pub const MAPPERS: &[MapperEntry] = &[
    MapperEntry {
        name: "blocked",
        summary: "fills one node after the other, in the order of ranks",
        source: "the default of most launchers",
        options: &[],
        make: |_| Ok(Box::new(blocked::Blocked)),
    },
    MapperEntry {
        name: "cyclic",
        summary: "gives one rank to each node in turn",
        source: "`--map-by node` of launchers",
        options: &[],
        make: |_| Ok(Box::new(cyclic::Cyclic)),
    },
    MapperEntry {
        name: "random",
        summary: "any rank anywhere, to judge the others by",
        source: "Fisher-Yates shuffle, ChaCha8",
        options: &[SEED],
        make: |options| Ok(Box::new(random::Random { seed: options.seed()? })),
    },
    #[cfg(feature = "scotch")]
    MapperEntry {
        name: "drb",
        summary: "dual recursive bipartitioning of ranks and machine together (Scotch)",
        source: "Pellegrini 1994; Scotch 7",
        options: &[SEED, WEIGHTS],
        make: |options| Ok(Box::new(Drb { seed: options.seed()?, weights: options.weights()? })),
    },
    MapperEntry {
        name: "kway",
        summary: "k-way partitioning over nodes, then again inside every node (METIS)",
        source: "Karypis and Kumar 1998; METIS 5",
        options: &[SEED, WEIGHTS],
        make: |options| {
            Ok(Box::new(kway::Kway { seed: options.seed()?, weights: options.weights()? }))
        },
    },
    MapperEntry {
        name: "mapping-2012",
        summary: "spreads jobs over all nodes where ranks talk with more than a node holds",
        source: "Soryani, Analoui, Zarrinchian 2012, Fig. 1 and Eq. (2)",
        options: mapping_2012::OPTIONS,
        make: |options| Ok(Box::new(Mapping2012::from_options(options)?)),
    },
    MapperEntry {
        name: "mapping-2013",
        summary: "spreads jobs over as many nodes as let their messages wait least",
        source: "Soryani, Analoui, Zarrinchian 2013, Fig. 8 and Eqs. (13)-(23)",
        options: mapping_2013::OPTIONS,
        make: |options| Ok(Box::new(Mapping2013::from_options(options)?)),
    },
];

/// The strategy with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static MapperEntry> {
    MAPPERS.iter().find(|entry| entry.name == name)
}

/// Why a text names no strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// No such strategy.
    #[error("no strategy is called `{name}`; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No such option.
    #[error("{strategy} has no option `{option}`; it has {known}")]
    UnknownOption {
        /// The strategy.
        strategy: &'static str,
        /// The option.
        option: String,
        /// The options that exist, or `none`.
        known: String,
    },
    /// An option that is not `key=value`.
    #[error("{strategy}: found `{found}`, expected an option as key=value")]
    NotAnOption {
        /// The strategy.
        strategy: &'static str,
        /// What stands there.
        found: String,
    },
    /// A value that the option cannot take.
    #[error("{strategy}: {option}: found `{found}`, expected {expected}")]
    BadValue {
        /// The strategy.
        strategy: &'static str,
        /// The option.
        option: &'static str,
        /// What stands there.
        found: String,
        /// What could stand there.
        expected: String,
    },
}

impl Strategy {
    /// The strategy with an option set, unless the strategy has no such option or the user set it.
    ///
    /// # Errors
    /// If the option cannot take the value.
    pub fn with_default(mut self, option: &str, value: &str) -> Result<Self, StrategyError> {
        let known = self.entry.options.iter().any(|known| known.name == option);
        if known && !self.given.set.contains_key(option) {
            self.given.set.insert(option.to_owned(), value.to_owned());
            self.mapper = (self.entry.make)(&self.given)?;
        }
        Ok(self)
    }

    /// Its name, without options.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The slot of each rank, checked: every rank has one and no slot holds more than it may.
    ///
    /// # Errors
    /// If a partitioner fails.
    pub fn map(&self, problem: &Problem) -> Result<Vec<usize>, MapError> {
        let slot_of = self.mapper.map(problem)?;
        problem.check(&slot_of)?;
        Ok(slot_of)
    }
}

impl FromStr for Strategy {
    type Err = StrategyError;

    /// Reads `name` or `name:key=value,key=value`.
    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let list = |names: Vec<&str>| names.join(", ");
        let entry = find(name).ok_or_else(|| StrategyError::Unknown {
            name: name.to_owned(),
            known: list(MAPPERS.iter().map(|entry| entry.name).collect()),
        })?;
        let mut given = Options { strategy: entry.name, set: BTreeMap::new() };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| {
                StrategyError::NotAnOption { strategy: entry.name, found: option.to_owned() }
            })?;
            if entry.options.iter().all(|known| known.name != key) {
                let names: Vec<String> =
                    entry.options.iter().map(|known| format!("`{}`", known.name)).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(StrategyError::UnknownOption {
                    strategy: entry.name,
                    option: key.to_owned(),
                    known,
                });
            }
            given.set.insert(key.to_owned(), value.to_owned());
        }
        let mapper = (entry.make)(&given)?;
        Ok(Self { entry, given, mapper })
    }
}

impl fmt::Display for Strategy {
    /// As it is written on the command line, options in the order of their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for (position, (key, value)) in self.given.set.iter().enumerate() {
            let before = if position == 0 { ':' } else { ',' };
            write!(f, "{before}{key}={value}")?;
        }
        Ok(())
    }
}

impl Options {
    /// What an option was set to, or its default.
    pub(super) fn text(&self, option: &OptionEntry) -> &str {
        self.set.get(option.name).map_or(option.default, String::as_str)
    }

    /// The one of several values that an option names.
    ///
    /// # Errors
    /// If it names none of them.
    pub(super) fn one_of<T: Copy>(
        &self,
        option: &'static OptionEntry,
        values: &[(&str, T)],
    ) -> Result<T, StrategyError> {
        let found = values.iter().find(|(name, _)| *name == self.text(option));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<String> = values.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.wrong(option, names.join(" or "))
        })
    }

    /// The error for an option whose value is none.
    pub(super) fn wrong(&self, option: &'static OptionEntry, expected: String) -> StrategyError {
        StrategyError::BadValue {
            strategy: self.strategy,
            option: option.name,
            found: self.text(option).to_owned(),
            expected,
        }
    }

    /// The seed; partitioners take 31 bits.
    fn seed(&self) -> Result<u64, StrategyError> {
        let seed = self.text(&SEED).parse().ok().filter(|seed| *seed <= i32::MAX as u64);
        seed.ok_or_else(|| self.wrong(&SEED, "a whole number from 0 to 2147483647".to_owned()))
    }

    fn weights(&self) -> Result<EdgeWeights, StrategyError> {
        self.one_of(&WEIGHTS, &[("bytes", EdgeWeights::Bytes), ("rate", EdgeWeights::Rate)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_read_back_as_written() {
        for entry in MAPPERS {
            let plain: Strategy = entry.name.parse().unwrap();
            assert_eq!(plain.to_string(), entry.name);
        }
        let seeded: Strategy = "kway:seed=7".parse().unwrap();
        assert_eq!(seeded.with_default("seed", "9").unwrap().to_string(), "kway:seed=7");
        let plain: Strategy = "kway".parse().unwrap();
        assert_eq!(plain.with_default("seed", "9").unwrap().to_string(), "kway:seed=9");
        let without: Strategy = "blocked".parse().unwrap();
        assert_eq!(without.with_default("seed", "9").unwrap().to_string(), "blocked");
    }

    #[test]
    fn errors_list_what_exists() {
        let message = |text: &str| text.parse::<Strategy>().unwrap_err().to_string();
        assert!(
            message("treematch")
                .starts_with("no strategy is called `treematch`; there are blocked, ")
        );
        assert_eq!(message("kway:x=1"), "kway has no option `x`; it has `seed`, `weights`");
        assert_eq!(message("blocked:seed=1"), "blocked has no option `seed`; it has none");
        assert_eq!(message("kway:7"), "kway: found `7`, expected an option as key=value");
        assert_eq!(
            message("kway:seed=-1"),
            "kway: seed: found `-1`, expected a whole number from 0 to 2147483647"
        );
        assert_eq!(
            message("kway:weights=hops"),
            "kway: weights: found `hops`, expected `bytes` or `rate`"
        );
        assert_eq!(
            message("mapping-2012:threshold=optimal"),
            "mapping-2012: threshold: found `optimal`, expected `even`, `none` or a number of \
             ranks from 1 up"
        );
        assert_eq!(
            message("mapping-2013:medium-sockets=last"),
            "mapping-2013: medium-sockets: found `last`, expected `first` or `spread`"
        );
    }
}

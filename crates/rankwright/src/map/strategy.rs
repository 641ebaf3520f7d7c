//! The strategies by name, with their options: `drb:seed=7`.

use std::fmt;
use std::str::FromStr;

use super::mappers::{MAPPERS, MapperEntry, Role};
use super::options::{EFFORT, MOVES, OBJECTIVE, Options, SEED};
use super::{Budget, DeviceMapping, MapError, Mapper, Problem, StrategyId};
use crate::placement::Mapping;
use crate::ranking::Objective;

/// A strategy as the user named it, ready to run.
#[derive(Debug)]
pub struct Strategy {
    id: StrategyId,
    /// `None` for one that chooses among the mappings of others.
    mapper: Option<Box<dyn Mapper>>,
}

/// Why a text names no strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
        /// The option as written.
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
        let exists = self.entry().options.iter().any(|entry| entry.name == option);
        if exists && !self.id.given().has(option) {
            self.id.set(option, value);
            self.mapper = self.entry().prepare(self.id.given())?;
        }
        Ok(self)
    }

    /// Which it is, with which options.
    #[must_use]
    pub fn id(&self) -> &StrategyId {
        &self.id
    }

    fn entry(&self) -> &'static MapperEntry {
        self.id.entry()
    }

    /// Its name, without options.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Whether its ranks are bound to their PUs; else each may run anywhere on its node.
    #[must_use]
    pub fn binds(&self) -> bool {
        self.entry().binds
    }

    /// Whether it starts from the mappings of the others ([`Budget::with_starts`]).
    #[must_use]
    pub fn starts_from_others(&self) -> bool {
        self.entry().role == Role::StartsFromOthers || self.chooses()
    }

    /// Whether it searches until its time limit, if there is one.
    #[must_use]
    pub fn searches(&self) -> bool {
        !self.chooses() && self.entry().searches()
    }

    /// [`MapperEntry::largest_at_start`].
    #[must_use]
    pub(crate) fn largest_at_start(&self) -> Option<usize> {
        self.entry().largest_at_start
    }

    /// Whether it takes the best mapping of [`Strategy::others`].
    #[must_use]
    pub fn chooses(&self) -> bool {
        self.entry().role == Role::ChoosesAmongOthers
    }

    /// What is minimised, if that was set for this strategy.
    #[must_use]
    pub fn objective(&self) -> Option<Objective> {
        let given = self.id.given();
        if given.has(OBJECTIVE.name) { given.objective().ok() } else { None }
    }

    /// The strategies whose mappings it starts from, or chooses among, with its own seed, effort,
    /// moves and objective; none for all others.
    ///
    /// # Errors
    /// If one of them cannot take such a value.
    pub fn others(&self) -> Result<Vec<Self>, StrategyError> {
        let given = self.id.given();
        match self.entry().role {
            Role::ChoosesAmongOthers => others(given, |entry| entry.role.is_candidate()),
            Role::StartsFromOthers => others(given, |entry| entry.role == Role::Independent),
            Role::Independent | Role::Historic => Ok(Vec::new()),
        }
    }

    fn mapper(&self) -> Result<&dyn Mapper, MapError> {
        self.mapper.as_deref().ok_or(MapError::OnlyChooses { strategy: self.name() })
    }

    /// The slot of each rank, checked: every rank has one and no slot holds more than it may.
    ///
    /// # Errors
    /// If a partitioner fails, or the strategy only chooses among others.
    pub fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError> {
        let mapper = self.mapper()?;
        let run = |problem: &Problem, budget: &Budget| mapper.map(problem, budget);
        let mapping = match problem.kept_groups() {
            Some(kept) => kept.map(problem, budget, &run)?,
            None => problem.by_class(run(problem, budget)?),
        };
        problem.check(mapping.as_indices())?;
        Ok(mapping)
    }

    /// Several mappings, the most promising first, where only a simulation can tell which is best;
    /// else one. All are checked.
    ///
    /// # Errors
    /// As [`Strategy::map`].
    pub fn mappings(&self, problem: &Problem, budget: &Budget) -> Result<Vec<Mapping>, MapError> {
        if problem.kept_groups().is_some() {
            return Ok(vec![self.map(problem, budget)?]);
        }
        let mappings = self.mapper()?.mappings(problem, budget)?;
        let mappings: Vec<Mapping> =
            mappings.into_iter().map(|mapping| problem.by_class(mapping)).collect();
        mappings.iter().try_for_each(|mapping| problem.check(mapping.as_indices()))?;
        Ok(mappings)
    }

    /// [`Strategy::mappings`]; where devices go by load and the strategy chooses them together with
    /// slots, behind the mappings for which it did so. Time is shared in halves.
    ///
    /// # Errors
    /// As [`Strategy::map`], or if devices cannot be chosen.
    pub(crate) fn mappings_with_devices(
        &self,
        problem: &Problem,
        budget: &Budget,
    ) -> Result<Vec<DeviceMapping>, MapError> {
        let mapper = self.mapper()?;
        let together = mapper.chooses_devices() && problem.selection().is_by_load();
        if !together || problem.kept_groups().is_some() {
            let mappings = self.mappings(problem, budget)?;
            return Ok(mappings.into_iter().map(DeviceMapping::from).collect());
        }
        let [first, second] = [0, 1].map(|half| budget.part(half, 2).with_starts(budget.starts()));
        let plain = self.mappings(problem, &first)?;
        let mut mappings = mapper.with_devices(problem, &second, &plain)?;
        mappings.iter().try_for_each(|placed| problem.check(placed.mapping.as_indices()))?;
        mappings.extend(plain.into_iter().map(DeviceMapping::from));
        budget.count_moves(first.moves() + second.moves());
        Ok(mappings)
    }
}

/// The strategies that are wanted, with the seed, effort, moves and objective of `given` where they have
/// these options.
pub(super) fn others(
    given: &Options,
    wanted: impl Fn(&MapperEntry) -> bool,
) -> Result<Vec<Strategy>, StrategyError> {
    let shared = [SEED, EFFORT, MOVES, OBJECTIVE];
    let passed: Vec<(&String, &String)> =
        given.iter().filter(|(key, _)| shared.iter().any(|option| option.name == **key)).collect();
    let with_options = |entry: &MapperEntry| {
        let strategy = entry.name.parse::<Strategy>()?;
        passed.iter().try_fold(strategy, |strategy, (key, value)| strategy.with_default(key, value))
    };
    MAPPERS.iter().filter(|entry| wanted(entry)).map(with_options).collect()
}

/// The strategies in a list like `blocked,drb:seed=3,kway`, as texts. `seed=3` behind a comma belongs to the
/// strategy before it.
#[must_use]
pub fn list_of_strategies(list: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for part in list.split(',') {
        match texts.last_mut().filter(|_| part.contains('=') && !part.contains(':')) {
            Some(last) => *last = format!("{last},{part}"),
            None => texts.push(part.to_owned()),
        }
    }
    texts
}

impl FromStr for Strategy {
    type Err = StrategyError;

    /// Reads `name` or `name:key=value,key=value`.
    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let id: StrategyId = text.parse()?;
        let mapper = id.entry().prepare(id.given())?;
        Ok(Self { id, mapper })
    }
}

impl fmt::Display for Strategy {
    /// As it is written on the command line, options in the order of their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
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
            message("scotch").starts_with("no strategy is called `scotch`; there are blocked, ")
        );
        assert_eq!(message("kway:x=1"), "kway has no option `x`; it has `seed`, `weights`");
        assert_eq!(message("blocked:seed=1"), "blocked has no option `seed`; it has `within`");
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

//! Which strategy, with which options.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::mappers::{MapperEntry, find};
use super::options::Options;
use super::{MAPPERS, StrategyError};
use crate::named_options::{NamedOption, NamedOptions};

/// A row of [`MAPPERS`] with the options that were set. Strategies with equal ids give equal mappings
/// of a problem.
#[derive(Clone)]
pub struct StrategyId {
    entry: &'static MapperEntry,
    given: Options,
}

impl StrategyId {
    /// Its row of the table.
    #[must_use]
    pub fn entry(&self) -> &'static MapperEntry {
        self.entry
    }

    /// Its name, without options.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Whether all options are at their defaults because none was set.
    pub(super) fn is_plain(&self) -> bool {
        self.given.iter().next().is_none()
    }

    /// Whether it is `blocked` without options, the default of most launchers.
    #[must_use]
    pub(crate) fn is_blocked(&self) -> bool {
        self.entry.name == "blocked" && self.is_plain()
    }

    /// Its options that were set, by name.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn given(&self) -> &Options {
        &self.given
    }

    pub(super) fn set(&mut self, option: &str, value: &str) {
        self.given.set(option, value);
    }
}

impl PartialEq for StrategyId {
    fn eq(&self, other: &Self) -> bool {
        // The options contain the name of their strategy.
        self.given == other.given
    }
}

impl Eq for StrategyId {}

impl FromStr for StrategyId {
    type Err = StrategyError;

    /// Reads `name` or `name:key=value,key=value`.
    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let named = NamedOptions::new(text);
        let list = |names: Vec<&str>| names.join(", ");
        let entry = find(named.name).ok_or_else(|| StrategyError::Unknown {
            name: named.name.to_owned(),
            known: list(MAPPERS.iter().map(|entry| entry.name).collect()),
        })?;
        let mut given = Options::new(entry.name);
        for NamedOption { text, key, value } in named.options() {
            let value = value.ok_or_else(|| StrategyError::NotAnOption {
                strategy: entry.name,
                found: text.to_owned(),
            })?;
            if entry.options.iter().all(|option| option.name != key) {
                let names: Vec<String> =
                    entry.options.iter().map(|option| format!("`{}`", option.name)).collect();
                return Err(StrategyError::UnknownOption {
                    strategy: entry.name,
                    option: key.to_owned(),
                    known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
                });
            }
            given.set(key, value);
        }
        // A value that an option cannot take is an error.
        entry.prepare(&given)?;
        Ok(Self { entry, given })
    }
}

impl fmt::Display for StrategyId {
    /// As it is written on the command line, options in the order of their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for (position, (key, value)) in self.given.iter().enumerate() {
            let before = if position == 0 { ':' } else { ',' };
            write!(f, "{before}{key}={value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for StrategyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StrategyId({self})")
    }
}

impl Serialize for StrategyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_options_make_ids_equal() {
        let id = |text: &str| text.parse::<StrategyId>().unwrap();
        assert_eq!(id("kway:weights=rate,seed=2"), id("kway:seed=2,weights=rate"));
        assert_ne!(id("kway:seed=2"), id("kway"));
        assert_ne!(id("kway"), id("treematch"));
        assert!(id("kway").is_plain() && !id("kway:seed=2").is_plain());
        assert_eq!(format!("{:?}", id("kway:seed=2")), "StrategyId(kway:seed=2)");
    }
}

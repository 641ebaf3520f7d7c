//! Options of strategies, as they are given behind the name.

use std::collections::BTreeMap;

use super::search::budget::EFFORTS;
use super::search::graph::EdgeWeights;
use super::{Effort, StrategyError};
use crate::ranking::{OBJECTIVES, Objective};

/// An option of a strategy.
#[derive(Debug)]
pub struct OptionEntry {
    /// Its name.
    pub name: &'static str,
    /// Its value by default.
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

pub(super) const SEED: OptionEntry =
    OptionEntry { name: "seed", default: "1", summary: "another number, another result" };
pub(super) const WEIGHTS: OptionEntry = OptionEntry {
    name: "weights",
    default: "bytes",
    summary: "what the ranks exchange: `bytes`, or their `rate` per second where all jobs have one",
};
pub(super) const EFFORT: OptionEntry = OptionEntry {
    name: "effort",
    default: "normal",
    summary: "how long to search: `fast`, `normal` or `best`",
};
pub(super) const MOVES: OptionEntry = OptionEntry {
    name: "moves",
    default: "by effort",
    summary: "after how many moves to end; with the number of a search under `--time`, its result again",
};

pub(super) const OBJECTIVE: OptionEntry = OptionEntry {
    name: "objective",
    default: "balanced",
    summary: "what is minimised where jobs have message timing: `waiting`, `finish` or `balanced`",
};

impl Options {
    /// All options of this strategy at their defaults.
    pub(super) fn new(strategy: &'static str) -> Self {
        Self { strategy, set: BTreeMap::new() }
    }

    /// Sets an option.
    pub(super) fn set(&mut self, option: &str, value: &str) {
        self.set.insert(option.to_owned(), value.to_owned());
    }

    /// Whether an option was set.
    pub(super) fn has(&self, option: &str) -> bool {
        self.set.contains_key(option)
    }

    /// What was set, in the order of the names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &String)> {
        self.set.iter()
    }

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
        let named = values.iter().find(|(name, _)| *name == self.text(option));
        named.map(|(_, value)| *value).ok_or_else(|| {
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
    pub(super) fn seed(&self) -> Result<u64, StrategyError> {
        let seed = self.text(&SEED).parse().ok().filter(|seed| *seed <= i32::MAX as u64);
        seed.ok_or_else(|| self.wrong(&SEED, "a whole number from 0 to 2147483647".to_owned()))
    }

    pub(super) fn weights(&self) -> Result<EdgeWeights, StrategyError> {
        self.one_of(&WEIGHTS, &[("bytes", EdgeWeights::Bytes), ("rate", EdgeWeights::Rate)])
    }

    /// How long to search.
    pub(super) fn effort(&self) -> Result<Effort, StrategyError> {
        self.one_of(&EFFORT, &EFFORTS)
    }

    /// What is minimised where jobs have message timing.
    pub(super) fn objective(&self) -> Result<Objective, StrategyError> {
        self.one_of(&OBJECTIVE, &OBJECTIVES)
    }

    /// After how many moves to end; `None` if that is not set.
    pub(super) fn moves(&self) -> Result<Option<u64>, StrategyError> {
        if !self.has(MOVES.name) {
            return Ok(None);
        }
        let moves = self.text(&MOVES).parse();
        moves.map(Some).map_err(|_| self.wrong(&MOVES, "a whole number".to_owned()))
    }
}

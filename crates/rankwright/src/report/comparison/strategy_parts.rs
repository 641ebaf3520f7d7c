//! The parts of a strategy for programs, beside its text.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::map::StrategyId;

/// The name and the options of a strategy, which its text has too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StrategyParts {
    /// Its name without options.
    pub strategy_name: String,
    /// Its options that were set, by name.
    pub strategy_options: BTreeMap<String, String>,
}

impl From<&StrategyId> for StrategyParts {
    fn from(strategy: &StrategyId) -> Self {
        let option = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            strategy_name: strategy.name().to_owned(),
            strategy_options: strategy.options().map(option).collect(),
        }
    }
}

//! Strategies: which rank takes which slot.
//!
//! The table [`MAPPERS`] has all strategies: names, options, sources. A [`Strategy`] is made from its
//! name and options, as on the command line:
//!
//! ```
//! use rankwright::map::{Budget, Problem, Strategy};
//! use rankwright::placement::Granularity;
//! use rankwright::{cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2013")?, traffic::open("nas:cg.A.16")?);
//! let problem = Problem::new(&cluster, &workload, Granularity::Cores(1))?;
//! let strategy: Strategy = "random:seed=7".parse()?;
//! let mapping = strategy.map(&problem, &Budget::default())?;
//! assert_eq!(mapping.len(), 16);
//! println!("hop-bytes: {}", problem.cost(mapping.as_indices()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Planner`](crate::Planner) runs many and takes the best mapping.

mod hierarchy;
mod mappers;
mod options;
mod search;
mod strategies;
mod strategy;
mod strategy_id;

use std::fmt;

pub use mappers::{MAPPERS, MapperEntry, Role, find};
pub use search::budget::{Budget, Clock, EFFORTS, Effort, SearchObserver};
pub use search::node_groups::GroupOrigin;
pub use search::problem::Problem;
pub use strategy::{Strategy, StrategyError};
pub use strategy_id::StrategyId;

// For the command line, tests and reproductions; may change in any version.
#[doc(hidden)]
pub use hierarchy::{Hierarchy, HierarchyError};
#[doc(hidden)]
pub use mappers::tried_at_start;
#[doc(hidden)]
pub use options::OptionEntry;
#[doc(hidden)]
pub use search::budget::Start;
#[doc(hidden)]
pub use search::compute_balance::{ComputeBalance, DEFAULT_BALANCE};
#[doc(hidden)]
pub use search::graph::Graph;
#[doc(hidden)]
pub use search::node_groups::NodeGroups;
#[doc(hidden)]
pub use strategies::job_spreading::mapping_2012::Mapping2012;
#[doc(hidden)]
pub use strategies::job_spreading::mapping_2013::Mapping2013;
#[doc(hidden)]
pub use strategy::list_of_strategies;

use crate::placement::Mapping;
use crate::rails::SelectionError;

/// A strategy with its options.
#[doc(hidden)]
pub trait Mapper: fmt::Debug + Send + Sync {
    /// The slot of each rank. Equal problems give equal mappings, on any thread and beside any other
    /// call, unless the budget has a clock.
    ///
    /// # Errors
    /// If a partitioner fails.
    fn map(&self, problem: &Problem, budget: &Budget) -> Result<Mapping, MapError>;

    /// Several mappings, the most promising first, where only a simulation can tell which is best.
    ///
    /// # Errors
    /// If a partitioner fails.
    fn mappings(&self, problem: &Problem, budget: &Budget) -> Result<Vec<Mapping>, MapError> {
        Ok(vec![self.map(problem, budget)?])
    }

    /// Whether it chooses network devices together with slots.
    fn chooses_devices(&self) -> bool {
        false
    }

    /// Mappings whose slots and network devices were chosen together, the most promising first, for a
    /// problem whose devices go by load. They are no worse by the strategy's own measure than
    /// `mappings`, its own without devices, and those that the budget knows.
    ///
    /// # Errors
    /// If devices cannot be chosen.
    fn with_devices(
        &self,
        _problem: &Problem,
        _budget: &Budget,
        _mappings: &[Mapping],
    ) -> Result<Vec<DeviceMapping>, MapError> {
        Ok(Vec::new())
    }
}

/// A mapping, with network devices where the strategy chose them together with the slots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct DeviceMapping {
    /// The slot of each rank.
    pub mapping: Mapping,
    /// The network devices of each rank by name; `None` where they follow from the slots
    /// ([`Problem::selection`]).
    pub nics: Option<Vec<Vec<String>>>,
}

impl From<Mapping> for DeviceMapping {
    fn from(mapping: Mapping) -> Self {
        Self { mapping, nics: None }
    }
}

/// Why a strategy gave no mapping.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The graph or the machine has more parts than the partitioner can count.
    #[error("{what} is too large for {library}, which counts with 32 bits")]
    TooLarge {
        /// The partitioner.
        library: &'static str,
        /// What is too large.
        what: &'static str,
    },
    /// The partitioner reports an error.
    #[error("{library} failed: {what}")]
    Library {
        /// The partitioner.
        library: &'static str,
        /// Its message, or the call that failed.
        what: String,
    },
    /// The time was over, or the search was stopped, before the strategy could begin or its mappings
    /// could be compared.
    #[error("no time was left")]
    NoTime,
    /// Network devices cannot be chosen.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The strategy takes the best mapping of others, which is the business of
    /// `choose`.
    #[error("{strategy} has no mapping of its own, it takes the best of others")]
    OnlyChooses {
        /// The strategy.
        strategy: &'static str,
    },
    /// The mapper gave something that is not a mapping of this problem.
    #[error("the mapper is wrong: {what}; please report this")]
    Invalid {
        /// What is wrong.
        what: String,
    },
}

/// Puts ranks, in an order, into slots, in an order: each slot until it holds its share.
fn fill(problem: &Problem, ranks: &[usize], slots: &[usize]) -> Vec<usize> {
    let mut slot_of = vec![0; ranks.len()];
    let mut position = 0;
    let mut filled = 0;
    for rank in ranks {
        if filled >= problem.share() && position + 1 < slots.len() {
            position += 1;
            filled = 0;
        }
        slot_of[*rank] = slots[position];
        filled += problem.loads()[*rank];
    }
    slot_of
}

//! `auto`: the best mapping of all other strategies. A row of the table that maps nothing:
//! `choose` runs [`Strategy::others`](crate::map::Strategy::others), evaluates their
//! mappings and takes the best.

use crate::map::options::{EFFORT, MOVES, OBJECTIVE, OptionEntry, Options, SEED};
use crate::map::{StrategyError, strategy};

pub(in crate::map) const OPTIONS: &[OptionEntry] = &[SEED, EFFORT, MOVES, OBJECTIVE];

/// An error for a value that an option cannot take.
pub(in crate::map) fn check(options: &Options) -> Result<(), StrategyError> {
    // Both are read by those of the others that search; a wrong value is an error of ours too.
    options.effort()?;
    options.moves()?;
    strategy::others(options, |entry| entry.role.is_candidate())?;
    options.objective().map(|_| ())
}

//! What every other module stands on, one of each: units, index types, names with options, parallel
//! loops, random numbers, statistics, days, files.
//!
//! The crate root re-exports these modules: `crate::units`, `crate::files`.

pub mod calendar;
pub mod files;
pub mod ids;
pub(crate) mod named_options;
pub mod parallel;
pub mod random;
pub mod statistics;
pub mod units;

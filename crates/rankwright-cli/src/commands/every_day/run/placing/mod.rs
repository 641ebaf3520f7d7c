//! Places for the granted nodes, just before the start.

pub(super) mod allocation;
mod nodes;
pub(super) mod options;
mod strategies;

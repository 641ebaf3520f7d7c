//! Placing for the nodes that are really granted, just before the start.

pub(super) mod allocation;
mod nodes;
pub(super) mod options;
mod strategies;

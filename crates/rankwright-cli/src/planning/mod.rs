//! What commands share that place, compare or simulate: from a problem to candidates, their devices,
//! the table of a comparison, the progress of simulations.

pub(crate) mod candidates;
pub(crate) mod comparison;
pub(crate) mod devices;
pub(crate) mod problem;
pub(crate) mod simulations;

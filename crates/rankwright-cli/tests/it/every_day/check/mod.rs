//! `rankwright check`.

mod counters;
pub(crate) mod launchers;
mod running;

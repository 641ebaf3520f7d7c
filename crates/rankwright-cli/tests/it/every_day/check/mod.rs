//! `rankwright check`.

pub(crate) mod launchers;
mod running;

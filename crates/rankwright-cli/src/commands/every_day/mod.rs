//! Commands for every day.

pub(crate) mod check;
pub(crate) mod place;
pub(crate) mod profile;
pub(crate) mod run;

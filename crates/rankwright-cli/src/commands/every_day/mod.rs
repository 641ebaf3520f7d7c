//! Commands of everyday use: profile, place, run, check.

pub(crate) mod check;
pub(crate) mod place;
pub(crate) mod profile;
pub(crate) mod run;

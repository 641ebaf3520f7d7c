//! Commands of everyday use: profile, place, run, check, doctor; and what to do next, without a command.

pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod next_steps;
pub(crate) mod place;
pub(crate) mod profile;
pub(crate) mod run;

//! Commands for every day.

pub(crate) mod check;
mod placing;
pub(crate) mod profile;
pub(crate) mod real_launchers;
mod road;
mod run;
pub(crate) mod slurm;

//! Commands for every day.

mod accuracy;
pub(crate) mod check;
mod doctor;
mod end_to_end;
mod limits;
mod placing;
pub(crate) mod profile;
pub(crate) mod real_launchers;
mod run;
pub(crate) mod slurm;

//! The host that this program runs on: its name and hardware, batch job, MPI, processes and signals.

pub(crate) mod batch_job;
pub(crate) mod child;
pub(crate) mod counters;
pub(crate) mod elf;
pub(crate) mod flux_job;
pub(crate) mod granted_gpus;
pub(crate) mod mpi;
pub(crate) mod processes;
mod program;
pub(crate) mod shim;
pub(crate) mod signals;
pub(crate) mod slurm_queue;
mod start;
pub(crate) mod this_host;
pub(crate) mod user_folders;

pub(crate) use program::{find_program, this_program};
pub(crate) use start::started;

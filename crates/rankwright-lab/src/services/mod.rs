//! The programs of a lab that run as long as it does.

pub(crate) mod relay;
mod running;
mod slurm;
mod tap;

pub(crate) use running::Running;
pub(crate) use slurm::Slurm;

//! The programs of a lab that run as long as it does.

mod running;
mod slurm;

pub(crate) use running::Running;
pub(crate) use slurm::Slurm;

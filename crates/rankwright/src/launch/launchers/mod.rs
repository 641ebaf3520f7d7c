//! The launchers, one file each.

pub(crate) mod craympich;
pub(super) mod flux;
pub(super) mod intelmpi;
pub(super) mod mpich;
pub(super) mod numactl;
pub(crate) mod openmpi4;
pub(super) mod openmpi5;
pub(super) mod slurm;

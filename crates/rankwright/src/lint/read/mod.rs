//! Readers of launchers' files, one file per format.

pub(super) mod arguments;
pub(super) mod components;
pub(super) mod cpu_bind;
pub(super) mod flux;
pub(super) mod hydra;
pub(super) mod intel;
pub(super) mod job_script;
pub(super) mod launch_options;
pub(super) mod numactl;
pub(super) mod rank_order;
pub(super) mod rankfile;
pub(super) mod script;
pub(super) mod shim;
pub(super) mod slurm;
pub(super) mod wrapper;

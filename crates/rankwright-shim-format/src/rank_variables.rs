//! The variables in which launchers tell a process its rank.

/// They hold the rank, and count in this order. Inside a batch job every rank inherits the batch
/// shell's `SLURM_PROCID`, so that counts only where nothing else is set.
pub const RANK_VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];

/// The first of them that is set, with its value.
pub fn first_set(variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    RANK_VARIABLES.iter().find_map(|name| Some((*name, variable(name)?)))
}

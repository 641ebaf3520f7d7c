//! The variables with which launchers pass a process its rank.

/// The variables in order of precedence. `SLURM_PROCID` is last, because in a batch job every rank
/// inherits the value of the batch shell.
pub const RANK_VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];

/// The first of these variables that is set, with its value.
pub fn first_set(variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    RANK_VARIABLES.iter().find_map(|name| Some((*name, variable(name)?)))
}

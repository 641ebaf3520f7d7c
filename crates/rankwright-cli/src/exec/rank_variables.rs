//! The variables in which launchers tell a process its rank; the shim and `rankwright check` agree on
//! them.

/// The variables that hold the rank, in the order in which they count: those of the library, which
/// the shim does without.
pub(crate) const RANK_VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];

/// The first of them that is set, with its value.
pub(crate) fn first_set(
    variable: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    RANK_VARIABLES.iter().find_map(|name| Some((*name, variable(name)?)))
}

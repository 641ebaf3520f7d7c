//! The variables in which launchers tell a process its rank.

/// They hold the rank, and count in this order. Inside a batch job every rank inherits the batch
/// shell's `SLURM_PROCID`, so that counts only where nothing else is set. `rankwright-exec`, which
/// needs no library, has the same ones.
pub const RANK_VARIABLES: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];

/// How a shell finds the rank: `${FIRST:-${SECOND:-}}`.
pub(super) fn in_shell() -> String {
    RANK_VARIABLES.iter().rev().fold(String::new(), |rest, name| format!("${{{name}:-{rest}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_asks_in_the_same_order() {
        let text = in_shell();
        assert!(text.starts_with("${OMPI_COMM_WORLD_RANK:-${PALS_RANKID:-${"), "{text}");
        assert!(text.ends_with("${PMI_RANK:-${SLURM_PROCID:-}}}}}}}"), "{text}");
    }
}

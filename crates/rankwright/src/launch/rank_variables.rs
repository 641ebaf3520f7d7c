//! The rank of a process as a shell expression.

use rankwright_shim_format::RANK_VARIABLES;

/// The first rank variable that is set: `${FIRST:-${SECOND:-}}`.
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

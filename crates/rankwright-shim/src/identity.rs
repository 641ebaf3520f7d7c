//! The rank and the host of this process.

use std::ffi::CStr;

use rankwright_shim_format::{RANK_VARIABLES, first_set};

use crate::failure::Failure;

/// The rank that the launcher gave this process.
///
/// # Errors
/// If no variable is set, or the first that is set is not a rank.
pub(crate) fn rank() -> Result<u32, Failure> {
    rank_from(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

fn rank_from(variable: impl Fn(&str) -> Option<String>) -> Result<u32, Failure> {
    let Some((name, value)) = first_set(variable) else {
        return Err(Failure::ours(format!(
            "no rank: none of {} is set; start this under a launcher (mpirun, mpiexec, srun)",
            RANK_VARIABLES.join(", ")
        )));
    };
    value
        .parse()
        .map_err(|_| Failure::ours(format!("{name}: found `{value}`, expected a rank from 0 up")))
}

/// This host's name.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn host_name() -> String {
    let mut buffer = [0_u8; 256];
    // SAFETY: the call writes at most the given length, which leaves a zero at the end.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let name = CStr::from_bytes_until_nul(&buffer).ok().filter(|_| result == 0);
    name.map_or("?".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank_of(variables: &[(&str, &str)]) -> Result<u32, String> {
        let find = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        rank_from(find).map_err(|failure| failure.text)
    }

    #[test]
    fn a_launchers_own_variable_counts_before_an_inherited_one() {
        assert_eq!(rank_of(&[("SLURM_PROCID", "0"), ("PMI_RANK", "5")]), Ok(5));
        assert_eq!(rank_of(&[("PMIX_RANK", "9"), ("OMPI_COMM_WORLD_RANK", "3")]), Ok(3));
        assert_eq!(rank_of(&[("SLURM_PROCID", "7")]), Ok(7));
        assert!(rank_of(&[]).unwrap_err().contains("start this under a launcher"));
        assert!(rank_of(&[("PMI_RANK", "x")]).unwrap_err().contains("PMI_RANK: found `x`"));
    }
}

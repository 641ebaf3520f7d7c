//! The tracer's library for the MPI of a launch.

use std::path::PathBuf;

use super::program::Chosen;
use crate::host::mpi::built::Target;
use crate::host::mpi::tracer::TRACER;
use crate::launching::launch_line::LaunchLine;
use crate::output::Verbosity;

/// The tracer's library for an MPI: the installed one of its ABI, else one that this user has built
/// before, else one built now with the compiler of this MPI.
///
/// # Errors
/// If no library is installed and no compiler is found.
pub(super) fn library(
    chosen: &Chosen,
    line: &LaunchLine,
    verbosity: &Verbosity,
) -> anyhow::Result<PathBuf> {
    if let Some(installed) = TRACER.installed(chosen.abi) {
        return Ok(installed);
    }
    let target = Target {
        abi: chosen.abi,
        launcher: &line.launcher,
        is_its_launcher: line.mpi.is_some(),
        library: chosen.library.as_ref().and_then(|library| library.path.as_deref()),
    };
    TRACER.built(&target, verbosity)
}

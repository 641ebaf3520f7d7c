//! The per-rank shim.

use std::path::PathBuf;

use rankwright_shim_format::SHIM;

use crate::host::this_program;
use crate::output::exit_code::NotStarted;

/// The shim that is installed beside this program.
pub(crate) fn shim_beside_us() -> Result<PathBuf, NotStarted> {
    let failed = |why: String| NotStarted { code: 125, why };
    let us = this_program().map_err(|error| failed(format!("this program: {error}")))?;
    let shim = us.with_file_name(SHIM);
    if shim.is_file() {
        return Ok(shim);
    }
    Err(failed(format!(
        "{}: not found; it is installed together with rankwright (`launch`, `run` and `check` take one \
         elsewhere: --shim FILE); `rankwright doctor` tests the installation",
        shim.display()
    )))
}

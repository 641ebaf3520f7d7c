//! The per-rank shim, `rankwright-exec`: where it is, and what the end of a child means.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use crate::exit_code::NotStarted;

/// The shim: it stands beside this program.
pub(crate) fn path() -> Result<PathBuf, NotStarted> {
    let missing = |found: String| NotStarted {
        code: 125,
        why: format!("found {found}, expected rankwright-exec beside rankwright: install both"),
    };
    let own = std::env::current_exe().map_err(|error| missing(error.to_string()))?;
    let own = own.canonicalize().unwrap_or(own);
    let shim = own.with_file_name("rankwright-exec");
    if shim.is_file() { Ok(shim) } else { Err(missing(format!("no {}", shim.display()))) }
}

/// The exit code that a shell would give: the program's own, or 128 and the signal's number.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

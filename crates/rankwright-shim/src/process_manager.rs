//! How a rank that fails before `MPI_Init` ends its job: the user reads why, and the other ranks do
//! not wait for it for ever.

#![expect(unsafe_code, reason = "the standard library owns the descriptors that it writes to")]

use std::fs::metadata;
use std::os::unix::fs::FileTypeExt;
use std::thread::sleep;
use std::time::Duration;

/// For the launcher to forward what this rank wrote. srun forwards output and exit codes by
/// different connections; at the first rank that fails it ends the job and drops output that has
/// not arrived.
const TIME_TO_READ: Duration = Duration::from_millis(500);

/// Waits until the launcher has read the output of this rank, then asks it to end the job with this
/// exit code, where it must be asked: Hydra (MPICH, Intel MPI) ends the job only for processes that
/// fail after `MPI_Init`.
pub(crate) fn end_job(code: u8) {
    sleep(TIME_TO_READ);
    abort(code);
}

/// Sends `cmd=abort` of the PMI-1 wire protocol of MPICH's process managers to the socket that
/// `PMI_FD` names. Does nothing where there is none.
fn abort(code: u8) {
    let Some(socket) = std::env::var("PMI_FD").ok().and_then(|text| text.parse::<i32>().ok())
    else {
        return;
    };
    // The variable may be left over from another job; then the descriptor may be any file.
    if !metadata(format!("/proc/self/fd/{socket}")).is_ok_and(|it| it.file_type().is_socket()) {
        return;
    }
    let line = format!("cmd=abort exitcode={code}\n");
    // SAFETY: the buffer has the given length; with an invalid descriptor the call fails, which is
    // ignored.
    let _ = unsafe { libc::write(socket, line.as_ptr().cast(), line.len()) };
}

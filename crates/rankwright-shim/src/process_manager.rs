//! Makes the launcher end the job if a rank fails before `MPI_Init`. The other ranks would wait for
//! it there for ever: Hydra (MPICH, Intel MPI) ends the job only for processes that fail after
//! `MPI_Init`.

#![expect(unsafe_code, reason = "the standard library owns the descriptors that it writes to")]

use std::fs::metadata;
use std::os::unix::fs::FileTypeExt;
use std::thread::sleep;
use std::time::Duration;

const TIME_TO_READ: Duration = Duration::from_millis(200);

/// Asks for the end of the job with this exit code, by the PMI-1 wire protocol of MPICH's process
/// managers: `cmd=abort` on the socket that `PMI_FD` names. Does nothing where there is none.
pub(crate) fn abort(code: u8) {
    let Some(socket) = std::env::var("PMI_FD").ok().and_then(|text| text.parse::<i32>().ok())
    else {
        return;
    };
    // The variable may be left over from another job; then the descriptor may be any file.
    if !metadata(format!("/proc/self/fd/{socket}")).is_ok_and(|it| it.file_type().is_socket()) {
        return;
    }
    // Wait, so that the launcher can read the output of the ranks before it ends the job.
    sleep(TIME_TO_READ);
    let line = format!("cmd=abort exitcode={code}\n");
    // SAFETY: the buffer has the given length; with an invalid descriptor the call fails, which is
    // ignored.
    let _ = unsafe { libc::write(socket, line.as_ptr().cast(), line.len()) };
}

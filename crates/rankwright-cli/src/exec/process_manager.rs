//! Tells the launcher that a rank will never come. The ranks that have started wait for it in
//! `MPI_Init`, and Hydra (MPICH, Intel MPI) ends a job for a process that exits with an error only
//! once that has called `MPI_Init`.

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
    // What is left of another job's environment may name any file.
    if !metadata(format!("/proc/self/fd/{socket}")).is_ok_and(|it| it.file_type().is_socket()) {
        return;
    }
    // What ranks have said is lost if the end comes before the launcher has read it.
    sleep(TIME_TO_READ);
    let line = format!("cmd=abort exitcode={code}\n");
    // SAFETY: the buffer is as long as said; an invalid descriptor makes it fail. There is nothing left
    // to tell if it does.
    let _ = unsafe { libc::write(socket, line.as_ptr().cast(), line.len()) };
}

//! The handling of signals.

pub(crate) mod interrupt;
pub(crate) mod termination;

/// Makes a write beyond the file size limit fail as on a full disk, instead of ending the program
/// in the middle of a file. It installs a handler, because child programs would inherit "ignore".
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn survive_file_size_limit() {
    extern "C" fn nothing(_: i32) {}
    // SAFETY: the handler does nothing.
    unsafe {
        libc::signal(libc::SIGXFSZ, nothing as *const () as usize);
    }
}

/// Lets the default action of SIGPIPE end the program.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn end_quietly_on_closed_pipe() {
    // SAFETY: no other thread runs yet and the default action needs no handler.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

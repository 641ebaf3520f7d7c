//! The handling of signals.

pub(crate) mod interrupt;
pub(crate) mod termination;

use std::sync::atomic::AtomicBool;

/// Makes a write beyond the file size limit fail as on a full disk, instead of ending the program
/// in the middle of a file.
pub(crate) fn survive_file_size_limit() {
    ignore(libc::SIGXFSZ);
}

/// Makes a signal have no effect, by a handler: child programs would inherit "ignore".
fn ignore(signal: i32) {
    static IGNORED: AtomicBool = AtomicBool::new(false);
    note(signal, &IGNORED);
}

/// Makes a signal set a flag and do nothing else.
fn note(signal: i32, flag: &'static AtomicBool) {
    let noted = signal_hook::flag::register(signal, flag);
    noted.expect(CAN_BE_HANDLED);
}

/// Makes a signal set a flag, and where the flag is set already, take its default action.
fn note_first(signal: i32, flag: &'static AtomicBool) {
    // In this order: the first signal finds the flag unset, then sets it.
    let ends = signal_hook::flag::register_conditional_default(signal, flag);
    ends.expect(CAN_BE_HANDLED);
    note(signal, flag);
}

const CAN_BE_HANDLED: &str = "only SIGKILL, SIGSTOP and faults cannot be handled";

/// Lets the default action of SIGPIPE end the program.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn end_quietly_on_closed_pipe() {
    // SAFETY: no other thread runs yet and the default action needs no handler.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

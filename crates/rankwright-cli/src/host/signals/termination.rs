//! Ending by SIGTERM while a strategy runs.
//!
//! METIS uses SIGTERM for its errors and leaves its handler by a jump, on whichever thread the
//! signal arrives: a SIGTERM from outside would crash the program or look like an error of METIS.
//! While a strategy runs, only a thread without METIS gets the signal.

use std::mem::MaybeUninit;
use std::ptr;
use std::thread;

use signal_hook::low_level::emulate_default_handler;

/// Does work during which SIGTERM ends the program as usual.
#[expect(unsafe_code, reason = "the standard library has no calls for signals")]
pub(crate) fn ended_by_sigterm<T>(work: impl FnOnce() -> T) -> T {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are valid; `before` is filled where the call succeeds.
    let blocked = unsafe {
        has_default_action()
            && libc::pthread_sigmask(libc::SIG_BLOCK, &sigterm(), before.as_mut_ptr()) == 0
    };
    if !blocked {
        return work();
    }
    // Threads that the work starts inherit the mask, so the signal goes to the waiting thread.
    let waiting = thread::Builder::new().spawn(end_at_sigterm);
    let result = work();
    drop(waiting);
    // SAFETY: the set was filled above.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
    }
    result
}

/// Whether SIGTERM would end this program: it may have been started with the signal ignored.
#[expect(unsafe_code, reason = "the standard library has no calls for signals")]
fn has_default_action() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: `action` is filled where the call succeeds.
    unsafe {
        libc::sigaction(libc::SIGTERM, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_DFL
    }
}

#[expect(unsafe_code, reason = "the standard library has no calls for signals")]
fn sigterm() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` fills the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        set.assume_init()
    }
}

/// Waits for SIGTERM as long as the program runs, and then takes its default action.
#[expect(unsafe_code, reason = "the standard library has no calls for signals")]
fn end_at_sigterm() {
    let mut signal = 0;
    // SAFETY: the set and the number are valid.
    if unsafe { libc::sigwait(&sigterm(), &raw mut signal) } == 0 {
        let _ = emulate_default_handler(libc::SIGTERM);
    }
}

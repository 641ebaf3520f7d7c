//! Ending `up` in order when the user interrupts it.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

extern "C" fn go_on(_signal: libc::c_int) {}

/// From now on neither an interrupt nor a closed pipe ends this process at once. Programs that it
/// starts are ended by them as ever.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(super) fn watch() {
    let end = remember as extern "C" fn(libc::c_int) as libc::sighandler_t;
    let go_on = go_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
    let signals =
        [(libc::SIGINT, end), (libc::SIGTERM, end), (libc::SIGHUP, end), (libc::SIGPIPE, go_on)];
    for (signal, handler) in signals {
        // SAFETY: the handlers at most store into an atomic, which is safe in a signal handler.
        unsafe {
            libc::signal(signal, handler);
        }
    }
}

/// Fails if there was an interrupt since [`watch`].
pub(super) fn check() -> anyhow::Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

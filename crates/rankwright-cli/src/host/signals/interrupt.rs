//! Orderly end after an interrupt by the user.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

extern "C" fn go_on(_signal: libc::c_int) {}

/// From now on an interrupt does not end this process at once. It still ends programs that this
/// process starts.
pub(crate) fn watch() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, remember);
    }
}

/// From now on a closed pipe does not end this process.
pub(crate) fn survive_closed_pipe() {
    handle(libc::SIGPIPE, go_on);
}

/// Whether there was an interrupt since [`watch`].
pub(crate) fn requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Fails if there was an interrupt since [`watch`].
pub(crate) fn check() -> anyhow::Result<()> {
    if requested() {
        bail!("interrupted");
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the standard library has no call for this")]
fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handlers at most store into an atomic, which is safe in a signal handler.
    unsafe {
        libc::signal(signal, handler as libc::sighandler_t);
    }
}

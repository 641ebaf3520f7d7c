//! Ending `up` in order when the user interrupts it.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn remember(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on an interrupt does not end this process at once. Programs that it starts are ended
/// by it as ever.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(super) fn watch() {
    let handler = remember as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores into an atomic, which is safe in a signal handler.
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

//! Orderly end after an interrupt by the user.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on an interrupt does not end this process at once. It still ends programs that this
/// process starts.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            super::note(signal, &INTERRUPTED);
        }
    });
}

/// From now on the first interrupt from the keyboard does not end this process; a second one does at
/// once.
pub(crate) fn watch_first() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| super::note_first(libc::SIGINT, &INTERRUPTED));
}

/// From now on a closed pipe does not end this process.
pub(crate) fn survive_closed_pipe() {
    super::ignore(libc::SIGPIPE);
}

/// Whether there was an interrupt since [`watch`] or [`watch_first`].
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

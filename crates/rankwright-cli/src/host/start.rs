//! When this program started.

use std::sync::OnceLock;
use std::time::Instant;

/// When this program started: the time of the first call, which is in `main`.
pub(crate) fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}

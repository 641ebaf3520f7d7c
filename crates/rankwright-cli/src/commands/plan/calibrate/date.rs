//! The day.

use std::time::SystemTime;

use rankwright::calendar::day;

/// Today in UTC: `2026-11-23`.
pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    day(since.as_secs() / 86_400)
}

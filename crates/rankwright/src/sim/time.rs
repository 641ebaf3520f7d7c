//! Times of a simulation: whole picoseconds from its start.

use crate::units::Seconds;

/// Picoseconds from the start.
pub(super) type Time = u64;

/// Later than anything that happens.
pub(super) const NEVER: Time = Time::MAX;

/// Picoseconds in a second.
pub(super) const PER_SECOND: f64 = 1e12;

/// Rounded; `None` beyond 64 bits.
pub(super) fn picoseconds(time: Seconds) -> Option<u64> {
    let time = (time.0 * PER_SECOND).round();
    (time < NEVER as f64).then_some(time as u64)
}

pub(super) fn seconds(picoseconds: impl Into<u128>) -> Seconds {
    Seconds(picoseconds.into() as f64 / PER_SECOND)
}

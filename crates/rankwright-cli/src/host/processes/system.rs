//! The file systems that describe processes and hardware.

use std::path::Path;

/// The mount points of `/proc` and `/sys`; tests replace them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System<'a> {
    pub(crate) proc: &'a Path,
    pub(crate) sys: &'a Path,
}

impl System<'static> {
    /// This host's.
    pub(crate) fn here() -> Self {
        Self { proc: Path::new("/proc"), sys: Path::new("/sys") }
    }
}

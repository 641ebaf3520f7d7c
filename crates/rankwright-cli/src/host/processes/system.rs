//! Where the system tells what runs.

use std::path::Path;

/// Where the system tells what runs and what the hardware is.
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

//! Why a machine could not be discovered.

use crate::files::InputError;

/// Why this machine could not be discovered.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// A call of libhwloc failed.
    #[error("libhwloc: {0} failed")]
    Hwloc(&'static str),
    /// The XML of libhwloc, or a file of `/sys`, cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
}

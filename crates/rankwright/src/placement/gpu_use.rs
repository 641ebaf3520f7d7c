//! How ranks use the GPUs of their nodes.

use serde::{Deserialize, Serialize};

/// How the ranks of a placement use the GPUs of their nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuUse {
    /// Not at all, or as the program chooses.
    #[default]
    None,
    /// The ranks of a job on a node take its GPUs in turn, in the order in which programs count them,
    /// and are ordered so that each is near its own. All GPUs stay visible to all ranks.
    Near,
    /// Each rank gets the GPU nearest to it, in equal shares, and sees no other.
    OnePerRank,
}

impl GpuUse {
    /// Whether GPUs are left to the program.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

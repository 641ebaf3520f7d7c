//! The option to keep ranks together that share a node.

use clap::{Args, ValueEnum};
use rankwright::map::GroupOrigin;

/// Groups of ranks to keep together.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct NodeGroupOptions {
    /// Consider only placements that keep the ranks of each node together and without other ranks:
    /// the groups of the recorded run (`recorded`, if no value is given) or of block order
    /// (`block`)
    #[arg(
        long = "keep-node-groups",
        value_enum,
        value_name = "AS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "recorded"
    )]
    pub(crate) keep: Option<KeepAs>,
}

/// The origin of the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeepAs {
    /// As in the recorded run; as in block order if its hosts are not known
    Recorded,
    /// As in block order on this cluster
    Block,
}

impl KeepAs {
    /// The library's name for it.
    pub(crate) fn origin(self) -> GroupOrigin {
        match self {
            Self::Recorded => GroupOrigin::Recorded,
            Self::Block => GroupOrigin::BlockOrder,
        }
    }
}

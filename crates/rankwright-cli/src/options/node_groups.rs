//! Which ranks must share nodes.

use clap::{Args, ValueEnum};

/// Which ranks must share nodes.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct NodeGroupOptions {
    /// Only placements where the ranks that shared a node still do, and no others join them: as in
    /// the recorded run (`recorded`, the default where it is known) or in block order (`block`)
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

/// As when ranks are to share nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeepAs {
    /// On the hosts of the recorded run; in block order where they are not known
    Recorded,
    /// In block order on this cluster
    Block,
}

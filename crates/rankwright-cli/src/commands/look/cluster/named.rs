//! The cluster argument of `rankwright cluster show` and `check`.

use clap::Args;
use rankwright::cluster::Cluster;

use crate::options::inputs;

/// A cluster by its name or file.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// A cluster.toml, an hwloc XML file, `-`, `synthetic:STRING` or a built-in name (paper:2013)
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// Number of nodes, if the cluster is the hwloc description of one node
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
}

impl Named {
    pub(super) fn read(&self) -> anyhow::Result<Cluster> {
        inputs::cluster(&self.cluster, self.nodes)
    }
}

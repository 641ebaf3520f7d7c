//! The cluster argument of `rankwright cluster show` and `check`.

use clap::Args;
use rankwright::cluster::{Cluster, NodeCount};
use rankwright::placement::Granularity;

use crate::options::site::cluster_or_default;
use crate::options::{Nodes, NodesOption};
use crate::output::Verbosity;

/// A cluster by its name or file.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// A cluster.toml, an hwloc XML file, `-`, `synthetic:STRING` or a built-in name (paper:2013)
    /// [default: that of site.toml]
    #[arg(value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Only these nodes, like n[0-3], or at most this many, like 4; an hwloc description of one node then
    /// stands for as many
    #[arg(long, value_name = "NODES")]
    nodes: Option<Nodes>,
}

impl Named {
    pub(super) fn read(&self, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        let nodes = self.nodes.as_ref().map(NodesOption::new).transpose()?;
        let count = nodes.as_ref().map_or(Ok(NodeCount::AsDescribed), NodesOption::count)?;
        let whole = cluster_or_default(self.cluster.as_deref(), count, "the argument CLUSTER")?;
        nodes.map_or(Ok(whole.clone()), |nodes| {
            nodes.chosen(&whole, 0, &Granularity::Cores(1), verbosity)
        })
    }
}

//! The cluster argument of `rankwright cluster show` and `check`.

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::placement::Granularity;

use crate::options::{Nodes, NodesOption, inputs};

/// A cluster by its name or file.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// A cluster.toml, an hwloc XML file, `-`, `synthetic:STRING` or a built-in name (paper:2013)
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// Only these nodes, like n[0-3], or at most this many, like 4; an hwloc description of one node then
    /// stands for as many
    #[arg(long, value_name = "NODES")]
    nodes: Option<Nodes>,
}

impl Named {
    pub(super) fn read(&self) -> anyhow::Result<Cluster> {
        let Some(nodes) = &self.nodes else { return inputs::cluster(&self.cluster) };
        let nodes = NodesOption::new(nodes)?;
        nodes.chosen(&nodes.read(&self.cluster)?, 0, &Granularity::Cores(1))
    }
}

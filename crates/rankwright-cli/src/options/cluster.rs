//! The cluster option of most commands.

use clap::Args;
use rankwright::cluster::Cluster;
use rankwright::units::counted;

use super::inputs;
use super::node_counts::NodeCounts;
use crate::output::exit_code::UsageError;

/// The cluster and its number of nodes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterOptions {
    /// The cluster: a cluster.toml, an hwloc XML file, synthetic:STRING or a built-in name
    #[arg(long, value_name = "CLUSTER")]
    on: String,
    /// Number of nodes, if the cluster is the hwloc description of one node, like 4; `place` also
    /// takes a range (4..16) or a list (4,8,16) and compares them
    #[arg(long, value_name = "NUMBER")]
    nodes: Option<NodeCounts>,
}

impl ClusterOptions {
    /// Reads the cluster.
    pub(crate) fn read(&self) -> anyhow::Result<Cluster> {
        match &self.nodes {
            None => inputs::cluster(&self.on, None),
            Some(NodeCounts::One(count)) => inputs::cluster(&self.on, Some(*count)),
            Some(NodeCounts::Several { text, .. }) => Err(UsageError(format!(
                "--nodes {text}: expected one number; `place` compares several"
            ))
            .into()),
        }
    }

    /// The numbers of nodes to compare, if any, and a cluster with the largest of them.
    pub(crate) fn read_several(&self) -> anyhow::Result<Option<(Cluster, Vec<usize>)>> {
        let Some(NodeCounts::Several { text, counts }) = &self.nodes else { return Ok(None) };
        let counts: Vec<u32> = counts.iter().map(|count| count.get()).collect();
        let most = counts.last().copied().unwrap_or(1);
        let cluster = inputs::cluster_of_at_least(&self.on, most)?;
        let available = cluster.nodes.len();
        if available < most as usize {
            return Err(UsageError(format!(
                "--nodes {text}: `{}` has {}, expected at most that many",
                self.on,
                counted(available, "node")
            ))
            .into());
        }
        Ok(Some((cluster, counts.into_iter().map(|count| count as usize).collect())))
    }
}

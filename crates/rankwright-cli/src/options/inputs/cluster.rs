//! Clusters by the names that users give.

use std::path::Path;

use rankwright::cluster::{self, Cluster, NodeCount, OpenError, is_built_in};

use super::text::read_text_or_stdin;
use crate::output::exit_code::UsageError;

/// Reads the cluster that a user names, `-` for standard input.
pub(crate) fn cluster(name: &str) -> anyhow::Result<Cluster> {
    cluster_of(name, NodeCount::AsDescribed)
}

/// As [`cluster`], with a number of nodes or their names if the name is the description of one node.
pub(crate) fn cluster_of(name: &str, nodes: NodeCount<'_>) -> anyhow::Result<Cluster> {
    let opened = match name {
        "-" => {
            let text = read_text_or_stdin(Path::new(name), "a cluster.toml or an hwloc XML file")?;
            cluster::parse(&text, name, nodes)
        }
        _ => cluster::open_with(name, nodes),
    };
    opened.map_err(|error| match error {
        OpenError::Input(error) => error.into(),
        OpenError::Cluster(error) => error.into(),
        OpenError::CountOfNamedNodes { .. } => UsageError(format!("--nodes {error}")).into(),
        OpenError::CountOutOfRange { .. } => UsageError(format!("--nodes: {error}")).into(),
        error => UsageError(error.to_string()).into(),
    })
}

/// Whether a cluster is the description of one node, which stands for as many as `--nodes` says.
pub(crate) fn stands_for_many(cluster: &Cluster) -> bool {
    cluster.invented && !is_built_in(&cluster.name)
}

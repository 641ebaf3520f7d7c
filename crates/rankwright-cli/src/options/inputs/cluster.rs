//! Clusters by the names that users give.

use std::path::Path;

use rankwright::cluster::{self, Cluster, NodeCount, OpenError};

use super::text::read_text_or_stdin;
use crate::output::exit_code::UsageError;

/// Reads the cluster that a user names, `-` for standard input.
pub(crate) fn cluster(name: &str) -> anyhow::Result<Cluster> {
    opened(name, NodeCount::AsDescribed)
}

/// As [`cluster`], with at least `nodes` nodes if the name is the description of one node; clusters
/// that name their nodes keep their number.
pub(crate) fn cluster_of_at_least(name: &str, nodes: u32) -> anyhow::Result<Cluster> {
    opened(name, NodeCount::AtLeast(nodes))
}

/// As [`cluster`], with these host names if the name is the description of one node; clusters that name
/// their nodes keep them.
pub(crate) fn cluster_of_names(name: &str, nodes: &[String]) -> anyhow::Result<Cluster> {
    opened(name, NodeCount::Named(nodes))
}

fn opened(name: &str, nodes: NodeCount<'_>) -> anyhow::Result<Cluster> {
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

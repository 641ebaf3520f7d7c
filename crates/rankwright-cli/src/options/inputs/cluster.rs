//! Clusters by the names that users give.

use std::ffi::OsStr;
use std::path::Path;

use rankwright::cluster::read::built_in::{self, BUILT_IN};
use rankwright::cluster::read::{hwloc_xml, synthetic, toml};
use rankwright::cluster::{Cluster, ClusterDescription, NodeGroup, hostlist};
use rankwright::files::InputError;

use super::text::read_text_or_stdin;
use crate::output::exit_code::UsageError;

/// The prefix of synthetic strings.
const SYNTHETIC: &str = "synthetic:";

/// The accepted names of clusters, for errors.
const CLUSTERS: &str = "a cluster.toml, an hwloc XML file, `-` for standard input, \
    synthetic:STRING or a built-in name";

/// Reads the cluster that a user names: a `cluster.toml` or hwloc XML file, `-` for either on
/// standard input, `synthetic:STRING`, or a built-in name. `nodes` says how many nodes an hwloc
/// file or a synthetic string is meant for (default 1); the nodes are called node0, node1, ...
pub(crate) fn cluster(text: &str, nodes: Option<u32>) -> anyhow::Result<Cluster> {
    read(text, Count::Of(nodes))
}

/// As [`cluster`], with at least `nodes` nodes if the name is the description of one node; clusters
/// that name their nodes keep their number.
pub(crate) fn cluster_of_at_least(text: &str, nodes: u32) -> anyhow::Result<Cluster> {
    read(text, Count::AtLeast(nodes))
}

/// The number of nodes to make.
#[derive(Debug, Clone, Copy)]
enum Count {
    Of(Option<u32>),
    AtLeast(u32),
}

fn read(text: &str, nodes: Count) -> anyhow::Result<Cluster> {
    if let Some(string) = text.strip_prefix(SYNTHETIC) {
        let machine = synthetic::parse(string)
            .map_err(|error| InputError::new(text, error.found, error.expected))?;
        return uniform(text, NodeGroup::all_free(machine), nodes);
    }
    let path = Path::new(text);
    if let Some(built_in) = built_in::find(text) {
        no_count(nodes, text)?;
        return Ok(built_in.cluster());
    }
    if text.starts_with("paper:") && !path.exists() {
        return Err(unknown_cluster(text).into());
    }
    let content = read_text_or_stdin(path, CLUSTERS).map_err(|error| match path.exists() {
        true => error,
        false => error.with_advice(format!("the built-in names are {}", built_in_names())),
    })?;
    if hwloc_xml::sniff(&content) {
        let name = path.file_stem().and_then(OsStr::to_str).filter(|stem| *stem != "-");
        return uniform(name.unwrap_or("cluster"), hwloc_xml::parse(&content, text)?, nodes);
    }
    no_count(nodes, text)?;
    Ok(toml::parse(&content, text, path.parent().unwrap_or(Path::new("")))?)
}

fn unknown_cluster(name: &str) -> UsageError {
    UsageError(format!(
        "no built-in cluster `{name}`; the built-in clusters are {}",
        built_in_names()
    ))
}

fn built_in_names() -> String {
    BUILT_IN.iter().map(|built_in| built_in.name).collect::<Vec<_>>().join(", ")
}

/// A cluster of `nodes` equal nodes.
fn uniform(name: &str, group: NodeGroup, nodes: Count) -> anyhow::Result<Cluster> {
    let count = match nodes {
        Count::Of(count) => count.unwrap_or(1),
        Count::AtLeast(count) => count,
    };
    let most = hostlist::MOST_NAMES;
    if count == 0 || count as usize > most {
        return Err(UsageError(format!("--nodes {count}: expected 1 to {most}")).into());
    }
    let names = (0..count).map(|number| format!("node{number}")).collect();
    Ok(ClusterDescription::uniform(name, names, group).build()?)
}

fn no_count(nodes: Count, text: &str) -> Result<(), UsageError> {
    match nodes {
        Count::Of(None) | Count::AtLeast(_) => Ok(()),
        Count::Of(Some(_)) => Err(UsageError(format!(
            "--nodes cannot be combined with `{text}`, which names its nodes; it applies to hwloc \
             XML files and synthetic strings"
        ))),
    }
}

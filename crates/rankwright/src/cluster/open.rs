//! A cluster by the name that a user gives it: a file, a synthetic string or a built-in cluster.

use std::ffi::OsStr;
use std::path::Path;

use super::read::built_in::{self, BUILT_IN};
use super::read::{hwloc_xml, synthetic, toml};
use super::{Cluster, ClusterDescription, ClusterError, NodeGroup, hostlist};
use crate::files::{InputError, read_text};

/// The prefix of synthetic strings.
const SYNTHETIC: &str = "synthetic:";

/// The prefix of built-in clusters.
const BUILT_IN_PREFIX: &str = "paper:";

/// The accepted names of clusters, for errors.
const CLUSTERS: &str = "a cluster.toml, an hwloc XML file, `-` for standard input, \
    synthetic:STRING or a built-in name";

/// How many nodes a cluster has where its description is of one node: an hwloc XML file or a synthetic
/// string. They are called node0, node1, ... unless they are given names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NodeCount<'a> {
    /// One; clusters that name their nodes have those.
    #[default]
    AsDescribed,
    /// This many; an error for clusters that name their nodes.
    Exactly(u32),
    /// This many; clusters that name their nodes have those.
    AtLeast(u32),
    /// Nodes with these host names; clusters that name their nodes have those.
    Named(&'a [String]),
}

/// Why a cluster cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no built-in cluster of that name.
    #[error("no built-in cluster `{name}`; the built-in clusters are {}", built_in_names())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A number of nodes was given for a cluster that names its nodes.
    #[error(
        "cannot be combined with `{name}`, which names its nodes; it applies to hwloc XML files and \
         synthetic strings"
    )]
    CountOfNamedNodes {
        /// The cluster.
        name: String,
    },
    /// The number of nodes is 0 or too large.
    #[error("found {count}, expected 1 to {}", hostlist::MOST_NAMES)]
    CountOutOfRange {
        /// The number.
        count: u32,
    },
    /// Its parts contradict each other.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The file or string cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
}

/// Whether a name is that of a file and neither a synthetic string nor a built-in cluster.
#[must_use]
pub fn is_path(name: &str) -> bool {
    !name.starts_with(SYNTHETIC) && !name.starts_with(BUILT_IN_PREFIX)
}

/// Opens the cluster that `name` stands for: a `cluster.toml` or hwloc XML file, `synthetic:STRING`, or
/// a built-in name like `paper:2013`.
///
/// ```
/// let cluster = rankwright::cluster::open("synthetic:package:2 core:8 pu:1").unwrap();
/// assert_eq!(cluster.core_count(), 16);
/// ```
///
/// # Errors
/// If there is no such cluster, or its description is wrong.
pub fn open(name: &str) -> Result<Cluster, OpenError> {
    open_with(name, NodeCount::AsDescribed)
}

/// As [`open`], with a number of nodes.
///
/// # Errors
/// As [`open`], and if the number of nodes does not go with the cluster.
pub fn open_with(name: &str, nodes: NodeCount) -> Result<Cluster, OpenError> {
    if let Some(string) = name.strip_prefix(SYNTHETIC) {
        let machine = synthetic::parse(string)
            .map_err(|error| InputError::new(name, error.found, error.expected))?;
        return uniform(name, NodeGroup::all_free(machine), nodes);
    }
    if let Some(built_in) = built_in::find(name) {
        no_count(nodes, name)?;
        return Ok(built_in.cluster().edit(|cluster| cluster.invented = true)?);
    }
    let path = Path::new(name);
    if name.starts_with(BUILT_IN_PREFIX) && !path.exists() {
        return Err(OpenError::UnknownName { name: name.to_owned() });
    }
    let content = read_text(path, CLUSTERS).map_err(|error| match path.exists() {
        true => error,
        false => error.with_advice(format!("the built-in names are {}", built_in_names())),
    })?;
    parse(&content, name, nodes)
}

/// Reads a cluster from the text of a `cluster.toml` or hwloc XML file. `file` names it in errors;
/// files that it refers to are beside it.
///
/// # Errors
/// As [`open_with`].
pub fn parse(content: &str, file: &str, nodes: NodeCount) -> Result<Cluster, OpenError> {
    let path = Path::new(file);
    if hwloc_xml::sniff(content) {
        let name = path.file_stem().and_then(OsStr::to_str).filter(|stem| *stem != "-");
        return uniform(name.unwrap_or("cluster"), hwloc_xml::parse(content, file)?, nodes);
    }
    no_count(nodes, file)?;
    Ok(toml::parse(content, file, path.parent().unwrap_or(Path::new("")))?)
}

/// Whether a cluster of this name is built in.
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    built_in::find(name).is_some()
}

fn built_in_names() -> String {
    BUILT_IN.iter().map(|built_in| built_in.name).collect::<Vec<_>>().join(", ")
}

/// A cluster of equal nodes.
fn uniform(name: &str, group: NodeGroup, nodes: NodeCount) -> Result<Cluster, OpenError> {
    let count = match nodes {
        NodeCount::AsDescribed => 1,
        NodeCount::Exactly(count) | NodeCount::AtLeast(count) => count,
        NodeCount::Named(names) => {
            return Ok(ClusterDescription::uniform(name, names.to_vec(), group).build()?);
        }
    };
    if count == 0 || count as usize > hostlist::MOST_NAMES {
        return Err(OpenError::CountOutOfRange { count });
    }
    let names = (0..count).map(|number| format!("node{number}")).collect();
    let mut description = ClusterDescription::uniform(name, names, group);
    description.invented = true;
    Ok(description.build()?)
}

fn no_count(nodes: NodeCount, name: &str) -> Result<(), OpenError> {
    match nodes {
        NodeCount::AsDescribed | NodeCount::AtLeast(_) | NodeCount::Named(_) => Ok(()),
        NodeCount::Exactly(_) => Err(OpenError::CountOfNamedNodes { name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_may_stand_for_many() {
        let string = "synthetic:package:2 core:4 pu:1";
        assert_eq!(open(string).unwrap().nodes.len(), 1);
        assert_eq!(open_with(string, NodeCount::Exactly(3)).unwrap().nodes.len(), 3);
        let names = ["a".to_owned(), "b".to_owned()];
        let named = open_with(string, NodeCount::Named(&names)).unwrap();
        assert_eq!(named.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), names);
        assert!(open(string).unwrap().invented && !named.invented);
        assert_eq!(
            open_with(string, NodeCount::Exactly(0)),
            Err(OpenError::CountOutOfRange { count: 0 })
        );
    }

    #[test]
    fn clusters_that_name_their_nodes_keep_them() {
        let nodes = open("paper:2013").unwrap().nodes.len();
        assert_eq!(open_with("paper:2013", NodeCount::AtLeast(99)).unwrap().nodes.len(), nodes);
        let refused = open_with("paper:2013", NodeCount::Exactly(2)).unwrap_err();
        assert!(refused.to_string().contains("names its nodes"), "{refused}");
    }

    #[test]
    fn names_that_do_not_exist_say_which_do() {
        let unknown = open("paper:1999").unwrap_err().to_string();
        assert!(unknown.contains("`paper:1999`; the built-in clusters are paper:"), "{unknown}");
        let missing = open("no-such-file.toml").unwrap_err().to_string();
        assert!(
            missing.starts_with("no-such-file.toml: no such file; give a cluster"),
            "{missing}"
        );
    }
}

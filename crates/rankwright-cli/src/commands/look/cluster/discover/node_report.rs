//! What each node leaves in a folder that all share: its description, or why there is none. Files, because
//! launchers mix the output of processes.

use std::fs;
use std::path::Path;

use anyhow::Context;
use rankwright::cluster::Cluster;
use rankwright::cluster::read::toml;
use rankwright::files::write_atomically;
use rankwright_shim_format::same_host;

use crate::host::this_host;

/// How the files of nodes end, behind the host name: a description, a reason.
const DESCRIBED: &str = "toml";
const FAILED: &str = "failed";

/// Describes this node in a file of the folder.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    let host = this_host::name()?;
    // A node that fails still ends well: some launchers end all processes with the first that fails.
    let (text, kind) = match this_host::cluster() {
        Ok(cluster) => (toml::write(&cluster), DESCRIBED),
        Err(error) => (format!("{error:#}"), FAILED),
    };
    Ok(write_atomically(&folder.join(format!("{host}.{kind}")), text.as_bytes())?)
}

/// What a node has left: its description, or why it has none.
pub(super) type NodeReport = Result<Cluster, String>;

/// The reports of hosts in a folder; `None` for a host without one.
pub(super) fn read(folder: &Path, hosts: &[String]) -> anyhow::Result<Vec<Option<NodeReport>>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let report = |host: &String| {
        let of_host = |kind: &str| {
            names.iter().find(|name| {
                let stem = name.strip_suffix(kind).and_then(|stem| stem.strip_suffix('.'));
                stem.is_some_and(|stem| same_host(stem, host))
            })
        };
        if let Some(name) = of_host(DESCRIBED) {
            return Some(toml::read(&folder.join(name)).map_err(|error| error.to_string()));
        }
        let why = fs::read_to_string(folder.join(of_host(FAILED)?));
        Some(Err(why.unwrap_or_else(|error| error.to_string())))
    };
    Ok(hosts.iter().map(report).collect())
}

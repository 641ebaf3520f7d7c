//! Writing and summarising cluster descriptions.

use std::path::Path;

use rankwright::cluster::read::toml;
use rankwright::cluster::{Cluster, hostlist};
use rankwright::files::write_atomically;
use rankwright::units::counted;

use crate::output::{self, Verbosity};
use crate::planning::cluster_warnings::names_of_group;

/// Writes a cluster.toml; if it goes to a file, also notes a summary.
pub(super) fn write_description(
    cluster: &Cluster,
    path: Option<&Path>,
    verbosity: &Verbosity,
) -> anyhow::Result<()> {
    let text = toml::write(cluster);
    match path {
        Some(path) if path.as_os_str() != "-" => {
            write_atomically(path, text.as_bytes())?;
            for line in group_lines(cluster) {
                output::note(verbosity, format_args!("{}: {line}", path.display()));
            }
            Ok(())
        }
        _ => output::print(&text),
    }
}

/// One line for each group: names, hardware, free PUs.
pub(super) fn group_lines(cluster: &Cluster) -> Vec<String> {
    let line = |(index, group): (usize, &rankwright::cluster::NodeGroup)| {
        let names = names_of_group(cluster, index);
        let free = group.free.iter().filter(|free| **free).count();
        let nodes = counted(names.len(), "node");
        let free = match free == group.free.len() {
            true => "all PUs".to_owned(),
            false => counted(free, "PU"),
        };
        let names = hostlist::compress(&names);
        format!("{names}: {nodes} of {}; {free} free", group.machine)
    };
    cluster.groups.iter().enumerate().map(line).collect()
}

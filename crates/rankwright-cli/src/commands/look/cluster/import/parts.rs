//! A mixed cluster, merged from one description per node type.

use std::path::Path;

use rankwright::cluster::merge::merge;
use rankwright::cluster::read::hwloc_xml;
use rankwright::cluster::{Cluster, ClusterDescription, hostlist};
use rankwright::files::{InputError, read_text};

use crate::options::inputs;
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

/// Whether an argument is `HOSTLIST=FILE` and not a file.
pub(super) fn names_its_nodes(argument: &str) -> bool {
    argument.contains('=') && !argument.starts_with("synthetic:") && !Path::new(argument).exists()
}

/// All parts as one cluster.
pub(super) fn merged(files: &[String], verbosity: &Verbosity) -> anyhow::Result<Cluster> {
    let part = |argument: &String| Ok((argument.clone(), part(argument)?));
    let parts: Vec<(String, Cluster)> = files.iter().map(part).collect::<anyhow::Result<_>>()?;
    let first = parts[0].1.rates.clone();
    for (source, part) in &parts[1..] {
        if part.rates != first {
            let (ours, theirs) = (&first.name, &part.rates.name);
            let why = format!("the rates are {ours}; those of {source} ({theirs}) are ignored");
            output::warn(verbosity, why);
        }
    }
    Ok(merge(parts)?)
}

/// `HOSTLIST=FILE`, or a cluster.toml.
fn part(argument: &str) -> anyhow::Result<Cluster> {
    if !names_its_nodes(argument) {
        let has_names = !argument.starts_with("synthetic:") && !is_xml(argument);
        if !has_names {
            let why = format!("{argument}: the nodes have no names, expected HOSTLIST={argument}");
            return Err(UsageError(why).into());
        }
        return inputs::cluster(argument);
    }
    let (names, source) = argument.split_once('=').unwrap_or((argument, ""));
    let names =
        hostlist::expand(names).map_err(|error| UsageError(format!("{argument}: {error}")))?;
    let names = hostlist::distinct(names)
        .map_err(|error| InputError::new(argument, error.found, error.expected))?;
    let described = inputs::cluster(source)?;
    let [group] = described.groups.as_slice() else {
        let why = format!(
            "{argument}: found {} types of nodes, expected one; without `HOSTLIST=` the file is \
             merged as a whole",
            described.groups.len()
        );
        return Err(UsageError(why).into());
    };
    let part = ClusterDescription {
        rates: described.rates.clone(),
        emulated: described.emulated,
        ..ClusterDescription::uniform("", names, group.clone())
    };
    Ok(part.build()?)
}

fn is_xml(path: &str) -> bool {
    let text = || read_text(Path::new(path), "an hwloc XML file");
    path != "-" && text().is_ok_and(|text| hwloc_xml::sniff(&text))
}

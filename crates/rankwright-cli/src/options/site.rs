//! Values of options that the user does not give: from the environment, from the user's own `site.toml`,
//! from the one of the site.

use std::path::{Path, PathBuf};

use rankwright::cluster::{self, Cluster, NodeCount};
use rankwright::files::{InputError, describe, read_text};
use rankwright::launch::Launcher;
use rankwright::rails::fabric::Stack;
use rankwright::site::{self, SiteFile, Source, Sourced};

use super::inputs;
use crate::host::batch_job::{PARTITION, partition};
use crate::host::user_folders;
use crate::output::exit_code::UsageError;
use crate::output::{Verbosity, sources, warn};

/// The file of the site, unless [`FILE`] names another.
const OF_SITE: &str = "/etc/rankwright/site.toml";

/// The variable that names the file of the site; empty for none.
const FILE: &str = "RANKWRIGHT_SITE";

/// The name of a cluster's description in the guide and in advice.
const CLUSTER_FILE: &str = "cluster.toml";

/// The variables that precede the files.
const CLUSTER: &str = "RANKWRIGHT_CLUSTER";
const LAUNCHER: &str = "RANKWRIGHT_LAUNCHER";
const FABRIC: &str = "RANKWRIGHT_FABRIC";
const RECORD: &str = "RANKWRIGHT_RECORD";

/// Defaults of options. Those that a command takes are told with `-v`, and if it fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defaults {
    values: site::Defaults,
    /// The partitions of the files, if one of them must be chosen to have its values.
    partitions: Vec<String>,
}

impl Defaults {
    /// The defaults of the environment and of the files.
    ///
    /// # Errors
    /// If a file or a variable is wrong, or the files have partitions but not that of this job.
    pub(crate) fn read() -> Result<Self, InputError> {
        let mut files = Vec::new();
        for (path, required) in paths() {
            // A file that is not there has no defaults; one that cannot be looked for is an error.
            if required || !matches!(path.try_exists(), Ok(false)) {
                let text = read_text(&path, site::EXPECTED)?;
                let folder = path.parent().unwrap_or(Path::new(""));
                files.push(SiteFile::parse(&text, &path.display().to_string(), folder)?);
            }
        }
        let partition = partition();
        let name = partition.as_ref().map(|(name, _)| name.as_str());
        let of_files = site::defaults(&files, name).map_err(|error| match &partition {
            Some((_, variable)) => {
                error.with_advice(format!("the partition is that of {variable}"))
            }
            None => error,
        })?;
        let partitions = match name {
            Some(_) => Vec::new(),
            None => site::partitions_to_choose(&files),
        };
        Ok(Self { values: of_environment()?.over(of_files), partitions })
    }

    /// As [`Defaults::read`], for commands that start jobs: what is wrong gives a warning.
    pub(crate) fn read_or_warn(verbosity: &Verbosity) -> Self {
        Self::read().unwrap_or_else(|error| {
            warn(verbosity, format_args!("the defaults of the site are not used: {error}"));
            Self::default()
        })
    }

    /// Opens the cluster, with the rates of the site; `None` if there is none. `option` names another.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn cluster(
        &self,
        nodes: NodeCount<'_>,
        option: &str,
    ) -> anyhow::Result<Option<Cluster>> {
        let Some(named) = &self.values.cluster else { return Ok(None) };
        let name = &named.value;
        remember("cluster", name, &named.source, option);
        if cluster::is_path(name)
            && let Err(error) = Path::new(name).metadata()
        {
            let found = format!("{name}: {}", describe(&error));
            let expected =
                "a cluster.toml or an hwloc XML file, relative to the folder of this file";
            return Err(named.error("cluster", found, expected).into());
        }
        let opened = inputs::cluster_of(name, nodes)?;
        // As one of an option, a cluster of a variable keeps its own rates.
        match self.has_cluster_of_environment() {
            true => Ok(Some(opened)),
            false => self.with_rates(opened).map(Some),
        }
    }

    /// A cluster of this site, with the rates of the site.
    pub(crate) fn with_rates(&self, cluster: Cluster) -> anyhow::Result<Cluster> {
        let Some(rates) = &self.values.rates else { return Ok(cluster) };
        remember("rates", &rates.value.name, &rates.source, "[rates] of a cluster.toml with --on");
        Ok(cluster.edit(|description| description.rates = rates.value.clone())?)
    }

    /// The name or file of the cluster.
    pub(crate) fn cluster_name(&self) -> Option<&str> {
        self.values.cluster.as_ref().map(|named| named.value.as_str())
    }

    /// Whether there is a cluster.
    pub(crate) fn has_cluster(&self) -> bool {
        self.values.cluster.is_some()
    }

    /// Whether the cluster is that of a variable, which a user sets for one shell.
    pub(crate) fn has_cluster_of_environment(&self) -> bool {
        self.values.cluster.as_ref().is_some_and(|named| named.source.line.is_none())
    }

    /// The launcher.
    pub(crate) fn launcher(&self) -> Option<&'static Launcher> {
        let Sourced { value, source } = self.values.launcher.as_ref()?;
        remember("launcher", value.name, source, "--for");
        Some(*value)
    }

    /// The network stack.
    pub(crate) fn fabric(&self) -> Option<&'static Stack> {
        let Sourced { value, source } = self.values.fabric.as_ref()?;
        remember("network stack", value.name, source, "--fabric");
        Some(*value)
    }

    /// Whether runs are kept in the record of accuracy: yes, unless someone says no.
    pub(crate) fn keeps_record(&self) -> bool {
        self.values.record.as_ref().is_none_or(|record| record.value)
    }

    fn missing(&self, what: &str, option: &str, variable: &str) -> UsageError {
        let here = (what == "cluster" && Path::new(CLUSTER_FILE).is_file()).then_some(CLUSTER_FILE);
        let option = here.map_or(option.to_owned(), |file| format!("{option} {file}"));
        let names = self.partitions.join(", ");
        let choose = match names.is_empty() {
            true => format!("`{what}` in {OF_SITE} or in your own site.toml"),
            false => format!("{PARTITION} to one of {names}, which site.toml has"),
        };
        let describe = match what == "cluster" && here.is_none() && names.is_empty() {
            true => "; `rankwright cluster discover -o cluster.toml` describes this node",
            false => "",
        };
        UsageError(format!("no {what}: give {option}, or set {variable}, or {choose}{describe}"))
    }
}

fn remember(what: &str, value: &str, source: &Source, option: &str) {
    sources::remember(format!("{what}: {value} by {source} ({option} overrides it)"));
}

/// The cluster that `--on` names, else that of the site, if there is one.
///
/// # Errors
/// If it cannot be opened, or the defaults cannot be read.
pub(crate) fn cluster_if_any(
    on: Option<&str>,
    nodes: NodeCount<'_>,
) -> anyhow::Result<Option<Cluster>> {
    match on {
        Some(name) => inputs::cluster_of(name, nodes).map(Some),
        None => Defaults::read()?.cluster(nodes, "--on"),
    }
}

/// The cluster that `--on` names, else that of the site.
///
/// # Errors
/// As [`cluster_if_any`], and if there is none.
pub(crate) fn cluster(on: Option<&str>, nodes: NodeCount<'_>) -> anyhow::Result<Cluster> {
    cluster_or_default(on, nodes, "--on")
}

/// As [`cluster`], for a name that is given otherwise than by `--on`.
pub(crate) fn cluster_or_default(
    name: Option<&str>,
    nodes: NodeCount<'_>,
    option: &str,
) -> anyhow::Result<Cluster> {
    if let Some(name) = name {
        return inputs::cluster_of(name, nodes);
    }
    let defaults = Defaults::read()?;
    defaults
        .cluster(nodes, option)?
        .ok_or_else(|| defaults.missing("cluster", option, CLUSTER).into())
}

/// The launcher that `--for` names, else that of the site, if there is one.
///
/// # Errors
/// If the defaults cannot be read.
pub(crate) fn launcher_if_any(
    launcher: Option<&'static Launcher>,
) -> Result<Option<&'static Launcher>, InputError> {
    match launcher {
        Some(launcher) => Ok(Some(launcher)),
        None => Ok(Defaults::read()?.launcher()),
    }
}

/// The launcher that `--for` names, else that of the site.
///
/// # Errors
/// As [`launcher_if_any`], and if there is none.
pub(crate) fn launcher(launcher: Option<&'static Launcher>) -> anyhow::Result<&'static Launcher> {
    if let Some(launcher) = launcher {
        return Ok(launcher);
    }
    let defaults = Defaults::read()?;
    let of_site = defaults.launcher();
    of_site.ok_or_else(|| defaults.missing("launcher", "--for", LAUNCHER).into())
}

/// The files, the most important last, and whether each must exist.
fn paths() -> impl Iterator<Item = (PathBuf, bool)> {
    let of_site = match std::env::var_os(FILE) {
        None => Some((PathBuf::from(OF_SITE), false)),
        Some(path) if path.is_empty() => None,
        Some(path) => Some((PathBuf::from(path), true)),
    };
    let own = user_folders::config().map(|folder| (folder.join("rankwright/site.toml"), false));
    of_site.into_iter().chain(own)
}

/// A variable that is `on` or `off`.
fn switch(text: &str, source: Source) -> Result<Sourced<bool>, InputError> {
    let value = match text {
        "on" => true,
        "off" => false,
        _ => return Err(InputError::new(&source, format!("`{text}`"), "on or off")),
    };
    Ok(Sourced { value, source })
}

/// The defaults that variables set.
fn of_environment() -> Result<site::Defaults, InputError> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let of = |name: &str| Source { file: name.to_owned(), line: None };
    let cluster = set(CLUSTER).map(|value| Sourced { value, source: of(CLUSTER) });
    let launcher = set(LAUNCHER).map(|name| site::launcher(&name, of(LAUNCHER))).transpose()?;
    let fabric = set(FABRIC).map(|name| site::fabric(&name, of(FABRIC))).transpose()?;
    let record = set(RECORD).map(|text| switch(&text, of(RECORD))).transpose()?;
    Ok(site::Defaults { cluster, launcher, fabric, rates: None, record })
}

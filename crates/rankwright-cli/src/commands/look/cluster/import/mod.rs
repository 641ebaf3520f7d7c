//! `rankwright cluster import`: descriptions from files of other tools and from batch systems.

mod allocation;
mod parts;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::cluster::read::{
    hostfile, hwloc_xml, ibnetdiscover, synthetic, toml, topology_conf,
};
use rankwright::cluster::{Cluster, ClusterDescription, NodeCount, NodeGroup, hostlist};
use rankwright::files::InputError;
use rankwright::launch::shell::quote;
use rankwright::units::counted;

use super::description::write_description;
use crate::host::{batch_job, this_host};
use crate::options::{given, inputs, refuse, site};
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

const EXPECTED: &str =
    "an hwloc XML file, a hostfile, a Slurm topology.conf or the output of ibnetdiscover";

/// Options of `rankwright cluster import`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// An hwloc XML file (`lstopo node.xml`), a hostfile (Open MPI, Hydra or plain names), a Slurm
    /// topology.conf or the output of ibnetdiscover; `-` for standard input; `slurm:`, `lsf:`,
    /// `pbs:` or `flux:` for the current job; or several HOSTLIST=FILE or cluster.toml to merge
    #[arg(
        required_unless_present = "synthetic",
        conflicts_with = "synthetic",
        value_name = "FILE"
    )]
    files: Vec<String>,
    /// Hwloc synthetic string to use instead of a file, like "pack:2 numa:1 core:8 pu:2"
    #[arg(long, value_name = "STRING")]
    synthetic: Option<String>,
    /// Names of the nodes that an XML file or synthetic string describes, like node[00-15]
    /// [default: node0]
    #[arg(long, value_name = "HOSTLIST", conflicts_with = "node_type")]
    nodes: Option<String>,
    /// Hardware of the hosts of a hostfile, of switches or of a job: a cluster.toml, an hwloc XML
    /// file, synthetic:STRING or a built-in name [default: this machine; of
    /// a job: the cluster of site.toml, if there is one]
    #[arg(long, visible_alias = "on", value_name = "CLUSTER", conflicts_with = "synthetic")]
    node_type: Option<String>,
    /// Keep only these hosts of the output of ibnetdiscover
    #[arg(long, value_name = "HOSTLIST", conflicts_with = "synthetic")]
    only: Option<String>,
    /// What a CPU is for the batch system of `slurm:` or `lsf:`
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    cpu: allocation::Cpu,
    /// Name of the cluster [default: taken from the file]
    #[arg(long)]
    name: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let (name, cluster) = self.cluster(verbosity)?;
        let cluster = cluster.named(self.name.as_deref().unwrap_or(&name));
        write_description(&cluster, self.output.as_deref(), verbosity)
    }

    /// The default name of the cluster, and the cluster.
    fn cluster(&self, verbosity: &Verbosity) -> anyhow::Result<(String, Cluster)> {
        if let Some(text) = &self.synthetic {
            let machine = synthetic::parse(text)
                .map_err(|error| InputError::new("--synthetic", error.found, error.expected))?;
            return Ok(("cluster".to_owned(), self.uniform(NodeGroup::all_free(machine))?));
        }
        let [file] = self.files.as_slice() else {
            return self.parts(verbosity);
        };
        if let Some(granted) = batch_job::named(file)? {
            self.refuse_other_options(file)?;
            let of_site = match &self.node_type {
                Some(_) => None,
                None => site::cluster_if_any(None, NodeCount::AsDescribed)?,
            };
            let described = match (&self.node_type, &of_site) {
                (Some(node_type), _) => node_type.as_str(),
                (None, Some(cluster)) => cluster.name.as_str(),
                (None, None) => "this machine",
            };
            let job = allocation::Job { name: file, cpu: self.cpu, described };
            return match &of_site {
                Some(cluster) => job.cluster(granted, cluster, verbosity),
                None => job.cluster(granted, &self.description(verbosity)?, verbosity),
            };
        }
        if parts::names_its_nodes(file) {
            return self.parts(verbosity);
        }
        let stem = Path::new(file).file_stem().and_then(OsStr::to_str);
        let name = stem.filter(|stem| *stem != "-").unwrap_or("cluster").to_owned();
        Ok((name, self.file(file, verbosity)?))
    }

    /// All parts as one cluster.
    fn parts(&self, verbosity: &Verbosity) -> anyhow::Result<(String, Cluster)> {
        self.refuse_other_options("several parts")?;
        let why = " cannot be combined with several parts: HOSTLIST=FILE gives the hardware";
        refuse(&[(given("--node-type", self.node_type.is_some()), why)])?;
        Ok(("cluster".to_owned(), parts::merged(&self.files, verbosity)?))
    }

    fn file(&self, file: &str, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        let text = inputs::read_text_or_stdin(Path::new(file), EXPECTED)?;
        if text.trim().is_empty() {
            return Err(InputError::new(file, "an empty file", EXPECTED).into());
        }
        if is_description(file, &text) {
            return Err(described_already(file, &text).into());
        }
        let is_fabric = ibnetdiscover::sniff(&text);
        let why =
            format!(" cannot be combined with {file}, which is not the output of ibnetdiscover");
        refuse(&[(given("--only", self.only.is_some() && !is_fabric), &why)])?;
        if hwloc_xml::sniff(&text) {
            let why = " applies to hosts and switches; hwloc XML describes the hardware already";
            refuse(&[(given("--node-type", self.node_type.is_some()), why)])?;
            return self.uniform(hwloc_xml::parse(&text, file)?);
        }
        let why = format!(" cannot be combined with {file}, which is not hwloc XML");
        refuse(&[(given("--nodes", self.nodes.is_some()), &why)])?;
        let described = self.node_type.as_deref().unwrap_or("this machine");
        let (cluster, like) = if is_fabric {
            let fabric = ibnetdiscover::parse(&text, file, &self.only_hosts()?)?;
            for loss in &fabric.losses {
                output::warn(verbosity, format_args!("{file}: {loss}"));
            }
            let like = self.description(verbosity)?;
            let cluster = fabric.cluster(&like);
            if let Ok(cluster) = &cluster {
                warn_of_foreign_devices(file, &fabric, cluster, described, verbosity);
            }
            (cluster, like)
        } else if topology_conf::sniff(&text) {
            let tree = topology_conf::parse(&text, file)?;
            let like = self.description(verbosity)?;
            (tree.cluster(&like), like)
        } else {
            let hosts = hostfile::parse(&text, file).map_err(|error| wrong_kind(error, &text))?;
            let like = self.description(verbosity)?;
            let cluster = hostfile::cluster(&like, &hosts);
            if let Ok(cluster) = &cluster {
                allocation::warn_of_slots(file, cluster, &hosts, described, verbosity);
            }
            (cluster, like)
        };
        let cluster = cluster.map_err(|error| allocation::hosts_error(file, error, described))?;
        let unknown = || unknown_hosts(&cluster, &like, described);
        if let Some(text) = self.node_type.as_ref().and_then(|_| unknown()) {
            let advice = format!("leave out of {file} what runs no jobs");
            output::note(verbosity, format_args!("{text}; {advice}"));
        }
        Ok(cluster)
    }

    fn only_hosts(&self) -> Result<Vec<String>, UsageError> {
        let hosts = self.only.as_deref().map(hostlist::expand).transpose();
        Ok(hosts.map_err(|error| UsageError(format!("--only: {error}")))?.unwrap_or_default())
    }

    /// A cluster of equal nodes.
    fn uniform(&self, group: NodeGroup) -> anyhow::Result<Cluster> {
        if let Some(count) = self.nodes.as_deref().filter(|nodes| nodes.parse::<u32>().is_ok()) {
            let why = format!(
                "--nodes: found the number {count}, expected names; for {count} nodes: node[1-{count}]"
            );
            return Err(UsageError(why).into());
        }
        let names = hostlist::expand(self.nodes.as_deref().unwrap_or("node0"))
            .and_then(hostlist::distinct)
            .map_err(|error| UsageError(format!("--nodes: {error}")))?;
        Ok(ClusterDescription::uniform("", names, group).build()?)
    }

    /// The hardware of the hosts.
    fn description(&self, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        if let Some(node_type) = &self.node_type {
            return inputs::cluster(node_type);
        }
        output::note(verbosity, "without --node-type, all hosts are assumed to be like this one");
        this_host::cluster()
    }

    /// Refuses options that apply to a single file only.
    fn refuse_other_options(&self, what: &str) -> Result<(), UsageError> {
        let why = format!(" cannot be combined with {what}");
        let (nodes, only) = (self.nodes.is_some(), self.only.is_some());
        refuse(&[(given("--nodes", nodes), &why), (given("--only", only), &why)])
    }
}

/// That the description of the other hosts does not have some, such as login nodes.
fn unknown_hosts(cluster: &Cluster, like: &Cluster, described: &str) -> Option<String> {
    let label = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let labels: HashSet<String> = like.nodes.iter().map(|node| label(&node.name)).collect();
    let names = cluster.nodes.iter().map(|node| node.name.as_str());
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        names.partition(|name| labels.contains(&label(name)));
    // A type of nodes that has no hosts of its own is meant for all.
    if like.invented || known.is_empty() || unknown.is_empty() {
        return None;
    }
    let count = counted(unknown.len(), "host");
    let unknown = hostlist::compress(&unknown);
    Some(format!("{count} not in {described} ({unknown}): assumed to be like its nodes"))
}

/// Warns of hosts whose network devices are none of the fabric.
fn warn_of_foreign_devices(
    file: &str,
    fabric: &ibnetdiscover::FabricTree,
    cluster: &Cluster,
    described: &str,
    verbosity: &Verbosity,
) {
    let hosts = fabric.hosts_without_device(cluster);
    let Some(first) = hosts.first().and_then(|host| cluster.find_node(host)) else { return };
    let nics: Vec<&str> = cluster.machine(first).nics.iter().map(|nic| nic.name.as_str()).collect();
    output::warn(
        verbosity,
        format_args!(
            "{file}: {}: no NIC of {described} ({}) is one of this fabric, so their messages do not use \
             its links at full rate: give the hardware of these hosts with --node-type FILE; one \
             without NICs gets those of the fabric",
            hostlist::compress(&hosts),
            nics.join(", ")
        ),
    );
}

/// Whether a file is a description that needs no import, right or wrong.
fn is_description(file: &str, text: &str) -> bool {
    let named_so = Path::new(file).extension() == Some(OsStr::new("toml"));
    named_so || text.lines().any(|line| line.trim() == "[[node]]")
}

/// The error for a cluster.toml: its own if it has one.
fn described_already(file: &str, text: &str) -> InputError {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    match toml::parse(text, file, folder) {
        Ok(_) => InputError::new(file, "a cluster description already", EXPECTED)
            .with_advice(format!("other commands take it as it is: --on {}", quote(file))),
        Err(error) => {
            let here = format!(
                "a cluster.toml needs no import: once it is right, other commands take it with --on {}",
                quote(file)
            );
            let advice = match &error.advice {
                Some(advice) => format!("{advice}; {here}"),
                None => here,
            };
            error.with_advice(advice)
        }
    }
}

/// An error in the first line of a hostfile: the file may have another format.
fn wrong_kind(error: InputError, text: &str) -> InputError {
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let first = text.lines().position(is_content).and_then(|index| u32::try_from(index + 1).ok());
    if error.line != first {
        return error;
    }
    if text.lines().any(|line| line.trim_start().starts_with("- topology:")) {
        let advice = "this looks like a topology.yaml: import what `scontrol show topology` prints";
        return error.with_advice(advice);
    }
    error.with_advice(format!("{EXPECTED} is accepted; give synthetic strings with --synthetic"))
}

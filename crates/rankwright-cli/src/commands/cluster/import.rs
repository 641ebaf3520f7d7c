//! `rankwright cluster import`: descriptions from what others wrote.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::cluster::{
    Cluster, NodeGroup, hostfile, hostlist, hwloc_xml, synthetic, topology_conf,
};
use rankwright::files::InputError;

use super::{this_host, write_description};
use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::{inputs, output};

const EXPECTED: &str = "an hwloc XML file, a hostfile or a Slurm topology.conf";

/// Options of `rankwright cluster import`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// An hwloc XML file (`lstopo node.xml`), a hostfile (of Open MPI or Hydra, or just names), a
    /// Slurm topology.conf; `-` for standard input
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    file: Option<PathBuf>,
    /// An hwloc synthetic string instead of a file, like "pack:2 numa:1 core:8 pu:2"
    #[arg(long, value_name = "STRING")]
    synthetic: Option<String>,
    /// The names of the nodes that an XML file or synthetic string describes, as a hostlist
    /// [default: node0]
    #[arg(long, value_name = "HOSTLIST", conflicts_with = "node_type")]
    nodes: Option<String>,
    /// What the hosts of a hostfile or topology.conf look like: a cluster.toml, an hwloc XML file,
    /// synthetic:STRING or a built-in name [default: this machine]
    #[arg(long, value_name = "CLUSTER", conflicts_with = "synthetic")]
    node_type: Option<String>,
    /// The name of the cluster [default: that of the file]
    #[arg(long)]
    name: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let mut cluster = self.cluster(verbosity)?;
        let stem = self.file.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str);
        let stem = stem.filter(|stem| *stem != "-").unwrap_or("cluster");
        self.name.as_deref().unwrap_or(stem).clone_into(&mut cluster.name);
        write_description(&cluster, self.output.as_deref(), verbosity)
    }

    fn cluster(&self, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        if let Some(text) = &self.synthetic {
            let machine = synthetic::parse(text)
                .map_err(|error| InputError::new("--synthetic", error.found, error.expected))?;
            return self.uniform(NodeGroup::all_free(machine));
        }
        let path = self.file.as_deref().unwrap_or(Path::new("-"));
        let text = inputs::read_text_or_stdin(path, EXPECTED)?;
        let file = path.display().to_string();
        if hwloc_xml::sniff(&text) {
            if self.node_type.is_some() {
                let why =
                    "--node-type is for hostfiles and topology.conf; hwloc XML is a node type";
                return Err(UsageError(why.to_owned()).into());
            }
            return self.uniform(hwloc_xml::parse(&text, &file)?);
        }
        if self.nodes.is_some() {
            let why = format!("--nodes does not go with {file}, which is no hwloc XML");
            return Err(UsageError(why).into());
        }
        let cluster = if topology_conf::sniff(&text) {
            let tree = topology_conf::parse(&text, &file)?;
            tree.cluster(&self.description(verbosity)?)
        } else {
            let hosts = hostfile::parse(&text, &file).map_err(|error| wrong_kind(error, &text))?;
            hostfile::cluster(&self.description(verbosity)?, &hosts)
        };
        cluster.map_err(|host| self.unknown_type(&file, &host).into())
    }

    /// Nodes of one type.
    fn uniform(&self, group: NodeGroup) -> anyhow::Result<Cluster> {
        if let Some(count) = self.nodes.as_deref().filter(|nodes| nodes.parse::<u32>().is_ok()) {
            let why = format!(
                "--nodes: found the number {count}, expected names; for {count} nodes node[1-{count}]"
            );
            return Err(UsageError(why).into());
        }
        let names = hostlist::expand(self.nodes.as_deref().unwrap_or("node0"))
            .map_err(|error| UsageError(format!("--nodes: {error}")))?;
        Ok(Cluster::uniform("", names, group))
    }

    /// What the hosts look like.
    fn description(&self, verbosity: &Verbosity) -> anyhow::Result<Cluster> {
        if let Some(node_type) = &self.node_type {
            return inputs::cluster(node_type, None);
        }
        output::note(verbosity, "without --node-type, all hosts are taken to be like this one");
        this_host()
    }

    fn unknown_type(&self, file: &str, host: &str) -> InputError {
        let described = self.node_type.as_deref().unwrap_or("this machine");
        let expected = format!("a host of {described}, which has nodes of several types");
        InputError::new(file, format!("the host `{host}`"), expected)
    }
}

/// What fails in its first line is perhaps no hostfile at all.
fn wrong_kind(error: InputError, text: &str) -> InputError {
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let first = text.lines().position(is_content).and_then(|index| u32::try_from(index + 1).ok());
    if error.line != first {
        return error;
    }
    error.with_advice(format!("{EXPECTED} is read; synthetic strings go behind --synthetic"))
}

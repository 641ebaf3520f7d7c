//! `rankwright cluster`.

mod check;
mod show;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rankwright::cluster::{Cluster, NodeGroup, hostlist, hwloc_xml, synthetic, toml};
use rankwright::files::{InputError, write_atomically};

use crate::cli::Verbosity;
use crate::exit_code::UsageError;
use crate::{inputs, output};

/// Options of `rankwright cluster`.
#[derive(Debug, Args)]
pub(crate) struct ClusterCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with cluster descriptions.
#[derive(Debug, Subcommand)]
enum Action {
    /// Describe this node as a cluster.toml
    Discover(Discover),
    /// Make a cluster.toml of an hwloc XML file or a synthetic string
    Import(Import),
    /// Show nodes, memories, cores, devices and switches
    Show(show::Show),
    /// Read a description, say what it holds and what is doubtful
    Check(check::Check),
}

impl ClusterCommand {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::Discover(command) => command.run(verbosity)?,
            Action::Import(command) => command.run(verbosity)?,
            Action::Show(command) => command.run()?,
            Action::Check(command) => command.run(verbosity)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Which cluster.
#[derive(Debug, Args)]
struct Named {
    /// A cluster.toml, an hwloc XML file, `-`, `synthetic:STRING` or a built-in name (paper:2013)
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// For how many nodes an hwloc XML file or a synthetic string stands
    #[arg(long, value_name = "N")]
    nodes: Option<u32>,
}

impl Named {
    fn read(&self) -> anyhow::Result<Cluster> {
        inputs::cluster(&self.cluster, self.nodes)
    }
}

/// Options of `rankwright cluster discover`.
#[derive(Debug, Args)]
struct Discover {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Discover {
    fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let host = host_name()?;
        let names = hostlist::expand(&host)
            .map_err(|error| InputError::new("host name", error.found, error.expected))?;
        let cluster = Cluster::uniform(&host, names, this_machine()?);
        write_description(&cluster, self.output.as_deref(), verbosity)?;
        output::note(
            verbosity,
            "next: name all nodes that are like this one in `names`, for example \"node[00-15]\", \
             and give every [[node.nic]] its bandwidth (1 GB/s is assumed where there is none)",
        );
        Ok(())
    }
}

#[cfg(feature = "hwloc")]
fn this_machine() -> anyhow::Result<NodeGroup> {
    Ok(rankwright::cluster::live::discover()?)
}

#[cfg(not(feature = "hwloc"))]
fn this_machine() -> anyhow::Result<NodeGroup> {
    anyhow::bail!(
        "this rankwright was built without libhwloc; use `lstopo node.xml` and `rankwright cluster \
         import node.xml`"
    )
}

/// The name that this host calls itself.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
fn host_name() -> anyhow::Result<String> {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer is valid for writing up to the length given, which leaves a zero behind.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    anyhow::ensure!(result == 0, "the host name cannot be read");
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    Ok(String::from_utf8_lossy(&buffer[..end]).into_owned())
}

/// Options of `rankwright cluster import`.
#[derive(Debug, Args)]
struct Import {
    /// An hwloc XML file (`lstopo node.xml`), `-` for standard input
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    file: Option<PathBuf>,
    /// An hwloc synthetic string instead of a file, like "pack:2 numa:1 core:8 pu:2"
    #[arg(long, value_name = "STRING")]
    synthetic: Option<String>,
    /// The names of the nodes that look like this, as a hostlist
    #[arg(long, value_name = "HOSTLIST", default_value = "node0")]
    nodes: String,
    /// The name of the cluster [default: that of the file]
    #[arg(long)]
    name: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Import {
    fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        let names = hostlist::expand(&self.nodes)
            .map_err(|error| UsageError(format!("--nodes: {error}")))?;
        let group = self.group()?;
        let stem = self.file.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str);
        let stem = stem.filter(|stem| *stem != "-").unwrap_or("cluster");
        let cluster = Cluster::uniform(self.name.as_deref().unwrap_or(stem), names, group);
        write_description(&cluster, self.output.as_deref(), verbosity)
    }

    fn group(&self) -> anyhow::Result<NodeGroup> {
        if let Some(text) = &self.synthetic {
            let machine = synthetic::parse(text)
                .map_err(|error| InputError::new("--synthetic", error.found, error.expected))?;
            return Ok(NodeGroup::all_free(machine));
        }
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        let text = inputs::read_text_or_stdin(file, hwloc_xml::EXPECTED)?;
        if !hwloc_xml::sniff(&text) {
            let error = InputError::new(file.display(), "text that is no XML", hwloc_xml::EXPECTED);
            return Err(error.with_advice("synthetic strings go behind --synthetic").into());
        }
        Ok(hwloc_xml::parse(&text, &file.display().to_string())?)
    }
}

/// Writes a cluster.toml, and says what is in it if it goes to a file.
fn write_description(
    cluster: &Cluster,
    path: Option<&Path>,
    verbosity: &Verbosity,
) -> anyhow::Result<()> {
    let text = toml::write(cluster);
    match path {
        Some(path) if path.as_os_str() != "-" => {
            write_atomically(path, text.as_bytes())?;
            for line in check::group_lines(cluster) {
                output::note(verbosity, format_args!("{}: {line}", path.display()));
            }
            Ok(())
        }
        _ => output::print(&text),
    }
}

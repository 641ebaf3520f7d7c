//! `rankwright cluster`.

mod check;
mod import;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use rankwright::cluster::Cluster;
use rankwright::cluster::read::toml;
use rankwright::files::write_atomically;

use crate::host::this_host;
use crate::options::inputs;
use crate::output::{self, Verbosity};

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
    /// Make a cluster.toml of hwloc XML, a hostfile, switches (Slurm, InfiniBand) or a running job
    Import(import::Import),
    /// Show nodes, memories, cores, devices and switches, as text or picture
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
        write_description(&this_host::cluster()?, self.output.as_deref(), verbosity)?;
        output::note(
            verbosity,
            "next: name all nodes that are like this one in `names`, for example \"node[00-15]\", \
             and give every [[node.nic]] its bandwidth (1 GB/s is assumed where there is none)",
        );
        Ok(())
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

//! `rankwright cluster discover`: this node, or all nodes of a job, as a cluster.toml.

mod all_nodes;

use std::path::PathBuf;

use clap::Args;
use rankwright::files::check_writable;
use rankwright::launch::shell;

use super::description::write_description;
use crate::host::this_host;
use crate::output::{self, Verbosity};
use all_nodes::AllNodesOptions;

/// Options of `rankwright cluster discover`.
#[derive(Debug, Args)]
pub(super) struct Discover {
    /// Describe all nodes of the current job: its launcher starts one process on each, and nodes that
    /// are alike become one type
    #[arg(long)]
    all_nodes: bool,
    #[command(flatten)]
    options: AllNodesOptions,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder for the description of this node, as one of all nodes
    #[arg(long, value_name = "FOLDER", hide = true, conflicts_with_all = ["all_nodes", "output"])]
    report_to: Option<PathBuf>,
}

impl Discover {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        if let Some(folder) = &self.report_to {
            return all_nodes::report(folder);
        }
        let output = self.output.as_deref();
        if let Some(path) = output.filter(|path| path.as_os_str() != "-") {
            check_writable(path)?;
        }
        if self.all_nodes {
            write_description(&self.options.cluster(verbosity)?, output, verbosity)?;
            let file = output.map_or("FILE".to_owned(), |path| path.display().to_string());
            let text = format!(
                "next: `rankwright cluster check {}` says what is missing in it; as `cluster` in \
                 /etc/rankwright/site.toml it is the default of --on",
                shell::quote(&file)
            );
            output::note(verbosity, text);
            return Ok(());
        }
        write_description(&this_host::cluster()?, output, verbosity)?;
        output::note(
            verbosity,
            "next: put the names of all nodes like this one into `names`, for example \
            \"node[00-15]\" (inside a job, --all-nodes describes all nodes); `rankwright cluster show` says \
            which rates are assumed",
        );
        Ok(())
    }
}

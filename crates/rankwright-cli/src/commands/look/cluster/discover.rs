//! `rankwright cluster discover`: this node as a cluster.toml.

use std::path::PathBuf;

use clap::Args;

use super::description::write_description;
use crate::host::this_host;
use crate::output::{self, Verbosity};

/// Options of `rankwright cluster discover`.
#[derive(Debug, Args)]
pub(super) struct Discover {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Discover {
    pub(super) fn run(&self, verbosity: &Verbosity) -> anyhow::Result<()> {
        write_description(&this_host::cluster()?, self.output.as_deref(), verbosity)?;
        output::note(
            verbosity,
            "next: put the names of all nodes like this one into `names`, for example \
            \"node[00-15]\", and give every [[node.nic]] its bandwidth (1 GB/s is assumed without it)",
        );
        Ok(())
    }
}

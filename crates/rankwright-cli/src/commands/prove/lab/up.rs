//! `rankwright lab up`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rankwright::files::write_atomically;
use rankwright::units::BytesPerSecond;
use rankwright_lab::{MOST_NODES, Plan, parse_rate, rate_text};

use super::named::Named;
use crate::host::signals::interrupt;
use crate::options::parse_count_to;
use crate::output::{self, Verbosity};

/// Options of `rankwright lab up`.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    lab: Named,
    /// Number of nodes
    #[arg(long, value_parser = parse_count_to::<MOST_NODES>, allow_negative_numbers = true)]
    nodes: u32,
    /// Number of cores of each node in the description; they need not exist
    #[arg(long, value_parser = parse_count_to::<1024>, allow_negative_numbers = true)]
    cores: u32,
    /// Bandwidth of each node's network device, each way, from 1 Mbit/s to 100 Gbit/s, like "1
    /// Gbit/s"
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    nic: BytesPerSecond,
    /// Write the cluster description to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Up {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let (name, nodes) = (&self.lab.name, self.nodes);
        let plan = Plan { name: name.clone(), nodes, cores: self.cores, nic: self.nic };
        let site = plan.begin()?;
        interrupt::watch();
        interrupt::survive_closed_pipe();
        site.make(&interrupt::check, &|description| self.publish(description))?;
        output::note(
            verbosity,
            format_args!(
                "lab `{name}` is up: {nodes} node{}, {} each way\n  \
                 rankwright lab exec --name {name} head -- COMMAND   runs a launcher in it\n  \
                 rankwright lab down --name {name}                   removes it",
                if nodes == 1 { "" } else { "s" },
                rate_text(self.nic),
            ),
        );
        Ok(ExitCode::SUCCESS)
    }

    fn publish(&self, description: &str) -> anyhow::Result<()> {
        match &self.output {
            Some(path) if path.as_os_str() != "-" => {
                Ok(write_atomically(path, description.as_bytes())?)
            }
            _ => output::print(description),
        }
    }
}

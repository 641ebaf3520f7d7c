//! `rankwright lab up`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use rankwright::files::write_atomically;
use rankwright::units::{BytesPerSecond, Seconds};
use rankwright_lab::{
    MOST_NICS, MOST_NODES, Network, Plan, Tiers, parse_delay, parse_rate, rate_text,
};

use super::named::Named;
use crate::host::signals::interrupt;
use crate::options::parse_count_to;
use crate::output::exit_code::UsageError;
use crate::output::{self, Verbosity};

/// Options of `rankwright lab up`.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    lab: Named,
    /// Number of nodes; with --tiers that of the tree
    #[arg(
        long,
        value_parser = parse_count_to::<MOST_NODES>,
        allow_negative_numbers = true,
        required_unless_present = "tiers"
    )]
    nodes: Option<u32>,
    /// Number of cores of each node in the description; they need not exist
    #[arg(long, value_parser = parse_count_to::<1024>, allow_negative_numbers = true)]
    cores: u32,
    /// Bandwidth of each network device, each way, from 1 Mbit/s to 100 Gbit/s, like "1 Gbit/s"
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    nic: BytesPerSecond,
    /// Number of network devices of each node, from 1 to 4; several are near two NUMA nodes
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = parse_count_to::<MOST_NICS>,
        allow_negative_numbers = true
    )]
    nics: u32,
    /// A tree of switches: 4x4:200Mbit/s is 4 leaf switches of 4 nodes, each with a link of 200
    /// Mbit/s to the spine; 2x2x4:400Mbit/s,200Mbit/s has a tier more. Without a rate uplinks are
    /// not limited
    #[arg(long, value_name = "SWITCHESxNODES[:RATE]")]
    tiers: Option<Tiers>,
    /// Latency from one network device to another, half of a round trip, from 500 us to 100 ms
    #[arg(long, value_name = "TIME", value_parser = parse_delay)]
    delay: Option<Seconds>,
    /// Run a private Slurm across the nodes: sbatch, srun and salloc work on `head`
    #[arg(long)]
    slurm: bool,
    /// Write the cluster description to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Up {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let (name, nodes) = (&self.lab.name, self.nodes()?);
        let site = self.plan(nodes).begin()?;
        interrupt::watch();
        interrupt::survive_closed_pipe();
        site.make(&interrupt::check, &|description| self.publish(description))?;
        output::note(
            verbosity,
            format_args!(
                "lab `{name}` is up: {nodes} node{}, {}{} each way\n  \
                 rankwright lab exec --name {name} head -- COMMAND   runs a launcher in it\n  \
                 rankwright lab down --name {name}                   removes it",
                if nodes == 1 { "" } else { "s" },
                if self.nics == 1 { String::new() } else { format!("{} x ", self.nics) },
                rate_text(self.nic),
            ),
        );
        Ok(ExitCode::SUCCESS)
    }

    fn nodes(&self) -> Result<u32, UsageError> {
        if self.nics > 1 && self.cores % 2 == 1 {
            return Err(UsageError(format!(
                "--nics {}: --cores {} cannot be split into two NUMA nodes; give an even number",
                self.nics, self.cores
            )));
        }
        match (self.nodes, &self.tiers) {
            (Some(nodes), Some(tiers)) if nodes != tiers.nodes() => Err(UsageError(format!(
                "--tiers {tiers} has {} nodes, --nodes says {nodes}; leave --nodes out",
                tiers.nodes()
            ))),
            (nodes, tiers) => Ok(nodes.unwrap_or_else(|| tiers.as_ref().map_or(1, Tiers::nodes))),
        }
    }

    fn plan(&self, nodes: u32) -> Plan {
        let tiers = self.tiers.clone();
        let network = Network { nics: self.nics, nic: self.nic, tiers, delay: self.delay };
        Plan { name: self.lab.name.clone(), nodes, cores: self.cores, network, slurm: self.slurm }
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

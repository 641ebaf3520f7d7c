//! `rankwright lab up`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use rankwright::files::write_atomically;
use rankwright::units::BytesPerSecond;

use super::enter::enter;
use super::holder::{Holder, Privilege};
use super::network::{self, DATA_DEVICE, MOST_NODES};
use super::state::{Folder, HEAD, Lab, Node};
use super::{Which, agent, down, process, tools};
use crate::host::signals::interrupt;
use crate::output::{self, Verbosity};

/// The rates that shaping follows: above a few packets per second, below what its clock resolves.
const SLOWEST: f64 = 1e6 / 8.0;
const FASTEST: f64 = 100e9 / 8.0;

/// Options of `rankwright lab up`.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    which: Which,
    /// How many nodes
    #[arg(long, value_parser = RangedU64ValueParser::<u32>::new().range(1..=u64::from(MOST_NODES)))]
    nodes: u32,
    /// How many cores each node pretends to have
    #[arg(long, value_parser = RangedU64ValueParser::<u32>::new().range(1..=1024))]
    cores: u32,
    /// What each node's network device carries each way, from 1 Mbit/s to 100 Gbit/s
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    nic: BytesPerSecond,
    /// Write the cluster description to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Up {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        tools::check()?;
        let privilege = Privilege::probe()?;
        let folder = Folder::of(&self.which.name)?;
        folder.create()?;
        interrupt::watch();
        interrupt::survive_closed_pipe();
        let mut holders = Vec::new();
        if let Err(error) = self.make(&folder, privilege, &mut holders) {
            let removed = down::remove(&folder);
            holders.into_iter().for_each(Holder::reap);
            return Err(match removed {
                Ok(_) => error,
                Err(left) => error.context(format!("could not be undone: {left:#}")),
            });
        }
        let name = &self.which.name;
        output::note(
            verbosity,
            format_args!(
                "lab `{name}` is up: {} node{}, {} each way\n  \
                 rankwright lab exec --name {name} head -- COMMAND   runs a launcher in it\n  \
                 rankwright lab down --name {name}                   removes it",
                self.nodes,
                if self.nodes == 1 { "" } else { "s" },
                rate_text(self.nic),
            ),
        );
        Ok(ExitCode::SUCCESS)
    }

    fn make(
        &self,
        folder: &Folder,
        privilege: Privilege,
        holders: &mut Vec<Holder>,
    ) -> anyhow::Result<()> {
        // Of an earlier lab whose folder was removed by hand.
        process::end_all(folder, None)?;
        let (names, hostlist) = network::names(self.nodes);
        let hosts = network::hosts(&names);
        write_atomically(&folder.file("hosts"), hosts.as_bytes())?;
        self.start_holders(folder, privilege, &names, holders)?;
        let pids: Vec<u32> = holders.iter().map(Holder::pid).collect();
        let (head, pids) = pids.split_first().context("the switch was started first")?;
        let node = |(name, &holder): (&String, &u32)| Node { name: name.clone(), holder };
        let nodes = names.iter().zip(pids).map(node).collect();
        let mut lab = Lab::unfinished(self.cores, self.nic, *head, nodes);
        folder.write(&lab)?;
        self.connect(*head, pids)?;
        write_agent(folder)?;
        self.write_description(folder, &hostlist)?;
        interrupt::check()?;
        lab.complete = true;
        folder.write(&lab)
    }

    fn start_holders(
        &self,
        folder: &Folder,
        privilege: Privilege,
        names: &[String],
        holders: &mut Vec<Holder>,
    ) -> anyhow::Result<()> {
        let mut switch = Holder::start_switch(folder, HEAD, privilege)?;
        let head = switch.pid();
        let ready = switch.wait_until_ready();
        holders.push(switch);
        ready?;
        // They start side by side.
        for name in names {
            interrupt::check()?;
            holders.push(Holder::start_node(folder, name, head)?);
        }
        holders[1..].iter_mut().try_for_each(Holder::wait_until_ready)
    }

    fn connect(&self, head: u32, nodes: &[u32]) -> anyhow::Result<()> {
        let batch = |pid: u32, program: &str, commands: &str| {
            interrupt::check()?;
            tools::batch(enter(pid, &["--net"])?, program, commands)
        };
        batch(head, "ip", &network::switch_links(nodes)).context("the switch of the lab")?;
        batch(head, "tc", &network::switch_shaping(nodes.len(), self.nic))
            .context("shaping at the switch of the lab")?;
        for (index, &pid) in nodes.iter().enumerate() {
            batch(pid, "ip", &network::node_links(index))
                .and_then(|()| batch(pid, "tc", &network::node_shaping(self.nic)))
                .with_context(|| format!("the network of node {index}"))?;
        }
        Ok(())
    }

    fn write_description(&self, folder: &Folder, hostlist: &str) -> anyhow::Result<()> {
        let text = format!(
            "# An emulated cluster on one machine: its cores do not really exist.\n\
             name = \"{}\"\n\
             emulated = true\n\
             \n\
             [[node]]\n\
             names = \"{hostlist}\"\n\
             topology = \"pack:1 core:{} pu:1\"\n\
             \n\
             [[node.nic]]\n\
             name = \"{DATA_DEVICE}\"\n\
             bandwidth = \"{}\"\n",
            folder.name,
            self.cores,
            rate_text(self.nic),
        );
        write_atomically(&folder.file("cluster.toml"), text.as_bytes())?;
        match &self.output {
            Some(path) if path.as_os_str() != "-" => Ok(write_atomically(path, text.as_bytes())?),
            _ => output::print(&text),
        }
    }
}

fn write_agent(folder: &Folder) -> anyhow::Result<()> {
    let path = folder.file("agent");
    write_atomically(&path, agent::script(folder)?.as_bytes())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .with_context(|| path.display().to_string())
}

fn parse_rate(text: &str) -> Result<BytesPerSecond, String> {
    let rate: BytesPerSecond = text.parse().map_err(|error| format!("{error}"))?;
    if (SLOWEST..=FASTEST).contains(&rate.0) {
        Ok(rate)
    } else {
        Err(format!("found {rate}, expected a rate from 1 Mbit/s to 100 Gbit/s"))
    }
}

/// `100 Mbit/s`: how the rates of network devices are usually given.
pub(super) fn rate_text(rate: BytesPerSecond) -> String {
    let bits = (rate.0 * 8.0).round();
    let (factor, prefix) = if bits >= 1e9 { (1e9, "G") } else { (1e6, "M") };
    format!("{} {prefix}bit/s", bits / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_shaping_cannot_follow_are_refused() {
        assert_eq!(parse_rate("100Mbit/s").unwrap(), BytesPerSecond(12.5e6));
        for text in ["0", "0 Mbit/s", "-1 Mbit/s", "999 kbit/s", "101 Gbit/s", "100", "fast"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_written_in_bits_as_they_were_given() {
        for text in ["100 Mbit/s", "1 Gbit/s", "2.5 Gbit/s", "1.5 Mbit/s"] {
            assert_eq!(rate_text(parse_rate(text).unwrap()), text);
        }
    }
}

//! The counters of a lab's network devices and uplinks.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::network::{HEAD, data_device, upper_port};
use crate::process;
use crate::state::{Folder, LabName};

/// All counters of a lab.
#[derive(Debug, Serialize)]
pub struct Counters {
    /// Each data device of each node.
    pub nodes: Vec<Counted>,
    /// The link of each switch to the one above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Counted>,
}

/// The counters of a device since the start of the lab; bytes include headers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The node or switch.
    pub node: String,
    /// Its data device, or `uplink`.
    pub nic: String,
    /// Bytes received; by an uplink: from the switch above.
    pub bytes_in: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent; by an uplink: to the switch above.
    pub bytes_out: u64,
    /// Packets sent.
    pub packets_out: u64,
}

/// The counters of all nodes and uplinks of a lab.
///
/// # Errors
/// If the lab is not up.
pub fn counters(lab: &LabName) -> anyhow::Result<Counters> {
    let folder = Folder::of(lab)?;
    let lab = folder.read_complete()?;
    let mut counters = Counters { nodes: Vec::new(), switches: Vec::new() };
    for node in &lab.nodes {
        let file = DeviceFile::of(&folder, node.holder, &node.name)?;
        for device in (0..lab.nics).map(data_device) {
            counters.nodes.push(file.counters(&node.name, &device, &device)?);
        }
    }
    if !lab.switches.is_empty() {
        let file = DeviceFile::of(&folder, lab.head, HEAD)?;
        let uplink = |switch: &String| file.counters(switch, "uplink", &upper_port(switch));
        counters.switches = lab.switches.iter().map(uplink).collect::<Result<_, _>>()?;
    }
    Ok(counters)
}

/// What a network interface counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Bytes received.
    pub bytes_in: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Packets sent.
    pub packets_out: u64,
}

/// The counters of the network interfaces by name, from the text of `/proc/net/dev`
/// (`dev_seq_printf_stats`, `net/core/net-procfs.c`). Lines of another form are left out.
#[must_use]
pub fn interface_counters(table: &str) -> BTreeMap<String, InterfaceCounters> {
    let row = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<&str> = numbers.split_whitespace().collect();
        // Eight columns of what came in, then eight of what went out; of each, bytes and packets first.
        let at = |column: usize| numbers.get(column)?.parse().ok();
        let counters = InterfaceCounters {
            bytes_in: at(0)?,
            packets_in: at(1)?,
            bytes_out: at(8)?,
            packets_out: at(9)?,
        };
        Some((name.trim().to_owned(), counters))
    };
    table.lines().filter_map(row).collect()
}

/// `/proc/PID/net/dev`: the devices of the network namespace of a process.
struct DeviceFile {
    path: String,
    interfaces: BTreeMap<String, InterfaceCounters>,
}

impl DeviceFile {
    fn of(folder: &Folder, holder: u32, host: &str) -> anyhow::Result<Self> {
        if !process::is_in_lab(holder, folder) {
            bail!("lab `{}`: the process that holds {host} has ended", folder.name);
        }
        let path = format!("/proc/{holder}/net/dev");
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        Ok(Self { path, interfaces: interface_counters(&text) })
    }

    fn counters(&self, node: &str, nic: &str, device: &str) -> anyhow::Result<Counted> {
        let counted = self.interfaces.get(device);
        let InterfaceCounters { bytes_in, packets_in, bytes_out, packets_out } =
            *counted.with_context(|| format!("{}: no counters of {device}", self.path))?;
        let (node, nic) = (node.to_owned(), nic.to_owned());
        Ok(Counted { node, nic, bytes_in, packets_in, bytes_out, packets_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        let text = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop|bytes    packets errs\n    \
            lo:       0       0    0    0    0     0          0         0        0       0\n \
            eth10:       7       7    7    7    0     0          0         0        7       7\n  \
            eth1:    1000      10    0    0    0     0          0         0     2000      20 0 0\n";
        let interfaces = interface_counters(text);
        let names: Vec<&str> = interfaces.keys().map(String::as_str).collect();
        assert_eq!(names, ["eth1", "eth10", "lo"]);
        let eth1 =
            InterfaceCounters { bytes_in: 1000, packets_in: 10, bytes_out: 2000, packets_out: 20 };
        assert_eq!(interfaces["eth1"], eth1);
        assert!(interface_counters("eth0: 1 2").is_empty());
    }
}

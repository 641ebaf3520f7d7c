//! The counters of a lab's network devices and uplinks.

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

/// `/proc/PID/net/dev`: the devices of the network namespace of a process.
struct DeviceFile {
    path: String,
    text: String,
}

impl DeviceFile {
    fn of(folder: &Folder, holder: u32, host: &str) -> anyhow::Result<Self> {
        if !process::is_in_lab(holder, folder) {
            bail!("lab `{}`: the process that holds {host} has ended", folder.name);
        }
        let path = format!("/proc/{holder}/net/dev");
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        Ok(Self { path, text })
    }

    fn counters(&self, node: &str, nic: &str, device: &str) -> anyhow::Result<Counted> {
        let [bytes_in, packets_in, bytes_out, packets_out] = numbers(&self.text, device)
            .with_context(|| format!("{}: no counters of {device}", self.path))?;
        let (node, nic) = (node.to_owned(), nic.to_owned());
        Ok(Counted { node, nic, bytes_in, packets_in, bytes_out, packets_out })
    }
}

/// Bytes and packets in, bytes and packets out. A line has eight receive counters, then eight
/// transmit counters.
fn numbers(text: &str, device: &str) -> Option<[u64; 4]> {
    let of_device = |line: &'_ str| -> Option<Vec<u64>> {
        let (name, numbers) = line.split_once(':')?;
        let numbers = || numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        (name.trim() == device).then(|| numbers().ok()).flatten()
    };
    let numbers = text.lines().find_map(of_device)?;
    Some([*numbers.first()?, *numbers.get(1)?, *numbers.get(8)?, *numbers.get(9)?])
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
        assert_eq!(numbers(text, "eth1"), Some([1000, 10, 2000, 20]));
        assert_eq!(numbers("lo: 1 2", "eth0"), None);
        assert_eq!(numbers("eth0: 1 2", "eth0"), None);
    }
}

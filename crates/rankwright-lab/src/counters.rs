//! The counters of a lab's network devices.

use std::fs;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::network::DATA_DEVICE;
use crate::process;
use crate::state::{Folder, LabName, Node};

/// The counters of a node's data device since the start of the lab; bytes include headers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct NodeCounters {
    /// The node.
    pub node: String,
    /// Its data device.
    pub nic: &'static str,
    /// Bytes received.
    pub bytes_in: u64,
    /// Packets received.
    pub packets_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Packets sent.
    pub packets_out: u64,
}

/// The counters of all nodes of a lab.
///
/// # Errors
/// If the lab is not up.
pub fn counters(lab: &LabName) -> anyhow::Result<Vec<NodeCounters>> {
    let folder = Folder::of(lab)?;
    folder.read_complete()?.nodes.iter().map(|node| read(node, &folder)).collect()
}

fn read(node: &Node, folder: &Folder) -> anyhow::Result<NodeCounters> {
    let name = &node.name;
    if !process::is_in_lab(node.holder, folder) {
        bail!("lab `{}`: the process that holds {name} has ended", folder.name);
    }
    // This file shows the devices of the network namespace of the process.
    let path = format!("/proc/{}/net/dev", node.holder);
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(name, &text).with_context(|| format!("{path}: no counters of {DATA_DEVICE}"))
}

/// The device's line of `/proc/net/dev`: eight receive counters, then eight transmit counters.
fn parse(node: &str, text: &str) -> Option<NodeCounters> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(DATA_DEVICE))?;
    let numbers: Result<Vec<u64>, _> =
        line.strip_prefix(':')?.split_whitespace().map(str::parse).collect();
    let numbers = numbers.ok()?;
    Some(NodeCounters {
        node: node.to_owned(),
        nic: DATA_DEVICE,
        bytes_in: *numbers.first()?,
        packets_in: *numbers.get(1)?,
        bytes_out: *numbers.get(8)?,
        packets_out: *numbers.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_as_the_kernel_writes_them() {
        let text = "Inter-|   Receive                            |  Transmit\n \
            face |bytes    packets errs drop|bytes    packets errs\n    \
            lo:       0       0    0    0    0     0          0         0        0       0\n  \
            eth0:    1000      10    0    0    0     0          0         0     2000      20 0 0\n";
        let counters = parse("node0", text).unwrap();
        let NodeCounters { bytes_in, packets_in, bytes_out, packets_out, .. } = counters;
        assert_eq!([bytes_in, packets_in, bytes_out, packets_out], [1000, 10, 2000, 20]);
        assert_eq!(parse("node0", "lo: 1 2"), None);
        assert_eq!(parse("node0", "eth0: 1 2"), None);
    }
}

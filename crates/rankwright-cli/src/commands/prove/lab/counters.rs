//! `rankwright lab counters`.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::network::DATA_DEVICE;
use super::state::{Folder, LabName, Node};
use super::{Which, process};
use crate::options::{Format, ResultOptions};
use crate::output;

/// Options of `rankwright lab counters`.
#[derive(Debug, Args)]
pub(super) struct Counters {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    result: ResultOptions,
}

#[derive(Debug, Serialize)]
struct Report {
    lab: LabName,
    nodes: Vec<NodeCounters>,
}

/// What went through a node's data device since the lab is up, headers included.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct NodeCounters {
    node: String,
    nic: &'static str,
    bytes_in: u64,
    packets_in: u64,
    bytes_out: u64,
    packets_out: u64,
}

const HEADER: [&str; 6] = ["node", "nic", "bytes_in", "packets_in", "bytes_out", "packets_out"];

impl Counters {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let folder = Folder::of(&self.which.name)?;
        let lab = folder.read_complete()?;
        let nodes: anyhow::Result<Vec<_>> =
            lab.nodes.iter().map(|node| read(node, &folder)).collect();
        let report = Report { lab: self.which.name, nodes: nodes? };
        let rows: Vec<Vec<String>> = report.nodes.iter().map(NodeCounters::cells).collect();
        let text = match self.result.format {
            Format::Table => output::table(
                &HEADER.map(|name| name.replace('_', " ")).each_ref().map(String::as_str),
                &rows,
            ),
            Format::Csv => output::csv(&HEADER, &rows),
            Format::Json => serde_json::to_string_pretty(&report)? + "\n",
        };
        self.result.write(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl NodeCounters {
    fn cells(&self) -> Vec<String> {
        let numbers = [self.bytes_in, self.packets_in, self.bytes_out, self.packets_out];
        let mut cells = vec![self.node.clone(), self.nic.to_owned()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells
    }
}

fn read(node: &Node, folder: &Folder) -> anyhow::Result<NodeCounters> {
    let name = &node.name;
    if !process::is_in_lab(node.holder, folder) {
        bail!("lab `{}`: the process that holds {name} has ended", folder.name);
    }
    // This file shows the devices of the process's own network namespace.
    let path = format!("/proc/{}/net/dev", node.holder);
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse(name, &text).with_context(|| format!("{path}: no counters of {DATA_DEVICE}"))
}

/// The device's line of `/proc/net/dev`: eight numbers of what came in, eight of what went out.
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
        assert_eq!(counters.cells()[2..], ["1000", "10", "2000", "20"]);
        assert_eq!(parse("node0", "lo: 1 2"), None);
        assert_eq!(parse("node0", "eth0: 1 2"), None);
    }
}

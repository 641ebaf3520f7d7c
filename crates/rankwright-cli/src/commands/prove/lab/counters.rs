//! `rankwright lab counters`.

use rankwright::report::to_json;
use std::process::ExitCode;

use clap::Args;
use rankwright_lab::{self as lab, Counted, LabName};
use serde::Serialize;

use super::named::Named;
use crate::options::{Format, ResultOptions};
use crate::output;

/// Options of `rankwright lab counters`.
#[derive(Debug, Args)]
pub(super) struct Counters {
    #[command(flatten)]
    lab: Named,
    #[command(flatten)]
    result: ResultOptions,
}

#[derive(Debug, Serialize)]
struct Report {
    lab: LabName,
    #[serde(flatten)]
    counters: lab::Counters,
}

const HEADER: [&str; 6] = ["node", "nic", "bytes_in", "packets_in", "bytes_out", "packets_out"];

impl Counters {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let counters = lab::counters(&self.lab.name)?;
        let rows: Vec<Vec<String>> =
            counters.nodes.iter().chain(&counters.switches).map(cells).collect();
        let report = Report { lab: self.lab.name, counters };
        let text = match self.result.format {
            Format::Table => output::table(
                &HEADER.map(|name| name.replace('_', " ")).each_ref().map(String::as_str),
                &rows,
            ),
            Format::Csv => output::csv(&HEADER, &rows),
            Format::Json => to_json(&report),
        };
        self.result.write(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn cells(node: &Counted) -> Vec<String> {
    let numbers = [node.bytes_in, node.packets_in, node.bytes_out, node.packets_out];
    let mut cells = vec![node.node.clone(), node.nic.clone()];
    cells.extend(numbers.map(|number| number.to_string()));
    cells
}

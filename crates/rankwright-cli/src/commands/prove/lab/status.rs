//! `rankwright lab status`.

use std::process::ExitCode;

use clap::Args;
use rankwright_lab::{LabName, LabState, LabStatus, rate_text, status};
use serde::Serialize;

use crate::options::{Format, ResultOptions};
use crate::output::{self, Verbosity};

/// Options of `rankwright lab status`.
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    result: ResultOptions,
}

/// One lab.
#[derive(Debug, Serialize)]
struct Row {
    lab: LabName,
    state: &'static str,
    nodes: usize,
    cores: u32,
    nic: String,
    /// Number of processes of programs in it.
    processes: usize,
}

impl From<LabStatus> for Row {
    fn from(status: LabStatus) -> Self {
        Self {
            lab: status.name,
            state: match status.state {
                LabState::Up => "up",
                LabState::Unfinished => "unfinished",
                LabState::Broken => "broken",
            },
            nodes: status.nodes,
            cores: status.cores,
            nic: status.nic.map_or_else(String::new, rate_text),
            processes: status.processes,
        }
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let (nodes, cores) = (self.nodes.to_string(), self.cores.to_string());
        let (name, state) = (self.lab.to_string(), self.state.to_owned());
        vec![name, state, nodes, cores, self.nic.clone(), self.processes.to_string()]
    }
}

impl Status {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let labs: Vec<Row> = status()?.into_iter().map(Row::from).collect();
        let header = ["lab", "state", "nodes", "cores", "nic", "processes"];
        let rows: Vec<Vec<String>> = labs.iter().map(Row::cells).collect();
        let text = match self.result.format {
            Format::Table if rows.is_empty() => {
                output::note(verbosity, "no labs are up");
                String::new()
            }
            Format::Table => output::table(&header, &rows),
            Format::Csv => output::csv(&header, &rows),
            Format::Json => serde_json::to_string_pretty(&labs)? + "\n",
        };
        self.result.write(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

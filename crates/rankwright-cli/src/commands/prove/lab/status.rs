//! `rankwright lab status`.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::process;
use super::state::{Folder, LabName};
use super::up::rate_text;
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
    state: State,
    nodes: usize,
    cores: u32,
    nic: String,
    /// Programs running in it; the processes that hold the nodes are not counted.
    processes: usize,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// All nodes are there.
    Up,
    /// `up` is at work, or died.
    Unfinished,
    /// A node's holder has ended.
    Broken,
}

impl Status {
    pub(super) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let labs: anyhow::Result<Vec<Row>> = Folder::all()?.iter().map(row).collect();
        let labs = labs?;
        let header = ["lab", "state", "nodes", "cores", "nic", "processes"];
        let cells = |row: &Row| {
            let state = match row.state {
                State::Up => "up",
                State::Unfinished => "unfinished",
                State::Broken => "broken",
            };
            let (nodes, cores) = (row.nodes.to_string(), row.cores.to_string());
            let processes = row.processes.to_string();
            vec![row.lab.to_string(), state.to_owned(), nodes, cores, row.nic.clone(), processes]
        };
        let rows: Vec<Vec<String>> = labs.iter().map(cells).collect();
        let text = match self.result.format {
            Format::Table if rows.is_empty() => {
                output::note(verbosity, "no lab is up");
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

fn row(folder: &Folder) -> anyhow::Result<Row> {
    let lab = folder.name.clone();
    let inside = process::in_lab(folder)?;
    let Some(record) = folder.read().ok().flatten() else {
        let (state, nic) = (State::Unfinished, String::new());
        return Ok(Row { lab, state, nodes: 0, cores: 0, nic, processes: inside.len() });
    };
    let holders = record.holders().filter(|pid| inside.contains(pid)).count();
    let state = if !record.complete {
        State::Unfinished
    } else if holders == record.holders().count() {
        State::Up
    } else {
        State::Broken
    };
    Ok(Row {
        lab,
        state,
        nodes: record.nodes.len(),
        cores: record.cores,
        nic: rate_text(record.nic),
        processes: inside.len() - holders,
    })
}

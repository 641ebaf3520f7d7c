//! `rankwright traffic export`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use rankwright::files::write_atomically;
use rankwright::traffic::Workload;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::import::{self, FORMATS};

use crate::exit_code::UsageError;
use crate::output;

/// Options of `rankwright traffic export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A profile, a file of another format, or pattern:SHAPE:RANKS
    workload: String,
    #[arg(long, value_name = "FORMAT", help = format!("The format to write: {}; by default that of the output's name (.mtx, .graph), else csv", writable_names()))]
    format: Option<String>,
    /// Add collective calls as messages of this algorithm
    #[arg(long, value_parser = super::parse_expansion, default_value = "none", value_name = "ALGORITHM")]
    collectives: Expansion,
    /// Keep messages that ranks send to themselves
    #[arg(long = "self")]
    with_self: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let format = self.format.as_deref().unwrap_or_else(|| self.format_of_output());
        let write = import::find(format).and_then(|format| format.write).ok_or_else(|| {
            let known = writable_names();
            UsageError(format!("--format: found `{format}`, expected one of {known}"))
        })?;
        let mut job = super::profile_of(&self.workload)?.job(self.collectives)?;
        if !self.with_self {
            job.flows.retain(|flow| flow.source != flow.destination);
        }
        let text = write(&Workload::single(job))?;
        match self.output.filter(|path| path.as_os_str() != "-") {
            Some(path) => Ok(write_atomically(&path, text.as_bytes())?),
            None => output::print(&text),
        }
    }
}

impl Export {
    /// The format that the output's name ends with.
    fn format_of_output(&self) -> &'static str {
        let extension = self.output.as_deref().and_then(Path::extension);
        match extension.and_then(OsStr::to_str) {
            Some("mtx") => "matrix-market",
            Some("graph") => "metis",
            _ => "csv",
        }
    }
}

/// The names of the formats that can be written, for `--help` and errors.
fn writable_names() -> String {
    let writable = FORMATS.iter().filter(|format| format.write.is_some());
    let names: Vec<&str> = writable.map(|format| format.name).collect();
    names.join(", ")
}

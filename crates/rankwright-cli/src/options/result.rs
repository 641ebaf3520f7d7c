//! Where and how a result is written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankwright::files::write_atomically;

use crate::output::exit_code::UsageError;
use crate::output::print;

/// How a result is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people
    #[default]
    Table,
    /// One JSON value
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Where and how a result is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultOptions {
    /// How to write the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ResultOptions {
    /// Writes a result to where the user wants it.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        match &self.output {
            Some(path) if path.as_os_str() != "-" => Ok(write_atomically(path, text.as_bytes())?),
            _ => print(text),
        }
    }
}

/// Refuses `-` where the result is not a text for standard output.
pub(crate) fn refuse_stdout(path: &Path) -> Result<(), UsageError> {
    if path.as_os_str() == "-" {
        return Err(UsageError(
            "--output: found `-`, expected a file: this result cannot go to standard output"
                .to_owned(),
        ));
    }
    Ok(())
}

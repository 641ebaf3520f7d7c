//! Format and destination of a result.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rankwright::files::{check_writable, write_atomically};

use crate::output::exit_code::UsageError;
use crate::output::print;

/// The format of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns
    #[default]
    Table,
    /// One JSON value
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Format and destination of a result.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultOptions {
    /// Format of the result
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl ResultOptions {
    /// Refuses a file that cannot be written, before the work.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        Ok(self.file().map_or(Ok(()), check_writable)?)
    }

    /// Writes a result to its file or to standard output.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        match self.file() {
            Some(path) => Ok(write_atomically(path, text.as_bytes())?),
            None => print(text),
        }
    }

    /// Whether the result goes to a file.
    pub(crate) fn has_file(&self) -> bool {
        self.file().is_some()
    }

    /// Whether the name of the file ends so.
    pub(crate) fn is_named(&self, ending: &str) -> bool {
        self.file()
            .is_some_and(|file| file.as_os_str().as_encoded_bytes().ends_with(ending.as_bytes()))
    }

    /// The file; `None` for standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }
}

/// Refuses `-` for results that cannot go to standard output.
pub(crate) fn refuse_stdout(path: &Path) -> Result<(), UsageError> {
    if path.as_os_str() == "-" {
        return Err(UsageError(
            "--output: found `-`, expected a file: this result cannot go to standard output"
                .to_owned(),
        ));
    }
    Ok(())
}

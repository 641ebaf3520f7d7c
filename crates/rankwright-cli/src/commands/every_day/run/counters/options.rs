//! The option for counters.

use std::path::PathBuf;

use clap::Args;

use crate::output::exit_code::UsageError;

/// Options for counters.
#[derive(Debug, Args)]
pub(crate) struct CountersOption {
    /// Read the byte counters of all nodes' network devices before and after the job, and write them
    /// with what was predicted to this file; takes some seconds more, for the traffic of others.
    /// PLACEMENT needs --profile for the traffic of the program
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["compare", "dry_run"])]
    pub(super) counters: Option<PathBuf>,
}

impl CountersOption {
    pub(crate) fn is_wanted(&self) -> bool {
        self.counters.is_some()
    }

    /// An error for a record that cannot go to its place.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        match &self.counters {
            Some(path) if path.as_os_str() == "-" => {
                let text =
                    "--counters: found `-`, expected a file: standard output is the program's";
                Err(UsageError(text.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

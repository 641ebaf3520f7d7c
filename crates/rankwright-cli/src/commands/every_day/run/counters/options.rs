//! The option for counters.

use std::path::PathBuf;

use clap::Args;

use crate::output::exit_code::UsageError;

/// Options for counters.
#[derive(Debug, Args)]
pub(crate) struct CountersOption {
    /// Write the bytes that the network devices of all nodes carried during the job, beside those
    /// predicted, to this file. With PLACEMENT, --profile gives the traffic. Takes some seconds longer
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
